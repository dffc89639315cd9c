import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { DeliveryQueue } from './delivery-queue.ts';
import { type FaultTargets, listFaults } from './faults.ts';
import type { FirstCalls } from './first-calls.ts';
import { type Bus, findCode, MESSAGE_KINDS, type MessageKind, type Outbox, type SentMessage } from './outbox.ts';
import { nameParameter, sendPage, sendText } from './pages.ts';
import type { SimulatedAccount } from './platforms/simulated-server.ts';
import type { CrmStandIn } from './stand-ins/receivers.ts';

/** The sources of the page's data. */
export interface LiveSources {
  outbox: Outbox;
  /** The simulated trading servers by connection id. */
  platforms: ReadonlyMap<string, { accounts(): SimulatedAccount[] }>;
  /** The calls that the page suggests. */
  firstCalls: FirstCalls;
  targets: FaultTargets;
  bus: Bus;
  deliveries: DeliveryQueue;
  /** The CRM, unless the events go to another one. */
  crm: CrmStandIn | undefined;
}

/**
 * The number of the newest messages of each kind, and of the newest accounts of each server, that the page shows. A
 * load test makes thousands.
 */
export const SHOWN_PER_KIND = 50;

/** The parts of the page at `/_local`. Each is sent whole, under its name. */
export type PageState = ReturnType<typeof pageState>;
export type OutboxState = PageState['outbox'];
export type AccountsState = PageState['accounts'];
export type FaultsState = PageState['faults'];
export type CrmState = PageState['crm'];
/** A message without its HTML, which the page loads into a frame of its own. */
export type ShownMessage = ReturnType<typeof shownMessage>;

function pageState({ outbox, platforms, firstCalls, targets, bus, deliveries, crm }: LiveSources) {
  const events = bus.list();
  const servers = [...platforms].map(([id, server]) => {
    const accounts = server.accounts();
    return [id, { total: accounts.length, newest: newest(accounts) }] as const;
  });
  return {
    /** Calls to try, with the records that the service has. */
    calls: firstCalls,
    outbox: outboxState(outbox.list()),
    accounts: Object.fromEntries(servers),
    faults: listFaults(targets),
    crm: {
      /** The number of all events, including those not shown. */
      total: events.length,
      events: newest(events).map(({ id, 'detail-type': type, time: at, detail }) => ({ id, type, at, detail })),
      clients: newest(crm?.clients()),
      deliveries: newest(deliveries.list()),
      received: newest(crm?.received()),
    },
  };
}

function newest<T>(oldestFirst: readonly T[] = []): T[] {
  return oldestFirst.slice(-SHOWN_PER_KIND).toReversed();
}

/**
 * @returns a function for one page. It returns the parts that changed since its last call, as JSON by name; the first
 * call returns all parts
 */
export function watchState(sources: LiveSources): () => [name: string, json: string][] {
  const sent = new Map<string, string>();
  return () => {
    const parts = Object.entries(pageState(sources)).map(([name, part]): [string, string] => [
      name,
      JSON.stringify(part),
    ]);
    const changed = parts.filter(([name, json]) => sent.get(name) !== json);
    for (const [name, json] of changed) sent.set(name, json);
    return changed;
  };
}

function outboxState(sent: readonly SentMessage[]) {
  /** The number of all messages of each kind, including those not shown. */
  const counts = Object.fromEntries(MESSAGE_KINDS.map((kind) => [kind, 0])) as Record<MessageKind, number>;
  const messages = sent.toReversed().filter(({ kind }) => {
    counts[kind] += 1;
    return counts[kind] <= SHOWN_PER_KIND;
  });
  return { messages: messages.map(shownMessage), counts };
}

function shownMessage({ html, ...message }: SentMessage) {
  return { ...message, html: html !== undefined, code: findCode(message) };
}

/**
 * A mail has inline styles. It runs no script and loads nothing. It keeps its origin, so that the page can give its frame
 * the height of the mail.
 */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-same-origin; frame-ancestors 'self'";

const TICK_MS = 200;
/** The ticks without an event after which the stream sends a comment, which reveals a lost connection. */
const QUIET_TICKS = 75;

/** `/outbox`, as JSON and for browsers as the page, its mails, and `/live`: the page's state. */
export function outboxRoutes(app: FastifyInstance, sources: LiveSources): void {
  const { outbox } = sources;
  app.get('/outbox', (request, reply) => {
    reply.header('vary', 'accept');
    // Browsers ask for HTML; curl and other programs get JSON.
    return /\btext\/html\b/i.test(request.headers.accept ?? '') ? sendPage(reply, 'outbox') : reply.send(outbox.list());
  });
  app.delete('/outbox', (_request, reply) => {
    outbox.clear();
    return reply.code(204).send();
  });
  app.get('/outbox/:name/mail', (request, reply) => {
    const html = outbox.list().find(({ id }) => id === nameParameter(request))?.html;
    reply.header('content-security-policy', MAIL_POLICY);
    if (html === undefined) return sendText(reply.code(404), 'text/plain', 'The outbox has no such mail.');
    return sendText(reply, 'text/html', html);
  });
  // A HEAD request would never end.
  app.get('/live', { exposeHeadRoute: false }, (_request, reply) =>
    reply.header('content-type', 'text/event-stream; charset=utf-8').send(Readable.from(liveEvents(sources))),
  );
}

/**
 * Server-sent events: every part of the page's state at the start, then each part that changes. A page that reads slowly
 * gets the latest state only. A page that lost its connection opens another one.
 */
async function* liveEvents(sources: LiveSources): AsyncGenerator<string> {
  const changes = watchState(sources);
  yield 'retry: 1000\n\n';
  for (let quiet = 0; ; quiet += 1) {
    const changed = changes();
    if (changed.length > 0) quiet = 0;
    for (const [name, json] of changed) yield `event: ${name}\ndata: ${json}\n\n`;
    if (quiet % QUIET_TICKS === QUIET_TICKS - 1) yield ':\n\n';
    await sleep(TICK_MS, undefined, { ref: false });
  }
}
