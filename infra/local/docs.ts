import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { sendHtml } from './pages.ts';

const DOCUMENT = new URL('../openapi.json', import.meta.url);
const PROBLEM = 'application/problem+json';
/** The viewer writes styles and pictures into its markup. */
const PAGE_RULES = ["style-src 'self' 'unsafe-inline'", "img-src 'self' data:"];

/** The API reference at `/docs`: every operation can be tried from it against this service. Nothing of it comes from elsewhere. */
export function docsRoutes(app: FastifyInstance): void {
  for (const path of ['/docs', '/docs/']) app.get(path, (_request, reply) => sendHtml(reply, 'docs.html', PAGE_RULES));
  app.get('/openapi.json', async (request, reply) => {
    const document = localDocument(await readFile(DOCUMENT, 'utf8'), request.headers.host);
    return reply.header('content-type', 'application/json').send(JSON.stringify(document));
  });
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
function localDocument(text: string, host: string | undefined): object {
  const document = JSON.parse(text) as Document;
  for (const { responses } of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    for (const answer of Object.values(responses)) shorten(answer);
  }
  const { license: _, ...info } = document.info;
  return {
    ...document,
    info: { ...info, description: `${LOCAL_NOTE}\n\n${info.description}` },
    servers: [{ url: `http://${host}`, description: 'The local service.' }],
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
