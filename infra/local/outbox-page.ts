import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type LiveSources, watchState } from './live-state.ts';
import { nameParameter } from './local-answers.ts';
import type { Outbox } from './outbox.ts';
import { sendPage, sendText } from './pages.ts';

/**
 * A mail has inline styles. It runs no script and loads nothing. It keeps its origin, so that the page can give its frame
 * the height of the mail.
 */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-same-origin; frame-ancestors 'self'";

const TICK_MS = 200;
/** After this many ticks without an event the stream sends a comment, which reveals a lost connection. */
const QUIET_TICKS = 75;

/** `/outbox`, as JSON and for browsers as the page, its mails, and `/live`: the page's state. */
export function outboxRoutes(app: FastifyInstance, sources: LiveSources & { outbox: Outbox }): void {
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
