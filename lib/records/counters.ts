import { ConditionFailed, type Expression, type Item, type Table } from '../aws/dynamodb.ts';
import { type SlidingWindow, stamp, takeOut } from './sliding-window.ts';

/** One item of the table: the newest places that were taken in it, and its window, which says when there is room for one more. */
export interface Counter {
  readonly pk: string;
  readonly window: SlidingWindow;
}

/** A place that is taken in a counter. */
export interface Place {
  /** As it stands in the database: `<time>#<name>#<turn>`. */
  entry: string;
  /** Epoch milliseconds. */
  at: number;
  /** Whoever has this name has this place: it is not taken twice. */
  name: string;
  /** The turn of the counter under which it was taken, where that was asked for. */
  turn: number | undefined;
}

/** A counter as it stood at a moment. */
export interface CounterState {
  /** Newest first. */
  places: readonly Place[];
  /** Every change of the counter raises it by one. */
  turn: number;
}
export const NEVER_USED: CounterState = { places: [], turn: 0 };

export type Count =
  | { kind: 'granted' | 'held' | 'denied'; state: CounterState }
  /** The database did not answer: the place may be taken or not. */
  | { kind: 'failed' };

export interface Counters {
  /** Reads counters without changing them, in one round trip, in the order in which they are asked for. @throws DatabaseFailure */
  look(counters: readonly Counter[], signal: AbortSignal): Promise<CounterState[]>;
  /**
   * Takes a place where the window has room, in one conditional write. A place that this name has already is `held`: the
   * answer to an earlier write was lost, or whoever took it died.
   * @param turn the place is taken if this is still the counter's turn, and only then: it has room, as whoever asks has seen
   */
  count(counter: Counter, name: string, at: number, signal: AbortSignal, turn?: number): Promise<Count>;
  /** Gives a place back, if it is taken. @returns the counter without it @throws DatabaseFailure */
  giveBack(counter: Counter, name: string, signal: AbortSignal): Promise<CounterState>;
  /** Gives a place another name, if it is taken: the old one has none any more. @throws DatabaseFailure */
  rename(counter: Counter, name: string, newName: string, signal: AbortSignal): Promise<CounterState>;
}

/** Counters in DynamoDB; each is an item that disappears when none of its places counts any more. */
export function countersIn(table: Table): Counters {
  async function read({ pk }: Counter, signal: AbortSignal): Promise<CounterState> {
    return toState(await table.get({ pk }, signal));
  }

  /** @returns the counter after the write, or undefined where a condition kept it as it was */
  async function write({ pk }: Counter, expression: Expression & { update: string }, signal: AbortSignal) {
    try {
      const item = await table.update({ pk }, { ...expression, values: { ...expression.values, ':one': 1 } }, signal);
      return toState(item);
    } catch (error) {
      if (error instanceof ConditionFailed) return undefined;
      throw error;
    }
  }

  /** Changes a place where it stands, if it is there. Where another request moved it meanwhile, it is looked for again. */
  async function change(
    counter: Counter,
    name: string,
    to: (place: Place, slot: number) => [set: string, values: Item],
    signal: AbortSignal,
  ): Promise<CounterState> {
    for (;;) {
      const state = await read(counter, signal);
      const slot = state.places.findIndex((place) => place.name === name);
      const place = state.places[slot];
      if (place === undefined) return state;
      const [set, values] = to(place, slot);
      const expression = {
        update: `SET ${set} ADD turn :one`,
        condition: `t${slot} = :entry`,
        values: { ...values, ':entry': place.entry },
      };
      const changed = await write(counter, expression, signal);
      if (changed !== undefined) return changed;
    }
  }

  return {
    async look(counters, signal) {
      if (counters.length === 0) return [];
      const items = await table.getMany(
        counters.map(({ pk }) => ({ pk })),
        signal,
      );
      return counters.map(({ pk }) => toState(items.find((item) => item.pk === pk)));
    },

    async count(counter, name, at, signal, turn) {
      try {
        const counted = await write(counter, takePlace(counter, name, at, turn), signal);
        if (counted !== undefined) return { kind: 'granted', state: counted };
        const state = await read(counter, signal);
        if (placeOf(counter, state, name, at) !== undefined) return { kind: 'held', state };
        if (state.places.every((place) => place.name !== name)) return { kind: 'denied', state };
        // The place that it has counts for nothing any more.
        const again = await write(counter, takePlace(counter, name, at, turn, true), signal);
        return again === undefined ? { kind: 'denied', state } : { kind: 'granted', state: again };
      } catch {
        return { kind: 'failed' };
      }
    },

    giveBack: (counter, name, signal) =>
      change(counter, name, (_, slot) => [takeOut(counter.window.slots, slot), { ':none': NONE }], signal),

    rename: (counter, name, newName, signal) =>
      change(
        counter,
        name,
        ({ entry }, slot) => [`t${slot} = :new`, { ':new': entry.replace(`#${name}#`, `#${newName}#`) }],
        signal,
      ),
  };
}

/** An empty slot that has one behind it. */
const NONE = stamp(0);

/** @param anew also where the name has a place */
function takePlace({ window }: Counter, name: string, at: number, turn: number | undefined, anew = false) {
  const update = `SET ${window.shiftIn}, expires_at = :expires_at ADD turn :one`;
  const values: Item = {
    ':entry': `${stamp(at)}#${name}#${turn ?? ''}`,
    ':none': NONE,
    ':expires_at': Math.ceil((at + window.longestMs) / 1_000),
  };
  if (turn === 0) return { update, condition: 'attribute_not_exists(turn)', values };
  if (turn !== undefined) return { update, condition: 'turn = :turn', values: { ...values, ':turn': turn } };
  Object.assign(values, window.ages(at));
  if (anew) return { update, condition: window.hasRoom, values };
  return { update, condition: window.hasRoomForNew, values: { ...values, ':name': `#${name}#` } };
}

function toState(item: Item = {}): CounterState {
  const places: Place[] = [];
  for (let slot = 0; ; slot += 1) {
    const entry = item[`t${slot}`];
    if (typeof entry !== 'string' || entry === NONE) break;
    const [at, name = '', turn] = entry.split('#');
    places.push({ entry, at: Number(at), name, turn: turn ? Number(turn) : undefined });
  }
  return { places, turn: typeof item.turn === 'number' ? item.turn : 0 };
}

/** The place that this name has, if it still counts. */
export function placeOf({ window }: Counter, { places }: CounterState, name: string, at: number): Place | undefined {
  return places.find((place) => place.name === name && at - place.at < window.longestMs);
}

/**
 * How long it takes until a counter has room, in milliseconds; 0: it has. Whoever asked a moment before the newest place
 * was taken waits from then on: no longer than the window itself.
 */
export function waitMs({ window }: Counter, { places }: CounterState, at: number): number {
  if (places.length === 0) return 0;
  const times = places.map((place) => place.at);
  if (window.waitMs(times, at) === 0) return 0;
  return Math.max(1, window.waitMs(times, Math.max(at, ...times)));
}
