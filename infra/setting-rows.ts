import type * as v from 'valibot';
import { COUNT_LIMIT_NAMES, type CountLimitName, limitWords } from '../lib/validators/limits.ts';
import { joinWithOr, OTP_TYPES, PHONE_CHANNELS, type PhoneChannel } from '../lib/validators/otp-types.ts';
import { CAPTCHA_PROVIDER_NAMES } from '../lib/validators/registration-settings.ts';
import { PHONE_CHANNEL_ROWS, type SpendSetting, spendSetting } from './channels.ts';
import type { MessageRow, SettingRow } from './setting-row.ts';
import { readSettings, type SettingsSchema } from './settings.ts';

/**
 * What each setting means, and what tests need to know about it. Its schema, and with its group the functions that read
 * it, are in `deployment.ts` and `registration-settings.ts` of `lib/validators/`; the schema of a setting of the stack
 * alone is in `infra/settings.ts`. `npm run openapi` writes `infra/docs/settings.md` from these rows and the defaults of the
 * schemas.
 */

/** The full names of the members of a group, as `leafNames` finds them: `sms.maxPrice`. */
type LeafName<T, P extends string = ''> = {
  [K in keyof T & string]-?: IsGroup<NonNullable<T[K]>> extends true
    ? LeafName<NonNullable<T[K]>, `${P}${K}.`>
    : `${P}${K}`;
}[keyof T & string];
type IsGroup<T> = [T] extends [readonly unknown[]] ? false : [T] extends [object] ? true : false;
export type SettingName = LeafName<v.InferOutput<typeof SettingsSchema>>;

type RowOf<N extends SettingName> = N extends `${PhoneChannel | 'brand'}.${string}` ? MessageRow : SettingRow;

const TOKENS = { callerRoles: undefined, jwtIssuer: 'https://login.acme.example', jwtAudience: 'accounts' };

const LIMIT_ROWS = Object.fromEntries(
  COUNT_LIMIT_NAMES.map((name): [string, SettingRow] => [`limits.${name}`, { words: limitWords(name) }]),
) as Record<`limits.${CountLimitName}`, SettingRow>;

/** The rows of the channels to phones, by their settings' full names. */
function rowsOf<N extends string, R>(rows: (channel: PhoneChannel) => readonly (readonly [string, R])[]) {
  return Object.fromEntries(PHONE_CHANNELS.flatMap(rows)) as Record<N, R>;
}
const SPEND_ROWS = rowsOf<`spend.${SpendSetting}`, SettingRow>((channel) => {
  const { messages, spend } = PHONE_CHANNEL_ROWS[channel];
  const cost =
    spend.metric === undefined
      ? `this many ${messages} are sent in a day`
      : `${messages} cost this much in a month, in USD`;
  return [[`spend.${spendSetting(channel)}`, { other: spend.usual + 7_000, words: `an alarm if ${cost}` }]];
});
const CHANNEL_ROWS = rowsOf<Extract<SettingName, `${PhoneChannel}.${string}`>, MessageRow>((channel) =>
  Object.entries(PHONE_CHANNEL_ROWS[channel].settings).map(([name, row]) => [`${channel}.${name}`, row] as const),
);
const PROVIDER_ROWS = rowsOf<`provider.${PhoneChannel}`, SettingRow>((channel) => {
  const words = `${PHONE_CHANNEL_ROWS[channel].messages} go to the broker's own provider at this HTTPS address, not to AWS ([how](message-provider.md))`;
  return [[`provider.${channel}`, { other: `https://provider.other.example/${channel}`, words }]];
});

/** Every setting, in the order of the page. */
export const SETTING_ROWS: { readonly [N in SettingName]: RowOf<N> } = {
  stage: { other: 'another', words: 'names the stack: `broker-api-<stage>`' },
  retainData: { words: '`false`: data and secrets are deleted with the stack' },
  logRetentionDays: { other: 3653, words: 'days for which logs are kept' },
  alarmEmail: { other: 'night@acme.example', words: 'the address that gets pages and notices by email' },
  ...SPEND_ROWS,
  silenceHours: {
    absent: 'never',
    other: 5,
    words:
      'an alarm after this many hours (at most 168) without an accepted registration. For brokers who always have one in that time',
  },
  senderAddress: { absent: '*needed*', other: 'post@acme.example', words: 'the sender of all emails' },
  senderIdentity: {
    other: 'existing-domain',
    beside: {},
    words:
      'the identity that SES verifies: `domain` or `address`; `existing-domain` or `existing-address` if this account has verified it already',
  },
  mailFromDomain: {
    absent: `SES's own`,
    other: 'bounce.acme.example',
    beside: { senderIdentity: undefined },
    words:
      "a subdomain of the sender's domain that emails leave from and bounces go to, so that SPF passes for your domain. Needs `senderIdentity` `domain`",
  },
  'brand.name': { absent: `the sender's domain`, other: 'Other Brand', words: `the broker's name in messages` },
  'brand.supportEmail': {
    absent: 'the sender',
    other: 'support@other.example',
    words: 'the address that replies go to',
  },
  'brand.color': { other: '#111111', words: 'the color of the header of emails' },
  'brand.legal': {
    other: 'Other Ltd, No. 4711',
    words:
      'the text at the end of every email: registered name, number, address, risk warning. A text, or texts by language with English: `{"en": "…", "de": "…"}`, each up to 3,000 characters',
  },
  'brand.logo.url': {
    other: 'https://other.example/logo.png',
    words: 'the HTTPS address of an image for the header of emails, 40 pixels high. Mail programs load it from there',
  },
  'brand.logo.alt': { absent: '`brand.name`', other: 'Other logo', words: 'the text in place of the logo' },
  channels: {
    other: 'email',
    words: `channels of one-time passwords: ${OTP_TYPES.map((name) => `\`${name}\``).join(', ')}`,
  },
  'phone.countries': {
    absent: '*needed by phone channels*',
    other: 'FR',
    words:
      'countries whose numbers get messages: codes such as `GB,DE`, or `all`. Texts to India (`IN`) need `provider.sms`: through AWS operators there drop them',
  },
  ...CHANNEL_ROWS,
  ...PROVIDER_ROWS,
  voiceMetricsRole: { other: false, words: '`false` if the account has the role `AWSServiceRoleForSMSVoice` already' },
  confirmation: {
    absent: '`false`',
    other: false,
    beside: { scanDocuments: undefined },
    words:
      'adds the route that confirms registrations. Without it, what was confirmed before is kept for `confirmedDays`',
  },
  confirmedDays: {
    other: 31,
    words: 'how long a confirmed registration is kept, with its documents; at least 2 with `crmWebhook`',
  },
  allowedOrigins: {
    other: 'https://origin.other.example',
    words:
      'web pages whose scripts may call the API (CORS). They may send the headers of the usual monitoring, such as Sentry, Datadog, New Relic, Dynatrace and OpenTelemetry',
  },
  allowedHeaders: {
    other: 'x-other-trace',
    words: 'further request headers that these pages may send, if their monitoring adds some',
  },
  'captcha.provider': { other: 'recaptcha', words: joinWithOr(CAPTCHA_PROVIDER_NAMES.map((name) => `\`${name}\``)) },
  'captcha.secret': {
    other: 'other-captcha',
    words:
      "name of the secret that holds the provider's key, such as `broker-api/<stage>/captcha`: operators may store it before the deployment",
  },
  'captcha.hostnames': {
    absent: 'any',
    other: 'register.other.example',
    words:
      'domains of the pages on which captchas are solved, with their subdomains. Write the domain as the provider answers it: some answer `acme.example` for a page of `www.acme.example`',
  },
  'captcha.minScore': {
    other: 0.8765,
    words: '0 to 1, higher is stricter; needed by `recaptcha`, for hCaptcha keys with scores, not for `turnstile`',
  },
  'front.header': {
    other: 'x-other-address',
    words: `the header in which a proxy names the one address of the person. Not \`x-forwarded-for\` or \`forwarded\`: the gateway adds to them`,
  },
  'front.secret': {
    other: 'other-front',
    words: 'name of the secret by which the proxy proves itself, such as `broker-api/<stage>/front`',
  },
  'front.only': { absent: '`false`', words: '`true`: the open routes refuse a request without that secret with 403' },
  crmWebhook: {
    other: 'https://other-crm.acme.example/hook',
    words:
      'HTTPS address of the CRM that every event is posted to ([how](crm.md#the-webhook)); then `npm run ops -- secret rotate crmWebhook`',
  },
  crmWebhookAtOnce: {
    other: 50,
    words: `events of each kind (registrations, accounts) that are posted to the CRM at once: 2 to 1,000. They use the account's concurrency`,
  },
  crmWriter: {
    other: 'all',
    words:
      'what the CRM may write into the table of CRM records itself: `clients`, or `all`. Makes the policy `CrmWriterPolicy`',
  },
  documentRoles: {
    other: 'arn:aws:iam::123456789012:role/other-reader',
    words:
      'ARNs of the roles that may use the documents of registrations, next to the functions: that of a CRM that reads the bucket, those of people who read or delete documents. The bucket refuses all others, administrators too. `*` matches a part that AWS chooses: `arn:aws:iam::123456789012:role/aws-reserved/sso.amazonaws.com/*/AWSReservedSSO_Privacy_*`',
  },
  scanDocuments: {
    absent: '`false`',
    words:
      '`true`: Amazon GuardDuty scans documents for malware, and the CRM gets links to clean ones alone. Needs `crmWebhook` and `confirmation`. Documents that are there already are not scanned, so the CRM does not get their registrations ([how](operating.md#crmundelivered))',
  },
  'limits.resendSeconds': {
    other: '61',
    beside: {},
    words: 'seconds to wait before the next message to a recipient; at most 9 numbers',
  },
  ...LIMIT_ROWS,
  callerRoles: { other: 'other-role', words: 'roles of this account that may call the account routes' },
  jwtIssuer: { other: 'https://other.example', beside: TOKENS, words: 'the routes need a token of this issuer' },
  jwtAudience: { other: 'other', beside: TOKENS, words: 'audiences: a token must name one of them' },
  jwtScope: { other: 'other', beside: TOKENS, words: 'the scope that a token must have' },
  machineClients: {
    other: 'other',
    beside: { callerRoles: undefined },
    words:
      'names of programs: a Cognito user pool with a client for each is the issuer, with the scope `accounts/create`',
  },
  'throttle.registrationPerSecond': { other: 4001, words: 'requests for registration that the gateway lets through' },
  'throttle.registrationBurst': { other: 4002, words: 'requests for registration at one moment' },
  'throttle.confirmationPerSecond': { other: 4005, words: 'confirmations that the gateway lets through' },
  'throttle.confirmationBurst': { other: 4006, words: 'confirmations at one moment' },
  'throttle.accountsPerSecond': {
    other: 4003,
    words:
      'requests of each account route. While a trading server does not answer, they and the burst bound the executions that wait for it: 5 × 29 s + 20 = 165',
  },
  'throttle.accountsBurst': { other: 4004, words: 'requests of each account route at one moment' },
  'customDomain.name': { other: 'other.acme.example', words: `the API's own domain` },
  'customDomain.certificateArn': {
    other: 'arn:aws:acm:eu-west-1:123456789012:certificate/1b2c',
    words: `the certificate of that domain, in the stack's region`,
  },
  defaultEndpoint: { words: '`false`: the API is reached by its own domain alone' },
  'memory.registration': { other: 2345, words: 'MB; at 1769 a function has a whole processor' },
  'memory.accounts': { other: 2002, words: 'MB of each function' },
  'concurrency.registration': { absent: `the account's`, other: 3, words: 'calls of each function at once' },
  'concurrency.accounts': {
    absent: `the account's`,
    other: 3,
    words: `calls of each function at once, also of a trading server that does not answer. A tenth of the account's quota is a good value; leave it out in an account with a quota of 10`,
  },
  'provisioned.registration': {
    other: 3,
    words: 'environments of each function that are kept warm, and paid for, all the time',
  },
  'provisioned.accounts': {
    other: 3,
    words: 'environments of each function that are kept warm, and paid for, all the time',
  },
  release: { other: 'all', words: 'how a new version replaces the old one: `canary`, or `all` at once' },
  platformSecrets: {
    other: 'other-platforms/',
    words:
      'the prefix of the names of their secrets; on other stages `<stage>/platform/`. The account functions can read no other secrets. Not `broker-api-keys/…`, which holds the keys of the service',
  },
  vpc: { words: 'the account functions call from one fixed address' },
  vpcCidr: { other: '10.71.0.0/20', words: 'the address range of the network of the account functions' },
  egressAllocationId: {
    absent: `the stack's own`,
    other: 'eipalloc-0a1b2c3d',
    words: 'the id of the fixed outbound address',
  },
};

/** The sections of the page, each by its first setting. */
const SECTIONS: Readonly<Partial<Record<SettingName, { title: string; note?: string }>>> = {
  stage: { title: 'General' },
  senderAddress: { title: 'Mail and brand' },
  channels: { title: 'Channels' },
  confirmation: { title: 'Registration' },
  crmWebhook: { title: 'CRM' },
  'limits.resendSeconds': {
    title: 'Limits',
    note: 'a count from 1 to 1,000,000, or `none`. A window starts with its first request',
  },
  callerRoles: {
    title: 'Access to the account routes',
    note: 'one of `callerRoles`, `jwtIssuer`, `machineClients`; with none, IAM policies decide',
  },
  'throttle.registrationPerSecond': { title: 'Gateway and domain' },
  'memory.registration': {
    title: 'Functions',
    note: '`registration`: those that register and confirm; `accounts`: those that open accounts, the settler, and the one that notifies the CRM',
  },
  platformSecrets: { title: 'Trading servers' },
};

const HEAD = `# Settings

    npm run setting -- senderAddress=no-reply@acme.example channels=email,sms phone.countries=GB,DE

The command checks all settings, writes them into the \`context\` of \`cdk.json\`, and names every error by its setting. Without arguments it shows them; \`name=\` removes one, or a whole group. Lists have commas; a dot leads into a group. For one run only: \`npm run deploy -- -c name=value\`. A setting takes effect with the next deployment.

*Needed* below: there is no default. \`npm run openapi\` writes this page from \`infra/setting-rows.ts\`.

| setting | default | meaning |
|---|---|---|
`;

/** The settings that have no default, with a value: without them no default of the others can be read. */
const NEEDED = { senderAddress: 'no-reply@acme.example' };

/** The page of the settings, `infra/docs/settings.md`. */
export function settingsPage(): string {
  const defaults: Record<string, unknown> = { ...readSettings(NEEDED), senderAddress: undefined };
  const lines = Object.entries(SETTING_ROWS).flatMap(([name, { words, absent = 'none' }]) => {
    const value = name
      .split('.')
      .reduce<unknown>((group, key) => (group as typeof defaults | undefined)?.[key], defaults);
    const isEmpty = value === undefined || (Array.isArray(value) && value.length === 0);
    const section = SECTIONS[name as SettingName];
    return [
      ...(section === undefined
        ? []
        : [`| **${section.title}** | | ${section.note === undefined ? '' : `${section.note} `}|`]),
      `| \`${name}\` | ${isEmpty ? absent : `\`${String(value)}\``} | ${words} |`,
    ];
  });
  return `${HEAD}${lines.join('\n')}\n`;
}
