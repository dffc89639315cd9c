import { isIPv4 } from 'node:net';
import * as v from 'valibot';
import { asciiEmail, EmailSchema } from '../lib/validators/email.ts';
import { OTP_TYPES } from '../lib/validators/otp-types.ts';
import { closedObject, isObject } from '../lib/validators/primitives.ts';

/**
 * What differs between deployments. A setting stands in the `context` of cdk.json or on the command line, where a dot
 * leads into a group: `-c stage=test -c channels=email,sms -c sms.senderId=ACME`. Texts are read as what they mean, so
 * both places may say the same thing. `readSettings` lists every fault at once, by the setting's name.
 */

/** A text; a number counts as one, for that is what cdk.json makes of digits. */
function text(pattern: RegExp, must: string) {
  const trimmed = v.pipe(v.union([v.string(), v.number()], must), v.transform(String), v.trim());
  return v.pipe(trimmed, v.regex(pattern, must));
}

const word = (must: string) => text(/^\S.{0,254}$/, must);

/** A number of at least and at most; as a text in decimal notation. */
function amount(least: number, most: number, { whole }: { whole: boolean }) {
  const must = `must be a ${whole ? 'whole number' : 'number'} from ${least} to ${most}`;
  return v.pipe(
    v.union([v.number(), v.pipe(v.string(), v.trim(), v.regex(/^\d+(\.\d+)?$/), v.transform(Number))], must),
    v.check((value) => value >= least && value <= most && (!whole || Number.isInteger(value)), must),
  );
}
const count = (least: number, most: number) => amount(least, most, { whole: true });

/** US dollars, as the services take them: a text such as `0.25`. */
const price = text(/^(?=.*[1-9])\d{1,6}(\.\d{1,5})?$/, 'must be an amount in US dollars such as 0.25');

const flag = v.pipe(
  v.union([v.boolean(), v.picklist(['true', 'false'])], 'must be true or false'),
  v.transform((value) => value === true || value === 'true'),
);

/** A list, or a text with commas. */
function list<const S extends v.GenericSchema<unknown, string | number>>(item: S) {
  return v.pipe(
    v.union([v.array(v.unknown()), v.string(), v.number()], 'must be a list, or a text with commas'),
    v.transform((value) => (Array.isArray(value) ? value : String(value).split(','))),
    v.transform((items) =>
      items.map((one) => (typeof one === 'string' ? one.trim() : one)).filter((one) => one !== ''),
    ),
    v.array(item),
  );
}

const E164 = /^\+[1-9]\d{6,14}$/;
const HOST_NAME = /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
const HOST_NAME_MUST = 'must be a domain in lower case, such as acme.example';
const ORIGIN = /^(https:\/\/[a-z0-9.-]+|http:\/\/(localhost|127\.0\.0\.1))(:\d{1,5})?$/;
const ISSUER = /^https:\/\/[^\s?#]+$/;
const TEMPLATE = text(/^[a-z0-9_]{1,512}$/, 'must be the name of a template: small letters, digits, underscores');

const ChannelsSchema = v.pipe(
  list(v.picklist(OTP_TYPES, 'must list email, sms, call or whatsapp')),
  v.includes('email', 'must list email, which every deployment has'),
);

/** `SMS` by SNS. All are optional. */
const SmsSchema = closedObject({
  /** The name that the text comes from, in countries that allow it. */
  senderId: v.optional(text(/^(?=.*[A-Za-z])[A-Za-z0-9]{1,11}$/, 'must be 1 to 11 letters and digits, one a letter')),
  /** A number of the account that the text comes from. */
  originationNumber: v.optional(text(E164, 'must be a phone number such as +15550100123')),
  /** India's registrations of the sender and of the text. */
  entityId: v.optional(word('must be the id of a registered entity')),
  templateId: v.optional(word('must be the id of a registered template')),
  /** The most that one text may cost, in US dollars; a dearer one is not sent. */
  maxPrice: v.optional(price),
  /** The registration page's domain: browsers there fill the code in by themselves (WebOTP). */
  webOtpDomain: v.optional(text(HOST_NAME, HOST_NAME_MUST)),
});

/** Calls by AWS End User Messaging. */
const CallSchema = closedObject({
  /** What calls: a number or a pool of numbers. By id or ARN, so that the right to call can be limited to it. */
  originationIdentity: text(
    /^(arn:aws[\w-]*:sms-voice:[\w-]+:\d{12}:(phone-number|pool)\/(phone|pool)-\w+|(phone|pool)-\w+)$/,
    'must be the id or ARN of a number (phone-…) or of a pool (pool-…)',
  ),
  configurationSet: v.optional(text(/^[\w-]{1,64}$/, 'must be the name of a configuration set')),
  protectConfiguration: v.optional(text(/^protect-\w+$/, 'must be the id of a protect configuration (protect-…)')),
  /** The most that a minute may cost, in US dollars; a dearer call is not made. */
  maxPricePerMinute: v.optional(price),
});

/** WhatsApp by AWS End User Messaging Social. */
const WhatsAppSchema = closedObject({
  phoneNumberId: text(/^phone-number-id-\w+$/, 'must be the id of a linked number (phone-number-id-…)'),
  /** An approved authentication template, and an approved utility template for the notice to an owner. */
  codeTemplate: TEMPLATE,
  noticeTemplate: TEMPLATE,
  /** Of Meta's API. */
  apiVersion: v.optional(text(/^v\d{1,3}\.\d{1,2}$/, 'must be a version such as v20.0')),
});

/** The limits of a registration; absent ones are the service's own. */
const LimitsSchema = closedObject({
  /** How long the next message to a recipient waits after the first, second, … */
  resendSeconds: v.optional(
    v.pipe(
      list(count(1, 86_400)),
      v.minLength(1, 'must list at least one wait'),
      v.maxLength(9, 'must list at most 9'),
    ),
  ),
  recipientPerHour: v.optional(count(1, 100)),
  recipientPerDay: v.optional(count(1, 100)),
  sourcePer10Minutes: v.optional(count(1, 100)),
  sourcePerHour: v.optional(count(1, 100)),
  prefixPerHour: v.optional(count(1, 100)),
});

/** Requests that the gateway lets through, over all callers; the rest is answered 429 by it. */
const ThrottleSchema = closedObject({
  registrationPerSecond: v.optional(amount(0.1, 10_000, { whole: false }), 20),
  registrationBurst: v.optional(count(1, 5_000), 40),
  accountsPerSecond: v.optional(amount(0.1, 10_000, { whole: false }), 20),
  accountsBurst: v.optional(count(1, 5_000), 40),
});

/** How the messages look. */
const BrandSchema = closedObject({
  /** Absent: the domain of the sender address. */
  name: v.optional(text(/^[^\x00-\x1f\x7f]{1,64}$/, 'must be 1 to 64 characters on one line')),
  /** Where answers to a mail go. Absent: the sender address. */
  supportEmail: v.optional(v.pipe(EmailSchema, v.transform(asciiEmail))),
  color: v.optional(text(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #0b5cad'), '#0b5cad'),
});

/** Of the functions, in MB. At 1769 Lambda gives a whole processor, and one password hash takes well below 300 ms. */
const MemorySchema = closedObject({
  registration: v.optional(count(512, 10_240), 1_769),
  accounts: v.optional(count(256, 10_240), 1_024),
});

/** How many calls of a function may run at once; absent: as many as the account has left. */
const ConcurrencySchema = closedObject({
  registration: v.optional(count(1, 1_000)),
  accounts: v.optional(count(1, 1_000)),
});

const CustomDomainSchema = closedObject({
  name: text(HOST_NAME, HOST_NAME_MUST),
  /** Of a certificate for that name in the stack's region. */
  certificateArn: text(/^arn:aws[\w-]*:acm:[\w-]+:\d{12}:certificate\/[\w-]+$/, 'must be the ARN of a certificate'),
});

/** From where on the spend of messages raises an alarm. Of the whole account and region, as AWS counts it. */
const SpendSchema = closedObject({
  smsUsdPerMonth: v.optional(amount(0.01, 1e6, { whole: false }), 50),
  callUsdPerMonth: v.optional(amount(0.01, 1e6, { whole: false }), 50),
  /** AWS has no figure for the cost of WhatsApp messages. */
  whatsappMessagesPerDay: v.optional(count(1, 1e6), 500),
});

/** The days that CloudWatch knows. */
const RETENTION_DAYS = [1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 3653] as const;

/** A private network of RFC 1918, large enough for four subnets. */
const CIDR = /^(10\.\d+|172\.(1[6-9]|2\d|3[01])|192\.168)\.\d+\.\d+\/(1[6-9]|2[0-4])$/;
const CIDR_MUST = 'must be a private network from /16 to /24, such as 10.70.0.0/20';

const SettingsSchema = closedObject({
  /** Tells deployments in one account apart; part of the stack's name. */
  stage: v.optional(text(/^[a-z][a-z0-9-]{0,19}$/, 'must be up to 20 small letters, digits and hyphens'), 'prod'),
  /** What mails come from. The only setting that must be given. */
  senderAddress: v.pipe(EmailSchema, v.transform(asciiEmail)),
  /**
   * What SES verifies: the sender's domain or the address alone. `existing-…`: it is verified in this account and region
   * already (an identity can be in one stack only), and is used as it stands.
   */
  senderIdentity: v.optional(
    v.picklist(
      ['domain', 'address', 'existing-domain', 'existing-address'],
      'must be domain, address, existing-domain or existing-address',
    ),
    'domain',
  ),
  /** Web pages that may call the service from a browser. */
  allowedOrigins: v.optional(list(text(ORIGIN, 'must be origins such as https://www.acme.example')), []),
  /** Both: the account routes need a token of this issuer with the scope `accounts:create`. Neither: IAM. */
  jwtIssuer: v.optional(text(ISSUER, 'must be an https address')),
  jwtAudience: v.optional(v.pipe(list(word('must name audiences')), v.minLength(1, 'must name an audience'))),
  /** How one-time passwords can be sent. */
  channels: v.optional(ChannelsSchema, ['email']),
  sms: v.optional(SmsSchema, {}),
  call: v.optional(CallSchema),
  whatsapp: v.optional(WhatsAppSchema),
  limits: v.optional(LimitsSchema, {}),
  throttle: v.optional(ThrottleSchema, {}),
  brand: v.optional(BrandSchema, {}),
  memory: v.optional(MemorySchema, {}),
  concurrency: v.optional(ConcurrencySchema, {}),
  customDomain: v.optional(CustomDomainSchema),
  /** The account functions call from one fixed address, for trading servers that admit listed addresses only. */
  vpc: v.optional(flag, false),
  /** Of that network; to be chosen where it is to be joined with another one. */
  vpcCidr: v.optional(
    v.pipe(
      text(CIDR, CIDR_MUST),
      v.check((cidr) => isIPv4(cidr.split('/')[0] ?? ''), CIDR_MUST),
    ),
    '10.70.0.0/20',
  ),
  /** What the names of the trading servers' secrets begin with; the account functions can read no others. */
  platformSecrets: v.optional(
    text(/^[\w.@-]+(\/[\w.@-]+)*\/$/, 'must be the beginning of a name, and end with a slash'),
    'platform/',
  ),
  /** Gets the alarms by mail, once its owner has confirmed. Further receivers subscribe to the topic. */
  alarmEmail: v.optional(v.pipe(EmailSchema, v.transform(asciiEmail))),
  spend: v.optional(SpendSchema, {}),
  logRetentionDays: v.optional(
    v.pipe(count(1, 3_653), v.picklist(RETENTION_DAYS, `must be one of ${RETENTION_DAYS.join(', ')}`)),
    90,
  ),
  /** False: `cdk destroy` deletes data and secrets too, and no table is protected. For stages that may vanish. */
  retainData: v.optional(flag, true),
});

/** The settings with their defaults. */
export type Settings = ReturnType<typeof readSettings>;

export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(['The settings are not valid:', ...faults.map((fault) => `  ${fault}`)].join('\n'));
    this.faults = faults;
  }
}

/**
 * Reads the settings from CDK's context; CDK's own entries in it are left alone.
 * @throws SettingsError with every fault
 */
export function readSettings(context: Record<string, unknown>) {
  const { given, faults } = gather(context);
  const result = v.safeParse(SettingsSchema, given);
  for (const issue of result.issues ?? []) {
    const name = (issue.path ?? []).map(({ key }) => String(key)).join('.');
    // Elements of a list are told of once, by the list's name.
    const fault = `${name.replace(/(\.\d+)+$/, '')}: ${explain(issue)}`;
    if (!faults.includes(fault)) faults.push(fault);
  }
  faults.push(...contradictions(given));
  if (!result.success || faults.length > 0) throw new SettingsError(faults);
  const { brand, senderAddress, ...rest } = result.output;
  const [, domain = ''] = senderAddress.split('@');
  return {
    ...rest,
    senderAddress,
    senderDomain: domain,
    brand: {
      name: brand.name ?? domain,
      supportEmail: brand.supportEmail ?? senderAddress,
      color: brand.color,
    },
    channels: OTP_TYPES.filter((channel) => rest.channels.includes(channel)),
  };
}

/** The entries of the context that are settings, with dotted names and JSON texts as the groups that they mean. */
function gather(context: Record<string, unknown>): { given: Record<string, unknown>; faults: string[] } {
  const given: Record<string, unknown> = {};
  const faults: string[] = [];
  // CDK's own entries have colons, slashes or hyphens in their names.
  const entries = Object.entries(context).filter(([name]) => /^\w+(\.\w+)*$/.test(name));
  // Whole groups first: what is given by its full name then counts more.
  for (const [name, value] of entries.sort(([a], [b]) => a.split('.').length - b.split('.').length)) {
    const [group = '', member, ...deeper] = name.split('.');
    if (deeper.length > 0) faults.push(`${name}: is no setting`);
    else if (member === undefined) given[group] = fromJson(value);
    else given[group] = { ...(isObject(given[group]) ? given[group] : {}), [member]: fromJson(value) };
  }
  return { given, faults };
}

/** Groups and lists can be given as JSON on the command line. */
function fromJson(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

function explain(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is no setting';
  if (issue.kind === 'schema' && issue.input === undefined) return 'is required';
  if (issue.type === 'strict_object') return 'must be a group of settings, in JSON';
  // The rules of an e-mail address are the service's own: a word, a colon and a sentence.
  return issue.message.replace(/^\w+: /, '');
}

/** What no single setting can tell. */
function contradictions(given: Record<string, unknown>): string[] {
  const faults: string[] = [];
  if (given.jwtIssuer !== undefined && given.jwtAudience === undefined) {
    faults.push('jwtAudience: is required where jwtIssuer is given');
  }
  if (given.jwtAudience !== undefined && given.jwtIssuer === undefined) {
    faults.push('jwtIssuer: is required where jwtAudience is given');
  }
  const channels = v.safeParse(v.optional(ChannelsSchema, ['email']), given.channels);
  if (channels.success) {
    for (const channel of ['call', 'whatsapp'] as const) {
      if (channels.output.includes(channel) && given[channel] === undefined) {
        faults.push(`${channel}: is required by the channel ${channel}`);
      }
    }
    for (const channel of ['sms', 'call', 'whatsapp'] as const) {
      if (!channels.output.includes(channel) && given[channel] !== undefined) {
        faults.push(`${channel}: is given, but channels does not list ${channel}`);
      }
    }
  }
  if (given.vpcCidr !== undefined && !v.is(v.pipe(flag, v.literal(true)), given.vpc)) {
    faults.push('vpcCidr: is given, but vpc is not true');
  }
  return faults;
}
