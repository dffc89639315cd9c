/** The lengths of the windows of limits, in milliseconds. */
export const WINDOW_MS = { ten_minutes: 600_000, hour: 3_600_000, day: 86_400_000 } as const;
export type LimitWindow = keyof typeof WINDOW_MS;

interface CountLimit {
  /** The default. */
  readonly usual: number;
  readonly window: LimitWindow;
  /** What it counts: a counter of `lib/limits/limits.ts`. */
  readonly counter: string;
}

/** Every limit that is a count, by its setting (`limits.<name>`), in the order of the pages. */
export const COUNT_LIMITS = {
  /** Messages to one recipient: a channel and an address. */
  recipientPerHour: { usual: 5, window: 'hour', counter: 'recipient' },
  recipientPerDay: { usual: 10, window: 'day', counter: 'recipient' },
  /** Requests of one source: an IPv4 address, or a /64 of IPv6. */
  sourcePer10Minutes: { usual: 5, window: 'ten_minutes', counter: 'source' },
  sourcePerHour: { usual: 20, window: 'hour', counter: 'source' },
  /** Different sources of one /48 of IPv6, which a single customer of a provider may have. */
  networkSourcesPerHour: { usual: 20, window: 'hour', counter: 'network' },
  /** Messages to one phone prefix: the number less its last four digits. */
  prefixPerHour: { usual: 10, window: 'hour', counter: 'prefix' },
  /** Messages to one country by one phone channel. */
  countryPerHour: { usual: 500, window: 'hour', counter: 'country' },
  /** Messages by one phone channel, to all countries. */
  channelPerDay: { usual: 5_000, window: 'day', counter: 'channel' },
  /** Messages to one registrable mail domain, except large mail providers. */
  mailDomainPerHour: { usual: 200, window: 'hour', counter: 'domain' },
  /** Unknown form ids and referral codes of one source. */
  wrongIdsPer10Minutes: { usual: 30, window: 'ten_minutes', counter: 'wrong' },
  /** Requests that repeat an `Idempotency-Key`. */
  replaysPerHour: { usual: 30, window: 'hour', counter: 'replay' },
  /** Confirmations of one source, and different sources of one /48 that confirm. */
  confirmationsPer10Minutes: { usual: 10, window: 'ten_minutes', counter: 'confirmation' },
  confirmationNetworkSourcesPerHour: { usual: 20, window: 'hour', counter: 'confirmation_network' },
} as const satisfies Record<string, CountLimit>;
export type CountLimitName = keyof typeof COUNT_LIMITS;
export const COUNT_LIMIT_NAMES = Object.keys(COUNT_LIMITS) as CountLimitName[];
/** What a limit counts for. */
export type LimitedCounter = (typeof COUNT_LIMITS)[CountLimitName]['counter'];
