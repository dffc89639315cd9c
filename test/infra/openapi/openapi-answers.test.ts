import { describe, expect, it } from 'vitest';
import { type AnswerHeaders, checkAnswer, checkedAnswer, operations } from '../../support/openapi.ts';

const STANDARD = {
  'cache-control': 'no-store',
  'x-request-id': 'id',
  'x-content-type-options': 'nosniff',
  'strict-transport-security': 'max-age=63072000',
};
const JSON_TYPE = { ...STANDARD, 'content-type': 'application/json' };
const ACCOUNT = { login: 1, master_password: 'a', investor_password: 'b' };

type More = Record<string, string | undefined>;
interface Answer {
  path?: string;
  status: number;
  headers?: AnswerHeaders;
  body?: unknown;
}
/** With headers next to those of every answer; undefined: without it. */
const account = (headers: More = {}, body: unknown = ACCOUNT): Answer => ({
  status: 200,
  headers: { ...JSON_TYPE, ...headers },
  body,
});
const registered = (headers: More = {}, body: unknown = ''): Answer => ({
  ...{ path: '/public/v1/account/register/request', status: 204 },
  headers: { ...STANDARD, ...headers },
  body,
});
const problem = (type: string, status: number, members: object = {}, headers: More = {}): Answer => ({
  status,
  headers: { ...STANDARD, 'content-type': 'application/problem+json', ...headers },
  body: { type, title: 'A title.', status, request_id: 'id', ...members },
});
const ofRegistration = (answer: Answer): Answer => ({ ...registered(), ...answer });
const violation = (...errors: object[]) => problem('validation_failed', 400, { errors });
const ERROR = { pointer: '#/login', rule: 'type', detail: 'must be a number' };

/** The differences that the check lists; an empty text: none. */
function differences({ path = '/public/v1/users/{user_id}/tp5/accounts', status, headers = {}, body }: Answer): string {
  try {
    checkAnswer(path, status, headers, typeof body === 'string' ? body : JSON.stringify(body));
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

describe('An answer', () => {
  // The examples below are the answers of each status.
  it.each<[string, Answer]>([
    ['204 without a body', registered()],
    ['200 with the account', account()],
    ['a charset with its content type', account({ 'content-type': 'application/json; charset=utf-8' })],
    ['other headers', account({ 'apigw-requestid': 'x', date: 'today' })],
  ])('is as documented with %s', (_, answer) => {
    expect(differences(answer)).toBe('');
  });

  it.each<[string, string, Answer]>([
    ['an unknown path', 'is not documented', { ...account(), path: '/public/v2' }],
    ['a status', 'status 201 is not documented', { ...account(), status: 201 }],
    ['another content type', 'text/html is not documented', account({ 'content-type': 'text/html' })],
    ['a body that is no JSON', 'the body is not JSON', account({}, 'x')],
    ['a body where there is none', 'has a body', registered({}, '{}')],
    ['a content type without a body', 'has a content type', registered(JSON_TYPE)],
    ['a member less', 'login', account({}, { ...ACCOUNT, login: undefined })],
    ['a member more', 'additional', account({}, { ...ACCOUNT, group: 'real' })],
    ['a header less', 'the header x-request-id is missing', account({ 'x-request-id': undefined })],
    ['another value of a header', 'the header cache-control', account({ 'cache-control': 'max-age=1' })],
    ['a header more', 'the header retry-after is not documented', account({ 'retry-after': '1' })],
    ['a type of another operation', 'problem type form_not_found is not', problem('form_not_found', 400)],
    ['another status in a problem', 'the member status is 400', problem('user_not_found', 404, { status: 400 })],
    ['another request', 'the member request_id differs', problem('user_not_found', 404, { request_id: 'other' })],
    ['a violation of an unknown rule', '/errors/0', violation({ ...ERROR, rule: 'odd' })],
    ['no Retry-After', 'the header retry-after is missing', ofRegistration(problem('too_many_requests', 429))],
    [
      'Retry-After where a repeat is of no use',
      'the header retry-after does not come with login_taken',
      problem('login_taken', 409, {}, { 'retry-after': '1' }),
    ],
    [
      'headers of the service in an answer of the gateway',
      "the header cache-control does not come with the gateway's own answer",
      { ...account({}, { message: 'Service Unavailable' }), status: 503 },
    ],
  ])('differs from the document with %s', (_, difference, answer) => {
    expect(differences(answer)).toContain(difference);
  });

  const documented = operations.flatMap(({ path, responses }) =>
    Object.entries(responses).flatMap(([status, { content = {} }]) =>
      Object.entries(content).flatMap(([mediaType, { examples, example }]) =>
        Object.values(examples ?? { only: { value: example } }).map(
          ({ value }) => [path, status, mediaType, value] as const,
        ),
      ),
    ),
  );

  it.each(documented)('of %s with %s %s, as its example has it, is as documented', (path, status, mediaType, body) => {
    const { type, request_id = 'id' } = body as { type?: string; request_id?: string };
    const isGateways = mediaType === 'application/json' && status !== '200';
    const retried = ['request_in_progress', 'too_many_requests', 'platform_unavailable'].includes(type ?? '');
    const standard = isGateways ? {} : { ...STANDARD, 'x-request-id': request_id };
    const headers = { 'content-type': mediaType, ...standard };
    const untimed = differences({ path, status: Number(status), headers, body });
    const timed = differences({ path, status: Number(status), headers: { ...headers, 'retry-after': '5' }, body });
    const refused = expect.stringContaining('retry-after');
    // If a retry may bring an answer: the outcome, a client on its way, or a login that was not searched in time.
    const sometimes = status === '504' || ['user_not_found', 'login_range_exhausted'].includes(type ?? '');
    if (sometimes) expect([untimed, timed]).toEqual(['', '']);
    else expect([untimed, timed]).toEqual(retried ? [refused, ''] : ['', refused]);
  });

  it('of fetch is checked by its address, and can still be read', async () => {
    const fetched = (body: object) => {
      const url = { value: 'http://localhost/public/v1/users/CLIENT01/tp5/accounts' };
      return checkedAnswer(Object.defineProperty(Response.json(body, { headers: STANDARD }), 'url', url));
    };
    expect(await (await fetched(ACCOUNT)).json()).toEqual(ACCOUNT);
    await expect(fetched({ ...ACCOUNT, more: 1 })).rejects.toThrow('additional');
  });
});
