import { isIPv4 } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { checkSettings } from '../lib/config/check-settings.ts';
import { confirmingSettings, crmSettings, emailDomain, mailSettings, stageSettings } from '../lib/config/deployment.ts';
import {
  edgeSettings,
  FrontSchema,
  hasProvider,
  missingByChannels,
  sendingSettings,
} from '../lib/config/registration-settings.ts';
import {
  flag,
  HOST_NAME,
  HOST_NAME_MUST,
  listOf,
  numberBetween,
  patternText,
  wholeNumber,
} from '../lib/config/setting-types.ts';
import { asciiEmail, EmailSchema } from '../lib/validators/email.ts';
import { type Channel, isPhoneChannel, OTP_TYPES, PHONE_CHANNELS } from '../lib/validators/otp-types.ts';
import { closedObject, isObject } from '../lib/validators/primitives.ts';
import { leafNames, parseJson, parseSettings, parseText } from './setting-texts.ts';

/**
 * The settings of deployments. A setting is in the `context` of cdk.json or on the command line, where a dot separates
 * groups: `-c stage=test -c channels=email,sms -c sms.senderId=ACME`. Texts are parsed, so both places accept the same
 * values; an empty text removes a setting. `readSettings` lists every error at once, by the setting's name. The
 * settings of functions are declared in `deployment.ts` and `registration-settings.ts` of `lib/config/`; this file
 * has those of the stack alone.
 */

const ORIGIN = /^(https:\/\/[a-z0-9.-]+|http:\/\/(localhost|127\.0\.0\.1))(:\d{1,5})?$/;
const ISSUER = /^https:\/\/[^\s?#]+$/;

const perSecond = v.optional(numberBetween(0.1, 10_000), 20);
const burst = v.optional(wholeNumber(1, 5_000), 40);
/** The requests of all callers that the gateway passes on, for each route apart. It answers the rest with 429. */
const ThrottleSchema = closedObject({
  registrationPerSecond: perSecond,
  registrationBurst: burst,
  confirmationPerSecond: perSecond,
  confirmationBurst: burst,
  /** The throttle of each account route. While a trading server is silent, 20 + 5 × 29 s are at most 165 executions. */
  accountsPerSecond: v.optional(numberBetween(0.1, 10_000), 5),
  accountsBurst: v.optional(wholeNumber(1, 5_000), 20),
});

/**
 * The memory of the functions, in MB. At 1769 Lambda gives a whole processor, and one password hash takes well below
 * 300 ms.
 */
const MemorySchema = closedObject({
  registration: v.optional(wholeNumber(512, 10_240), 1_769),
  accounts: v.optional(wholeNumber(256, 10_240), 1_024),
});

/** How many calls of a function may run at once; absent: as many as the account has left. */
const ConcurrencySchema = closedObject({
  registration: v.optional(wholeNumber(1, 1_000)),
  accounts: v.optional(wholeNumber(1, 1_000)),
});

/** How many environments of a function are kept warm, and paid for, all the time; absent: none. */
const ProvisionedSchema = closedObject({
  registration: v.optional(wholeNumber(1, 1_000)),
  accounts: v.optional(wholeNumber(1, 1_000)),
});

const CustomDomainSchema = closedObject({
  name: patternText(HOST_NAME, HOST_NAME_MUST),
  /** The ARN of a certificate for that name in the stack's region. */
  certificateArn: patternText(
    /^arn:aws[\w-]*:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/,
    'must be the ARN of a certificate',
  ),
});

/**
 * The spend on messages from which an alarm rings. It is the spend of the whole account and region, as AWS counts it;
 * AWS has no figure for WhatsApp.
 */
const SpendSchema = closedObject({
  smsUsdPerMonth: v.optional(numberBetween(0.01, 1e6), 50),
  callUsdPerMonth: v.optional(numberBetween(0.01, 1e6), 50),
  whatsappMessagesPerDay: v.optional(wholeNumber(1, 1e6), 500),
});

/** The days that CloudWatch knows. */
const RETENTION_DAYS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653] as const;

/** A private network of RFC 1918, large enough for four subnets. */
const CIDR = /^(10\.\d+|172\.(1[6-9]|2\d|3[01])|192\.168)\.\d+\.\d+\/(1[6-9]|2[0-4])$/;
const CIDR_MUST = 'must be a private network from /16 to /24, such as 10.70.0.0/20';

/** A wildcard needs a name before it. */
const DOCUMENT_ROLE = /^arn:aws[\w-]*:iam::\d{12}:(role|user)\/[\w+=.@-][\w+=.@/*-]{0,511}$/;
const DOCUMENT_ROLE_MUST = 'must be ARNs of roles, such as arn:aws:iam::123456789012:role/crm-reader';

/** Web pages that may call the service from a browser. */
export const allowedOrigins = v.optional(
  listOf(patternText(ORIGIN, 'must be origins such as https://www.acme.example')),
  [],
);

/** The additional request headers that scripts of these pages may send, such as those of a monitoring. */
export const allowedHeaders = v.optional(
  listOf(patternText(/^[a-z0-9_-]{1,64}$/, 'must be names of request headers in lower case')),
  [],
);

/**
 * The headers that cannot name the person: those that the gateway writes or removes, those of a request, and the proof
 * of the front.
 */
const NO_FRONT_HEADERS: ReadonlySet<string> = new Set([
  ...['x-forwarded-for', 'x-forwarded-proto', 'x-forwarded-port', 'forwarded', 'host', 'via', 'x-amzn-trace-id'],
  ...['cookie', 'connection', 'content-length', 'content-type', 'authorization', 'user-agent', 'origin'],
  ...['x-front-secret', 'idempotency-key', 'captcha-token'],
]);

/** A proxy that names the person's address, in a header of its own. */
export const front = v.optional(
  v.pipe(
    FrontSchema,
    v.forward(
      v.check(
        ({ header }) => !NO_FRONT_HEADERS.has(header),
        'must be a header that the gateway leaves as it is: it adds an address to x-forwarded-for and forwarded, so they never hold one alone; let the proxy send a header of its own, such as x-viewer-address',
      ),
      ['header'],
    ),
  ),
);

const PUBLIC_URL =
  /^https:\/\/([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9](:\d{1,5})?(\/[^\s#]{0,400})?$/;
const PRIVATE_NAME = /\.(local|localhost|internal|intranet|lan|home|corp|private|arpa)$/;
const PUBLIC_URL_MUST = 'must be a public https address without a password, such as https://crm.acme.example/events';

/** The address of a system of the broker: a domain, and no name that only a private network knows. */
const publicAddress = v.optional(
  v.pipe(
    patternText(PUBLIC_URL, PUBLIC_URL_MUST),
    v.check((url) => URL.canParse(url) && !PRIVATE_NAME.test(new URL(url).hostname), PUBLIC_URL_MUST),
  ),
);

/**
 * The prefix of the service's own keys: the pepper, and the key that passwords are derived from. Operators can neither
 * read nor replace a secret with such a name.
 */
export const KEY_SECRETS = 'broker-api-keys/';
/** The beginnings of the names that the service chooses for secrets, on every stage. */
const OWN_SECRETS = /^broker-api(-keys)?\//;

/** Every setting that reaches a function. `lib/config.ts` says which function reads which. */
export const deploymentEntries = {
  ...stageSettings,
  ...mailSettings,
  ...edgeSettings,
  ...sendingSettings,
  ...confirmingSettings,
  ...crmSettings,
};

export const SettingsSchema = closedObject({
  ...deploymentEntries,
  front,
  provider: v.optional(closedObject(v.entriesFromList(PHONE_CHANNELS, publicAddress))),
  crmWebhook: publicAddress,
  /** True: the API has a route that confirms registrations. */
  confirmation: v.optional(flag),
  /**
   * The identity that SES verifies: the sender's domain, or only the address. `existing-…`: it is already verified in
   * this account and region (only one stack can have an identity), and is only used.
   */
  senderIdentity: v.optional(
    v.picklist(
      ['domain', 'address', 'existing-domain', 'existing-address'],
      'must be domain, address, existing-domain or existing-address',
    ),
    'domain',
  ),
  /** The domain that mails leave from and bounces go to; absent: SES's own. */
  mailFromDomain: v.optional(patternText(HOST_NAME, HOST_NAME_MUST)),
  allowedOrigins,
  allowedHeaders,
  /**
   * With both settings, the account routes need a token of this issuer, for one of these audiences. With neither, they
   * need IAM.
   */
  jwtIssuer: v.optional(patternText(ISSUER, 'must be an https address')),
  jwtAudience: v.optional(
    v.pipe(listOf(patternText(/^\S.{0,254}$/, 'must name audiences')), v.minLength(1, 'must name an audience')),
  ),
  /** The audience of that issuer's tokens. */
  jwtScope: v.optional(patternText(/^[\x21\x23-\x5b\x5d-\x7e]{1,64}$/, 'must be a scope'), 'accounts:create'),
  /** Programs of the broker that get a client of a Cognito user pool each, whose tokens open the account routes. */
  machineClients: v.optional(
    listOf(patternText(/^[a-z][a-z0-9-]{0,31}$/, 'must be names of small letters, digits and hyphens')),
    [],
  ),
  /** Roles of this account that may open accounts, if IAM decides. */
  callerRoles: v.optional(listOf(patternText(/^[\w+=,.@-]{1,64}$/, 'must be names of roles')), []),
  throttle: v.optional(ThrottleSchema, {}),
  memory: v.optional(MemorySchema, {}),
  concurrency: v.optional(ConcurrencySchema, {}),
  provisioned: v.optional(ProvisionedSchema, {}),
  /**
   * How a new version of a function takes over: a tenth of the calls for five minutes, a tenth more each minute, at
   * once.
   */
  release: v.optional(v.picklist(['canary', 'all'], 'must be canary or all'), 'all'),
  customDomain: v.optional(CustomDomainSchema),
  /** False: the API is reached by its own domain alone. */
  defaultEndpoint: v.optional(flag, true),
  /** The account functions call from one fixed address, for trading servers that admit listed addresses only. */
  vpc: v.optional(flag, false),
  /** The address range of that network; choose it if the network is peered with another one. */
  vpcCidr: v.optional(
    v.pipe(
      patternText(CIDR, CIDR_MUST),
      v.check((cidr) => isIPv4(cidr.split('/')[0] ?? ''), CIDR_MUST),
    ),
    '10.70.0.0/20',
  ),
  /** An address of the account to call from, by its id; absent: the stack makes one. */
  egressAllocationId: v.optional(patternText(/^eipalloc-[0-9a-f]{8,17}$/, 'must be the id of an address (eipalloc-…)')),
  /**
   * The prefix of the trading servers' secrets; the account functions can read no others. Absent:
   * `platform/` on the stage prod, `<stage>/platform/` on the others, so that stages are separate.
   */
  platformSecrets: v.optional(
    v.pipe(
      patternText(/^[\w.@-]+(\/[\w.@-]+)*\/$/, 'must be the beginning of a name, and end with a slash'),
      v.check((prefix) => !OWN_SECRETS.test(prefix), "must not begin as the names of the service's own secrets"),
    ),
  ),
  /** How many events of each kind, registrations and accounts, are posted to the CRM at once. Lambda allows 2 to 1,000. */
  crmWebhookAtOnce: v.optional(wholeNumber(2, 1_000), 5),
  /**
   * The roles that may read and delete documents next to the functions: that of the CRM, and those of named people. A
   * `*` matches the ending that AWS chooses.
   */
  documentRoles: v.optional(listOf(patternText(DOCUMENT_ROLE, DOCUMENT_ROLE_MUST)), []),
  /** The records that the broker's CRM writes into the table; absent: none. */
  crmWriter: v.optional(v.picklist(['clients', 'all'], 'must be clients or all')),
  /** False: the account already has the role by which AWS measures calls, from another stack or the console. */
  voiceMetricsRole: v.optional(flag, true),
  /**
   * The address that gets the alarms by mail, once its owner has confirmed. Further receivers subscribe to the topic.
   */
  alarmEmail: v.optional(v.pipe(EmailSchema, v.transform(asciiEmail))),
  spend: v.optional(SpendSchema, {}),
  /**
   * The number of hours without an accepted registration after which an alarm rings; absent: never. CloudWatch looks
   * back a week.
   */
  silenceHours: v.optional(wholeNumber(1, 168)),
  logRetentionDays: v.optional(
    v.pipe(wholeNumber(1, 3_653), v.picklist(RETENTION_DAYS, `must be one of ${RETENTION_DAYS.join(', ')}`)),
    90,
  ),
  /** False: `cdk destroy` deletes data and secrets too, and no table is protected. For stages that may vanish. */
  retainData: v.optional(flag, true),
});

/** The names of settings. CDK's own entries have colons, slashes or hyphens in their names. */
export const SETTING_NAME = /^\w+(\.\w+)*$/;

/** Every setting by its full name. */
export const SETTING_NAMES: readonly string[] = leafNames(SettingsSchema);

/** The settings with their defaults. */
export type Settings = ReturnType<typeof readSettings>;

export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly errors: readonly string[];

  constructor(errors: readonly string[]) {
    super(['The settings are not valid:', ...errors.map((error) => `  ${error}`)].join('\n'));
    this.errors = errors;
  }
}

/** What an operator does about settings that are not valid, such as those of an earlier version. */
export const SETTINGS_FIX = 'Write them: npm run setting -- name=value …; an empty value removes a setting.';

/**
 * Reads the settings from CDK's context; CDK's own entries in it do not change.
 * @throws SettingsError with every error
 */
export function readSettings(context: Record<string, unknown>) {
  const given = gatherSettings(context);
  const { values, errors } = parseSettings(SettingsSchema, given);
  const allErrors = [
    ...errors,
    ...contradictions(given),
    ...(values === undefined
      ? []
      : [...tooManyWarm(values), ...expiresTooEarly(values), ...unusableMailFrom(values), ...coveredSecrets(values)]),
  ];
  if (values === undefined || allErrors.length > 0) throw new SettingsError(allErrors);
  return withDerived(values);
}

function withDerived(values: v.InferOutput<typeof SettingsSchema>) {
  const { stage, senderAddress, platformSecrets = defaultPlatformSecrets(stage) } = values;
  return { ...values, senderDomain: emailDomain(senderAddress), platformSecrets };
}

/** The member in the metadata of the table of CRM records that holds the settings of its stack. */
export const SETTINGS_METADATA = 'Settings';

/** All settings of a stack, for the metadata of a resource. CloudFormation keeps ASCII alone, so other characters are escaped. */
export function settingsText(settings: Record<string, unknown>): string {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return membersText(SettingsSchema.entries, settings).replaceAll(/[^\x20-\x7e]/g, escaped);
}

/**
 * Parses the settings in a stack's metadata.
 * @param text as `settingsText` wrote it
 * @throws SettingsError if this version does not know a setting
 */
export function parseSettingsText(text: string): Settings {
  const { values, errors } = checkSettings(SettingsSchema, JSON.parse(text));
  if (values === undefined) throw new SettingsError(errors);
  return withDerived(values);
}

/** The top-level names of the settings that differ. */
export function differingSettings(one: Settings, other: Settings): string[] {
  const [left, right] = [one, other].map((settings) => JSON.parse(settingsText(settings)) as Record<string, unknown>);
  return Object.keys(SettingsSchema.entries).filter((name) => !isDeepStrictEqual(left?.[name], right?.[name]));
}

function membersText(entries: object, settings: Record<string, unknown>): string {
  return JSON.stringify(Object.fromEntries(Object.keys(entries).map((name) => [name, settings[name]])));
}

/** The prefix of the names of the trading servers' secrets, unless the setting `platformSecrets` names another. */
function defaultPlatformSecrets(stage: string): string {
  return stage === 'prod' ? 'platform/' : `${stage}/platform/`;
}

/**
 * The entries of the context that are settings, with dotted names and JSON texts as the groups that they mean. An
 * empty text removes a setting, or a whole group.
 */
export function gatherSettings(context: Record<string, unknown>): Record<string, unknown> {
  const entries = Object.entries(context)
    .filter(([name]) => SETTING_NAME.test(name))
    .map(([name, value]) => [name.split('.'), value] as const)
    // Whole groups come first, so a value with its full name overrides a group.
    .sort(([a], [b]) => a.length - b.length);
  return withoutEmpty(entries.reduce((given, [path, value]) => placed(given, path, value), {}));
}

/** The group with a member placed in it, or in a group below. */
function placed(group: unknown, [name = '', ...below]: readonly string[], value: unknown): Record<string, unknown> {
  const members = isObject(group) ? group : {};
  return { ...members, [name]: below.length === 0 ? parseJson(value) : placed(members[name], below, value) };
}

function withoutEmpty(group: Record<string, unknown>): Record<string, unknown> {
  const members = Object.entries(group).map(([name, value]) => [name, isObject(value) ? withoutEmpty(value) : value]);
  return Object.fromEntries(
    members.filter(([, value]) => value !== '' && !(isObject(value) && Object.keys(value).length === 0)),
  );
}

/** The settings that name receivers of signed requests, and the ends of their secrets' names. */
const SIGNED = { crmWebhook: 'crm-webhook', provider: 'provider' } as const;
/** The names of the service's own keys, of every stage. */
const OWN_KEY = new RegExp(`^(${KEY_SECRETS}|broker-api/[^/]+/(${Object.values(SIGNED).join('|')})$)`);

/**
 * The prefix of a stage's secrets: `broker-api/prod/`. Operators may store every secret with this prefix, also before
 * the setting that names it is deployed.
 */
export const settingSecrets = (stage: string) => `broker-api/${stage}/`;

/** The name of the secret with which requests to a receiver are signed: `broker-api/prod/crm-webhook`. */
export function signingSecretName(stage: string, receiver: keyof typeof SIGNED): string {
  return `${settingSecrets(stage)}${SIGNED[receiver]}`;
}

/** The content of the file of settings next to the code of every function. */
export function settingsFile(settings: Record<string, unknown>): string {
  return membersText(deploymentEntries, settings);
}

const DEPENDENT: readonly (readonly [setting: string, needed: string])[] = [
  ['jwtIssuer', 'jwtAudience'],
  ['jwtAudience', 'jwtIssuer'],
  ['jwtScope', 'jwtIssuer'],
  ['defaultEndpoint', 'customDomain'],
  ['allowedHeaders', 'allowedOrigins'],
];

const ONE_OF = ['jwtIssuer', 'machineClients', 'callerRoles'];

function contradictions(given: Record<string, unknown>): string[] {
  const isOff = (value: unknown) => value === undefined || parseText(flag, value) === false;
  const errors = DEPENDENT.filter(([name, other]) => given[name] !== undefined && isOff(given[other])).map(
    ([name, other]) => `${other}: is required where ${name} is given`,
  );
  const [first, ...others] = ONE_OF.filter((name) => given[name] !== undefined);
  errors.push(...others.map((name) => `${name}: is given, but ${first} too`));
  const channels = parseSettings(v.object({ channels: deploymentEntries.channels }), {
    channels: given.channels,
  }).values;
  if (channels !== undefined) {
    errors.push(...missingByChannels({ ...given, ...channels }), ...unusedSettings(given, channels.channels));
  }
  for (const name of ['vpcCidr', 'egressAllocationId']) {
    if (given[name] !== undefined && parseText(flag, given.vpc) !== true) {
      errors.push(`${name}: is given, but vpc is not true`);
    }
  }
  return [...new Set(errors)];
}

function tooManyWarm({ provisioned, concurrency }: v.InferOutput<typeof SettingsSchema>): string[] {
  return (['registration', 'accounts'] as const)
    .filter((kind) => (provisioned[kind] ?? 0) > (concurrency[kind] ?? Number.POSITIVE_INFINITY))
    .map((kind) => `provisioned.${kind}: must be at most concurrency.${kind}`);
}

/**
 * An event can reach the CRM for 16 days: one of retries, 14 set aside, and another of retries. An event whose
 * registration has expired is not posted.
 */
function expiresTooEarly({ crmWebhook, confirmedDays }: v.InferOutput<typeof SettingsSchema>): string[] {
  return crmWebhook !== undefined && confirmedDays < 16 ? ['confirmedDays: must be at least 16 with crmWebhook'] : [];
}

/** The errors of `mailFromDomain`: SES takes only a subdomain of an identity, and the stack must make that identity. */
function unusableMailFrom(values: v.InferOutput<typeof SettingsSchema>): string[] {
  const { mailFromDomain, senderIdentity, senderAddress } = values;
  if (mailFromDomain === undefined) return [];
  if (senderIdentity !== 'domain') return ['mailFromDomain: is given, but senderIdentity is not domain'];
  const domain = emailDomain(senderAddress);
  return mailFromDomain.endsWith(`.${domain}`) ? [] : [`mailFromDomain: must be a subdomain of ${domain}`];
}

/**
 * The settings that name a secret which the account functions could read as that of a trading server, or a key of the
 * service: a captcha's provider would get it.
 */
function coveredSecrets(values: v.InferOutput<typeof SettingsSchema>): string[] {
  const { captcha, front, stage, platformSecrets = defaultPlatformSecrets(stage) } = values;
  return Object.entries({ 'captcha.secret': captcha?.secret, 'front.secret': front?.secret })
    .filter(([, name = '']) => name.startsWith(platformSecrets) || OWN_KEY.test(name))
    .map(([setting]) => `${setting}: must not begin as platformSecrets, and not name a key of the service`);
}

/** Whether the messages of a channel go through AWS. */
export function sendsThroughAws(settings: Pick<Settings, 'channels' | 'provider'>, channel: Channel): boolean {
  return settings.channels.includes(channel) && !hasProvider(settings, channel);
}

function unusedSettings(given: Record<string, unknown>, channels: readonly Channel[]): string[] {
  const errors = OTP_TYPES.filter(isPhoneChannel)
    .filter((channel) => !channels.includes(channel))
    .flatMap((channel) =>
      [
        ...(given[channel] === undefined ? [] : [channel]),
        ...(hasProvider(given, channel) ? [`provider.${channel}`] : []),
      ].map((name) => `${name}: is given, but channels does not list ${channel}`),
    );
  if (given.voiceMetricsRole !== undefined && !channels.includes('call')) {
    errors.push('voiceMetricsRole: is given, but channels does not list call');
  }
  if (given.phone !== undefined && channels.length === 1)
    errors.push('phone: is given, but channels lists email alone');
  return errors;
}
