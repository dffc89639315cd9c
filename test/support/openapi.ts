import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import * as v from 'valibot';
import type { OperationId } from '../../infra/functions.ts';
import { PROBLEM_NOTES, PROBLEM_TYPES } from '../../infra/openapi/problems.ts';
import type { ProblemType } from '../../lib/problem.ts';
import { ConfirmationRequestSchema } from '../../lib/validators/confirmation.ts';
import { ALL_COUNTRIES } from '../../lib/validators/countries.ts';
import { registrationRequestSchema } from '../../lib/validators/registration.ts';
import { tradingAccountRequestSchema } from '../../lib/validators/trading-account.ts';

/** The parts of the OpenAPI document that tests read. */
interface OpenApiSchema {
  type?: string;
  description?: string;
  properties?: Record<string, OpenApiSchema>;
  required?: string[];
  examples?: unknown[];
  additionalProperties?: boolean | OpenApiSchema;
  enum?: string[];
  const?: unknown;
  oneOf?: Reference[];
  [keyword: string]: unknown;
}
interface Reference {
  $ref: string;
}
interface Media {
  schema: OpenApiSchema;
  examples?: Record<string, { value: unknown }>;
  example?: unknown;
}
interface AnswerDocument {
  headers?: Record<string, Reference>;
  content?: Record<string, Media>;
}
interface Operation {
  operationId: OperationId;
  'x-deployment-setting'?: string;
  security: Record<string, string[]>[];
  parameters?: Reference[];
  requestBody: { content: Record<string, Media> };
  responses: Record<string, AnswerDocument>;
}
interface Document {
  paths: Record<string, { post: Operation }>;
  components: {
    schemas: Record<string, OpenApiSchema>;
    headers: Record<string, { schema: OpenApiSchema }>;
    parameters: Record<
      string,
      { schema: OpenApiSchema; required: boolean; in: string; name: string; example?: string }
    >;
  };
}

export type AnswerHeaders = Headers | Record<string, string | number | boolean | undefined>;

/** The headers of every answer of the service, and of no answer of the gateway. */
const STANDARD = ['cache-control', 'x-request-id', 'x-content-type-options', 'strict-transport-security'];
/** The headers of the service. Every header that an answer has must be documented. */
const OURS = [...STANDARD, 'retry-after', 'idempotent-replayed'];

const document: Document = JSON.parse(readFileSync(new URL('../../infra/openapi.json', import.meta.url), 'utf8'));
export const { schemas, parameters } = document.components;
export const operations = Object.entries(document.paths).map(([path, { post }]) => ({ path, ...post }));

/** The validator of each operation's body. */
const BODIES = {
  requestRegistration: registrationRequestSchema([ALL_COUNTRIES]),
  confirmRegistration: ConfirmationRequestSchema,
  createTp5Account: tradingAccountRequestSchema('tp5'),
  createTp4Account: tradingAccountRequestSchema('tp4'),
} as const;

/** Whether the validator of the operation accepts a body. */
export async function acceptsBody(operation: OperationId, body: unknown): Promise<boolean> {
  return (await v.safeParseAsync(BODIES[operation], body)).success;
}

/** Validates by the document as it is written: `ajv.validate({ $ref: 'openapi#/components/…' }, body)`. */
export const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'openapi', components: document.components });

const FORMATS = {
  uuid: /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/,
  'idn-email': /@/,
  password: true,
  int32: true,
  int64: true,
} as const;
const strict = new Ajv2020({ strict: false, allErrors: true, formats: FORMATS });
strict.addSchema({ $id: 'openapi', ...(closed({ components: document.components }) as object) });

/**
 * A closed schema. Answers may get new members, so the document leaves its objects open. In tests every member of an
 * answer must be documented.
 */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const entries = Object.entries(schema).map(([name, value]) => [name, closed(value)]);
  const result: Record<string, unknown> = Object.fromEntries(entries);
  return result.type === 'object' && typeof result.properties === 'object'
    ? { additionalProperties: false, ...result }
    : result;
}

/**
 * Checks an answer against `infra/openapi.json`: its status, content type, body and headers are documented for the
 * operation, and everything that is required is present.
 * @param template the path as in the document, such as `/public/v1/users/{user_id}/tp5/accounts`
 * @throws Error that lists everything that is wrong
 */
export function checkAnswer(template: string, status: number, headers: AnswerHeaders, bodyText: string): void {
  const operation = document.paths[template]?.post;
  const differences =
    operation === undefined ? ['is not documented'] : answerDifferences(operation, status, headers, bodyText);
  if (differences.length > 0) {
    throw new Error([`${template} → ${status} differs from infra/openapi.json:`, ...differences].join('\n  '));
  }
}

/**
 * Checks a body that the service accepts: `infra/openapi.json` must allow it too.
 * @throws Error that lists everything that is wrong
 */
export function checkRequest(template: string, body: Readonly<Record<string, unknown>>): void {
  const { schema } = document.paths[template]?.post.requestBody.content['application/json'] ?? {};
  const differences = schema === undefined ? ['is not documented'] : schemaDifferences(schema, body);
  if (differences.length > 0) {
    throw new Error([`A body that ${template} accepts differs from infra/openapi.json:`, ...differences].join('\n  '));
  }
}

/** Checks an answer that `fetch` got from a path of the service; the caller can still read it. */
export async function checkedAnswer(answer: Response): Promise<Response> {
  const { pathname } = new URL(answer.url);
  checkAnswer(templateOf(pathname), answer.status, answer.headers, await answer.clone().text());
  return answer;
}

/** The documented path that matches a path; an unknown path is unchanged. */
function templateOf(pathname: string): string {
  const templates = Object.keys(document.paths);
  return templates.find((one) => new RegExp(`^${one.replace(/\{\w+\}/g, '[^/]+')}$`).test(pathname)) ?? pathname;
}

function answerDifferences(operation: Operation, status: number, headers: AnswerHeaders, bodyText: string): string[] {
  const documented = operation.responses[status];
  if (documented === undefined) return [`status ${status} is not documented for ${operation.operationId}`];
  const { content } = documented;
  const contentType = headerValue(headers, 'content-type');
  if (content === undefined) {
    return [
      ...(bodyText === '' ? [] : ['has a body, and none is documented']),
      ...(contentType === undefined ? [] : ['has a content type without a body']),
      ...headerDifferences(documented, status, headers),
    ];
  }
  const mediaType = contentType?.split(';')[0]?.trim().toLowerCase() ?? 'no content type';
  const schema = content[mediaType]?.schema;
  const body = parsed(bodyText);
  const type = mediaType === 'application/problem+json' ? String(Object(body).type) : undefined;
  const differences = (() => {
    if (schema === undefined) return [`${mediaType} is not documented`];
    if (body === undefined) return ['the body is not JSON'];
    if (type !== undefined) return problemDifferences(schema, type, status, headerValue(headers, 'x-request-id'), body);
    return schemaDifferences(status >= 400 ? { $ref: '#/components/schemas/GatewayMessage' } : schema, body);
  })();
  return [...differences, ...headerDifferences(documented, status, headers, type as ProblemType | undefined)];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The differences from the schema of the problem's own type: otherwise an error would list the differences from every
 * type.
 */
function problemDifferences(
  schema: OpenApiSchema,
  type: string,
  status: number,
  requestId: string | undefined,
  body: unknown,
): string[] {
  const types = new Map(
    (schema.oneOf ?? [schema as unknown as Reference]).map((reference) => [
      String(component('schemas', reference).properties?.type?.const),
      reference,
    ]),
  );
  const documented = types.get(type);
  if (documented === undefined)
    return [`problem type ${type} is not documented; documented are ${[...types.keys()].join(', ')}`];
  const members = body as Record<string, unknown>;
  return [
    ...schemaDifferences(documented, body),
    ...(members.status === status ? [] : [`the member status is ${String(members.status)}`]),
    ...(members.request_id === requestId ? [] : ['the member request_id differs from the header x-request-id']),
  ];
}

/** Compiled once for each schema: compiling takes a thousand times as long as validating. */
const validators = new Map<string, ValidateFunction>();

function schemaDifferences(schema: object, value: unknown): string[] {
  const { $ref } = schema as Partial<Reference>;
  const key = JSON.stringify(schema);
  const validate = validators.get(key) ?? strict.compile($ref === undefined ? schema : { $ref: `openapi${$ref}` });
  validators.set(key, validate);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `${instancePath === '' ? 'the value' : instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** @param type of the problem; undefined: a success, or the gateway's own answer */
function headerDifferences(
  { headers: documented = {} }: AnswerDocument,
  status: number,
  headers: AnswerHeaders,
  type?: ProblemType,
): string[] {
  const isKnown = type !== undefined && (PROBLEM_TYPES as readonly string[]).includes(type);
  const retries = isKnown ? PROBLEM_NOTES[type].retryAfter : undefined;
  const isOurs = status < 400 || type !== undefined;
  return OURS.flatMap((name) => {
    const value = headerValue(headers, name);
    const reference = documented[name];
    const always = STANDARD.includes(name) ? isOurs : name === 'retry-after' && retries === 'always';
    if (value === undefined) return always ? [`the header ${name} is missing`] : [];
    if (reference === undefined) return [`the header ${name} is not documented`];
    if (!isOurs || (name === 'retry-after' && retries === undefined)) {
      return [`the header ${name} does not come with ${type ?? "the gateway's own answer"}`];
    }
    const { schema } = component('headers', reference);
    return schemaDifferences(schema, schema.type === 'integer' ? Number(value) : value).map(
      (one) => `the header ${name}: ${one}`,
    );
  });
}

function component<Kind extends 'schemas' | 'headers'>(
  kind: Kind,
  { $ref }: Reference,
): Document['components'][Kind][string] {
  const found = document.components[kind][$ref.split('/').at(-1) ?? ''];
  if (found === undefined) throw new Error(`There is no ${$ref}.`);
  return found as Document['components'][Kind][string];
}

function headerValue(headers: AnswerHeaders, name: string): string | undefined {
  if (headers instanceof Headers) return headers.get(name) ?? undefined;
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return value === undefined ? undefined : String(value);
}
