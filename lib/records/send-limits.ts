import { createHmac, randomBytes } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { ConditionFailed, type Item, type Table } from '../aws/dynamodb.ts';
import type { Pepper } from '../secrets/pepper.ts';
import { DEFAULT_LIMITS, type Limits } from '../validators/deployment.ts';
import { foldedEmail } from '../validators/email.ts';
import type { Channel } from '../validators/otp-types.ts';
import { atMost, growingPause, type SlidingWindow, slidingWindow, stamp, takeOut } from './sliding-window.ts';

export interface LimitRequest {
  channel: Channel;
  /** An e-mail address, or a phone number in E.164. */
  recipient: string;
  /** The address that calls. */
  source: string;
}

/** What was counted for one request, so that it can be given back. */
interface LimitTicket {
  readonly held: readonly Held[];
}

export type LimitDecision =
  | { kind: 'allowed'; ticket: LimitTicket }
  | { kind: 'reached'; retryAfterSeconds: number }
  /** The database did not answer for every counter; the ticket holds what was counted all the same. */
  | { kind: 'unchecked'; ticket: LimitTicket };

/**
 * How many messages may be sent: to one recipient (channel and folded address), for one source (IPv4 address, or /64
 * of IPv6), and to one phone prefix (the number less its last four digits; not for e-mail).
 */
export interface SendLimits {
  /** Counts a request, in one round trip where it is allowed. A request that is not allowed counts for its source alone. */
  count(request: LimitRequest, signal: AbortSignal): Promise<LimitDecision>;
  /**
   * Nothing was sent: the recipient and the prefix get their slot back, the source does not. Where the database does
   * not answer the slot stays used: never a message too many.
   */
  release(ticket: LimitTicket, signal: AbortSignal): Promise<void>;
}

type CounterKind = 'recipient' | 'source' | 'prefix';

interface Counter {
  kind: CounterKind;
  pk: string;
  window: SlidingWindow;
}

interface Held {
  readonly counter: Counter;
  readonly entry: string;
}

interface Counted {
  counter: Counter;
  entry: string;
  count: 'granted' | 'denied' | 'failed';
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** An empty slot that has one behind it. */
const NONE = stamp(0);
/** Requests for one recipient that begin within this time of each other are taken for simultaneous. */
const SIMULTANEOUS_MS = 5_000;
/** How often a counter is tried again when it changes under our hands; every change is another request's success. */
const MOST_TRIES = 8;

/**
 * Limits in DynamoDB, one item for each counter, named by an HMAC: the table holds no address. After the pepper is
 * rotated the counters begin anew.
 *
 * The counters of a request are counted side by side. A request that one of them denies gives the others back, but for
 * the source: who asks for too much must not use up the allowance of the person asked for, and must not ask for free.
 *
 * @param settings those that differ from `DEFAULT_LIMITS`
 * @param now epoch milliseconds
 * @throws RangeError when a limit is more than can be counted
 */
export function sendLimits(
  table: Table,
  settings: Partial<Limits> = {},
  now: () => number = Date.now,
): (pepper: Pepper) => SendLimits {
  const limits = { ...DEFAULT_LIMITS, ...settings };
  const { resendSeconds } = limits;
  const windows: Record<CounterKind, SlidingWindow> = {
    recipient: slidingWindow([
      ...growingPause(resendSeconds),
      atMost(limits.recipientPerHour, HOUR_MS),
      atMost(limits.recipientPerDay, DAY_MS),
    ]),
    source: slidingWindow([atMost(limits.sourcePer10Minutes, 10 * MINUTE_MS), atMost(limits.sourcePerHour, HOUR_MS)]),
    prefix: slidingWindow([atMost(limits.prefixPerHour, HOUR_MS)]),
  };
  const simultaneousMs = Math.min(SIMULTANEOUS_MS, (resendSeconds[0] ?? 0) * 1_000);

  /** Whether an entry is of a request for the same recipient that came at the same time. */
  function isSimultaneous(one: string, entry: string, at: number): boolean {
    return recipientOf(one) === recipientOf(entry) && timeOf(one) > at - simultaneousMs;
  }

  async function count(
    { pk, window }: Counter,
    entry: string,
    at: number,
    signal: AbortSignal,
  ): Promise<Counted['count']> {
    const { condition, values } = window.condition(at);
    const expiresAt = Math.ceil((at + window.longestMs) / 1_000);
    const expression = {
      update: `SET ${window.shiftIn}, expires_at = :expires_at`,
      condition,
      values: { ...values, ':entry': entry, ':none': NONE, ':expires_at': expiresAt },
    };
    try {
      await table.update({ pk }, expression, signal);
      return 'granted';
    } catch (error) {
      return error instanceof ConditionFailed ? 'denied' : 'failed';
    }
  }

  /**
   * The last word on a counter that denied. It may have denied for two reasons that are none:
   * - Our own entry, when the answer to our write was lost and the database's client repeated it.
   * - An entry of another request for the same recipient that came at the same time. We hold the recipient, so that
   *   request is denied and its entry is ours to take over. Without this, of many requests at once for one recipient
   *   the one that wins the recipient could be another than the ones that win the source, and nobody would be let in.
   * @returns the entry that we hold now, or undefined where the counter denies
   */
  async function appeal(counter: Counter, entry: string, at: number, signal: AbortSignal): Promise<string | undefined> {
    for (let attempt = 0; attempt < MOST_TRIES; attempt += 1) {
      const entries = entriesOf(await table.get({ pk: counter.pk }, signal), counter.window);
      if (entries.includes(entry)) return entry;
      if (counter.kind === 'recipient') return undefined;
      const slot = entries.findIndex((one) => isSimultaneous(one, entry, at));
      const theirs = entries[slot];
      if (theirs !== undefined) {
        const ours = `${theirs.slice(0, NONE.length)}${entry.slice(NONE.length)}`;
        if (await replace(counter, slot, theirs, `t${slot} = :new`, { ':new': ours }, signal)) return ours;
      } else if (counter.window.waitMs(entries.map(timeOf), at) > 0) {
        return undefined;
      } else if ((await count(counter, entry, at, signal)) === 'granted') {
        return entry;
      }
    }
    return undefined;
  }

  /** Hears the appeals; to the source and the prefix only who holds the recipient may appeal. */
  async function settle(counts: Counted[], at: number, signal: AbortSignal): Promise<void> {
    async function hear(one: Counted): Promise<void> {
      if (one.count !== 'denied') return;
      const ours = await appeal(one.counter, one.entry, at, signal).catch(() => undefined);
      if (ours !== undefined) Object.assign(one, { count: 'granted', entry: ours });
    }
    const ofRecipient = counts.filter(({ counter }) => counter.kind === 'recipient');
    await Promise.all(ofRecipient.map(hear));
    if (ofRecipient.every(({ count }) => count === 'granted')) await Promise.all(counts.map(hear));
  }

  /** Writes if this entry still stands in this slot. @returns whether it did */
  async function replace(
    { pk }: Counter,
    slot: number,
    entry: string,
    set: string,
    values: Item,
    signal: AbortSignal,
  ): Promise<boolean> {
    const expression = {
      update: `SET ${set}`,
      condition: `t${slot} = :entry`,
      values: { ...values, ':entry': entry },
    };
    try {
      await table.update({ pk }, expression, signal);
      return true;
    } catch (error) {
      if (error instanceof ConditionFailed) return false;
      throw error;
    }
  }

  /** Takes an entry out of its counter; of the source it stays, as one that nobody takes over. */
  async function giveBack({ counter, entry }: Held, signal: AbortSignal): Promise<void> {
    const { kind, pk, window } = counter;
    let slot = 0;
    for (let attempt = 0; attempt < MOST_TRIES && slot !== -1; attempt += 1) {
      const settled = `${entry.slice(0, NONE.length)}##${entry.split('#')[2]}`;
      const [set, values]: [string, Item] =
        kind === 'source'
          ? [`t${slot} = :settled`, { ':settled': settled }]
          : [takeOut(window.slots, slot), { ':none': NONE }];
      if (await replace(counter, slot, entry, set, values, signal)) return;
      slot = entriesOf(await table.get({ pk }, signal), window).indexOf(entry);
    }
  }

  async function giveAllBack(held: readonly Held[], signal: AbortSignal): Promise<void> {
    // A failure leaves the slot used, which is the safe side.
    await Promise.allSettled(held.map((one) => giveBack(one, signal)));
  }

  /** When every counter would allow the request, in whole seconds from now. */
  async function retryAfterSeconds(counters: Counter[], entry: string, signal: AbortSignal): Promise<number> {
    let items: Item[];
    try {
      items = await table.getMany(
        counters.map(({ pk }) => ({ pk })),
        signal,
      );
    } catch {
      return Math.max(1, resendSeconds[0] ?? 1);
    }
    const at = now();
    const waits = counters.map(({ kind, pk, window }) => {
      const entries = entriesOf(
        items.find((one) => one.pk === pk),
        window,
      );
      // The prefix gets those of simultaneous requests for the recipient back, but for one.
      const first = entries.findLast((one) => isSimultaneous(one, entry, at));
      const lasting = entries.filter((one) => kind !== 'prefix' || one === first || !isSimultaneous(one, entry, at));
      return window.waitMs(lasting.map(timeOf), at);
    });
    return Math.max(1, Math.ceil(Math.max(...waits) / 1_000));
  }

  return (pepper) => {
    const nameOf = (kind: CounterKind, value: string) =>
      createHmac('sha256', pepper.keys[0]).update(`limit\n${kind}\n${value}`).digest('base64url');

    function countersOf({ channel, recipient, source }: LimitRequest): Counter[] {
      const address = channel === 'email' ? foldedEmail(recipient) : recipient;
      const counted: [CounterKind, string][] = [
        ['recipient', `${channel}\n${address}`],
        ['source', sourceNetwork(source)],
      ];
      if (channel !== 'email') counted.push(['prefix', recipient.slice(0, -4)]);
      return counted.map(([kind, value]) => ({ kind, pk: `${kind}#${nameOf(kind, value)}`, window: windows[kind] }));
    }

    return {
      async count(request, signal) {
        const at = now();
        const counters = countersOf(request);
        const recipient = counters[0]?.pk.slice(-12);
        const entry = `${stamp(at)}#${recipient}#${randomBytes(9).toString('base64url')}`;
        const counts = await Promise.all(
          counters.map(async (counter) => ({ counter, entry, count: await count(counter, entry, at, signal) })),
        );
        await settle(counts, at, signal);

        const held = counts.filter(({ count }) => count === 'granted');
        if (counts.some(({ count }) => count === 'denied')) {
          await giveAllBack(
            held.filter(({ counter }) => counter.kind !== 'source'),
            signal,
          );
          return { kind: 'reached', retryAfterSeconds: await retryAfterSeconds(counters, entry, signal) };
        }
        const kind = held.length < counts.length ? 'unchecked' : 'allowed';
        return { kind, ticket: { held } };
      },

      release: ({ held }, signal) => giveAllBack(held, signal),
    };
  };
}

/** The entries of a counter, newest first: `<time>#<recipient>#<a random word of the request>`. */
function entriesOf(item: Item | undefined, { slots }: SlidingWindow): string[] {
  const entries = Array.from({ length: slots }, (_, slot) => item?.[`t${slot}`]);
  return entries.filter((entry) => typeof entry === 'string' && entry !== NONE) as string[];
}

function timeOf(entry: string): number {
  return Number(entry.slice(0, NONE.length));
}

function recipientOf(entry: string): string {
  return entry.split('#')[1] ?? '';
}

/** What counts as one source: an IPv4 address, also where it is written as IPv6; of IPv6 the /64. */
export function sourceNetwork(address: string): string {
  const plain = address.trim().toLowerCase().replace(/%.*$/, '');
  if (isIPv4(plain) || !isIPv6(plain)) return plain;
  const groups = toGroups(plain);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.');
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
}

/** The eight groups of an IPv6 address. */
function toGroups(address: string): number[] {
  const hexadecimal = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...bytes: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.slice(0, 4).map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = '', tail] = hexadecimal.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].map((group) => Number.parseInt(group, 16));
}
