import type { Delivery } from './delivery-queue.ts';
import type { Fault, FaultKind } from './faults.ts';
import type { FirstCalls } from './first-calls.ts';
import { findCode } from './one-time-code.ts';
import type { SentMessage } from './outbox.ts';
import type { SimulatedAccount } from './platforms/account-store.ts';
import type { LocalClient, ReceivedMessage } from './stand-ins/crm.ts';
import type { BusEvent } from './stand-ins/events.ts';

/** The state that the page at `/_local` shows, and how it is derived. `outbox-page.ts` sends it. */

/** A message without its HTML, which the page loads into a frame of its own. */
export type ShownMessage = Omit<SentMessage, 'html'> & {
  html: boolean;
  /** The one-time password, if the message has one. */
  code?: string;
};

export interface OutboxState {
  /** Newest first, at most `SHOWN_PER_KIND` of each kind. */
  messages: ShownMessage[];
  /** How many messages of each kind there are, including those not shown. */
  counts: Record<SentMessage['kind'], number>;
}

/** The accounts by connection id, newest first. */
export type AccountsState = Record<string, { total: number; newest: SimulatedAccount[] }>;

/** As `GET /_local/faults` shows them. The version of a target grows with every change of its faults. */
export type FaultsState = Record<string, { kinds: readonly FaultKind[]; waiting: Fault[]; version: number }>;

/**
 * The events, their deliveries to the CRM, the messages that the CRM accepted, and the clients that it created; newest
 * first.
 */
export interface CrmState {
  /** How many events there are, including those not shown. */
  total: number;
  events: { id: string; type: string; at: string; detail: Record<string, unknown> }[];
  clients: LocalClient[];
  deliveries: Delivery[];
  received: ReceivedMessage[];
}

/** The parts of the page. Each is sent whole, under its name. */
export interface PageState {
  /** Calls to try with the records that the service has. */
  calls: FirstCalls;
  outbox: OutboxState;
  accounts: AccountsState;
  faults: FaultsState;
  crm: CrmState;
}

/** The sources of the page's data. */
export interface LiveSources {
  outbox: { list(): readonly SentMessage[] };
  platforms: ReadonlyMap<string, { accounts(): SimulatedAccount[] }>;
  firstCalls: FirstCalls;
  faults(): FaultsState;
  bus: { list(): readonly BusEvent[] };
  deliveries: { list(): readonly Delivery[] };
  crm: { clients(): LocalClient[]; received(): ReceivedMessage[] } | undefined;
}

/** A load test makes thousands: this many of the newest of each kind, and of each server, are shown. */
export const SHOWN_PER_KIND = 50;

/** The state of one page: it remembers the sent state and returns only changed parts. */
export class LiveState {
  readonly #sources: LiveSources;
  readonly #sent = new Map<string, string>();

  constructor(sources: LiveSources) {
    this.#sources = sources;
  }

  /** The parts that changed since the last call, as JSON by name; the first call returns all. */
  next(): [name: string, json: string][] {
    const state: PageState = {
      calls: this.#sources.firstCalls,
      outbox: outboxState(this.#sources.outbox.list()),
      accounts: accountsState(this.#sources),
      faults: this.#sources.faults(),
      crm: crmState(this.#sources),
    };
    const parts = Object.entries(state).map(([name, part]): [string, string] => [name, JSON.stringify(part)]);
    const changed = parts.filter(([name, json]) => this.#sent.get(name) !== json);
    for (const [name, json] of changed) this.#sent.set(name, json);
    return changed;
  }
}

function outboxState(all: readonly SentMessage[]): OutboxState {
  const counts = { email: 0, sms: 0, call: 0, whatsapp: 0, popup: 0 };
  const messages = all.toReversed().filter(({ kind }) => {
    counts[kind] += 1;
    return counts[kind] <= SHOWN_PER_KIND;
  });
  return { messages: messages.map(shownMessage), counts };
}

function shownMessage({ html, ...message }: SentMessage): ShownMessage {
  const code = findCode(message);
  return { ...message, html: html !== undefined, ...(code === undefined ? {} : { code }) };
}

function crmState({ bus, deliveries, crm }: LiveSources): CrmState {
  const all = bus.list();
  const events = all
    .slice(-SHOWN_PER_KIND)
    .toReversed()
    .map(({ id, 'detail-type': type, time: at, detail }) => ({ id, type, at, detail }));
  const newest = <T>(list: readonly T[] = []) => list.slice(-SHOWN_PER_KIND).toReversed();
  return {
    total: all.length,
    events,
    clients: newest(crm?.clients()),
    deliveries: newest(deliveries.list()),
    received: newest(crm?.received()),
  };
}

function accountsState({ platforms }: LiveSources): AccountsState {
  return Object.fromEntries(
    [...platforms].map(([id, server]) => {
      const accounts = server.accounts();
      return [id, { total: accounts.length, newest: accounts.slice(-SHOWN_PER_KIND).toReversed() }];
    }),
  );
}
