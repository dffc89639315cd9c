/** The lengths of the windows of limits, in milliseconds. */
export const WINDOW_MS = { minute: 60_000, ten_minutes: 600_000, hour: 3_600_000, day: 86_400_000 } as const;
export type LimitWindow = keyof typeof WINDOW_MS;
const WINDOW_WORDS: Readonly<Record<LimitWindow, string>> = {
  minute: 'in a minute',
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

const SOURCE_REQUESTS = 'requests from a source address (IPv6: a /64)';
const SOURCE_MESSAGES = 'messages that a source address asks for';
const RECIPIENT_MESSAGES = 'messages to a recipient';

/**
 * Every limit that is a count, by its setting (`limits.<name>`), in the order of the pages. Functions do not read the
 * words, which are 0.7 kB of the bundles of registrations.
 */
export const COUNT_LIMITS = {
  sourceRequestsPer10Minutes: { usual: 10, window: 'ten_minutes', counter: 'source', words: SOURCE_REQUESTS },
  sourceRequestsPerHour: { usual: 40, window: 'hour', counter: 'source', words: SOURCE_REQUESTS },
  /** A single customer of a provider may have a /48. */
  networkRequestsPerHour: { usual: 100, window: 'hour', counter: 'network', words: 'requests from a /48 of IPv6' },
  sourceMessagesPer10Minutes: { usual: 5, window: 'ten_minutes', counter: 'sender', words: SOURCE_MESSAGES },
  sourceMessagesPerHour: { usual: 20, window: 'hour', counter: 'sender', words: SOURCE_MESSAGES },
  recipientMessagesPerMinute: { usual: 1, window: 'minute', counter: 'recipient', words: RECIPIENT_MESSAGES },
  recipientMessagesPerHour: { usual: 5, window: 'hour', counter: 'recipient', words: RECIPIENT_MESSAGES },
  recipientMessagesPerDay: { usual: 10, window: 'day', counter: 'recipient', words: RECIPIENT_MESSAGES },
  prefixMessagesPerHour: {
    usual: 10,
    window: 'hour',
    counter: 'prefix',
    words: 'messages to a phone prefix (the number without its last four digits)',
  },
  countryMessagesPerHour: {
    usual: 500,
    window: 'hour',
    counter: 'country',
    words: 'messages by one phone channel to a country',
  },
  channelMessagesPerDay: {
    usual: 5_000,
    window: 'day',
    counter: 'channel',
    words: 'messages by one phone channel to all countries',
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
