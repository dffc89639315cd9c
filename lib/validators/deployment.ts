import * as v from 'valibot';
import { hasPhoneNumbers } from './countries.ts';
import { asciiEmail, EmailSchema } from './email.ts';
import { COUNT_LIMIT_NAMES, COUNT_LIMITS, type CountLimitName } from './limits.ts';
import { type Channel, eitherOf, OTP_TYPES, PHONE_CHANNELS } from './otp-types.ts';
import { closedObject, isObject } from './primitives.ts';
import {
  dollarAmount,
  E164_NUMBER,
  flag,
  HOST_NAME,
  HOST_NAME_MUST,
  listOf,
  noneOr,
  numberBetween,
  patternText,
  wholeNumber,
} from './setting-types.ts';

/**
 * The settings of a deployment that reach a function, with their rules and defaults. Each is declared only here.
 * `infra/settings.ts` reads them from cdk.json and the command line, the stack puts them as one file next to a
 * function's code, and `lib/config.ts` reads that file.
 */

const MAX_COUNT = 1_000_000;
/** A number of requests or messages. The word `none` switches a limit off. */
const limit = (usual: number) =>
  v.optional(noneOr(wholeNumber(1, MAX_COUNT), `must be a whole number from 1 to ${MAX_COUNT}, or none`), usual);
const MAX_WAITS = 9;
const WAITS_MUST = `must list 1 to ${MAX_WAITS} waits of 1 to 86400 seconds, or be the word none`;

const secretName = patternText(/^[\w/+=.@!-]{1,512}$/, 'must be the name of a secret of Secrets Manager');
const template = patternText(
  /^[a-z0-9_]{1,512}$/,
  'must be the name of a template: small letters, digits, underscores',
);

/** Every listed channel once, in the order of the specification. */
const ChannelsSchema = v.pipe(
  v.array(v.picklist(OTP_TYPES, `must list ${eitherOf(OTP_TYPES)}`), 'must be a list, or a text with commas'),
  v.includes('email', 'must list email, which every deployment has'),
  v.transform((given) => OTP_TYPES.filter((channel) => given.includes(channel))),
);

const COUNTRIES_MUST = 'must list countries by their codes such as GB, or be the word all';
/** The settings of all channels to phones. */
const PhoneSchema = closedObject({
  /**
   * Whose numbers get messages: codes of ISO 3166-1, or the word `all` alone. Only served countries can be abused for
   * toll fraud.
   */
  countries: v.pipe(
    v.array(v.pipe(v.string(COUNTRIES_MUST), v.check(isCountry, COUNTRIES_MUST)), COUNTRIES_MUST),
    v.minLength(1, COUNTRIES_MUST),
    v.check((given) => given.length === 1 || !given.includes(ALL_COUNTRIES), COUNTRIES_MUST),
  ),
});

/** The word in `phone.countries` with which numbers of every country get messages. */
export const ALL_COUNTRIES = 'all';

function isCountry(code: string): boolean {
  return code === ALL_COUNTRIES || hasPhoneNumbers(code);
}

/**
 * `sms` by SNS. India's DLT registers the text of every language as a template, and its operators drop any other text. The
 * template's id would have to follow our texts at each change, so a broker that serves India uses its own provider.
 */
const SmsSchema = closedObject({
  /** The sender's name, in countries that allow names. */
  senderId: v.optional(
    patternText(/^(?=.*[A-Za-z])[A-Za-z0-9]{1,11}$/, 'must be 1 to 11 letters and digits, one a letter'),
  ),
  /** The sender's number, of this account. */
  originationNumber: v.optional(patternText(E164_NUMBER, 'must be a phone number such as +15550100123')),
  /** The maximum price of one text in US dollars. A more expensive one is not sent. */
  maxPrice: v.optional(dollarAmount, '0.50'),
  /** The registration page's domain, on which browsers fill in the code (WebOTP). */
  webOtpDomain: v.optional(patternText(HOST_NAME, HOST_NAME_MUST)),
});
export type SmsSettings = v.InferOutput<typeof SmsSchema>;

/** Calls by AWS End User Messaging. */
const CallSchema = closedObject({
  /** The calling number or pool of numbers. By id or ARN, so that the right to call can be limited to it. */
  originationIdentity: patternText(
    /^(arn:aws[\w-]*:sms-voice:[\w-]+:\d{12}:(phone-number|pool)\/(phone|pool)-\w+|(phone|pool)-\w+)$/,
    'must be the id or ARN of a number (phone-…) or of a pool (pool-…)',
  ),
});
export type CallSettings = v.InferOutput<typeof CallSchema>;

const LANGUAGES_MUST = 'must list languages such as de and zh-Hant, en among them';
/** WhatsApp by AWS End User Messaging Social. */
const WhatsAppSchema = closedObject({
  phoneNumberId: patternText(/^phone-number-id-\w+$/, 'must be the id of a linked number (phone-number-id-…)'),
  /** An approved authentication template. */
  codeTemplate: template,
  /** An approved utility template without parameters: the notice to an owner of the address. */
  noticeTemplate: template,
  /**
   * The languages, as tags such as `de` and `zh-Hant`, in which both templates are approved. Messages in all others are
   * sent in English. Absent: all.
   */
  languages: v.optional(
    v.pipe(listOf(patternText(/^[a-z]{2}(-[A-Z][a-z]{3})?$/, LANGUAGES_MUST)), v.includes('en', LANGUAGES_MUST)),
  ),
});
export type WhatsAppSettings = v.InferOutput<typeof WhatsAppSchema>;

type CountLimitSchemas = Readonly<Record<CountLimitName, ReturnType<typeof limit>>>;

/** How often a person may request and confirm a registration, and how many messages may be sent (lib/limits). */
const LimitsSchema = closedObject({
  /** How long the next message to a recipient waits after the first, second, … of a day; the last wait repeats. */
  resendSeconds: v.optional(
    noneOr(
      v.pipe(v.array(wholeNumber(1, 86_400)), v.minLength(1, WAITS_MUST), v.maxLength(MAX_WAITS, WAITS_MUST)),
      WAITS_MUST,
    ),
    [60, 120, 300, 900],
  ),
  ...(Object.fromEntries(
    COUNT_LIMIT_NAMES.map((name) => [name, limit(COUNT_LIMITS[name].usual)]),
  ) as CountLimitSchemas),
});
export type Limits = v.InferOutput<typeof LimitsSchema>;
/** The limits of a deployment without settings. */
export const DEFAULT_LIMITS: Limits = /* @__PURE__ */ v.parse(LimitsSchema, {});

const LEGAL_MUST =
  'must be a text, or texts by language such as {"en": "…"}, English among them; each of 1 to 3,000 characters';
/** No text begins like an object: JSON with a mistake would end every mail. */
const legalText = v.pipe(v.string(LEGAL_MUST), v.regex(/^(?!\s*\{)[^\x00-\x09\x0b-\x1f\x7f]{1,3000}$/, LEGAL_MUST));
const legalTexts = v.pipe(
  v.record(patternText(/^[a-z]{2}(-[A-Z][a-z]{3})?$/, LEGAL_MUST), legalText, LEGAL_MUST),
  v.check((texts) => Object.hasOwn(texts, 'en'), LEGAL_MUST),
);

/** How the messages look. */
const BrandSchema = closedObject({
  /** The broker's name as people read it. Absent: the domain of the sender address. */
  name: v.optional(patternText(/^[^\x00-\x1f\x7f]{1,64}$/, 'must be 1 to 64 characters on one line')),
  /** The address for replies. Absent: the sender address. */
  supportEmail: v.optional(v.pipe(EmailSchema, v.transform(asciiEmail))),
  /** The color of the header of mails. */
  color: v.optional(patternText(/^#[0-9a-fA-F]{6}$/, 'must be a color such as #0b5cad'), '#0b5cad'),
  /**
   * The end of every mail that the law requires: registered name, number, address, warning. One text, or one by
   * language.
   */
  legal: v.optional(v.union([legalTexts, legalText], LEGAL_MUST)),
  /** The logo in the header of mails, in place of the name. Mail programs load it from this address. */
  logo: v.optional(
    closedObject({
      url: patternText(/^https:\/\/[^\s\x00-\x1f"<>]{1,500}$/, 'must be an https address of an image'),
      alt: patternText(/^[^\x00-\x1f\x7f]{1,64}$/, 'must be 1 to 64 characters on one line'),
    }),
  ),
});

type BrandSettings = v.InferOutput<typeof BrandSchema>;
/** The brand that sends the messages. */
export type Brand = BrandSettings & { name: string; supportEmail: string };

/** The brand, with defaults from the sender. */
export function completeBrand(brand: BrandSettings, senderAddress: string) {
  const { name = emailDomain(senderAddress), supportEmail = senderAddress, color, legal, logo } = brand;
  return { name, supportEmail, color, legal, logo };
}

/** The domain of an email address. */
export function emailDomain(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/** A captcha that every registration needs. */
const CaptchaSchema = v.pipe(
  closedObject({
    provider: v.picklist(['turnstile', 'hcaptcha', 'recaptcha'], 'must be turnstile, hcaptcha or recaptcha'),
    /** The name of the secret that holds the provider's secret key. */
    secret: secretName,
    /** The domains of the pages that captchas are solved on; absent: any that the provider allows. */
    hostnames: v.optional(
      v.pipe(listOf(patternText(HOST_NAME, HOST_NAME_MUST)), v.minLength(1, 'must list at least one')),
    ),
    /** How sure the provider must be that this is a person: 0 accepts every score, 1 nearly none. */
    minScore: v.optional(numberBetween(0, 1)),
  }),
  // A key of reCAPTCHA may be based on scores: then every token is valid, those of programs too.
  v.forward(
    v.check(
      ({ provider, minScore }) => provider !== 'recaptcha' || minScore !== undefined,
      'is required by recaptcha, such as 0.5: without it a score-based key lets every program pass',
    ),
    ['minScore'],
  ),
  v.forward(
    v.check(
      ({ provider, minScore }) => provider !== 'turnstile' || minScore === undefined,
      'has no meaning for turnstile, which gives no scores',
    ),
    ['minScore'],
  ),
);
export type CaptchaSettings = v.InferOutput<typeof CaptchaSchema>;

/** A proxy, or a backend of the broker, that names the person's address. `infra/settings.ts` refuses some headers. */
export const FrontSchema = closedObject({
  /** The request header with the address, in lower case. */
  header: patternText(/^[a-z0-9-]{1,64}$/, 'must be the name of a request header in lower case'),
  /** The name of the secret `{"current": "…", "previous": "…"}` whose value it sends in `x-front-secret`. */
  secret: secretName,
  /** True: a request without that secret is refused, so that requests cannot bypass the proxy. */
  only: v.optional(flag, false),
});
export type FrontSettings = v.InferOutput<typeof FrontSchema>;

/** The default days for which a confirmed registration and its documents are kept for the CRM. */
export const CONFIRMED_DAYS = 30;

/** The address of a system of the broker. `infra/settings.ts` has stricter rules: the local service has receivers of its own. */
const address = v.optional(patternText(/^\S+$/, 'must be an address'));

/** The settings that reach a function, by group. A function reads whole groups. */
export const SETTING_GROUPS = {
  deployment: {
    /** The name of the deployment in its account; part of the stack's name. */
    stage: v.optional(
      patternText(/^[a-z][a-z0-9-]{0,19}$/, 'must be up to 20 small letters, digits and hyphens'),
      'prod',
    ),
  },
  mail: {
    /** The sender of mails. */
    senderAddress: v.pipe(EmailSchema, v.transform(asciiEmail)),
    brand: v.optional(BrandSchema, {}),
  },
  edge: {
    limits: v.optional(LimitsSchema, {}),
    front: v.optional(FrontSchema),
  },
  sending: {
    /** The channels of one-time passwords. */
    channels: v.optional(ChannelsSchema, ['email']),
    phone: v.optional(PhoneSchema),
    sms: v.optional(SmsSchema, {}),
    call: v.optional(CallSchema),
    whatsapp: v.optional(WhatsAppSchema),
    /** The broker's own provider, to which messages of a phone channel are posted instead of AWS. */
    provider: v.optional(closedObject(v.entriesFromList(PHONE_CHANNELS, address))),
    captcha: v.optional(CaptchaSchema),
  },
  confirming: {
    confirmedDays: v.optional(wholeNumber(1, 365), CONFIRMED_DAYS),
  },
  documents: {
    /** True: documents are scanned for malware, and the CRM gets links to those without any. */
    scanDocuments: v.optional(flag),
  },
  crm: {
    /** The address of the CRM that every event is posted to. */
    crmWebhook: address,
  },
} as const satisfies Record<string, v.ObjectEntries>;

export type SettingGroup = keyof typeof SETTING_GROUPS;

/** Every setting that reaches a function. */
export const deploymentEntries = {
  ...SETTING_GROUPS.deployment,
  ...SETTING_GROUPS.mail,
  ...SETTING_GROUPS.edge,
  ...SETTING_GROUPS.sending,
  ...SETTING_GROUPS.confirming,
  ...SETTING_GROUPS.documents,
  ...SETTING_GROUPS.crm,
};

/** Settings that need another one. */
export const DEPENDENT_SETTINGS: readonly (readonly [setting: string, needed: string])[] = [
  ['scanDocuments', 'confirmation'],
  ['scanDocuments', 'crmWebhook'],
];

/** The file with the settings, next to a function's code. */
export const SETTINGS_FILE = 'settings.json';

/** The folder of documents in the bucket. The function may write nowhere else. */
export const DOCUMENTS_FOLDER = 'registrations';
/** The tag of a document whose registration is not confirmed. It disappears after a day. */
export const PENDING_DOCUMENT = { Key: 'registration', Value: 'pending' } as const;

/** The source of every event of this service. */
export const EVENT_SOURCE = 'broker.api';

/** The tag in which Amazon GuardDuty leaves its verdict on a document, and the verdict if there is no malware. */
export const SCAN_TAG = 'GuardDutyMalwareScanStatus';
export const CLEAN_VERDICT = 'NO_THREATS_FOUND';

/**
 * How often an event that the CRM did not accept is delivered again: after 30 seconds, then after twice as long, at most
 * an hour. The last delivery is 24 hours after the first.
 */
export const REDELIVERY = { firstSeconds: 30, maxSeconds: 3_600, deliveries: 31 } as const;

/**
 * The indexes of the table of CRM records. Each has the name of its attribute, and lists only the items that have it:
 * clients by a proven address and by referral code, all other records by their kind.
 */
export const CRM_INDEXES = ['proven_email', 'proven_phone', 'referral_code', 'kind'] as const;
export type CrmIndex = (typeof CRM_INDEXES)[number];

/** The index over the operations that have not ended, oldest first in each shard (lib/openings/ledger.ts). */
export const DUE_INDEX = { name: 'due', shard: 'due_shard', at: 'due_at' } as const;

/** The index of the reservations of logins: each operation's, by its id. */
export const RESERVATION_INDEX = 'operation_id';

/**
 * What is read of a registration's key that version 1.0.0 kept among the operations. The right to read it names these
 * attributes, so it shows nothing of an operation.
 */
export const FORMER_KEY_ATTRIBUTES = [
  ...(['pk', 'fingerprint', 'state', 'lease', 'lease_until'] as const),
  ...(['revision', 'expires_at', 'registration_id'] as const),
] as const;

/**
 * The index over the confirmed registrations, by their ids, with all their attributes. The CRM reads it, and so no
 * registration that is not confirmed.
 */
export const CONFIRMED_INDEX = 'confirmed_id';

/** The environment variable that names a resource: `crmTable` is in `CRM_TABLE`. */
export function variableName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

/** The settings that each channel needs. */
const NEEDED: Readonly<Record<Channel, readonly ('phone' | 'call' | 'whatsapp')[]>> = {
  email: [],
  sms: ['phone'],
  call: ['phone', 'call'],
  whatsapp: ['phone', 'whatsapp'],
};

/** The errors of listed channels without their settings. */
export function missingByChannels(settings: {
  channels: readonly Channel[];
  phone?: unknown;
  call?: unknown;
  whatsapp?: unknown;
  provider?: unknown;
}): string[] {
  return settings.channels.flatMap((channel) =>
    NEEDED[channel]
      .filter((name) => settings[name] === undefined && !(name === channel && hasProvider(settings, channel)))
      .map((name) => `${name === 'phone' ? 'phone.countries' : name}: is required by the channel ${channel}`),
  );
}

/** Whether the messages of a channel go to the broker's own provider, not to AWS. */
export function hasProvider({ provider }: { provider?: unknown }, channel: Channel): boolean {
  return isObject(provider) && provider[channel] !== undefined;
}
