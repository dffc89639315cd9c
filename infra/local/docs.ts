import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import type { FirstCall, FirstCalls } from './first-calls.ts';

const DOCUMENT = new URL('../openapi.json', import.meta.url);
const PROBLEM = 'application/problem+json';
const LOCAL_NOTE =
  'This is the local service. It shows the messages it sends in the [outbox](/_local), and needs no signed requests.';
/** Fields whose values are ids of records. */
const RECORD_FIELD = /^(form|referrer|connection|account_type|rebate_user)_id$|^group$/;

interface ResponseObject {
  headers?: Record<string, unknown>;
  content?: Record<string, unknown>;
}
interface Operation {
  requestBody: {
    content: { 'application/json': { examples?: Record<string, { summary: string; value: FirstCall['body'] }> } };
  };
  responses: Record<string, ResponseObject>;
}
interface OpenApiDocument {
  info: { description: string; license: unknown };
  paths: Record<string, { post: Operation }>;
  components: {
    parameters: { UserId: { example?: string | undefined; schema: { examples?: string[] } } };
    schemas: Record<string, { properties?: Record<string, { examples?: unknown[] }> }>;
  };
}

/**
 * The document of the API reference. The reference can send every operation to this service.
 * @param calls with the records that the service has; absent: it has those of the examples
 */
export function docsRoutes(app: FastifyInstance, calls: FirstCalls | undefined): void {
  app.get('/openapi.json', async ({ headers }, reply) => {
    const document = JSON.parse(await readFile(DOCUMENT, 'utf8')) as OpenApiDocument;
    const { license: _, ...info } = document.info;
    for (const { post } of Object.values(document.paths)) {
      for (const response of Object.values(post.responses)) shorten(response);
    }
    if (calls !== undefined) fitExamples(document, calls);
    const local = {
      ...document,
      info: { ...info, description: `${LOCAL_NOTE}\n\n${info.description}` },
      // The caller's own address, so that the page calls its own origin.
      servers: [{ url: `http://${headers.host}`, description: 'The local service.' }],
    };
    return reply.header('content-type', 'application/json').send(JSON.stringify(local));
  });
}

/**
 * Removes what the viewer would repeat for each status: the common headers and the gateway's message. The description
 * has both.
 */
function shorten(response: ResponseObject): void {
  const {
    'cache-control': _1,
    'x-request-id': _2,
    'x-content-type-options': _3,
    'strict-transport-security': _4,
    ...headers
  } = response.headers ?? {};
  response.headers = headers;
  if (response.content?.[PROBLEM] !== undefined) response.content = { [PROBLEM]: response.content[PROBLEM] };
}

/**
 * The document's examples need the demo records. If the service has others, calls that work with those replace the
 * examples. An operation without such a call gets none: the viewer then derives one from the schema.
 */
function fitExamples({ paths, components }: OpenApiDocument, { registration, account }: FirstCalls): void {
  const userId = account?.path.split('/')[4];
  for (const [template, { post }] of Object.entries(paths)) {
    const path = template.replace('{user_id}', userId ?? '');
    const call = [registration, account].find((one) => one?.path === path);
    const body = post.requestBody.content['application/json'];
    if (call === undefined) delete body.examples;
    else body.examples = { own: { summary: 'Works with the records of this service', value: call.body } };
  }
  for (const { properties = {} } of Object.values(components.schemas)) {
    for (const [name, property] of Object.entries(properties)) {
      if (RECORD_FIELD.test(name)) property.examples = [`<${name}>`];
    }
  }
  const { UserId } = components.parameters;
  delete UserId.schema.examples;
  UserId.example = userId;
}
