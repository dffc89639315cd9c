import { MAX_COUNTED } from '../validators/deployment.ts';

/**
 * Exact sliding windows in one item of the database. The item is a shift register of the newest n entries, `t0` (the
 * newest) to `t<n-1>`; "at most five an hour" holds for a new entry when `t4` is empty or at least an hour old. So one
 * conditional write counts and decides at once, and no race can get past it.
 */

/** That the entry in this slot is at least `ms` old. An empty slot holds none younger. */
interface Clause {
  slot: number;
  ms: number;
}

/** Holds when one of its clauses does. */
export type Rule = readonly Clause[];

const DAY_MS = 24 * 60 * 60_000;

/** At most `count` entries in any `ms`. */
export function atMost(count: number, ms: number): Rule {
  return [{ slot: count - 1, ms }];
}

/** After the k-th entry of 24 hours the next one waits `seconds[k - 1]`, or the last of them. No step shortens the wait. */
export function growingPause(seconds: readonly number[]): Rule[] {
  return seconds.map((pause, slot) => [
    { slot, ms: DAY_MS },
    { slot: 0, ms: pause * 1_000 },
  ]);
}

export interface SlidingWindow {
  /** How many entries the register holds. */
  readonly slots: number;
  /** After this many milliseconds an entry counts for nothing. */
  readonly longestMs: number;
  /** For the database: puts an entry (`:entry`) in front; the oldest one falls out, an empty slot becomes `:none`. */
  readonly shiftIn: string;
  /** For the database: that the rules allow an entry, with the values of `ages`. */
  readonly hasRoom: string;
  /** The same, and that no entry holds a text (`:name`). */
  readonly hasRoomForNew: string;
  /** The values of these conditions. Entries are compared as texts that begin with `stamp`. */
  ages(now: number): Record<string, string>;
  /** How long it takes until the rules allow an entry, in milliseconds; 0: they do. @param times newest first */
  waitMs(times: readonly number[], now: number): number;
}

/** @throws RangeError when a rule looks further back than a register can */
export function slidingWindow(rules: readonly Rule[]): SlidingWindow {
  const clauses = rules.flat();
  // Two at least: DynamoDB refuses values that no expression uses, and a register of one never shifts.
  const slots = Math.max(2, 1 + Math.max(...clauses.map(({ slot }) => slot)));
  if (slots > MAX_COUNTED) throw new RangeError(`A limit counts at most ${MAX_COUNTED} entries.`);
  const hasRoom = rules.map(toCondition).join(' AND ');
  const longestMs = Math.max(...clauses.map(({ ms }) => ms));
  const ages = [...new Set(clauses.map(({ ms }) => ms))].map((ms) => [`:age${ms}`, ms] as const);

  return {
    slots,
    longestMs,
    shiftIn: shiftIn(slots),
    hasRoom,
    hasRoomForNew: `${hasRoom} AND ${lacksName(slots)}`,
    ages: (now) => {
      const values: Record<string, string> = {};
      // Later than every entry of that millisecond, whatever follows its stamp.
      for (const [name, ms] of ages) values[name] = `${stamp(now - ms)}~`;
      return values;
    },
    waitMs: (times, now) => {
      const waits = rules.map((rule) => Math.min(...rule.map(({ slot, ms }) => (times[slot] ?? -ms) + ms - now)));
      return Math.max(0, ...waits);
    },
  };
}

/** Nothing is greater than an age where the slot is not there. */
function toCondition(rule: Rule): string {
  const clauses = rule.map(({ slot, ms }) => `NOT t${slot} > :age${ms}`);
  return clauses.length === 1 ? clauses.join() : `(${clauses.join(' OR ')})`;
}

/** A time in epoch milliseconds as text of a fixed length, so that the order of texts is the order of times. */
export function stamp(at: number): string {
  // The digit in front keeps the zeros behind it.
  return String(1e15 + Math.max(0, at)).slice(1);
}

/** Of many slots in the longer way to read, which has fewer operators: DynamoDB takes 300 in one expression. */
function lacksName(slots: number): string {
  const names = Array.from({ length: slots }, (_, slot) => `contains(t${slot}, :name)`);
  return slots > 75 ? `NOT (${names.join(' OR ')})` : `NOT ${names.join(' AND NOT ')}`;
}

function shiftIn(slots: number): string {
  const moves = Array.from({ length: slots - 1 }, (_, slot) => `t${slot + 1} = if_not_exists(t${slot}, :none)`);
  return ['t0 = :entry', ...moves].join(', ');
}

/** Takes the entry of one slot out again; the ones behind it move up. */
export function takeOut(slots: number, from: number): string {
  const moves = Array.from(
    { length: slots - 1 - from },
    (_, i) => `t${from + i} = if_not_exists(t${from + i + 1}, :none)`,
  );
  return [...moves, `t${slots - 1} = :none`].join(', ');
}
