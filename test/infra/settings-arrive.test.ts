import { expect, it } from 'vitest';
import { SETTING_NAMES } from '../../infra/settings.ts';
import { checkRules, EVERYTHING, synthesize } from '../support/stack.ts';

const TOKENS = { callerRoles: undefined, jwtIssuer: 'https://login.acme.example', jwtAudience: 'accounts' };

/** Of each setting another value than that of `EVERYTHING`, or of the settings beside it. */
const OTHERS: Record<string, unknown> = {
  stage: 'other',
  senderAddress: 'other@acme.example',
  senderIdentity: 'existing-domain',
  allowedOrigins: 'https://other.example',
  jwtIssuer: [TOKENS, 'https://other.example'],
  jwtAudience: [TOKENS, 'other'],
  jwtScope: [TOKENS, 'other'],
  jwtUserClaim: [TOKENS, 'other'],
  confirmation: false,
  confirmedDays: 31,
  machineClients: [{ callerRoles: undefined }, 'other'],
  callerRoles: 'other',
  channels: 'email',
  'phone.countries': 'FR',
  'sms.senderId': 'OTHER',
  'sms.originationNumber': '+15550100124',
  'sms.entityId': '2',
  'sms.templateId': '2',
  'sms.maxPrice': '0.26',
  'sms.webOtpDomain': 'other.example',
  'call.originationIdentity': 'pool-2',
  'call.configurationSet': 'other',
  'call.protectConfiguration': 'protect-2',
  'call.maxPricePerMinute': '0.31',
  'whatsapp.phoneNumberId': 'phone-number-id-2',
  'whatsapp.codeTemplate': 'other',
  'whatsapp.noticeTemplate': 'other',
  'whatsapp.apiVersion': 'v21.0',
  'limits.resendSeconds': '61',
  'captcha.provider': 'hcaptcha',
  'captcha.secret': 'other',
  'front.header': 'other',
  'front.secret': 'other',
  'brand.name': 'Other',
  'brand.supportEmail': 'other@acme.example',
  'brand.color': '#111111',
  'throttle.registrationPerSecond': 3,
  'throttle.registrationBurst': 3,
  'throttle.accountsPerSecond': 3,
  'throttle.accountsBurst': 3,
  'memory.registration': 2_000,
  'memory.accounts': 2_000,
  'concurrency.registration': 3,
  'concurrency.accounts': 3,
  'customDomain.name': 'other.acme.example',
  'customDomain.certificateArn': 'arn:aws:acm:eu-west-1:123456789012:certificate/2',
  'provisioned.registration': 3,
  'provisioned.accounts': 3,
  release: 'linear',
  defaultEndpoint: false,
  vpc: false,
  vpcCidr: '10.71.0.0/20',
  egressAllocationId: 'eipalloc-0a1b2c3d',
  voiceMetricsRole: false,
  platformSecrets: 'other/',
  alarmEmail: 'other@acme.example',
  'spend.smsUsdPerMonth': 3,
  'spend.callUsdPerMonth': 3,
  'spend.whatsappMessagesPerDay': 3,
  logRetentionDays: 30,
  retainData: false,
};

/** Of the limits that are counts. */
const OTHER_COUNT = 77;

const templateOf = (settings: Record<string, unknown>) => JSON.stringify(synthesize(settings).toJSON());

it.each(SETTING_NAMES)('The setting %s arrives in the template', (name) => {
  const given = OTHERS[name] ?? (name.startsWith('limits.') ? OTHER_COUNT : undefined);
  const [beside, other] = Array.isArray(given) ? given : [{}, given];
  const settings = { ...EVERYTHING, ...beside };
  expect(templateOf({ ...settings, ...changed(name, other) })).not.toBe(templateOf(settings));
});

it('Other values keep the rules of AWS and CloudFormation too', { timeout: 120_000 }, () => {
  const groups = ['channels', 'confirmation', 'vpc', 'defaultEndpoint', 'retainData'];
  const others = Object.entries(OTHERS).filter(([name, value]) => !groups.includes(name) && !Array.isArray(value));
  expect(() => checkRules({ ...EVERYTHING, ...Object.fromEntries(others) })).not.toThrow();
});

/** Channels cannot go without their groups. */
function changed(name: string, other: unknown): Record<string, unknown> {
  if (name !== 'channels') return { [name]: other };
  const without = { phone: undefined, sms: undefined, call: undefined, whatsapp: undefined };
  return { channels: other, ...without };
}
