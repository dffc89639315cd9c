import { readFileSync } from 'node:fs';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type OperationId, ROUTES } from '../../../infra/functions.ts';
import { findCode } from '../../../infra/local/outbox.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import { EXAMPLE_USER_ID, REQUEST_EXAMPLES } from '../../../infra/openapi/examples.ts';
import { generatedFiles } from '../../../infra/openapi/openapi.ts';
import { PROBLEM_NOTES, PROBLEM_TYPES } from '../../../infra/openapi/problems.ts';
import { PROBLEMS } from '../../../lib/problem.ts';
import { CUSTOM_FIELD_TYPES } from '../../../lib/validators/field-values.ts';
import { FIXED_FIELDS } from '../../../lib/validators/form.ts';
import { IdempotencyKeySchema } from '../../../lib/validators/headers.ts';
import { VIOLATION_RULES } from '../../../lib/validators/primitives.ts';
import { UserIdSchema } from '../../../lib/validators/trading-account.ts';
import { ROWS } from '../../specification/rows.ts';
import { PHONE_CHANNELS } from '../../specification/table.ts';
import { postJson } from '../../support/local-service.ts';
import { acceptsBody, ajv, operations, parameters, schemas } from '../../support/openapi.ts';

function file(name: string): string {
  return readFileSync(new URL(`../../../infra/${name}`, import.meta.url), 'utf8');
}

describe('The generated files', () => {
  it.each(Object.entries(generatedFiles()))('%s is what `npm run openapi` writes', (name, text) => {
    expect(file(name)).toBe(text);
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
});

describe('The examples', () => {
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
    const expected = by.map((operation) => `${operation} ${PROBLEMS[type].status}`);
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

  /** The registration that was requested last, and its code. Those of the example belong to no registration. */
  let requested: { registration_id: string | null; code: string | undefined };

  it.each(examples)('%s, "%s", are accepted', async (operation, _, body) => {
    const path = ROUTES.find(({ route }) => route.operation === operation)?.route.path ?? '';
    const sent = 'code' in body ? requested : body;
    const answer = await postJson(service, path.replace('{user_id}', EXAMPLE_USER_ID), sent);
    const [message] = service.outbox.list().slice(-1);
    if (operation === 'requestRegistration')
      requested = { registration_id: answer.headers.get('registration-id'), code: message && findCode(message) };
    expect(answer.status).toBe(operation.endsWith('Registration') ? 204 : 200);
  });
});
