import { randomUUID } from 'node:crypto';
import { type Item, type Table, tryWrite, type UpdateExpression } from '../aws/dynamodb.ts';
import { awaitAll } from '../deadline.ts';
import { Failure } from '../failure.ts';
import { keyedHash, type Pepper } from '../secrets/keys.ts';
import { COUNT_LIMIT_NAMES, COUNT_LIMITS, type LimitWindow, WINDOW_MS } from '../validators/limits.ts';
import type { Limits } from '../validators/registration-settings.ts';
import {
  COUNTERS,
  type Counted,
  type CountedStep,
  type CounterAt,
  type CounterKind,
  type LimitedRequest,
} from './counters.ts';

/**
 * One item of the table. For each window it holds the start (`from_hour`) and the requests that were counted since then
 * (`n_hour`). A window starts with its first request. The item expires when all its windows are over.
 */
export interface Counter {
  readonly kind: CounterKind;
  /** The step at which the counter counts. */
  readonly step: CountedStep;
  readonly pk: string;
  /** How many requests may pass in one window. */
  readonly windows: readonly (readonly [window: LimitWindow, max: number])[];
  /** Seconds until the second, third, … request of a day may pass; the last number repeats. Needs a window of a day. */
  readonly pauses?: readonly number[] | undefined;
  /**
   * Given: different members are counted instead of requests. The item holds the requests of each, so that a member is
   * released with its last request. Needs a single window.
   */
  readonly member?: string | undefined;
}

export interface CountResult {
  /**
   * How long the request must wait, in milliseconds; 0: it is counted and may pass. Undefined: it could not be counted,
   * and the counter could not be read or has room.
   */
  waitMs: number | undefined;
  /** Why the request could not be counted, or the counter not read. */
  failure?: unknown;
  /** The counter of the request, its id there, and the item after the write. */
  counted?: { readonly counter: Counter; readonly id: string; readonly item: Item };
}
export type CountedRequest = NonNullable<CountResult['counted']>;

/** The table, clock and signal of one count. */
interface Counting {
  table: Table;
  now: () => number;
  signal: AbortSignal;
}

/**
 * Counts a request if all windows have room, in one conditional write. The write depends on which windows are over. If
 * the item has changed since it was read, the condition fails, and the next attempt uses the new item. A write that the
 * SDK repeated after a lost answer is recognized by the request's id. If the write fails, a read can still refuse.
 * @param seen the item that was read before; absent: a new one. @param early reads the item for the second attempt
 */
async function count(
  { table, now, signal }: Counting,
  counter: Counter,
  seen?: Item,
  early?: () => Promise<Item | undefined>,
): Promise<CountResult> {
  const { pk } = counter;
  const id = randomUUID();
  const read = () => table.get({ pk }, signal);
  let item = seen;
  let failure: unknown = new Failure('CounterContended');
  try {
    for (const readAgain of [early ?? read, read, read, undefined]) {
      const at = now();
      const isOurs = item?.counted_by === id;
      const wait = isOurs ? 0 : waitMs(counter, item, at);
      if (wait > 0) return { waitMs: wait };
      const written = isOurs
        ? item
        : await tryWrite(table.update({ pk }, increment(counter, item, id, at), signal, true));
      if (written !== undefined) return { waitMs: 0, counted: { counter, id, item: written } };
      item = await readAgain?.();
    }
  } catch (error) {
    failure = error;
    // The request may have been counted. One count too many is on the safe side.
    item = await (early ?? read)().catch(() => undefined);
    if (item?.counted_by === id) return { waitMs: 0, counted: { counter, id, item } };
  }
  const wait = waitMs(counter, item, now());
  return wait > 0 ? { waitMs: wait } : { waitMs: undefined, failure };
}

/** How long a request must wait for this item, in milliseconds; 0: it may pass. */
function waitMs(counter: Counter, item: Item = {}, at: number): number {
  if (isMember(counter, item, at)) return 0;
  const full = counter.windows.filter(([window, max]) => Number(item[`n_${window}`]) >= max);
  return Math.max(0, Number(item.paused_until ?? 0) - at, ...full.map(([window]) => windowEnd(window, item) - at));
}

function windowEnd(window: LimitWindow, item: Item): number {
  return Number(item[`from_${window}`] ?? 0) + WINDOW_MS[window];
}

function isMember({ member, windows }: Counter, item: Item = {}, at: number): boolean {
  return member !== undefined && windowEnd(singleWindow(windows), item) > at && requestsOf(member, item) > 0;
}

/** The window of a counter of members. */
function singleWindow([first]: Counter['windows']): LimitWindow {
  return first?.[0] ?? 'hour';
}

function requestsOf(member: string, { members }: Item): number {
  return Number((members as Record<string, number> | undefined)?.[member] ?? 0);
}

function increment(counter: Counter, item: Item = {}, id: string, at: number): UpdateExpression {
  const { windows, pauses, member } = counter;
  if (isMember(counter, item, at)) return memberIncrement(member, singleWindow(windows), id, at);
  // An absent attribute equals nothing and is not greater.
  let condition = 'NOT counted_by = :id';
  let update = 'SET counted_by = :id, expires_at = :expires_at';
  let expiresAt = 0;
  const names: Record<string, string> = {};
  const values: Item = { ':id': id, ':one': 1 };
  for (const [window, max] of windows) {
    expiresAt = Math.max(expiresAt, at + WINDOW_MS[window]);
    values[`:${window}`] = at - WINDOW_MS[window];
    if (windowEnd(window, item) <= at) {
      update += `, n_${window} = :one, from_${window} = :at`;
      condition += ` AND NOT from_${window} > :${window}`;
      values[':at'] = at;
    } else {
      update += `, n_${window} = n_${window} + :one`;
      condition += ` AND from_${window} > :${window} AND n_${window} < :max_${window}`;
      values[`:max_${window}`] = max;
    }
  }
  values[':expires_at'] = Math.ceil(expiresAt / 1_000);
  if (member !== undefined && windowEnd(singleWindow(windows), item) <= at) {
    update += ', members = :members';
    values[':members'] = { [member]: 1 };
  } else if (member !== undefined) {
    update += ', members.#member = :one';
    condition += ' AND attribute_not_exists(members.#member)';
    names['#member'] = member;
  }
  if (pauses !== undefined) {
    // The pause depends on the day's count, so that count must be unchanged.
    const today = windowEnd('day', item) > at ? Number(item.n_day) : 0;
    const pause = pauses[Math.min(today, pauses.length - 1)] ?? 0;
    condition += ' AND NOT paused_until > :at AND (NOT from_day > :day OR n_day = :today)';
    update += ', paused_until = :paused_until';
    Object.assign(values, { ':at': at, ':today': today, ':paused_until': at + pause * 1_000 });
  }
  return { update, condition, values, ...(Object.keys(names).length > 0 && { names }) };
}

/** Counts one more request of a member that is counted already. */
function memberIncrement(member = '', window: LimitWindow, id: string, at: number): UpdateExpression {
  return {
    update: 'SET counted_by = :id, members.#member = members.#member + :one',
    condition: `NOT counted_by = :id AND from_${window} > :begin AND attribute_exists(members.#member)`,
    names: { '#member': member },
    values: { ':id': id, ':one': 1, ':begin': at - WINDOW_MS[window] },
  };
}

/**
 * Releases a count if its window is still the same, and ends its pause. @throws AwsFailure
 * @param once a table whose client does not retry: a retry could release another request's count
 */
async function release({ counter, id, item }: CountedRequest, once: Table, signal: AbortSignal): Promise<void> {
  const { pk, windows, pauses, member } = counter;
  if (member !== undefined) {
    const window = singleWindow(windows);
    return releaseMember({ pk }, member, [window, Number(item[`from_${window}`])], once, signal);
  }
  const writes: UpdateExpression[] = windows.map(([window]) => ({
    update: `SET n_${window} = n_${window} - :one`,
    condition: `from_${window} = :from`,
    values: { ':one': 1, ':from': item[`from_${window}`] },
  }));
  if (pauses) writes.push({ update: 'REMOVE paused_until', condition: 'counted_by = :id', values: { ':id': id } });
  await awaitAll(writes.map((write) => tryWrite(once.update({ pk }, write, signal))));
}

/** Releases one request of a member, and the member with its last request. */
async function releaseMember(
  key: { pk: string },
  member: string,
  [window, from]: [window: LimitWindow, from: number],
  once: Table,
  signal: AbortSignal,
) {
  const names = { '#member': member };
  const values = { ':one': 1, ':from': from };
  const last: UpdateExpression = {
    update: `SET n_${window} = n_${window} - :one REMOVE members.#member`,
    condition: `from_${window} = :from AND members.#member = :one`,
    names,
    values,
  };
  const oneOfSeveral: UpdateExpression = {
    update: 'SET members.#member = members.#member - :one',
    condition: `from_${window} = :from AND members.#member > :one`,
    names,
    values,
  };
  // The write for the last request is tried again: another request may have been released between the first two.
  for (const write of [last, oneOfSeveral, last]) {
    if ((await tryWrite(once.update(key, write, signal))) !== undefined) return;
  }
}

/** The decision of the limits. `unchecked`: the database did not answer. A refused request may be counted in part. */
export type LimitDecision = { counted: readonly CountedRequest[] } & (
  | { kind: 'allowed' }
  | { kind: 'unchecked'; failure: unknown }
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
  const countersAt = limitCounters(limits);
  const countAll = async (counters: readonly Counter[], signal: AbortSignal, seen?: SeenItems) =>
    limitDecision(await Promise.all(counters.map((one) => count({ table, now, signal }, one, seen?.get(one.pk)))));

  return {
    /** Counts a registration request as it arrives, and reads all other counters in parallel. */
    async admit(asked: LimitedRequest, pepper: Pepper, signal: AbortSignal) {
      const [arrived, wrong] = await Promise.all([
        countersAt('request', asked, pepper),
        countersAt('wrong_id', asked, pepper),
      ]);
      const messages = Promise.all([countersAt('recipient', asked, pepper), countersAt('message', asked, pepper)]);
      const read = async (): Promise<SeenItems> => {
        const keys = [...arrived, ...wrong, ...(await messages).flat()].map(({ pk }) => ({ pk }));
        return new Map((await table.getMany(keys, signal)).map((item) => [item.pk, item]));
      };
      const reading: Promise<{ seen?: SeenItems; failure?: unknown }> = read().then(
        (seen) => ({ seen }),
        (failure: unknown) => ({ failure }),
      );
      const early = async ({ pk }: Counter) => (await reading).seen?.get(pk);
      const counting = countInTurn(arrived, async (one, isFirst) =>
        // The first counter is written while the read is under way. The later ones use what was read.
        isFirst
          ? count({ table, now, signal }, one, undefined, () => early(one))
          : count({ table, now, signal }, one, await early(one)),
      );
      const [[recipient, message], { seen, failure }, counted] = await Promise.all([messages, reading, counting]);
      const look = (counters: readonly Counter[]): CountResult[] =>
        counters.map((one) => ({ waitMs: seen && waitMs(one, seen.get(one.pk), now()), failure }));

      return {
        /** The decision for the source; also reached after too many wrong ids. */
        source: limitDecision([...counted, ...look(wrong)]),
        /** Whether the counters of the message had room for it when they were read. Nothing is counted. */
        roomForMessage: limitDecision(look([...recipient, ...message])),
        /** Counts the message for its recipient. Of simultaneous requests one passes. */
        countRecipient: (until: AbortSignal) => countAll(recipient, until, seen),
        /** Counts the message for all that recipients share: phone prefix, country and channel, or mail domain. */
        countMessage: (until: AbortSignal) => countAll(message, until, seen),
        /** Counts an unknown form id or referral code. */
        countWrongId: async (until: AbortSignal) =>
          limitDecision(
            await countInTurn(wrong, (one) => count({ table, now, signal: until }, one, seen?.get(one.pk))),
          ),
      };
    },

    /** Counts a request that repeats a key. */
    countReplay: async (key: readonly string[], pepper: Pepper, signal: AbortSignal) =>
      countAll(await countersAt('replay', { key }, pepper), signal),

    countConfirmation: async (source: string, pepper: Pepper, signal: AbortSignal) => {
      const counters = await countersAt('confirmation', { source }, pepper);
      return limitDecision(await countInTurn(counters, (one) => count({ table, now, signal }, one)));
    },

    /** Releases the counts of a request that certainly sent nothing. @throws AwsFailure */
    async release(counted: readonly CountedRequest[], signal: AbortSignal): Promise<void> {
      await awaitAll(counted.map((one) => release(one, once(), signal)));
    },
  };
}

/**
 * Counts one counter after the other, such as a source and then its network. After a reached limit, no further counter
 * changes.
 */
async function countInTurn(
  counters: readonly Counter[],
  countOne: (one: Counter, isFirst: boolean) => Promise<CountResult>,
): Promise<CountResult[]> {
  const counts: CountResult[] = [];
  for (const one of counters) {
    const counted = await countOne(one, counts.length === 0);
    counts.push(counted);
    if (counted.waitMs !== undefined && counted.waitMs > 0) break;
  }
  return counts;
}

function limitDecision(counts: readonly CountResult[]): LimitDecision {
  const counted = counts.flatMap((one) => one.counted ?? []);
  const longestMs = Math.max(0, ...counts.map(({ waitMs = 0 }) => waitMs));
  if (longestMs > 0) return { kind: 'reached', retryAfterSeconds: Math.ceil(longestMs / 1_000), counted };
  const unchecked = counts.find(({ waitMs }) => waitMs === undefined);
  return unchecked === undefined
    ? { kind: 'allowed', counted }
    : { kind: 'unchecked', failure: unchecked.failure, counted };
}

/** Lists the counters of a deployment's limits at a step. A disabled limit has none. */
function limitCounters(limits: Limits) {
  const pauses = limits.resendSeconds === 'none' ? undefined : limits.resendSeconds;
  const isCountedToday = pauses !== undefined && limits.recipientPerDay === 'none';
  const windows = COUNT_LIMIT_NAMES.map((name) => ({ ...COUNT_LIMITS[name], max: limits[name] }));
  // The pauses depend on the count of the day.
  if (isCountedToday) windows.push({ ...COUNT_LIMITS.recipientPerDay, max: 1e9 });
  // A guess of an id releases its /64, so that a few guesses do not lock a /48 for an hour. This window counts the
  // guesses.
  const guesses = { counter: 'wrong_network', window: 'ten_minutes', max: limits.networkSourcesPerHour } as const;
  const enabledWindows = (kind: CounterKind): Counter['windows'] =>
    [...windows, guesses].flatMap(({ counter, window, max }) =>
      counter === kind && max !== 'none' ? [[window, max] as const] : [],
    );
  const enabled = (Object.keys(COUNTERS) as CounterKind[])
    .map((kind) => ({ kind, windows: enabledWindows(kind) }))
    .filter(({ windows }) => windows.length > 0);

  return async <S extends CountedStep>(step: S, counted: Counted<S>, pepper: Pepper): Promise<Counter[]> => {
    const found = enabled.map(async ({ kind, windows }): Promise<Counter[]> => {
      const { [kind]: row } = COUNTERS as Record<CounterKind, CounterAt<S>>;
      const value = row.step === step ? await row.value(counted) : undefined;
      if (value === undefined) return [];
      // A keyed hash: the table holds no address. When the pepper is rotated, all counts start again.
      const pk = `${kind}#${keyedHash(pepper.current.hashKey, `${kind}\n${value}`)}`;
      return [
        { kind, step, pk, windows, member: row.member?.(counted), pauses: kind === 'recipient' ? pauses : undefined },
      ];
    });
    return (await Promise.all(found)).flat();
  };
}
