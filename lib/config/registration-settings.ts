import * as v from 'valibot';
import { ALL_COUNTRIES, hasPhoneNumbers } from '../validators/countries.ts';
import {
  type Channel,
  isPhoneChannel,
  joinWithOr,
  OTP_TYPES,
  PHONE_CHANNELS,
  type PhoneChannel,
} from '../validators/otp-types.ts';
import { closedObject, isObject } from '../validators/primitives.ts';
import { CHANNEL_SETTINGS } from './channel-settings.ts';
import { COUNT_LIMIT_NAMES, COUNT_LIMITS, type CountLimitName } from './limits.ts';
import {
  flag,
  HOST_NAME,
  HOST_NAME_MUST,
  listOf,
  noneOr,
  numberBetween,
  patternText,
  receiverAddress,
  wholeNumber,
} from './setting-types.ts';

/**
 * The settings of registrations, with their rules and defaults: limits, the front, channels and captcha. They are not in
 * `deployment.ts`, so the bundles of the account functions do not have them.
 */

const MAX_COUNT = 1_000_000;
/** A number of requests or messages. The word `none` switches a limit off. */
const limit = (usual: number) =>
  v.optional(noneOr(wholeNumber(1, MAX_COUNT), `must be a whole number from 1 to ${MAX_COUNT}, or none`), usual);

const secretName = patternText(/^[\w/+=.@!-]{1,512}$/, 'must be the name of a secret of Secrets Manager');

/** Every listed channel once, in the order of the specification. */
const ChannelsSchema = v.pipe(
  v.array(v.picklist(OTP_TYPES, `must list ${joinWithOr(OTP_TYPES)}`), 'must be a list, or a text with commas'),
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

function isCountry(code: string): boolean {
  return code === ALL_COUNTRIES || hasPhoneNumbers(code);
}

type CountLimitSchemas = Readonly<Record<CountLimitName, ReturnType<typeof limit>>>;

/** How often a person may request a registration, and how many messages may be sent (lib/limits). */
const LimitsSchema = closedObject({
  ...(Object.fromEntries(
    COUNT_LIMIT_NAMES.map((name) => [name, limit(COUNT_LIMITS[name].usual)]),
  ) as CountLimitSchemas),
});
export type Limits = v.InferOutput<typeof LimitsSchema>;
/** The limits of a deployment without settings. */
export const DEFAULT_LIMITS: Limits = /* @__PURE__ */ v.parse(LimitsSchema, {});

/**
 * The providers of captchas. `scores`: `never`; `perhaps`, with some keys; `limited`, with keys that need a limit, because
 * they accept every program. `person`: the score of a certain person.
 */
export const CAPTCHA_PROVIDERS = {
  turnstile: { scores: 'never', person: 1 },
  hcaptcha: { scores: 'perhaps', person: 0 },
  recaptcha: { scores: 'limited', person: 1 },
} as const satisfies Record<string, { scores: 'never' | 'perhaps' | 'limited'; person: 0 | 1 }>;
export type CaptchaProvider = keyof typeof CAPTCHA_PROVIDERS;
export const CAPTCHA_PROVIDER_NAMES = Object.keys(CAPTCHA_PROVIDERS) as CaptchaProvider[];

/** A captcha that every registration needs. */
const CaptchaSchema = v.pipe(
  closedObject({
    provider: v.picklist(CAPTCHA_PROVIDER_NAMES, `must be ${joinWithOr(CAPTCHA_PROVIDER_NAMES)}`),
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
      ({ provider, minScore }) => CAPTCHA_PROVIDERS[provider].scores !== 'limited' || minScore !== undefined,
      ({ input }) =>
        `is required by ${input.provider}, such as 0.5: without it a score-based key lets every program pass`,
    ),
    ['minScore'],
  ),
  v.forward(
    v.check(
      ({ provider, minScore }) => CAPTCHA_PROVIDERS[provider].scores !== 'never' || minScore === undefined,
      ({ input }) => `has no meaning for ${input.provider}, which gives no scores`,
    ),
    ['minScore'],
  ),
);
export type CaptchaSettings = v.InferOutput<typeof CaptchaSchema>;

/** A proxy, or a backend of the broker, that names the person's address. `infra/settings.ts` refuses some headers. */
export const FrontSchema = closedObject({
  /** The request header with the address, in lower case. */
  header: patternText(/^[a-z0-9-]{1,64}$/, 'must be the name of a request header in lower case'),
  /** The name of the secret `{"current": "…", "previous": "…"}`. The proxy sends its value in `x-front-secret`. */
  secret: secretName,
  /** True: a request without that secret is refused, so that requests cannot bypass the proxy. */
  only: v.optional(flag, false),
});
export type FrontSettings = v.InferOutput<typeof FrontSchema>;

/** The setting of the edge that both functions of a registration need. */
export const edgeSettings = {
  front: v.optional(FrontSchema),
};
/** The settings that the function for sending one-time passwords needs. */
export const sendingSettings = {
  limits: v.optional(LimitsSchema, {}),
  /** The channels of one-time passwords. */
  channels: v.optional(ChannelsSchema, ['email']),
  phone: v.optional(PhoneSchema),
  ...CHANNEL_SETTINGS,
  /** The broker's own provider, to which messages of a phone channel are posted instead of AWS. */
  provider: v.optional(closedObject(v.entriesFromList(PHONE_CHANNELS, v.optional(receiverAddress)))),
  captcha: v.optional(CaptchaSchema),
};

/**
 * The errors of listed channels that lack settings. A channel of the broker's own provider needs no settings of AWS.
 */
export function missingByChannels(
  settings: { channels: readonly Channel[]; phone?: unknown; provider?: unknown } & { [C in PhoneChannel]?: unknown },
): string[] {
  const { channels, phone } = settings;
  return channels.filter(isPhoneChannel).flatMap((channel) => {
    const isNeeded = CHANNEL_SETTINGS[channel].default === undefined && !hasProvider(settings, channel);
    const lacksOwn = isNeeded && settings[channel] === undefined;
    return [...(phone === undefined ? ['phone.countries'] : []), ...(lacksOwn ? [channel] : [])].map(
      (name) => `${name}: is required by the channel ${channel}`,
    );
  });
}

/** Whether the messages of a channel go to the broker's own provider, not to AWS. */
export function hasProvider({ provider }: { provider?: unknown }, channel: Channel): boolean {
  return isObject(provider) && provider[channel] !== undefined;
}
