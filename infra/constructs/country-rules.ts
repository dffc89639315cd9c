import type { Stack } from 'aws-cdk-lib';
import { CfnProtectConfiguration } from 'aws-cdk-lib/aws-smsvoice';
import { Construct } from 'constructs';
import { ALL_COUNTRIES } from '../../lib/validators/countries.ts';
import { type Settings, sendsThroughAws } from '../settings.ts';
import { addOutput } from './stack-names.ts';

/**
 * The countries that AWS sends texts to (Amazon SNS developer guide, supported countries), as rules can name them. An
 * unknown code would fail the deployment. The service alone blocks countries that are not listed here.
 */
const COUNTRIES_OF_AWS = [
  'AD AE AF AG AI AL AM AO AR AT AU AW AZ BA BB BD BE BF BG BH BI BJ BM BN BO BR BS BT BW BY BZ CA CD CF CG CH CI CK CL',
  'CM CN CO CR CV CY CZ DE DJ DK DM DO DZ EC EE EG ES ET FI FJ FO FR GA GB GD GE GF GH GI GL GM GN GP GQ GR GT GU GW GY',
  'HK HN HR HT HU ID IE IL IN IQ IS IT JM JO JP KE KG KH KI KM KN KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD',
  'ME MG MK ML MM MN MO MQ MR MS MT MU MV MW MX MY MZ NA NC NE NG NI NL NO NP NZ OM PA PE PG PH PK PL PR PS PT PW PY QA',
  'RE RO RS RU RW SA SB SC SE SG SI SK SL SN SO SR SS ST SV SZ TC TD TG TH TJ TL TM TN TO TR TT TW TZ UA UG US UY UZ VC',
  'VE VG VI VN VU WS YE ZA ZM ZW',
].flatMap((line) => line.split(' '));

/**
 * Blocks at AWS the countries that get no messages (setting `phone.countries`), for texts and for calls. Calls name
 * these rules; for texts by SNS, AWS uses only the account's default, which an operator sets once.
 * @returns the id of the rules; undefined for a deployment that sends to all countries, or not by AWS's own networks
 */
export function blockCountries(stack: Stack, settings: Settings): string | undefined {
  const { phone } = settings;
  if (!sendsThroughAws(settings, 'sms') && !sendsThroughAws(settings, 'call')) return undefined;
  if (phone === undefined || phone.countries.includes(ALL_COUNTRIES)) return undefined;
  const scope = new Construct(stack, 'CountryRules');
  const rules = COUNTRIES_OF_AWS.map((countryCode) => ({
    countryCode,
    protectStatus: phone.countries.some((served) => served === countryCode) ? 'ALLOW' : 'BLOCK',
  }));
  const configuration = new CfnProtectConfiguration(scope, 'Rules', { countryRuleSet: { sms: rules, voice: rules } });
  configuration.overrideLogicalId('ProtectConfiguration');
  const description =
    'To be made the default of the account and region, by hand and once, as texts by SNS obey no other: aws pinpoint-sms-voice-v2 set-account-default-protect-configuration --protect-configuration-id';
  addOutput(scope, 'ProtectConfigurationId', description, configuration.attrProtectConfigurationId);
  return configuration.attrProtectConfigurationId;
}
