import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type LiveSources, LiveState } from './live-state.ts';

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  /** The decoded segments of the path that the pattern left open. */
  names: string[];
}

/** What the browser loads; there is no build step, these are the files as they stand. */
const HTML = new URL('./pages/outbox.html', import.meta.url);
const FILES = new Map([
  ['outbox.css', { url: new URL('./pages/outbox.css', import.meta.url), type: 'text/css' }],
  ['outbox.js', { url: new URL('./pages/outbox.js', import.meta.url), type: 'text/javascript' }],
  ['messages.js', { url: new URL('./pages/messages.js', import.meta.url), type: 'text/javascript' }],
  ['servers.js', { url: new URL('./pages/servers.js', import.meta.url), type: 'text/javascript' }],
  ['fault-switches.js', { url: new URL('./pages/fault-switches.js', import.meta.url), type: 'text/javascript' }],
  ['dom.js', { url: new URL('./pages/dom.js', import.meta.url), type: 'text/javascript' }],
  ['icon.svg', { url: new URL('./pages/icon.svg', import.meta.url), type: 'image/svg+xml' }],
]);

/** Nothing from elsewhere, nothing inline, and no way to make markup of a text (trusted types without a policy). */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/**
 * A mail brings its styles along and nothing else: it runs no script and loads nothing. It keeps its origin so that the
 * page can give its frame the height of the mail.
 */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox allow-same-origin; frame-ancestors 'self'";

const TICK_MS = 200;
/** After so many quiet ticks a comment is sent, so that a connection that is gone is noticed. */
const QUIET_TICKS = 75;

/** The page for people at `/_local`: what was sent, the accounts on the simulated servers and the faults, live. */
export function outboxPage(sources: LiveSources) {
  return [
    { path: /^\/_local\/?$/, methods: { GET: ({ response }: Call) => sendOutboxPage(response) } },
    { path: /^\/_local\/events$/, methods: { GET: (call: Call) => stream(call, sources) } },
    {
      path: /^\/_local\/outbox\/([^/]+)\/mail$/,
      methods: { GET: ({ response, names }: Call) => sendMail(response, sources, names[0]) },
    },
    {
      path: /^\/_local\/pages\/([^/]+)$/,
      methods: { GET: ({ response, names }: Call) => sendPageFile(response, names[0]) },
    },
  ];
}

export async function sendOutboxPage(response: ServerResponse): Promise<void> {
  response.setHeader('content-security-policy', PAGE_POLICY);
  send(response, 200, 'text/html', await readFile(HTML));
}

async function sendPageFile(response: ServerResponse, name = ''): Promise<void> {
  const file = FILES.get(name);
  if (file === undefined) send(response, 404, 'text/plain', Buffer.from('There is no such file.'));
  else send(response, 200, file.type, await readFile(file.url));
}

/** The HTML of a mail, on its own. */
function sendMail(response: ServerResponse, { outbox }: LiveSources, id: string | undefined): void {
  const html = outbox.list().find((message) => message.id === id)?.html;
  response.setHeader('content-security-policy', MAIL_POLICY);
  if (html === undefined) send(response, 404, 'text/plain', Buffer.from('The outbox has no such mail.'));
  else send(response, 200, 'text/html', Buffer.from(html));
}

function send(response: ServerResponse, status: number, type: string, bytes: Buffer): void {
  response
    .setHeader('x-content-type-options', 'nosniff')
    .setHeader('referrer-policy', 'no-referrer')
    .writeHead(status, { 'content-type': `${type}; charset=utf-8`, 'content-length': bytes.byteLength })
    .end(bytes);
}

/** Server-sent events: everything at the start, then what changes. A page that lost its connection just opens another. */
function stream({ request, response }: Call, sources: LiveSources): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  const state = new LiveState(sources);
  let quiet = 0;
  response.write('retry: 1000\n\n');
  const tick = () => {
    // A page that reads slowly gets what it missed later, in one.
    if (response.writableNeedDrain) return;
    const events = Object.entries(state.next());
    quiet = events.length > 0 ? 0 : quiet + 1;
    for (const [name, data] of events) response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    if (quiet % QUIET_TICKS === QUIET_TICKS - 1) response.write(':\n\n');
  };
  tick();
  const timer = setInterval(tick, TICK_MS).unref();
  response.on('close', () => clearInterval(timer));
}
