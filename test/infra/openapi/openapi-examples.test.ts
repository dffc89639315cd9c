import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { REQUEST_EXAMPLES } from '../../../infra/openapi/examples.ts';
import {
  TradingAccountAnswerSchema,
  tradingAccountRequestSchema,
  UserIdSchema,
} from '../../../lib/validators/trading-account.ts';
import { checkAnswer } from '../../support/openapi.ts';
import { accepts, ajv, operations, parameters, schemas } from '../../support/openapi-document.ts';

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
    const members = Object.entries(schemas.RegistrationPhone?.properties ?? {});
    const phone = Object.fromEntries(members.map(([member, { examples = [] }]) => [member, examples[0]]));
    expect(phone).toEqual({ country_code: expect.any(String), number: expect.any(String) });
    expect(await accepts('requestRegistration', { ...REQUEST_EXAMPLES.requestRegistration.email?.value, phone })).toBe(
      true,
    );
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
    const isGateways = mediaType === 'application/json' && status !== '200';
    const retried = ['request_in_progress', 'too_many_requests', 'platform_unavailable'].includes(type ?? '');
    const check = (headers: Record<string, string>) =>
      checkAnswer('POST', path, Number(status), headers, JSON.stringify(body));
    const headers = {
      'content-type': mediaType,
      ...(isGateways
        ? {}
        : {
            'cache-control': 'no-store',
            'x-request-id': request_id,
            'x-content-type-options': 'nosniff',
            'strict-transport-security': 'max-age=63072000',
          }),
    };
    const timed = { ...headers, 'retry-after': '5' };
    // An unknown outcome has it if a repeat may bring an answer.
    if (!retried || status === '504') expect(() => check(headers)).not.toThrow();
    else expect(() => check(headers)).toThrow('retry-after');
    if (retried || status === '504') expect(() => check(timed)).not.toThrow();
    else expect(() => check(timed)).toThrow('retry-after');
  });
});
