import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type LiveSources, LiveState } from './live-state.ts';
import { addPath, nameIn } from './local-answers.ts';
import type { Outbox } from './outbox.ts';
import { sendHtml, sendPage } from './pages.ts';

/** Nothing inline, and no way to make markup of a text (trusted types without a policy). */
const PAGE_RULES = [
  "style-src 'self'",
  "img-src 'self'",
  "frame-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

/**
 * A mail brings its styles along and nothing else: it runs no script and loads nothing. It keeps its origin so that the
 * page can give its frame the height of the mail.
 */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-same-origin; frame-ancestors 'self'";

const TICK_MS = 200;
/** After so many quiet ticks a comment is sent, so that a connection that is gone is noticed. */
const QUIET_TICKS = 75;

/** The page for people: what was sent, the accounts on the simulated servers and the faults, live; and the outbox as JSON. */
export function outboxRoutes(app: FastifyInstance, sources: LiveSources & { outbox: Outbox }): void {
  const { outbox } = sources;
  app.get('/', (_request, reply) => sendOutboxPage(reply));
  addPath(app, '/outbox', {
    GET: (request, reply) => {
      reply.header('vary', 'accept');
      return prefersHtml(request) ? sendOutboxPage(reply) : outbox.list();
    },
    DELETE: (_request, reply) => {
      outbox.clear();
      return reply.code(204).send();
    },
  });
  app.get('/outbox/:name/mail', (request, reply) => {
    const html = outbox.list().find(({ id }) => id === nameIn(request))?.html;
    reply.header('content-security-policy', MAIL_POLICY);
    if (html === undefined) return sendPage(reply.code(404), 'text/plain', 'The outbox has no such mail.');
    return sendPage(reply, 'text/html', html);
  });
  // A HEAD request would wait for the end of a stream that has none.
  app.get('/live', { exposeHeadRoute: false }, (_request, reply) =>
    reply.header('content-type', 'text/event-stream; charset=utf-8').send(Readable.from(news(sources))),
  );
}

function sendOutboxPage(reply: FastifyReply): Promise<FastifyReply> {
  return sendHtml(reply, 'outbox.html', PAGE_RULES);
}

/** True when a browser asks; curl and programs that take anything get JSON. */
function prefersHtml({ headers }: FastifyRequest): boolean {
  return /\btext\/html\b/i.test(headers.accept ?? '');
}

/**
 * Server-sent events: everything at the start, then what changes. A page that reads slowly gets what it missed later, in
 * one; a page that lost its connection just opens another.
 */
async function* news(sources: LiveSources): AsyncGenerator<string> {
  const state = new LiveState(sources);
  yield 'retry: 1000\n\n';
  for (let quiet = 0; ; quiet += 1) {
    const events = Object.entries(state.next());
    if (events.length > 0) quiet = 0;
    for (const [name, data] of events) yield `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    if (quiet % QUIET_TICKS === QUIET_TICKS - 1) yield ':\n\n';
    await sleep(TICK_MS, undefined, { ref: false });
  }
}
