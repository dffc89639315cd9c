/** The lengths of the windows of limits, in milliseconds. */
export const WINDOW_MS = { ten_minutes: 600_000, hour: 3_600_000, day: 86_400_000 } as const;
export type LimitWindow = keyof typeof WINDOW_MS;
const WINDOW_WORDS: Readonly<Record<LimitWindow, string>> = {
  ten_minutes: 'in 10 minutes',
  hour: 'in an hour',
  day: 'in 24 hours',
};

interface CountLimit {
  /** The default. */
  readonly usual: number;
  readonly window: LimitWindow;
  /** Its row of `COUNTERS` in `lib/limits/counters.ts`: when it counts, and what it counts together. */
  readonly counter: string;
  /** What it counts, after a number, for the reference and the page of settings. */
  readonly words: string;
}

/**
 * Every limit that is a count, by its setting (`limits.<name>`), in the order of the pages. Functions do not read the
 * words, which are 0.7 kB of the bundles of registrations.
 */
export const COUNT_LIMITS = {
  recipientPerHour: { usual: 5, window: 'hour', counter: 'recipient', words: 'messages to a recipient' },
  recipientPerDay: { usual: 10, window: 'day', counter: 'recipient', words: 'messages to a recipient' },
  sourcePer10Minutes: {
    usual: 5,
    window: 'ten_minutes',
    counter: 'source',
    words: 'requests from a source address (IPv6: a /64)',
  },
  sourcePerHour: { usual: 20, window: 'hour', counter: 'source', words: 'requests from a source address' },
  /** A single customer of a provider may have a /48. */
  networkSourcesPerHour: {
    usual: 20,
    window: 'hour',
    counter: 'network',
    words: 'source addresses (/64) of one /48 of IPv6',
  },
  prefixPerHour: {
    usual: 10,
    window: 'hour',
    counter: 'prefix',
    words: 'messages to a phone prefix (the number without its last four digits)',
  },
  countryPerHour: {
    usual: 500,
    window: 'hour',
    counter: 'country',
    words: 'messages by one phone channel to a country',
  },
  channelPerDay: {
    usual: 5_000,
    window: 'day',
    counter: 'channel',
    words: 'messages by one phone channel to all countries',
  },
  mailDomainPerHour: {
    usual: 200,
    window: 'hour',
    counter: 'domain',
    words: 'messages to a registrable mail domain (except mail providers with millions of people)',
  },
  wrongIdsPer10Minutes: {
    usual: 30,
    window: 'ten_minutes',
    counter: 'wrong',
    words: 'unknown form ids and referral codes from a source address',
  },
  replaysPerHour: { usual: 30, window: 'hour', counter: 'replay', words: 'repeats of one `Idempotency-Key`' },
  confirmationsPer10Minutes: {
    usual: 10,
    window: 'ten_minutes',
    counter: 'confirmation',
    words: 'confirmations from a source address',
  },
  confirmationNetworkSourcesPerHour: {
    usual: 20,
    window: 'hour',
    counter: 'confirmation_network',
    words: 'source addresses (/64) of one /48 of IPv6 that confirm',
  },
} as const satisfies Record<string, CountLimit>;
export type CountLimitName = keyof typeof COUNT_LIMITS;
export const COUNT_LIMIT_NAMES = Object.keys(COUNT_LIMITS) as CountLimitName[];
/** A counter that a limit is of. */
export type LimitedCounter = (typeof COUNT_LIMITS)[CountLimitName]['counter'];

/** What a limit counts and for how long: `messages to a recipient in an hour`. */
export function limitWords(name: CountLimitName): string {
  const { words, window } = COUNT_LIMITS[name];
  return `${words} ${WINDOW_WORDS[window]}`;
}
