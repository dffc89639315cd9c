import { randomUUID } from 'node:crypto';
import type { Table } from '../aws/dynamodb.ts';
import type { Pepper } from '../secrets/pepper.ts';
import type { Limits } from '../validators/deployment.ts';
import type { Recipient } from '../validators/registration.ts';
import {
  type Count,
  type Counter,
  type CounterState,
  type Counters,
  countersIn,
  NEVER_USED,
  placeOf,
  waitMs,
} from './counters.ts';
import { limitCounters, type MessageCounters } from './limit-counters.ts';
import { networksIn } from './networks.ts';
import { sourceOf } from './source.ts';

export interface LimitRequest {
  /** What a request and its retries have in common: together they take each place once. Undefined: it has no retries. */
  key: readonly string[] | undefined;
  recipient: Recipient;
  /** The address that calls. */
  source: string;
}

export type Verdict =
  | { kind: 'allowed' }
  | { kind: 'reached'; retryAfterSeconds: number }
  /** The database did not answer for every counter. */
  | { kind: 'unchecked' };

/** What the limits say of one request. Nothing is thrown: where the database does not answer, a place stays taken. */
export interface Admission {
  /** Whether the source may ask; where the database did not answer, it may. */
  readonly ofSource: Verdict;
  /** Counts the message: for its recipient, and for the phone's prefix and country or the mail domain. */
  ofMessage(signal: AbortSignal): Promise<Verdict>;
  /** Counts an unknown form id or referral code in place of the request. */
  ofWrongId(signal: AbortSignal): Promise<Verdict>;
  /** The request was refused for its own faults: the source gets its place back. */
  dropRequest(signal: AbortSignal): Promise<void>;
  /** Another request with the same key has done the work: its places stay. */
  dropRepeat(signal: AbortSignal): Promise<void>;
  /**
   * A limit was reached, or nothing was sent for another reason: recipient, prefix, country and domain get their places
   * back, the source's is used up. Only then may another request with the same key begin.
   */
  dropMessage(signal: AbortSignal): Promise<void>;
}

/** How often registration may be asked for, and how many messages may be sent. */
export interface SendLimits {
  /** Counts the source, and looks at the other counters without changing them, in one round trip. */
  admit(request: LimitRequest, signal: AbortSignal): Promise<Admission>;
}

/**
 * Limits in DynamoDB, one item for each counter. After the pepper is rotated they begin anew. However many requests
 * come at once, none takes another's place:
 *
 * - The source is counted first. Beside it the other counters are only looked at; a request that finds one of them full
 *   changes none of them.
 * - The recipient's counter has a turn, which every change raises, and counts a request only under the turn that the
 *   request has seen. So of all requests that saw one turn a single one gets it, and only that one sends.
 * - Prefix, country and domain are counted beside the recipient, under a name made of the recipient and that turn. All
 *   requests that saw the turn mean the same place: it is taken once, whichever of them writes it, and belongs to the one
 *   that got the turn.
 * - Whoever sends nothing looks at the recipient when all that it counted is written and its own turn given back. If the
 *   turn is over and nobody has it, the place is nobody's: it is given back. So the last of them leaves nothing behind.
 *
 * @param now epoch milliseconds
 */
export function sendLimits(table: Table, limits: Limits, now: () => number = Date.now): (pepper: Pepper) => SendLimits {
  const peppered = limitCounters(limits);
  const counters = countersIn(table);
  const networks = networksIn(table, limits.networkSourcesPerHour);
  return (pepper) => ({
    async admit({ key, recipient, source: address }, signal) {
      const at = now();
      const { ofSource, ofMessage, nameOf } = peppered(pepper);
      const name = key === undefined ? randomName() : shortName(nameOf('request', JSON.stringify(key)));
      const source = sourceOf(address);
      const { own, wrong } = ofSource(source);
      const [counted, networkWaitMs, [message, states]] = await Promise.all([
        counters.count(own, name, at, signal),
        source.network === undefined
          ? 0
          : networks.join(nameOf('network', source.network), shortName(own.pk), at, signal).catch(() => undefined),
        ofMessage(recipient).then((found) => lookAt(counters, wrong, found, signal)),
      ]);
      return new CountedRequest({
        counters,
        name,
        hasRetries: key !== undefined,
        at,
        own,
        counted,
        networkWaitMs,
        wrong,
        message,
        states,
      });
    },
  });
}

/** Counters as they stand; undefined where the database does not answer. */
async function lookAt(counters: Counters, wrong: Counter, message: MessageCounters, signal: AbortSignal) {
  const looked = [wrong, message.recipient, ...message.shared];
  const states = await counters.look(looked, signal).catch(() => undefined);
  const byCounter = states && new Map(looked.map((counter, index) => [counter, states[index] ?? NEVER_USED]));
  return [message, byCounter] as const;
}

/** What is known of a request when its source is counted. */
interface Counted {
  counters: Counters;
  /** Of its places. */
  name: string;
  hasRetries: boolean;
  /** Epoch milliseconds. */
  at: number;
  /** Of the source. */
  own: Counter;
  counted: Count;
  /** Undefined where the database did not answer. */
  networkWaitMs: number | undefined;
  wrong: Counter;
  message: MessageCounters;
  /** Of `wrong` and of the message's counters; undefined where the database did not answer. */
  states: ReadonlyMap<Counter, CounterState> | undefined;
}

/** How the message was counted: the recipient under the turn, the others under the name that is made of both. */
interface CountedMessage {
  /** Undefined where the counters could not be looked at. */
  turn: number | undefined;
  sharedName: string;
  recipient: Count;
  /** Empty where the counters could not be looked at. */
  shared: readonly Counter[];
}

class CountedRequest implements Admission {
  readonly #known: Counted;
  #message: CountedMessage | undefined;

  constructor(known: Counted) {
    this.#known = known;
  }

  get ofSource(): Verdict {
    const { counted, own, wrong, message, networkWaitMs = 0, at } = this.#known;
    const denied = counted.kind === 'denied';
    if (!denied && networkWaitMs === 0 && this.#waitMs(wrong) === 0) return { kind: 'allowed' };
    const others = [wrong, message.recipient, ...message.shared].map((counter) => this.#waitMs(counter));
    return reached([denied ? waitMs(own, counted.state, at) : 0, networkWaitMs, ...others]);
  }

  async ofMessage(signal: AbortSignal): Promise<Verdict> {
    const { counters, name, message, states, at } = this.#known;
    const { recipient } = message;
    const state = states?.get(recipient);
    // Where nothing could be looked at, it is not known which place is meant.
    const shared = state === undefined ? [] : message.shared;
    const held = state && placeOf(recipient, state, name, at);
    const turn = held?.turn ?? state?.turn;
    const sharedName = `${shortName(recipient.pk)}.${turn}`;
    const full = [this.#waitMs(recipient, name), ...shared.map((one) => this.#waitMs(one, sharedName))];
    if (Math.max(...full) > 0) return reached(full);

    const [toRecipient, ...toShared] = await Promise.all([
      // What it has already, it had in an earlier turn, if in any.
      counters.count(recipient, name, at, signal, held === undefined ? turn : held.turn),
      ...shared.map((counter) => counters.count(counter, sharedName, at, signal)),
    ]);
    this.#message = { turn, sharedName, recipient: toRecipient, shared };
    return this.#verdict([toRecipient, ...toShared]);
  }

  #verdict(counts: readonly Count[]): Verdict {
    const { message, states, counted, networkWaitMs, at } = this.#known;
    const waits = [message.recipient, ...message.shared].flatMap((counter, index) => {
      const count = counts[index];
      return count?.kind === 'denied' ? [waitMs(counter, count.state, at)] : [];
    });
    if (waits.length > 0) return reached(waits);
    const answered = states !== undefined && networkWaitMs !== undefined;
    const failed = [counted, ...counts].some(({ kind }) => kind === 'failed');
    return { kind: answered && !failed ? 'allowed' : 'unchecked' };
  }

  async ofWrongId(signal: AbortSignal): Promise<Verdict> {
    const { counters, wrong, at } = this.#known;
    const [count] = await Promise.all([
      // Under a name of its own: with one key many ids may be guessed.
      counters.count(wrong, randomName(), at, signal),
      this.dropRequest(signal),
    ]);
    return count.kind === 'denied' ? reached([waitMs(wrong, count.state, at)]) : { kind: 'allowed' };
  }

  async dropRequest(signal: AbortSignal): Promise<void> {
    const { counters, own, name, counted } = this.#known;
    if (counted.kind !== 'denied') await counters.giveBack(own, name, signal).catch(() => {});
  }

  async dropRepeat(signal: AbortSignal): Promise<void> {
    if (this.#known.counted.kind === 'granted') await this.dropRequest(signal);
  }

  async dropMessage(signal: AbortSignal): Promise<void> {
    const { counters, own, name, hasRetries, counted } = this.#known;
    await Promise.allSettled([
      this.#giveMessageBack(signal),
      // A later request with the same key is another one.
      hasRetries && counted.kind !== 'denied' && counters.rename(own, name, randomName(), signal),
    ]);
  }

  async #giveMessageBack(signal: AbortSignal): Promise<void> {
    const counted = this.#message;
    if (counted === undefined) return;
    const { turn, sharedName, shared } = counted;
    const recipient = await this.#giveTurnBack(counted.recipient, signal);
    const isOver = turn !== undefined && recipient.turn > turn && recipient.places.every((one) => one.turn !== turn);
    if (isOver) await Promise.all(shared.map((one) => this.#known.counters.giveBack(one, sharedName, signal)));
  }

  /** @returns the recipient's counter as it stands after everything that this request has written */
  async #giveTurnBack({ kind }: Count, signal: AbortSignal): Promise<CounterState> {
    const { counters, name, message } = this.#known;
    if (kind !== 'denied') return await counters.giveBack(message.recipient, name, signal);
    const [state = NEVER_USED] = await counters.look([message.recipient], signal);
    return state;
  }

  /** As the counter was looked at; 0 also where it was not, or where this name has a place. */
  #waitMs(counter: Counter, name?: string): number {
    const { states, at } = this.#known;
    const state = states?.get(counter);
    if (state === undefined || (name !== undefined && placeOf(counter, state, name, at) !== undefined)) return 0;
    return waitMs(counter, state, at);
  }
}

function reached(waitsMs: readonly number[]): Verdict {
  return { kind: 'reached', retryAfterSeconds: Math.max(1, Math.ceil(Math.max(...waitsMs) / 1_000)) };
}

/** Of an item's name, which ends with an HMAC: enough to tell requests and counters apart. */
function shortName(name: string): string {
  return name.slice(-16);
}

/** As short; 62 bits of it are random. */
function randomName(): string {
  return randomUUID().slice(-17);
}
