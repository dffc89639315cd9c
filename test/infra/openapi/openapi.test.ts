import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { REQUEST_EXAMPLES } from '../../../infra/openapi/examples.ts';
import { generatedFiles, openapi } from '../../../infra/openapi/openapi.ts';
import { type OPERATIONS, PROBLEM_NOTES, PROBLEM_TYPES, statusesOf } from '../../../infra/openapi/problems.ts';
import { CUSTOM_FIELD_VALUES } from '../../../lib/validators/custom-fields.ts';
import { CUSTOM_FIELD_TYPES, FIXED_FIELDS } from '../../../lib/validators/form.ts';
import { IdempotencyKeySchema } from '../../../lib/validators/headers.ts';
import { RULES } from '../../../lib/validators/primitives.ts';
import { registrationRequestSchema } from '../../../lib/validators/registration.ts';
import {
  TradingAccountAnswerSchema,
  tradingAccountRequestSchema,
  UserIdSchema,
} from '../../../lib/validators/trading-account.ts';
import { checkAnswer } from '../../support/openapi.ts';

interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  examples?: unknown[];
  additionalProperties?: boolean | { $ref: string };
  anyOf?: { $ref: string }[];
  enum?: string[];
  const?: unknown;
  default?: unknown;
  [keyword: string]: unknown;
}
interface Media {
  schema: Schema;
  examples?: Record<string, { value: unknown }>;
  example?: unknown;
}
interface Operation {
  operationId: (typeof OPERATIONS)[number];
  description: string;
  security: Record<string, string[]>[];
  parameters: { $ref: string }[];
  requestBody: { required: boolean; content: Record<string, Media> };
  responses: Record<string, { description: string; content?: Record<string, Media> }>;
}
interface Document {
  paths: Record<string, { post: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, { schema: Schema; required: boolean; in: string; name: string; example?: string }>;
  };
}

const document = openapi() as unknown as Document;
const { schemas, parameters } = document.components;
const operations = Object.entries(document.paths).map(([path, { post }]) => ({ path, ...post }));

/** The validator of each operation's body. */
const BODIES = {
  requestRegistration: registrationRequestSchema('all'),
  createTp5Account: tradingAccountRequestSchema('tp5'),
  createTp4Account: tradingAccountRequestSchema('tp4'),
} as const;

async function accepts(operation: (typeof OPERATIONS)[number], body: unknown): Promise<boolean> {
  return (await v.safeParseAsync(BODIES[operation], body)).success;
}

function file(name: string): string {
  return readFileSync(new URL(`../../../infra/${name}`, import.meta.url), 'utf8');
}

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'openapi', components: document.components });

describe('The generated files', () => {
  it.each(['openapi.json', 'openapi/openapi-types.ts'])('%s is what `npm run openapi` writes', async (name) => {
    expect(file(name)).toBe((await generatedFiles())[name]);
  });

  it('are the same whenever they are made', async () => {
    expect(await generatedFiles()).toEqual(await generatedFiles());
  });

  it('are linted without a finding', async () => {
    const cli = fileURLToPath(new URL('../../../node_modules/@redocly/cli/bin/cli.js', import.meta.url));
    const root = fileURLToPath(new URL('../../..', import.meta.url));
    const lint = promisify(execFile)(
      process.execPath,
      [cli, 'lint', 'infra/openapi.json', '--config', 'infra/openapi/redocly.yaml', '--format', 'json'],
      { cwd: root, env: { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', REDOCLY_TELEMETRY: 'off' } },
    );
    const { stdout } = await lint;
    expect(JSON.parse(stdout)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] });
  });
});

describe('The operations', () => {
  it('are the three of the specification', () => {
    expect(operations.map(({ path, operationId }) => `${operationId} POST ${path}`)).toEqual([
      'requestRegistration POST /public/v1/account/register/request',
      'createTp5Account POST /public/v1/users/{user_id}/tp5/accounts',
      'createTp4Account POST /public/v1/users/{user_id}/tp4/accounts',
    ]);
  });

  it('answer 204 without a body to a registration, and 200 with login and passwords to an account', () => {
    const [registration, tp5, tp4] = operations;
    expect(registration?.responses['204']).not.toHaveProperty('content');
    for (const account of [tp5, tp4]) {
      expect(account?.responses['200']?.content).toHaveProperty(['application/json', 'schema', '$ref']);
    }
    expect(Object.keys(schemas.TradingAccount?.properties ?? {})).toEqual([
      'login',
      'master_password',
      'investor_password',
    ]);
  });

  it('need IAM or a token with the scope accounts:create, but for the registration', () => {
    const accountSecurity = [{ iam: [] }, { jwt: ['accounts:create'] }];
    expect(operations.map(({ security }) => security)).toEqual([[], accountSecurity, accountSecurity]);
  });

  it('take an optional Idempotency-Key', () => {
    for (const operation of operations) {
      expect(operation.parameters).toContainEqual({ $ref: '#/components/parameters/IdempotencyKey' });
    }
    expect(parameters.IdempotencyKey).toMatchObject({ name: 'Idempotency-Key', in: 'header', required: false });
  });

  it.each([
    'a',
    '7f1f4a52-0f5c-4f0e-9d0a-3c1b2a4d5e6f',
    '"quoted"',
    'x'.repeat(255),
    `"${'x'.repeat(255)}"`,
    '!~',
    '',
    '""',
    '"',
    'x'.repeat(256),
    `"${'x'.repeat(256)}"`,
    'a b',
    'é',
    '"a"b"',
  ])('take the same Idempotency-Key as the service does: %s', (key) => {
    const documented = ajv.compile(parameters.IdempotencyKey?.schema ?? false);
    expect(documented(key)).toBe(v.is(IdempotencyKeySchema, key));
  });
});

describe('The fields', () => {
  it('of a registration are those of the specification, and any of the form', () => {
    const { properties = {}, additionalProperties } = schemas.RegistrationRequest ?? {};
    expect(Object.keys(properties)).toEqual([...FIXED_FIELDS]);
    expect(additionalProperties).toEqual({ $ref: '#/components/schemas/CustomFieldValue' });
    expect(properties.otp_type).toMatchObject({ enum: ['email', 'sms', 'call', 'whatsapp'], default: 'email' });
    expect(properties.type).toMatchObject({ const: 'trader' });
  });

  it.each([
    [{}, true],
    [{ otp_type: 'email' }, true],
    [{ otp_type: 'email', phone: {} }, true],
    [{ otp_type: 'sms' }, false],
    [{ otp_type: 'call', phone: {} }, false],
    [{ otp_type: 'whatsapp', phone: { country_code: '44' } }, false],
    [{ otp_type: 'sms', phone: { country_code: '', number: '' } }, false],
    [{ otp_type: 'sms', phone: { country_code: '44', number: '07911 123456' } }, true],
  ])(
    'of a phone are needed where a phone channel is chosen, as the service asks for them: %j',
    async (fields, fine) => {
      const body = { ...REQUEST_EXAMPLES.requestRegistration.email?.value, ...fields };
      expect(ajv.validate({ $ref: 'openapi#/components/schemas/RegistrationRequest' }, body)).toBe(fine);
      expect(await accepts('requestRegistration', body)).toBe(fine);
    },
  );

  it.each(['5', '4'])('of a tp%s account are those of the specification, and no others', (version) => {
    const { properties = {}, required, additionalProperties } = schemas[`Tp${version}AccountRequest`] ?? {};
    expect(Object.keys(properties)).toEqual([
      'connection_id',
      'group',
      'leverage',
      'login',
      'account_type_id',
      'rebate_user_id',
      'master_password',
      'investor_password',
      'enable_readonly',
      'enable_rebate',
      'send_email',
      'send_pop_up',
      'language',
    ]);
    expect(required).toEqual(['connection_id', 'group', 'leverage']);
    expect(additionalProperties).toBe(false);
    expect(properties.leverage).toMatchObject({ type: 'integer', minimum: 1, maximum: 5000 });
    const length = { minLength: version === '5' ? 8 : 5, maxLength: 15 };
    expect(properties.master_password).toMatchObject(length);
    expect(properties.investor_password).toMatchObject(length);
  });

  it('of the form have a value format for every type', () => {
    const documented = schemas.CustomFieldValue?.description ?? '';
    const rows = [...documented.matchAll(/^\| ([\w, ]+) \|/gm)].flatMap(([, types = '']) => types.split(', '));
    expect(rows.slice(1).toSorted()).toEqual(CUSTOM_FIELD_TYPES.toSorted());
  });

  it.each(Object.keys(schemas))('of %s all have their meaning, those within others too', (name) => {
    expect([...fieldsWithoutMeaning(schemas[name], name)]).toEqual([]);
  });
});

/** The places of members that say nothing of what they are; a reference has its meaning where it leads. */
function* fieldsWithoutMeaning(schema: unknown, place: string): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return;
  const { properties = {}, ...others } = schema as { properties?: Record<string, Schema> };
  for (const [field, member] of Object.entries(properties)) {
    if (!('$ref' in member) && !/\.$/.test(member.description ?? '')) yield `${place}.${field}`;
    yield* fieldsWithoutMeaning(member, `${place}.${field}`);
  }
  for (const [key, value] of Object.entries(others)) {
    // Rules between members speak of members that have their meaning elsewhere.
    if (!['examples', 'if', 'then'].includes(key)) yield* fieldsWithoutMeaning(value, `${place}.${key}`);
  }
}

describe('The examples', () => {
  const requests = operations.flatMap(({ operationId, requestBody }) =>
    Object.entries(requestBody.content['application/json']?.examples ?? {}).map(
      ([name, { value }]) => [operationId, name, value] as const,
    ),
  );

  it.each(requests)('of a request to %s, "%s", is accepted', async (operationId, _, body) => {
    expect(await accepts(operationId, body)).toBe(true);
    const schema = operations.find((one) => one.operationId === operationId)?.requestBody.content['application/json'];
    expect(ajv.validate({ $ref: `openapi${String(schema?.schema.$ref)}` }, body)).toBe(true);
  });

  it.each([
    ['requestRegistration', 'RegistrationRequest', 'email'],
    ['createTp5Account', 'Tp5AccountRequest', 'live'],
    ['createTp4Account', 'Tp4AccountRequest', 'live'],
  ] as const)('of each field of %s are accepted', async (operationId, name, example) => {
    const { [example]: base } = REQUEST_EXAMPLES[operationId] as Record<string, { value: Record<string, unknown> }>;
    for (const [field, { examples = [] }] of Object.entries(schemas[name]?.properties ?? {})) {
      for (const value of examples) {
        const body = { ...base?.value, [field]: value, ...(field === 'password' ? { repeat_password: value } : {}) };
        expect(await accepts(operationId, body), field).toBe(true);
      }
    }
  });

  it('of the members of a phone are accepted', async () => {
    const members = Object.entries(schemas.RegistrationRequest?.properties?.phone?.properties ?? {});
    const phone = Object.fromEntries(members.map(([member, { examples = [] }]) => [member, examples[0]]));
    expect(phone).toEqual({ country_code: expect.any(String), number: expect.any(String) });
    expect(await accepts('requestRegistration', { ...REQUEST_EXAMPLES.requestRegistration.email?.value, phone })).toBe(
      true,
    );
  });

  it.each(CUSTOM_FIELD_TYPES)('of a form field of type %s are accepted', (type) => {
    const found = Object.values(schemas).find(({ description = '' }) =>
      new RegExp(`^Form fields of type (\\w+, )*${type}(, \\w+)*:`).test(description),
    );
    expect(found?.examples).not.toHaveLength(0);
    for (const value of found?.examples ?? []) expect(v.is(CUSTOM_FIELD_VALUES[type], value)).toBe(true);
  });

  it('of the path parameter is accepted', () => {
    expect(v.is(UserIdSchema, parameters.UserId?.example)).toBe(true);
  });

  it('of an opened account is an answer that the service could give', () => {
    const content = operations[1]?.responses['200']?.content?.['application/json'];
    for (const { value } of Object.values(content?.examples ?? {})) {
      expect(v.is(TradingAccountAnswerSchema, value)).toBe(true);
      const { login: _, ...passwords } = value as Record<string, unknown>;
      const body = { ...REQUEST_EXAMPLES.createTp5Account.live?.value, ...passwords };
      expect(v.is(tradingAccountRequestSchema('tp5'), body)).toBe(true);
    }
  });

  const answers = operations.flatMap(({ path, responses }) =>
    Object.entries(responses).flatMap(([status, { content = {} }]) =>
      Object.entries(content).flatMap(([mediaType, { examples, example }]) =>
        Object.values(examples ?? { only: { value: example } }).map(
          ({ value }) => [path, status, mediaType, value] as const,
        ),
      ),
    ),
  );

  it.each(answers)('of an answer of %s with %s %s is as documented', (path, status, mediaType, body) => {
    const { type, request_id = 'id' } = body as { type?: string; request_id?: string };
    const ownMessage = mediaType === 'application/json' && status !== '200';
    const retried = ['request_in_progress', 'too_many_requests', 'platform_unavailable'].includes(type ?? '');
    const check = (headers: Record<string, string>) =>
      checkAnswer('POST', path, Number(status), headers, JSON.stringify(body));
    const headers = {
      'content-type': mediaType,
      ...(ownMessage
        ? {}
        : { 'cache-control': 'no-store', 'x-request-id': request_id, 'x-content-type-options': 'nosniff' }),
    };
    const timed = { ...headers, 'retry-after': '5' };
    // An unknown outcome has it where a repeat may find out more.
    if (!retried || status === '504') expect(() => check(headers)).not.toThrow();
    else expect(() => check(headers)).toThrow('retry-after');
    if (retried || status === '504') expect(() => check(timed)).not.toThrow();
    else expect(() => check(timed)).toThrow('retry-after');
  });
});

describe('The errors', () => {
  it.each(PROBLEM_TYPES)('%s stands at every operation that answers it, with its status', (type) => {
    const found = operations.flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([, { content }]) => Object.hasOwn(content?.['application/problem+json']?.examples ?? {}, type))
        .map(([status]) => `${operationId} ${status}`),
    );
    const { operations: by } = PROBLEM_NOTES[type];
    const expected = by.flatMap((operation) => statusesOf(type).map((status) => `${operation} ${status}`));
    expect(found.toSorted()).toEqual(expected.toSorted());
    expect(found).not.toHaveLength(0);
  });

  it('of a missing connection are those of the specification', () => {
    for (const [index, type] of [
      [1, 'tp5_connection_not_found'],
      [2, 'tp4_connection_not_found'],
    ] as const) {
      const examples = operations[index]?.responses['400']?.content?.['application/problem+json']?.examples;
      expect(examples).toHaveProperty([type, 'value', 'type'], type);
    }
  });

  it('name every rule that a field can break', () => {
    expect(schemas.Rule?.enum).toEqual(expect.arrayContaining([...RULES]));
    for (const word of schemas.Rule?.enum ?? []) expect(schemas.Rule?.description).toContain(`| ${word} |`);
  });
});
