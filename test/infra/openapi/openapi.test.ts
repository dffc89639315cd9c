import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OperationId, ROUTES } from '../../../infra/functions.ts';
import { findCode } from '../../../infra/local/outbox.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { EXAMPLE_USER_ID, REQUEST_EXAMPLES } from '../../../infra/openapi/examples.ts';
import { generatedFiles } from '../../../infra/openapi/openapi.ts';
import { PROBLEM_NOTES, PROBLEM_TYPES, problemStatuses } from '../../../infra/openapi/problems.ts';
import { CUSTOM_FIELD_TYPES } from '../../../lib/validators/field-values.ts';
import { FIXED_FIELDS } from '../../../lib/validators/form.ts';
import { IdempotencyKeySchema } from '../../../lib/validators/headers.ts';
import { VIOLATION_RULES } from '../../../lib/validators/primitives.ts';
import { UserIdSchema } from '../../../lib/validators/trading-account.ts';
import { ROWS } from '../../specification/rows.ts';
import { PHONE_CHANNELS } from '../../specification/table.ts';
import { postJson } from '../../support/local-service.ts';
import { acceptsBody, ajv, type OpenApiSchema, operations, parameters, schemas } from '../../support/openapi.ts';

function file(name: string): string {
  return readFileSync(new URL(`../../../infra/${name}`, import.meta.url), 'utf8');
}

describe('The generated files', () => {
  it.each(Object.entries(generatedFiles()))('%s is what `npm run openapi` writes', (name, text) => {
    expect(file(name)).toBe(text);
  });

  it('pass the linter', async () => {
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
  it('are the three of the specification, and the extension that a deployment may lack', () => {
    expect(operations.map(({ path, operationId }) => `${operationId} POST ${path}`)).toEqual([
      'requestRegistration POST /public/v1/account/register/request',
      'createTp5Account POST /public/v1/users/{user_id}/tp5/accounts',
      'createTp4Account POST /public/v1/users/{user_id}/tp4/accounts',
      'confirmRegistration POST /public/v1/account/register/confirm',
    ]);
    expect(operations.map((operation) => operation['x-deployment-setting'])).toEqual([
      ...[undefined, undefined, undefined],
      'confirmation',
    ]);
    expect(operations[3]?.responses['404']?.content?.['application/json']?.example).toEqual({ message: 'Not Found' });
  });

  it('need IAM or a token with the scope accounts:create, except the registration and its confirmation', () => {
    const accountSecurity = [{ iam: [] }, { jwt: ['accounts:create'] }];
    expect(operations.map(({ security }) => security)).toEqual([[], accountSecurity, accountSecurity, []]);
  });

  it('of the specification take an optional Idempotency-Key', () => {
    for (const operation of operations.slice(0, 3)) {
      expect(operation.parameters).toContainEqual({ $ref: '#/components/parameters/IdempotencyKey' });
    }
    expect(parameters.IdempotencyKey).toMatchObject({ name: 'Idempotency-Key', in: 'header', required: false });
  });

  it.each([
    ...['a', '"quoted"', 'x'.repeat(255), `"${'x'.repeat(255)}"`, '!~', '', '""', '"'],
    ...['x'.repeat(256), `"${'x'.repeat(256)}"`, 'a b', 'é', '"a"b"'],
  ])('take the same Idempotency-Key as the service does: %s', (key) => {
    const documented = ajv.compile(parameters.IdempotencyKey?.schema ?? false);
    expect(documented(key)).toBe(v.is(IdempotencyKeySchema, key));
  });
});

describe('The fields', () => {
  it('of a registration are those of the specification, and any of the form', () => {
    const { properties = {}, additionalProperties } = schemas.RegistrationRequest ?? {};
    expect(Object.keys(properties).sort()).toEqual(FIXED_FIELDS.toSorted());
    expect(additionalProperties).toEqual({ description: expect.any(String) });
    expect(properties.otp_type).toMatchObject({ enum: ['email', ...PHONE_CHANNELS], default: 'email' });
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
  ])('of a phone are required for a phone channel, as the service requires them: %j', async (fields, fine) => {
    const body = { ...REQUEST_EXAMPLES.requestRegistration.email?.value, ...fields };
    expect(ajv.validate({ $ref: 'openapi#/components/schemas/RegistrationRequest' }, body)).toBe(fine);
    expect(await acceptsBody('requestRegistration', body)).toBe(fine);
  });

  it.each(['5', '4'])('of a tp%s account are exactly those of the specification', (version) => {
    const { properties = {}, required, additionalProperties } = schemas[`Tp${version}AccountRequest`] ?? {};
    const rows = ROWS.map(({ id }) => new RegExp(`^2\\.3 (\\w+), tp${version}$`).exec(id)?.[1]);
    const named = rows.filter((name) => name !== undefined && !['user_id', 'body'].includes(name));
    expect(Object.keys(properties).sort()).toEqual([...new Set(named)].sort());
    expect(required).toEqual(['connection_id', 'group', 'leverage']);
    expect(additionalProperties).toBe(false);
    expect(properties.leverage).toMatchObject({ type: 'integer', minimum: 1, maximum: 5000 });
    const length = { minLength: version === '5' ? 8 : 5, maxLength: 15 };
    expect(properties.master_password).toMatchObject(length);
    expect(properties.investor_password).toMatchObject(length);
  });

  it('of the form have a value format for every type', () => {
    const documented = Object(schemas.RegistrationRequest?.additionalProperties).description as string;
    const rows = [...documented.matchAll(/^\| ([\w, ]+) \|/gm)].flatMap(([, types = '']) => types.split(', '));
    expect(rows.slice(1).toSorted()).toEqual(CUSTOM_FIELD_TYPES.toSorted());
  });

  it.each(Object.keys(schemas))('of %s all have a description, nested ones too', (name) => {
    expect([...fieldsWithoutDescription(schemas[name], name)]).toEqual([]);
  });
});

/** The paths of members without a description; a reference has its description at its target. */
function* fieldsWithoutDescription(schema: unknown, place: string): Generator<string> {
  if (typeof schema !== 'object' || schema === null) return;
  const { properties = {}, ...others } = schema as { properties?: Record<string, OpenApiSchema> };
  for (const [field, member] of Object.entries(properties)) {
    if (!('$ref' in member) && !/\.$/.test(member.description ?? '')) yield `${place}.${field}`;
    yield* fieldsWithoutDescription(member, `${place}.${field}`);
  }
  for (const [key, value] of Object.entries(others)) {
    // Rules between members name members that are described elsewhere.
    if (!['examples', 'if', 'then'].includes(key)) yield* fieldsWithoutDescription(value, `${place}.${key}`);
  }
}

/** Every object of the document, with the keys that lead to it. */
function* parts(value: unknown, path = ''): Generator<{ path: string; schema: OpenApiSchema }> {
  if (typeof value !== 'object' || value === null) return;
  yield { path, schema: value as OpenApiSchema };
  for (const [key, member] of Object.entries(value)) {
    if (!['examples', 'example', 'if', 'then'].includes(key)) yield* parts(member, `${path} ${key}`);
  }
}

describe('For generators of clients', () => {
  const all = [...parts(JSON.parse(file('openapi.json')))];

  it('every number has a format that holds it', () => {
    const numbers = all.filter(({ schema }) => ['integer', 'number'].includes(String(schema.type)));
    expect(numbers.length).toBeGreaterThan(30);
    expect(numbers.filter(({ schema }) => schema.format === undefined)).toEqual([]);
    expect(schemas.TradingAccount?.properties?.login).toMatchObject({ format: 'int64' });
  });

  it('no pattern needs more than RE2 knows', () => {
    const patterns = all.flatMap(({ schema: { pattern } }) => (typeof pattern === 'string' ? [pattern] : []));
    expect(patterns.length).toBeGreaterThan(10);
    // Lookaround, references, and more than 1,000 repetitions; a backtick ends a string of Go.
    expect(patterns.filter((pattern) => /\(\?[=!<]|\\[1-9]|\{\d*,?\d{4,}\}|`/.test(pattern))).toEqual([]);
  });

  it('every object and every choice has a name of its own', () => {
    const inline = all.filter(
      ({ path, schema }) =>
        (schema.properties !== undefined || schema.oneOf !== undefined) &&
        !/^ components schemas \w+$| content \S+ schema$/.test(path),
    );
    expect(inline.map(({ path }) => path)).toEqual([]);
  });

  it('nothing that is required may be left out of a request', () => {
    expect(all.filter(({ schema }) => schema.writeOnly !== undefined || schema.readOnly !== undefined)).toEqual([]);
  });

  it('headers are defined once', () => {
    const headers = operations.flatMap(({ responses }) =>
      Object.values(responses).map((answer) => answer.headers ?? {}),
    );
    for (const header of headers.flatMap((one) => Object.values(one))) {
      expect(header).toEqual({ $ref: expect.stringMatching(/^#\/components\/headers\/\w+$/) });
    }
  });

  it.each(['413', '429', '500', '503'])(
    "the gateway's own %s is one of the answers, in the content type that is read first",
    (status) => {
      for (const { responses } of operations) {
        const [first = '', ...others] = Object.keys(responses[status]?.content ?? {});
        const { schema } = responses[status]?.content?.[first] ?? {};
        expect(first).toBe('application/json');
        expect(JSON.stringify(schema)).toContain('#/components/schemas/GatewayMessage');
        if (others.length > 0) expect(schema?.oneOf).not.toHaveLength(1);
      }
    },
  );
});

describe('The examples', () => {
  // The linter checks them against their schemas, and `client.test.ts` sends the requests.
  it.each([
    ['requestRegistration', 'RegistrationRequest', 'email'],
    ['createTp5Account', 'Tp5AccountRequest', 'live'],
    ['createTp4Account', 'Tp4AccountRequest', 'live'],
  ] as const)('of each field of %s are accepted', async (operationId, name, example) => {
    const { [example]: base } = REQUEST_EXAMPLES[operationId] as Record<string, { value: Record<string, unknown> }>;
    for (const [field, { examples = [] }] of Object.entries(schemas[name]?.properties ?? {})) {
      for (const value of examples) {
        const body = { ...base?.value, [field]: value, ...(field === 'password' ? { repeat_password: value } : {}) };
        expect(await acceptsBody(operationId, body), field).toBe(true);
      }
    }
  });

  it('of the members of a phone are accepted', async () => {
    const members = Object.entries(schemas.RegistrationPhone?.properties ?? {});
    const phone = Object.fromEntries(members.map(([member, { examples = [] }]) => [member, examples[0]]));
    expect(phone).toEqual({ country_code: expect.any(String), number: expect.any(String) });
    expect(
      await acceptsBody('requestRegistration', { ...REQUEST_EXAMPLES.requestRegistration.email?.value, phone }),
    ).toBe(true);
  });

  it('of the path parameter is accepted', () => {
    expect(v.is(UserIdSchema, parameters.UserId?.example)).toBe(true);
  });
});

describe('The errors', () => {
  it.each(PROBLEM_TYPES)('%s is documented for every operation that answers it, with its status', (type) => {
    const found = operations.flatMap(({ operationId, responses }) =>
      Object.entries(responses)
        .filter(([, { content }]) => Object.hasOwn(content?.['application/problem+json']?.examples ?? {}, type))
        .map(([status]) => `${operationId} ${status}`),
    );
    const { operations: by } = PROBLEM_NOTES[type];
    const expected = by.flatMap((operation) => problemStatuses(type).map((status) => `${operation} ${status}`));
    expect(found.toSorted()).toEqual(expected.toSorted());
    expect(found).not.toHaveLength(0);
  });

  it('list every rule that a field can break', () => {
    expect(schemas.Rule?.enum).toEqual(expect.arrayContaining(Object.keys(VIOLATION_RULES)));
    for (const word of schemas.Rule?.enum ?? []) expect(schemas.Rule?.description).toContain(`| ${word} |`);
  });
});

describe('The documented requests, sent to the local service', () => {
  let service: LocalService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  const examples = Object.entries(REQUEST_EXAMPLES).flatMap(([operation, named]) =>
    Object.entries(named).map(([name, { value }]) => [operation as OperationId, name, value] as const),
  );

  /** The code that was sent last for this confirmation. The one of the example belongs to no registration. */
  function codeFor(body: { otp_type: string } & ({ email: string } | object)): string | undefined {
    const isMeant = (kind: string, to: string) => kind === body.otp_type && (!('email' in body) || body.email === to);
    const message = service.outbox.list().findLast(({ kind, to }) => isMeant(kind, to));
    return message && findCode(message);
  }

  it.each(examples)('%s, "%s", are accepted', async (operation, _, body) => {
    const path = ROUTES.find(({ route }) => route.operation === operation)?.route.path ?? '';
    const sent = 'code' in body ? { ...body, code: codeFor(body) } : body;
    const answer = await postJson(service, path.replace('{user_id}', EXAMPLE_USER_ID), sent);
    expect(answer.status).toBe(operation.endsWith('Registration') ? 204 : 200);
  });
});
