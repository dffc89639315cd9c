import { COUNT_LIMIT_NAMES, COUNT_LIMITS, type CountLimitName, type LimitWindow } from '../lib/validators/limits.ts';

/**
 * What each limit counts, as people read it after a number. Setting, default and window are in its row of
 * `lib/validators/limits.ts`, which functions load; they need no words.
 */
const COUNTED: Readonly<Record<CountLimitName, string>> = {
  recipientPerHour: 'messages to a recipient',
  recipientPerDay: 'messages to a recipient',
  sourcePer10Minutes: 'requests from a source address (IPv6: a /64)',
  sourcePerHour: 'requests from a source address',
  networkSourcesPerHour: 'source addresses (/64) of one /48 of IPv6',
  prefixPerHour: 'messages to a phone prefix (the number without its last four digits)',
  countryPerHour: 'messages by one phone channel to a country',
  channelPerDay: 'messages by one phone channel to all countries',
  mailDomainPerHour: 'messages to a registrable mail domain (except mail providers with millions of people)',
  wrongIdsPer10Minutes: 'unknown form ids and referral codes from a source address',
  replaysPerHour: 'repeats of one `Idempotency-Key`',
  confirmationsPer10Minutes: 'confirmations from a source address',
  confirmationNetworkSourcesPerHour: 'source addresses (/64) of one /48 of IPv6 that confirm',
};

const PERIODS: Readonly<Record<LimitWindow, string>> = {
  ten_minutes: 'in 10 minutes',
  hour: 'in an hour',
  day: 'in 24 hours',
};

/** What every limit counts and for how long, in the order of the pages: `messages to a recipient in an hour`. */
export const LIMIT_WORDS: readonly (readonly [name: CountLimitName, words: string])[] = COUNT_LIMIT_NAMES.map(
  (name) => [name, `${COUNTED[name]} ${PERIODS[COUNT_LIMITS[name].window]}`],
);
