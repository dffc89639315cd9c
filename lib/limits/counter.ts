import { randomUUID } from 'node:crypto';
import { type Item, type Table, tryWrite, type Update } from '../aws/dynamodb.ts';
import { awaitAll } from '../deadline.ts';

/** The lengths of windows, in milliseconds. */
const LENGTHS = { ten_minutes: 600_000, hour: 3_600_000, day: 86_400_000 } as const;
export type Window = keyof typeof LENGTHS;

/**
 * One item of the table. For each window it holds the start (`from_hour`) and the requests that were counted since then
 * (`n_hour`). A window starts with its first request. The item expires when all its windows are over.
 */
export interface Counter {
  readonly kind: CounterKind;
  readonly pk: string;
  /** How many requests may pass in one window. */
  readonly windows: readonly (readonly [window: Window, max: number])[];
  /** Seconds until the second, third, … request of a day may pass; the last number repeats. Needs a window of a day. */
  readonly pauses?: readonly number[] | undefined;
  /**
   * Given: different members are counted instead of requests. The item holds the requests of each, so that a member is
   * released with its last request. Needs the window of an hour alone.
   */
  readonly member?: string | undefined;
}

/** What a counter counts for. */
export type CounterKind =
  | 'source'
  | 'network'
  | 'wrong'
  | 'recipient'
  | 'prefix'
  | 'country'
  | 'channel'
  | 'domain'
  | 'replay'
  | 'confirmation'
  | 'confirmation_network';

export interface Count {
  /**
   * How long the request must wait, in milliseconds; 0: it is counted and may pass. Undefined: it could not be counted,
   * and the counter could not be read or has room.
   */
  waitMs: number | undefined;
  /** The counter of the request, its id there, and the item after the write. */
  counted?: { readonly counter: Counter; readonly id: string; readonly item: Item };
}
export type Counted = NonNullable<Count['counted']>;

/** How a request counts. */
export interface Counting {
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
export async function count(
  { table, now, signal }: Counting,
  counter: Counter,
  seen?: Item,
  early?: () => Promise<Item | undefined>,
): Promise<Count> {
  const { pk } = counter;
  const id = randomUUID();
  const read = () => table.get({ pk }, signal);
  let item = seen;
  try {
    for (const readAgain of [early ?? read, read, read, undefined]) {
      const at = now();
      const isOurs = item?.counted_by === id;
      const wait = isOurs ? 0 : waitMs(counter, item, at);
      if (wait > 0) return { waitMs: wait };
      const written = isOurs ? item : await tryWrite(table.update({ pk }, increment(counter, item, id, at), signal));
      if (written !== undefined) return { waitMs: 0, counted: { counter, id, item: written } };
      item = await readAgain?.();
    }
  } catch {
    // Counted or not: one too many is on the safe side.
    item = await (early ?? read)().catch(() => undefined);
    if (item?.counted_by === id) return { waitMs: 0, counted: { counter, id, item } };
  }
  const wait = waitMs(counter, item, now());
  return { waitMs: wait > 0 ? wait : undefined };
}

/** How long a request must wait for this item, in milliseconds; 0: it may pass. */
export function waitMs(counter: Counter, item: Item = {}, at: number): number {
  if (isMember(counter, item, at)) return 0;
  const full = counter.windows.filter(([window, max]) => Number(item[`n_${window}`]) >= max);
  return Math.max(0, Number(item.paused_until ?? 0) - at, ...full.map(([window]) => windowEnd(window, item) - at));
}

function windowEnd(window: Window, item: Item): number {
  return Number(item[`from_${window}`] ?? 0) + LENGTHS[window];
}

function isMember({ member }: Counter, item: Item = {}, at: number): boolean {
  return member !== undefined && windowEnd('hour', item) > at && requestsOf(member, item) > 0;
}

function requestsOf(member: string, { members }: Item): number {
  return Number((members as Record<string, number> | undefined)?.[member] ?? 0);
}

function increment(counter: Counter, item: Item = {}, id: string, at: number): Update {
  if (isMember(counter, item, at)) return memberIncrement(counter.member, id, at);
  const { windows, pauses, member } = counter;
  // An absent attribute equals nothing and is not greater.
  let condition = 'NOT counted_by = :id';
  let update = 'SET counted_by = :id, expires_at = :expires_at';
  let expiresAt = 0;
  const names: Record<string, string> = {};
  const values: Item = { ':id': id, ':one': 1 };
  for (const [window, max] of windows) {
    expiresAt = Math.max(expiresAt, at + LENGTHS[window]);
    values[`:${window}`] = at - LENGTHS[window];
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
  if (member !== undefined && windowEnd('hour', item) <= at) {
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
function memberIncrement(member = '', id: string, at: number): Update {
  return {
    update: 'SET counted_by = :id, members.#member = members.#member + :one',
    condition: 'NOT counted_by = :id AND from_hour > :hour AND attribute_exists(members.#member)',
    names: { '#member': member },
    values: { ':id': id, ':one': 1, ':hour': at - LENGTHS.hour },
  };
}

/**
 * Releases a count if its window is still the same, and ends its pause. @throws AwsFailure
 * @param once a table whose client does not retry: a retry could release another request's count
 */
export async function release({ counter, id, item }: Counted, once: Table, signal: AbortSignal): Promise<void> {
  const { pk, windows, pauses, member } = counter;
  if (member !== undefined) return releaseMember({ pk }, member, Number(item.from_hour), once, signal);
  const writes: Update[] = windows.map(([window]) => ({
    update: `SET n_${window} = n_${window} - :one`,
    condition: `from_${window} = :from`,
    values: { ':one': 1, ':from': item[`from_${window}`] },
  }));
  if (pauses) writes.push({ update: 'REMOVE paused_until', condition: 'counted_by = :id', values: { ':id': id } });
  await awaitAll(writes.map((write) => tryWrite(once.update({ pk }, write, signal))));
}

/** Releases one request of a member, and the member with its last request. */
async function releaseMember(key: { pk: string }, member: string, from: number, once: Table, signal: AbortSignal) {
  const names = { '#member': member };
  const values = { ':one': 1, ':from': from };
  const last: Update = {
    update: 'SET n_hour = n_hour - :one REMOVE members.#member',
    condition: 'from_hour = :from AND members.#member = :one',
    names,
    values,
  };
  const oneOfSeveral: Update = {
    update: 'SET members.#member = members.#member - :one',
    condition: 'from_hour = :from AND members.#member > :one',
    names,
    values,
  };
  // The last one again: another request may have been released between the first two.
  for (const write of [last, oneOfSeveral, last]) {
    if ((await tryWrite(once.update(key, write, signal))) !== undefined) return;
  }
}
