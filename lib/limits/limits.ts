import type { Item, Table } from '../aws/dynamodb.ts';
import { awaitAll } from '../deadline.ts';
import type { Pepper } from '../secrets/pepper.ts';
import type { Limits } from '../validators/deployment.ts';
import type { Recipient } from '../validators/registration.ts';
import { type Count, type Counted, type Counter, count, release, waitMs } from './counter.ts';
import { limitCounters } from './counters.ts';

/** The decision of the limits. `unchecked`: the database did not answer. A refused request may be counted in part. */
export type LimitDecision = { counted: readonly Counted[] } & (
  | { kind: 'allowed' | 'unchecked' }
  | { kind: 'reached'; retryAfterSeconds: number }
);
export type RegistrationLimits = ReturnType<typeof dynamoLimits>;
export type Admission = Awaited<ReturnType<RegistrationLimits['admit']>>;

type SeenItems = ReadonlyMap<unknown, Item>;

/**
 * The limits of registrations and their messages, in DynamoDB. No method that counts throws.
 * @param once makes the same table with a client that repeats no write
 */
export function dynamoLimits(table: Table, once: () => Table, limits: Limits, now: () => number = Date.now) {
  const counters = limitCounters(limits);
  const countAll = async (all: readonly Counter[], signal: AbortSignal, seen?: SeenItems) =>
    decide(await Promise.all(all.map((one) => count({ table, now, signal }, one, seen?.get(one.pk)))));

  return {
    /** Counts a registration request for its source, and reads the other counters in parallel. */
    async admit(asked: { source: string; recipient: Recipient }, pepper: Pepper, signal: AbortSignal) {
      const { source, wrong } = counters.source(pepper, asked.source);
      const messages = counters.message(pepper, asked.recipient);
      const read = async (): Promise<SeenItems> => {
        const { recipient, shared } = await messages;
        const keys = [...source, ...wrong, ...recipient, ...shared].map(({ pk }) => ({ pk }));
        return new Map((await table.getMany(keys, signal)).map((item) => [item.pk, item]));
      };
      const reading = read().catch(() => undefined);
      const early = (one: Counter) => async () => (await reading)?.get(one.pk);
      const counting = countInTurn(source, (one) => count({ table, now, signal }, one, undefined, early(one)));
      const [{ recipient, shared }, seen, counted] = await Promise.all([messages, reading, counting]);
      const look = (all: readonly Counter[]): Count[] =>
        all.map((one) => ({ waitMs: seen && waitMs(one, seen.get(one.pk), now()) }));

      return {
        /** The decision for the source; also reached after too many wrong ids. */
        source: decide([...counted, ...look(wrong)]),
        /** Counts the message for its recipient, if there is room everywhere. Of simultaneous requests one passes. */
        async countRecipient(until: AbortSignal): Promise<LimitDecision> {
          const room = decide(look([...recipient, ...shared]));
          return room.kind === 'reached' ? room : await countAll(recipient, until, seen);
        },
        /** Counts the message for its phone prefix, country and channel, or for its mail domain. */
        countShared: (until: AbortSignal) => countAll(shared, until, seen),
        /** Counts an unknown form id or referral code. */
        countWrongId: (until: AbortSignal) => countAll(wrong, until, seen),
      };
    },

    /** Counts a request that repeats a key. */
    countReplay: (key: readonly string[], pepper: Pepper, signal: AbortSignal) =>
      countAll(counters.replay(pepper, key), signal),

    countConfirmation: async (source: string, pepper: Pepper, signal: AbortSignal) =>
      decide(await countInTurn(counters.confirmation(pepper, source), (one) => count({ table, now, signal }, one))),

    /** Releases the counts of a request that certainly sent nothing. @throws AwsFailure */
    async release(counted: readonly Counted[], signal: AbortSignal): Promise<void> {
      await awaitAll(counted.map((one) => release(one, once(), signal)));
    },
  };
}

/** Counts for the source, then for its network: a source that has used up its limit changes no other counter. */
async function countInTurn(counters: readonly Counter[], countOne: (one: Counter) => Promise<Count>): Promise<Count[]> {
  const counts: Count[] = [];
  for (const one of counters) {
    const counted = await countOne(one);
    counts.push(counted);
    if (counted.waitMs !== undefined && counted.waitMs > 0) break;
  }
  return counts;
}

function decide(counts: readonly Count[]): LimitDecision {
  const counted: Counted[] = [];
  let kind: 'allowed' | 'unchecked' = 'allowed';
  let longestMs = 0;
  for (const one of counts) {
    if (one.counted !== undefined) counted.push(one.counted);
    if (one.waitMs === undefined) kind = 'unchecked';
    else longestMs = Math.max(longestMs, one.waitMs);
  }
  return longestMs > 0
    ? { kind: 'reached', retryAfterSeconds: Math.ceil(longestMs / 1_000), counted }
    : { kind, counted };
}
