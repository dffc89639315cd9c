import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Our files and those of packages, by the name in `/_local/pages/{name}`. There is no build step. */
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
  ['swagger-ui.css', new URL(import.meta.resolve('swagger-ui-dist/swagger-ui.css'))],
  ['swagger-ui-bundle.js', new URL(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js'))],
]);

/** The import map for the modules of packages. */
const IMPORT_MAP = JSON.stringify({
  imports: Object.fromEntries(Object.entries(MODULES).map(([name, specifier]) => [specifier, `/_local/pages/${name}`])),
});

/** Nothing from another origin, and of inline scripts only the import map. */
const POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(IMPORT_MAP).digest('base64')}'`,
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

interface Page {
  paths: string[];
  title: string;
  styles: string[];
  /** Our module; a script of a package runs before it. */
  script: string;
  library?: string;
  /** Rules of its content security policy, in addition to those of all pages. */
  rules: string[];
}

/** No inline styles, and no markup made of text (trusted types without a policy). */
const STRICT = ["style-src 'self'", "frame-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'"];

const PAGES = {
  outbox: {
    paths: ['/'],
    title: 'Outbox',
    styles: ['pico.css', 'base.css', 'outbox.css'],
    script: 'outbox.js',
    rules: STRICT,
  },
  register: {
    paths: ['/register', '/register/'],
    title: 'Registration page',
    styles: ['pico.css', 'base.css', 'register.css'],
    script: 'register.js',
    rules: STRICT,
  },
  docs: {
    paths: ['/docs', '/docs/'],
    title: 'API reference',
    styles: ['swagger-ui.css', 'base.css', 'docs.css'],
    script: 'docs.js',
    library: 'swagger-ui-bundle.js',
    // The viewer writes styles into its markup.
    rules: ["style-src 'self' 'unsafe-inline'"],
  },
} satisfies Record<string, Page>;
type PageName = keyof typeof PAGES;

function html({ title, styles, script, library }: Page): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" type="image/svg+xml" href="/_local/pages/icon.svg">
${styles.map((name) => `<link rel="stylesheet" href="/_local/pages/${name}">`).join('\n')}
<script type="importmap">${IMPORT_MAP}</script>
${library === undefined ? '' : `<script src="/_local/pages/${library}" defer></script>`}
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
const LOCAL_NOTE =
  'This is the local service. It shows the messages it sends in the [outbox](/_local), and needs no signed requests. The examples use its demo records.';

/** The pages, `/pages/{name}`: their files, and `/openapi.json`: the document of the API reference. */
export function pageRoutes(app: FastifyInstance): void {
  for (const [name, { paths }] of Object.entries(PAGES)) {
    for (const path of paths) app.get(path, (_request, reply) => sendPage(reply, name as PageName));
  }
  app.get('/pages/:name', async (request, reply) => {
    const name = nameParameter(request);
    const [file, type] = [FILES.get(name), TYPES[name.slice(name.lastIndexOf('.') + 1)]];
    if (file === undefined || type === undefined) {
      return sendText(reply.code(404), 'text/plain', 'There is no such file.');
    }
    return sendText(reply, type, await readFile(file));
  });
  app.get('/openapi.json', async ({ headers }) => {
    const document = JSON.parse(await readFile(DOCUMENT, 'utf8')) as { info: { description: string } };
    const info = { ...document.info, description: `${LOCAL_NOTE}\n\n${document.info.description}` };
    // The caller's own address, so that the page calls its own origin.
    return { ...document, info, servers: [{ url: `http://${headers.host}`, description: 'The local service.' }] };
  });
}

export function sendPage(reply: FastifyReply, name: PageName): FastifyReply {
  const page = PAGES[name];
  reply.header('content-security-policy', [...POLICY, ...page.rules].join('; '));
  return sendText(reply, 'text/html', html(page));
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
