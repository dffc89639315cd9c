import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';

interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  /** The decoded segments of the path that the pattern left open. */
  names: string[];
}

const DOCS_PATH = '/_local/docs';
const DOCUMENT = new URL('../openapi.json', import.meta.url);
const PROBLEM = 'application/problem+json';
const HTML = new URL('./pages/docs.html', import.meta.url);

const VIEWER = new URL(import.meta.resolve('swagger-ui-dist/package.json'));
/** What the page loads: the viewer's files as they stand in its package, and ours over them. */
const FILES = new Map([
  ['swagger-ui.css', { url: new URL('swagger-ui.css', VIEWER), type: 'text/css', kept: true }],
  ['swagger-ui-bundle.js', { url: new URL('swagger-ui-bundle.js', VIEWER), type: 'text/javascript', kept: true }],
  ['docs.css', { url: new URL('./pages/docs.css', import.meta.url), type: 'text/css', kept: false }],
  ['docs.js', { url: new URL('./pages/docs.js', import.meta.url), type: 'text/javascript', kept: false }],
]);

/** Nothing from elsewhere; the viewer writes styles into its markup. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/**
 * The API reference at `/_local/docs`, to which `/` leads: every operation can be tried from it against this service.
 * Nothing of it comes from elsewhere.
 */
export function docsPage() {
  return [
    { path: /^\/$/, methods: { GET: ({ response }: Call) => redirectToPage(response) } },
    { path: /^\/_local\/docs\/?$/, methods: { GET: ({ response }: Call) => sendPage(response) } },
    {
      path: /^\/_local\/docs\/assets\/([^/]+)$/,
      methods: { GET: ({ request, response, names }: Call) => sendAsset(request, response, names[0]) },
    },
    {
      path: /^\/_local\/openapi\.json$/,
      methods: { GET: ({ request, response }: Call) => sendDocument(request, response) },
    },
  ];
}

function redirectToPage(response: ServerResponse): void {
  response.writeHead(302, { location: DOCS_PATH }).end();
}

async function sendPage(response: ServerResponse): Promise<void> {
  response.setHeader('content-security-policy', PAGE_POLICY);
  send(response, 200, 'text/html; charset=utf-8', await readFile(HTML));
}

/** The viewer is large and changes with its version alone: a browser that has it need not load it again. */
async function sendAsset(request: IncomingMessage, response: ServerResponse, name = ''): Promise<void> {
  const file = FILES.get(name);
  if (file === undefined) {
    send(response, 404, 'text/plain; charset=utf-8', Buffer.from('There is no such file.'));
    return;
  }
  if (file.kept) {
    const etag = `"${await viewerVersion()}"`;
    response.setHeader('etag', etag).setHeader('cache-control', 'no-cache');
    if (request.headers['if-none-match'] === etag) {
      response.writeHead(304).end();
      return;
    }
  }
  send(response, 200, `${file.type}; charset=utf-8`, await readFile(file.url));
}

let version: Promise<string> | undefined;
function viewerVersion(): Promise<string> {
  version ??= readFile(VIEWER, 'utf8').then((text) => (JSON.parse(text) as { version: string }).version);
  return version;
}

async function sendDocument(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const document = localDocument(await readFile(DOCUMENT, 'utf8'), request.headers.host);
  send(response, 200, 'application/json', Buffer.from(JSON.stringify(document)));
}

interface AnswerDocument {
  headers?: Record<string, unknown>;
  content?: Record<string, unknown>;
}
interface Document {
  info: { description: string; license: unknown };
  paths: Record<string, Record<string, { responses: Record<string, AnswerDocument> }>>;
}

const LOCAL_NOTE =
  'This is the local service: what it sends stands in the [outbox](/_local), and nobody has to sign requests here.';

/** The document with the address that the caller used, so that the page calls its own origin. */
function localDocument(text: string, host = ''): object {
  const document = JSON.parse(text) as Document;
  for (const { responses } of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    for (const answer of Object.values(responses)) shorten(answer);
  }
  const { license: _, ...info } = document.info;
  const url = /^[\w.:[\]-]+$/.test(host) ? `http://${host}` : '/';
  return {
    ...document,
    info: { ...info, description: `${LOCAL_NOTE}\n\n${info.description}` },
    servers: [{ url, description: 'The local service.' }],
  };
}

/**
 * Leaves out of an answer what the viewer would repeat for each status: the headers that every answer has, and the
 * gateway's own message beside the service's problems, which it would show before them. The description tells both.
 */
function shorten(answer: AnswerDocument): void {
  const { 'cache-control': _1, 'x-request-id': _2, 'x-content-type-options': _3, ...headers } = answer.headers ?? {};
  answer.headers = headers;
  if (answer.content?.[PROBLEM] !== undefined) answer.content = { [PROBLEM]: answer.content[PROBLEM] };
}

function send(response: ServerResponse, status: number, type: string, bytes: Buffer): void {
  response
    .setHeader('x-content-type-options', 'nosniff')
    .writeHead(status, { 'content-type': type, 'content-length': bytes.byteLength })
    .end(bytes);
}
