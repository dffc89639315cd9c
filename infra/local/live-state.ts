import type { Fault, FaultKind } from './faults.ts';
import type { FirstCalls } from './first-calls.ts';
import type { LocalClient } from './local-crm.ts';
import { oneTimeCode } from './one-time-code.ts';
import type { SentMessage } from './outbox.ts';
import type { SimulatedAccount } from './platforms/simulated-server.ts';
import type { BusEvent } from './stand-ins/events.ts';

/** What the page at `/_local` is told of the service: pure data and how it is made; how it is sent stands in `outbox-page.ts`. */

/** A message without its HTML, which the page loads into a frame of its own. */
export type ShownMessage = Omit<SentMessage, 'html'> & {
  html: boolean;
  /** The one-time password, where the message brings one. */
  code?: string;
};

export interface OutboxEvent {
  /** True: these are all that are to be shown; otherwise they come on top of those before. */
  reset: boolean;
  /** Oldest first. */
  messages: ShownMessage[];
  /** How many there are, also of those that are no longer shown. */
  counts: Record<SentMessage['kind'], number>;
}

/** The accounts by connection id, newest first. */
export type AccountsEvent = Record<string, { total: number; newest: SimulatedAccount[] }>;

/** As `GET /_local/faults` shows them; of two states of a target, the one of the higher version is the newer. */
export type FaultsEvent = Record<string, { kinds: readonly FaultKind[]; waiting: Fault[]; version: number }>;

/** What the CRM heard and made of it, newest first. */
export interface CrmEvent {
  /** How many events were told, also those that are no longer shown. */
  total: number;
  events: { id: string; type: string; at: string; detail: Record<string, unknown> }[];
  clients: LocalClient[];
}

/** What the stream sends, by the name of the event. */
export interface LiveEvents {
  /** Calls to try with the records that the service has; sent once, at the start. */
  calls: FirstCalls;
  outbox: OutboxEvent;
  accounts: AccountsEvent;
  faults: FaultsEvent;
  crm: CrmEvent;
}

/** Where the page's data comes from. */
export interface LiveSources {
  outbox: { list(): readonly SentMessage[] };
  platforms: ReadonlyMap<string, { accounts(): SimulatedAccount[] }>;
  firstCalls: FirstCalls;
  faults(): FaultsEvent;
  bus: { list(): readonly BusEvent[] };
  crm: { clients(): LocalClient[] };
}

/** As many of the newest of each kind, and of each server, are shown: a load test makes thousands. */
export const SHOWN_PER_KIND = 50;

/** What one page has been told so far, so that it is sent what is new alone. */
export class LiveState {
  readonly #sources: LiveSources;
  #messages: readonly SentMessage[] | undefined;
  #lastId = 0;
  readonly #told = new Map<string, string>();

  constructor(sources: LiveSources) {
    this.#sources = sources;
  }

  /** The events since the last call; the first call brings everything. */
  next(): Partial<LiveEvents> {
    const first = this.#messages === undefined;
    const outbox = this.#nextOutbox();
    return {
      ...(first ? { calls: this.#sources.firstCalls } : {}),
      ...(outbox === undefined ? {} : { outbox }),
      ...this.#changed('accounts', accountsOf(this.#sources)),
      ...this.#changed('faults', this.#sources.faults()),
      ...this.#changed('crm', crmOf(this.#sources)),
    };
  }

  /** The state by its name, where it is another than the one that was told last. */
  #changed<Name extends string, State>(name: Name, state: State): { [name in Name]?: State } {
    const now = JSON.stringify(state);
    if (this.#told.get(name) === now) return {};
    this.#told.set(name, now);
    return { [name]: state } as { [name in Name]?: State };
  }

  #nextOutbox(): OutboxEvent | undefined {
    const all = this.#sources.outbox.list();
    // Ids go on counting when the outbox is cleared; the list is another one then.
    const reset = all !== this.#messages;
    const fresh = reset ? all : all.slice(all.findLastIndex(({ id }) => Number(id) <= this.#lastId) + 1);
    this.#messages = all;
    this.#lastId = Number(all.at(-1)?.id ?? this.#lastId);
    if (!reset && fresh.length === 0) return undefined;
    return { reset, messages: newestPerKind(fresh).map(shown), counts: count(all) };
  }
}

function newestPerKind(messages: readonly SentMessage[]): SentMessage[] {
  const seen = count([]);
  return messages
    .toReversed()
    .filter(({ kind }) => {
      seen[kind] += 1;
      return seen[kind] <= SHOWN_PER_KIND;
    })
    .toReversed();
}

function count(messages: readonly SentMessage[]): OutboxEvent['counts'] {
  const counts = { email: 0, sms: 0, call: 0, whatsapp: 0, popup: 0 };
  for (const { kind } of messages) counts[kind] += 1;
  return counts;
}

function shown({ html, ...message }: SentMessage): ShownMessage {
  const code = oneTimeCode(message);
  return { ...message, html: html !== undefined, ...(code === undefined ? {} : { code }) };
}

function crmOf({ bus, crm }: LiveSources): CrmEvent {
  const all = bus.list();
  const events = all
    .slice(-SHOWN_PER_KIND)
    .toReversed()
    .map(({ id, 'detail-type': type, time: at, detail }) => ({ id, type, at, detail }));
  return { total: all.length, events, clients: crm.clients().toReversed().slice(0, SHOWN_PER_KIND) };
}

function accountsOf({ platforms }: LiveSources): AccountsEvent {
  return Object.fromEntries(
    [...platforms].map(([id, server]) => {
      const accounts = server.accounts();
      return [id, { total: accounts.length, newest: accounts.slice(-SHOWN_PER_KIND).toReversed() }];
    }),
  );
}
