import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderReference } from '../openapi/reference.ts';
import { copiedFiles } from '../registration-page/files.ts';

/**
 * The local service's own files and those of packages, by the name in `/_local/pages/{name}`. There is no build step.
 */
const OURS = new URL('./pages/', import.meta.url);
const TYPES: Record<string, string> = { css: 'text/css', js: 'text/javascript', svg: 'image/svg+xml' };
const MODULES: Record<string, string> = {
  'preact.js': 'preact',
  'preact-hooks.js': 'preact/hooks',
  'htm.js': 'htm',
  'htm-preact.js': 'htm/preact',
};
const FILES = new Map<string, URL>([
  ...readdirSync(OURS).map((name) => [name, new URL(name, OURS)] as const),
  ...Object.entries(MODULES).map(([name, specifier]) => [name, new URL(import.meta.resolve(specifier))] as const),
  ['pico.css', new URL(import.meta.resolve('@picocss/pico/css/pico.min.css'))],
]);

/** The import map for the modules of packages. */
const IMPORT_MAP = JSON.stringify({
  imports: {
    ...Object.fromEntries(Object.entries(MODULES).map(([name, specifier]) => [specifier, `/_local/pages/${name}`])),
    'registration-page': '/_local/register/register.js',
  },
});

/** The files of the registration page, as brokers copy them. */
const REGISTRATION_FILES = copiedFiles();

/** The policy of all pages: nothing from another origin, and of inline scripts only the import map. */
const POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(IMPORT_MAP).digest('base64')}'`,
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // No inline styles, and no markup made of text (trusted types without a policy).
  "style-src 'self'",
  "frame-src 'self'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** The reference is one file with its styles and scripts. */
const REFERENCE_POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

interface Page {
  paths: string[];
  title: string;
  styles: string[];
  /** Our module. */
  script: string;
}

const PAGES = {
  outbox: {
    paths: ['/'],
    title: 'Outbox',
    styles: ['pico.css', 'base.css', 'outbox.css'],
    script: 'outbox.js',
  },
  register: {
    paths: ['/register', '/register/'],
    title: 'Registration page',
    styles: ['base.css', 'register.css'],
    script: 'register.js',
  },
} satisfies Record<string, Page>;
type PageName = keyof typeof PAGES;

function html({ title, styles, script }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="/_local/pages/icon.svg">
${styles.map((name) => `<link rel="stylesheet" href="${new URL(name, 'http://localhost/_local/pages/').pathname}">`).join('\n')}
<script type="importmap">${IMPORT_MAP}</script>
<script type="module" src="/_local/pages/${script}"></script>
</head>
<body>
<div id="page"></div>
<p class="unseen" id="announcer" role="status"></p>
<noscript><p>This page needs JavaScript. The service answers <code>curl</code> with JSON.</p></noscript>
</body>
</html>
`;
}

const DOCUMENT = new URL('../openapi.json', import.meta.url);

/** The document of the API reference, as JSON: with the caller's own address, so that it can be called from there. */
async function localDocument({ headers }: FastifyRequest): Promise<string> {
  const document = JSON.parse(await readFile(DOCUMENT, 'utf8')) as { info: { description: string } };
  const url = `http://${headers.host}`;
  const note = `This is the local service. It shows the messages it sends in the [outbox](${url}/_local), and needs no signed requests. The examples use its demo records.`;
  const info = { ...document.info, description: `${note}\n\n${document.info.description}` };
  const servers = [{ url, description: 'The local service.' }];
  return JSON.stringify({ ...document, info, servers });
}

/** The rendered references, by their documents: rendering takes seconds. */
const references = new Map<string, Promise<string>>();

/** The pages, `/pages/{name}`: their files, `/docs`: the API reference, and `/openapi.json`: its document. */
export function pageRoutes(app: FastifyInstance): void {
  for (const [name, { paths }] of Object.entries(PAGES)) {
    for (const path of paths) app.get(path, (_request, reply) => sendPage(reply, name as PageName));
  }
  for (const path of ['/docs', '/docs/']) {
    app.get(path, async (request, reply) => {
      const document = await localDocument(request);
      const rendered = references.get(document) ?? renderReference(document);
      references.set(document, rendered);
      return sendText(reply.header('content-security-policy', REFERENCE_POLICY), 'text/html', await rendered);
    });
  }
  app.get('/register/*', async (request, reply) => {
    const name = (request.params as { '*': string })['*'];
    return sendFile(reply, name, REGISTRATION_FILES);
  });
  app.get('/pages/:name', async (request, reply) => {
    return sendFile(reply, nameParameter(request), FILES);
  });
  app.get('/openapi.json', async (request, reply) => sendText(reply, 'application/json', await localDocument(request)));
}

async function sendFile(reply: FastifyReply, name: string, files: ReadonlyMap<string, URL>): Promise<FastifyReply> {
  const [file, type] = [files.get(name), TYPES[name.slice(name.lastIndexOf('.') + 1)]];
  if (file === undefined || type === undefined) {
    return sendText(reply.code(404), 'text/plain', 'There is no such file.');
  }
  return sendText(reply, type, await readFile(file));
}

export function sendPage(reply: FastifyReply, name: PageName): FastifyReply {
  return sendText(reply.header('content-security-policy', POLICY), 'text/html', html(PAGES[name]));
}

/** A text or a file that a browser shows or loads. */
export function sendText(reply: FastifyReply, type: string, content: string | Buffer): FastifyReply {
  const headers = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };
  return reply.headers({ ...headers, 'content-type': `${type}; charset=utf-8` }).send(content);
}

/** The parameter `name` of the route's path, decoded. */
export function nameParameter({ params }: FastifyRequest): string {
  return (params as { name: string }).name;
}
