import { describe, expect, it } from 'vitest';
import { type AnswerHeaders, checkAnswer, checked } from '../../support/openapi.ts';

const REGISTER = '/public/v1/account/register/request';
const TP5 = '/public/v1/users/{user_id}/tp5/accounts';
const STANDARD = {
  'cache-control': 'no-store',
  'x-request-id': 'id',
  'x-content-type-options': 'nosniff',
  'strict-transport-security': 'max-age=63072000',
};
const JSON_TYPE = { ...STANDARD, 'content-type': 'application/json' };
const PROBLEM_TYPE = { ...STANDARD, 'content-type': 'application/problem+json' };
const ACCOUNT = { login: 1, master_password: 'a', investor_password: 'b' };

function problem(type: string, status: number, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { type, title: 'A title.', status, request_id: 'id', ...more };
}

/** The differences that the check lists; an empty text: none. */
function differences(path: string, status: number, headers: AnswerHeaders, body: unknown = ''): string {
  try {
    checkAnswer('POST', path, status, headers, typeof body === 'string' ? body : JSON.stringify(body));
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe('An answer is as documented', () => {
  it.each([
    ['204 without a body', REGISTER, 204, STANDARD, ''],
    ['204 of a repeated request', REGISTER, 204, { ...STANDARD, 'idempotent-replayed': 'true' }, ''],
    ['200 with the account', TP5, 200, JSON_TYPE, ACCOUNT],
    [
      'a charset with its content type',
      TP5,
      200,
      { ...JSON_TYPE, 'Content-Type': 'application/json; charset=utf-8' },
      ACCOUNT,
    ],
    ['other headers', TP5, 200, { ...JSON_TYPE, 'apigw-requestid': 'x', date: 'today' }, ACCOUNT],
    ['a problem', TP5, 404, PROBLEM_TYPE, problem('user_not_found', 404)],
    [
      'a problem with its violations',
      TP5,
      400,
      PROBLEM_TYPE,
      problem('validation_failed', 400, {
        errors: [
          { parameter: 'user_id', rule: 'length', detail: 'must be 8 characters' },
          { header: 'Idempotency-Key', rule: 'format', detail: 'must be visible' },
          { pointer: '#/leverage', rule: 'maximum', detail: 'must be at most 5000' },
        ],
      }),
    ],
    [
      'a problem with Retry-After',
      REGISTER,
      429,
      { ...PROBLEM_TYPE, 'retry-after': '60' },
      problem('too_many_requests', 429),
    ],
    ["the gateway's own answer", TP5, 403, { 'content-type': 'application/json' }, { message: 'Forbidden' }],
    ["the gateway's own 503", TP5, 503, { 'content-type': 'application/json' }, { message: 'Service Unavailable' }],
  ])('with %s', (_, path, status, headers, body) => {
    expect(differences(path, status, headers, body)).toBe('');
  });

  it('with headers of fetch', () => {
    expect(differences(TP5, 200, new Headers(JSON_TYPE), ACCOUNT)).toBe('');
  });

  it('as a response of fetch, which can still be read', async () => {
    const answer = Response.json(ACCOUNT, { headers: STANDARD });
    Object.defineProperty(answer, 'url', { value: 'http://localhost/public/v1/users/CLIENT01/tp5/accounts' });
    expect(await (await checked(answer)).json()).toEqual(ACCOUNT);
  });
});

describe('An answer differs from the document', () => {
  const { 'x-request-id': _, ...withoutId } = JSON_TYPE;
  it.each([
    ['with an unknown path', 'is not documented', '/public/v2', 200, JSON_TYPE, ACCOUNT],
    ['with a status', 'status 201 is not documented', TP5, 201, JSON_TYPE, ACCOUNT],
    ['with another content type', 'text/html is not documented', TP5, 200, { 'content-type': 'text/html' }, 'x'],
    ['without a content type', 'no content type is not documented', TP5, 200, STANDARD, ACCOUNT],
    ['with a body that is no JSON', 'the body is not JSON', TP5, 200, JSON_TYPE, 'x'],
    ['with a body where there is none', 'has a body', REGISTER, 204, STANDARD, '{}'],
    ['with a content type without a body', 'has a content type', REGISTER, 204, JSON_TYPE, ''],
    ['without a member', 'login', TP5, 200, JSON_TYPE, { master_password: 'a', investor_password: 'b' }],
    ['with one member more', 'additional', TP5, 200, JSON_TYPE, { ...ACCOUNT, group: 'real' }],
    ['with a member of another type', '/login must be integer', TP5, 200, JSON_TYPE, { ...ACCOUNT, login: '1' }],
    ['without a header', 'the header x-request-id is missing', TP5, 200, withoutId, ACCOUNT],
    [
      'with another value of a header',
      'the header cache-control',
      TP5,
      200,
      { ...JSON_TYPE, 'cache-control': 'max-age=1' },
      ACCOUNT,
    ],
    [
      'with a header that does not belong there',
      'the header retry-after is not documented',
      TP5,
      200,
      { ...JSON_TYPE, 'retry-after': '1' },
      ACCOUNT,
    ],
    [
      'with a type of another operation',
      'problem type form_not_found is not documented',
      TP5,
      400,
      PROBLEM_TYPE,
      problem('form_not_found', 400),
    ],
    [
      'with a type of another status',
      'problem type user_not_found is not documented',
      TP5,
      400,
      PROBLEM_TYPE,
      problem('user_not_found', 404),
    ],
    [
      'with a problem that says another status',
      'the member status is 400',
      TP5,
      404,
      PROBLEM_TYPE,
      problem('user_not_found', 400),
    ],
    [
      'with a problem of another request',
      'the member request_id differs',
      TP5,
      404,
      PROBLEM_TYPE,
      problem('user_not_found', 404, { request_id: 'other' }),
    ],
    [
      'with one member more in a problem',
      'additional',
      TP5,
      404,
      PROBLEM_TYPE,
      problem('user_not_found', 404, { stack: 'at …' }),
    ],
    ['without its violations', 'errors', TP5, 400, PROBLEM_TYPE, problem('validation_failed', 400)],
    [
      'with a violation of an unknown rule',
      '/errors/0',
      TP5,
      400,
      PROBLEM_TYPE,
      problem('validation_failed', 400, { errors: [{ pointer: '#/login', rule: 'odd', detail: 'is odd' }] }),
    ],
    [
      'with a violation that quotes the value',
      '/errors/0',
      TP5,
      400,
      PROBLEM_TYPE,
      problem('validation_failed', 400, {
        errors: [{ pointer: '#/login', rule: 'type', detail: 'must be a number', value: 'x' }],
      }),
    ],
    [
      'without Retry-After',
      'the header retry-after is missing',
      REGISTER,
      429,
      PROBLEM_TYPE,
      problem('too_many_requests', 429),
    ],
    [
      'with Retry-After where a repeat is of no use',
      'the header retry-after does not come with login_taken',
      TP5,
      409,
      { ...PROBLEM_TYPE, 'retry-after': '1' },
      problem('login_taken', 409),
    ],
    ['without an operation id', 'operation_id', TP5, 409, PROBLEM_TYPE, problem('account_outcome_unknown', 409)],
    [
      'with headers of the service in an answer of the gateway',
      "the header cache-control does not come with the gateway's own answer",
      TP5,
      503,
      JSON_TYPE,
      { message: 'Service Unavailable' },
    ],
  ])('%s', (_title, difference, path, status, headers, body) => {
    expect(differences(path, status, headers, body)).toContain(difference);
  });

  it('in several ways, and all are listed at once', () => {
    const text = differences(TP5, 404, { 'content-type': 'application/problem+json' }, { type: 'user_not_found' });
    for (const word of [
      'title',
      'status',
      'request_id',
      'cache-control',
      'x-content-type-options',
      'strict-transport-security',
    ]) {
      expect(text).toContain(word);
    }
  });

  it('as a response of fetch', async () => {
    const answer = Response.json({ ...ACCOUNT, more: 1 }, { headers: STANDARD });
    Object.defineProperty(answer, 'url', { value: 'http://localhost/public/v1/users/CLIENT01/tp5/accounts' });
    await expect(checked(answer)).rejects.toThrow('additional');
  });
});
