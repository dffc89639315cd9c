import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { nameIn } from './local-answers.ts';

/** The files of our pages, as they stand: there is no build step. */
const OURS = new URL('./pages/', import.meta.url);
const VIEWER = new URL(import.meta.resolve('swagger-ui-dist/package.json'));
const VIEWERS = ['swagger-ui.css', 'swagger-ui-bundle.js'];
const LOADED = [
  ...[
    'base.css',
    'outbox.css',
    'filter.css',
    'messages.css',
    'mail.css',
    'empty.css',
    'servers.css',
    'crm.css',
    'fault-switches.css',
  ],
  ...['outbox.js', 'messages.js', 'mail.js', 'servers.js', 'crm.js', 'fault-switches.js', 'dom.js'],
  ...['docs.css', 'docs.js', 'register.css', 'register.js', 'icon.svg'],
];
const TYPES: Record<string, string> = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' };

/** Nothing from elsewhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

/** `/pages/{name}`: what the pages load, ours and the viewer's of the API reference. */
export function pageFiles(app: FastifyInstance): void {
  app.get('/pages/:name', async (request, reply) => {
    const name = nameIn(request);
    const type = TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? '';
    if (VIEWERS.includes(name)) return sendViewer(request, reply, name, type);
    if (LOADED.includes(name)) return sendPage(reply, type, await readFile(new URL(name, OURS)));
    return sendPage(reply.code(404), 'text/plain', 'There is no such file.');
  });
}

/** The viewer is large and changes with its version alone: a browser that has it need not load it again. */
async function sendViewer({ headers }: FastifyRequest, reply: FastifyReply, name: string, type: string) {
  const etag = `"${await viewerVersion()}"`;
  reply.headers({ etag, 'cache-control': 'no-cache' });
  if (headers['if-none-match'] === etag) return reply.code(304).send();
  return sendPage(reply, type, await readFile(new URL(name, VIEWER)));
}

let version: Promise<string> | undefined;
function viewerVersion(): Promise<string> {
  version ??= readFile(VIEWER, 'utf8').then((text) => (JSON.parse(text) as { version: string }).version);
  return version;
}

/** A page of ours. @param rules of its content security policy, beside those of all pages */
export async function sendHtml(reply: FastifyReply, name: string, rules: string[]): Promise<FastifyReply> {
  reply.header('content-security-policy', [...POLICY, ...rules].join('; '));
  return sendPage(reply, 'text/html', await readFile(new URL(name, OURS)));
}

/** A text or a file that a browser is shown. */
export function sendPage(reply: FastifyReply, type: string, content: string | Buffer): FastifyReply {
  const headers = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };
  return reply.headers({ ...headers, 'content-type': `${type}; charset=utf-8` }).send(content);
}
