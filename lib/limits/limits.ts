import { randomUUID } from 'node:crypto';
import { type Item, type Table, tryWrite, type UpdateExpression } from '../aws/dynamodb.ts';
import { COUNT_LIMIT_NAMES, COUNT_LIMITS, type LimitWindow, WINDOW_MS } from '../config/limits.ts';
import type { Limits } from '../config/registration-settings.ts';
import { Failure } from '../failure.ts';
import { keyedHash, type Pepper } from '../secrets/keys.ts';
import { COUNTERS, type CountedStep, type LimitedRequest } from './counters.ts';

/**
 * One item of the table. For each window it holds the start (`from_hour`) and the requests that were counted since then
 * (`n_hour`). A window starts with its first request. The item expires when all its windows are over.
 */
interface Counter {
  readonly pk: string;
  /** How many requests may pass in one window. */
  readonly windows: readonly (readonly [window: LimitWindow, max: number])[];
}

interface CountResult {
  /**
   * How long the request must wait, in milliseconds; 0: it is counted and may pass. Undefined: it could not be counted,
   * and the counter could not be read or has room.
   */
  waitMs: number | undefined;
  /** Why the request could not be counted, or the counter not read. */
  failure?: unknown;
}

/** The decision of the limits. `unchecked`: the database did not answer. A count stays, whatever becomes of its request. */
export type LimitDecision =
  | { kind: 'allowed' }
  | { kind: 'unchecked'; failure: unknown }
  | { kind: 'reached'; retryAfterSeconds: number };

export type RegistrationLimits = ReturnType<typeof dynamoLimits>;
export type Arrival = Awaited<ReturnType<RegistrationLimits['countArrival']>>;

/** The writes of one count that may lose against other requests. */
const MAX_ATTEMPTS = 4;

/** The limits of registrations and their messages, in DynamoDB. No method throws. */
export function dynamoLimits(table: Table, limits: Limits, now: () => number = Date.now) {
  /**
   * Counts a request if all windows have room, in one conditional write. The write depends on which windows are over. If
   * the item has changed since it was read, the condition fails, and the next attempt uses the new item. A write that the
   * SDK repeated after a lost answer is recognized by the request's id. If the write fails, a read can still refuse.
   * @param seen the item that was read before; absent: a new one
   * @param readSecond reads the item for the second attempt; absent: from the table, as for later ones
   */
  async function count(
    counter: Counter,
    signal: AbortSignal,
    seen?: Item,
    readSecond?: () => Promise<Item | undefined>,
  ): Promise<CountResult> {
    const { pk } = counter;
    const id = randomUUID();
    const read = () => table.get({ pk }, signal);
    let item = seen;
    let failure: unknown = new Failure('CounterContended');
    try {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const at = now();
        if (item?.counted_by === id) return { waitMs: 0 };
        const wait = waitMs(counter, item, at);
        if (wait > 0) return { waitMs: wait };
        const write = table.update({ pk }, increment(counter, item, id, at), signal);
        if ((await tryWrite(write.then(() => true))) === true) return { waitMs: 0 };
        item = attempt === 1 && readSecond !== undefined ? await readSecond() : await read();
      }
    } catch (error) {
      failure = error;
      // The request may have been counted. One count too many is on the safe side.
      item = await (readSecond ?? read)().catch(() => undefined);
    }
    if (item?.counted_by === id) return { waitMs: 0 };
    const wait = waitMs(counter, item, now());
    return wait > 0 ? { waitMs: wait } : { waitMs: undefined, failure };
  }

  return {
    /** Counts a request as it arrives, and reads the counters of its message in parallel. */
    async countArrival(request: LimitedRequest, pepper: Pepper, signal: AbortSignal) {
      const [arriving, recipient, shared] = (['request', 'recipient', 'message'] as const).map((step) =>
        countersAt(step, limits, request, pepper),
      ) as [Counter[], Counter[], Counter[]];
      const reading = readItems(table, [...arriving, ...recipient, ...shared], signal);
      const see = async ({ pk }: Counter) => (await reading).items?.get(pk);

      /** Counts one after the other: what has used up a limit changes no later counter. */
      async function countInOrder(counters: readonly Counter[], countNext: (counter: Counter) => Promise<CountResult>) {
        const counts: CountResult[] = [];
        for (const counter of counters) {
          const counted = await countNext(counter);
          counts.push(counted);
          if ((counted.waitMs ?? 0) > 0) break;
        }
        return limitDecision(counts);
      }
      const source = await countInOrder(arriving, async (counter) =>
        // The first counter is written while the read is under way.
        counter === arriving[0]
          ? count(counter, signal, undefined, () => see(counter))
          : count(counter, signal, await see(counter)),
      );
      const { items, failure } = await reading;
      const countSeen = (counters: readonly Counter[], until: AbortSignal) =>
        countInOrder(counters, (counter) => count(counter, until, items?.get(counter.pk)));

      return {
        /** The decision for the source. */
        source,
        /** Whether the counters of the message had room for it when they were read. Nothing is counted. */
        room: limitDecision(
          [...recipient, ...shared].map((counter) => ({
            waitMs: items && waitMs(counter, items.get(counter.pk), now()),
            failure,
          })),
        ),
        /** Counts the message for its recipient. Of simultaneous requests one passes. */
        countRecipient: (until: AbortSignal) => countSeen(recipient, until),
        /** Counts the message for all that it shares with others: its source, and a phone's prefix, country and channel. */
        countMessage: (until: AbortSignal) => countSeen(shared, until),
      };
    },
  };
}

/** Reads the items of counters, by their names. Never throws. */
async function readItems(
  table: Table,
  counters: readonly Counter[],
  signal: AbortSignal,
): Promise<{ items?: ReadonlyMap<unknown, Item>; failure?: unknown }> {
  try {
    const items = await table.getMany(
      counters.map(({ pk }) => ({ pk })),
      signal,
    );
    return { items: new Map(items.map((item) => [item.pk, item])) };
  } catch (failure) {
    return { failure };
  }
}

/** The counters that count a request at a step. A limit that is switched off has none. */
function countersAt(step: CountedStep, limits: Limits, request: LimitedRequest, pepper: Pepper): Counter[] {
  return Object.entries(COUNTERS).flatMap(([kind, row]): Counter[] => {
    const windows = COUNT_LIMIT_NAMES.flatMap((name) => {
      const { counter, window } = COUNT_LIMITS[name];
      const { [name]: max } = limits;
      return counter === kind && max !== 'none' ? [[window, max] as const] : [];
    });
    const value = row.step === step && windows.length > 0 ? row.value(request) : undefined;
    if (value === undefined) return [];
    // A keyed hash: the table holds no address. When the pepper is rotated, all counts start again.
    return [{ pk: `${kind}#${keyedHash(pepper.current.hashKey, `${kind}\n${value}`)}`, windows }];
  });
}

/** How long a request must wait for this item, in milliseconds; 0: it may pass. */
function waitMs({ windows }: Counter, item: Item = {}, at: number): number {
  const full = windows.filter(([window, max]) => Number(item[`n_${window}`]) >= max);
  return Math.max(0, ...full.map(([window]) => windowEnd(window, item) - at));
}

function windowEnd(window: LimitWindow, item: Item): number {
  return Number(item[`from_${window}`] ?? 0) + WINDOW_MS[window];
}

/** The write that counts a request: a new window where the old one is over, else one more in the same window. */
function increment({ windows }: Counter, item: Item = {}, id: string, at: number): UpdateExpression {
  // An absent attribute equals nothing and is not greater.
  const conditions = ['NOT counted_by = :id'];
  const changes = ['counted_by = :id', 'expires_at = :expires_at'];
  const values: Item = { ':id': id, ':one': 1 };
  for (const [window, max] of windows) {
    values[`:${window}`] = at - WINDOW_MS[window];
    if (windowEnd(window, item) <= at) {
      changes.push(`n_${window} = :one`, `from_${window} = :at`);
      conditions.push(`NOT from_${window} > :${window}`);
      values[':at'] = at;
    } else {
      changes.push(`n_${window} = n_${window} + :one`);
      conditions.push(`from_${window} > :${window}`, `n_${window} < :max_${window}`);
      values[`:max_${window}`] = max;
    }
  }
  const longest = Math.max(...windows.map(([window]) => WINDOW_MS[window]));
  values[':expires_at'] = Math.ceil((at + longest) / 1_000);
  return { update: `SET ${changes.join(', ')}`, condition: conditions.join(' AND '), values };
}

function limitDecision(counts: readonly CountResult[]): LimitDecision {
  const longestMs = Math.max(0, ...counts.map(({ waitMs = 0 }) => waitMs));
  if (longestMs > 0) return { kind: 'reached', retryAfterSeconds: Math.ceil(longestMs / 1_000) };
  const unchecked = counts.find(({ waitMs }) => waitMs === undefined);
  return unchecked === undefined ? { kind: 'allowed' } : { kind: 'unchecked', failure: unchecked.failure };
}
