import type * as v from 'valibot';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, expectTypeOf, it, vi } from 'vitest';
import { type OperationId, ROUTES } from '../../../infra/functions.ts';
import { findCode } from '../../../infra/local/outbox.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import {
  type Account,
  type Body,
  confirm,
  openAccount,
  type Problem,
  RequestError,
  register,
} from '../../../infra/openapi/client.ts';
import { EXAMPLE_USER_ID, REQUEST_EXAMPLES } from '../../../infra/openapi/examples.ts';
import type { components, operations } from '../../../infra/openapi/openapi-types.ts';
import { PROBLEMS, type ProblemType } from '../../../lib/problem.ts';
import type { EventType } from '../../../lib/records/event-schemas.ts';
import type { ConfirmationBodySchema } from '../../../lib/validators/confirmation.ts';
import type { Rule, Violation } from '../../../lib/validators/primitives.ts';
import type { RegistrationBodySchema } from '../../../lib/validators/registration.ts';
import type { TradingAccountAnswerSchema, TradingAccountRequest } from '../../../lib/validators/trading-account.ts';
import { postJson } from '../../support/local-service.ts';

describe('The generated types', () => {
  it('equal those of the validators', () => {
    expectTypeOf<Body<'createTp5Account'>>().toEqualTypeOf<TradingAccountRequest>();
    expectTypeOf<Body<'createTp4Account'>>().toEqualTypeOf<TradingAccountRequest>();
    type Confirmation = v.InferInput<typeof ConfirmationBodySchema>;
    expectTypeOf<Confirmation>().toExtend<Body<'confirmRegistration'>>();
    expectTypeOf<Body<'confirmRegistration'>>().toExtend<Confirmation>();
    expectTypeOf<Account>().toEqualTypeOf<v.InferOutput<typeof TradingAccountAnswerSchema>>();
    type Registration = v.InferInput<typeof RegistrationBodySchema>;
    expectTypeOf<Registration>().toExtend<Body<'requestRegistration'>>();
    expectTypeOf<Body<'requestRegistration'>>().toExtend<Registration>();
  });

  it('equal those of the errors', () => {
    expectTypeOf<Problem['type']>().toEqualTypeOf<ProblemType>();
    expectTypeOf<components['schemas']['Rule']>().toEqualTypeOf<Rule>();
    expectTypeOf<Violation>().toExtend<components['schemas']['Violation']>();
    expectTypeOf<keyof operations>().toEqualTypeOf<OperationId | `receive${EventType}`>();
  });

  it('narrow the members of a problem by its type', () => {
    expectTypeOf<Extract<Problem, { type: 'otp_type_unavailable' }>['available']>().toEqualTypeOf<
      ('email' | 'sms' | 'call' | 'whatsapp')[]
    >();
    expectTypeOf<Extract<Problem, { type: 'account_outcome_unknown' }>['operation_id']>().toEqualTypeOf<string>();
    expectTypeOf<Extract<Problem, { type: 'user_not_found' }>['status']>().toEqualTypeOf<404>();
  });
});

describe('Against the local service', () => {
  let service: LocalService;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(async () => {
    await service.close();
  });

  /** The code that was sent last on this channel, and to this address if it is an email. */
  function codeOf(channel: string, email?: string): string {
    const message = service.outbox.list().findLast(({ kind, to }) => kind === channel && (email ?? to) === to);
    return (message && findCode(message)) ?? 'none';
  }

  const examples = Object.entries(REQUEST_EXAMPLES).flatMap(([operation, named]) =>
    Object.entries(named).map(([name, { value }]) => [operation as OperationId, name, value] as const),
  );

  it.each(examples)('the documented example of %s, "%s", is accepted', async (operation, _, body) => {
    const path = ROUTES.find(({ route }) => route.operation === operation)?.route.path ?? '';
    // The code of the example belongs to no registration.
    const sent = 'code' in body ? { code: codeOf(body.otp_type, 'email' in body ? body.email : undefined) } : {};
    const answer = await postJson(service, path.replace('{user_id}', EXAMPLE_USER_ID), { ...body, ...sent });
    expect(answer.status).toBe(operation.endsWith('Registration') ? 204 : 200);
  });

  it('the client registers a person once for one key, and confirms it', async () => {
    const person = {
      email: 'nia@example.com',
      type: 'trader' as const,
      name: 'Nia Newman',
      password: 'correct horse battery',
      repeat_password: 'correct horse battery',
      form_id: 'FORM0001',
      k3J9xQ: 'some',
    };
    await register({ baseUrl: service.url }, person, 'form-1');
    await register({ baseUrl: service.url }, person, 'form-1');
    const { email, password } = person;
    expect(service.outbox.list().filter(({ to }) => to === email)).toHaveLength(1);

    const confirmation = { otp_type: 'email' as const, email, code: codeOf('email', email), password };
    service.bus.clear();
    for (let i = 0; i < 2; i += 1) await confirm({ baseUrl: service.url }, confirmation);
    expect(service.bus.list()).toMatchObject([{ 'detail-type': 'RegistrationConfirmed' }]);
  });

  it('the client opens one account for one key', async () => {
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
    const first = await openAccount({ baseUrl: service.url }, 'tp5', 'CLIENT01', order, 'order-1');
    expect(await openAccount({ baseUrl: service.url }, 'tp5', 'CLIENT01', order, 'order-1')).toEqual(first);
    expect(service.platforms.get('tp5-live-1')?.access(first.login, first.master_password)).toBe('master');
  });

  it('the client names the reason of a refusal', async () => {
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 5001 };
    const { status, problem, message } = await refusalOf(
      openAccount({ baseUrl: service.url }, 'tp5', 'short', order, 'order-2'),
    );
    expect([status, message]).toEqual([400, '400 validation_failed: The request is not valid.']);
    if (problem?.type !== 'validation_failed') return expect.fail();
    expect(problem.errors).toEqual([
      { parameter: 'user_id', rule: 'length', detail: 'must be 8 characters' },
      { pointer: '#/leverage', rule: 'maximum', detail: 'must be at most 5000' },
    ]);
  });
});

async function refusalOf(request: Promise<unknown>): Promise<RequestError> {
  const error = await request.catch((thrown: unknown) => thrown);
  if (!(error instanceof RequestError)) throw error;
  return error;
}

describe('The client', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const ACCOUNT = { login: 1, master_password: 'a', investor_password: 'b' };
  const order = { connection_id: 'x', group: 'x', leverage: 1 };
  const opened = () => Response.json(ACCOUNT);
  const gateway = (status: number, message: string) => () => Response.json({ message }, { status });
  const problem =
    (type: ProblemType, headers: Record<string, string> = {}, contentType = 'application/problem+json') =>
    () => {
      const { status, title } = PROBLEMS[type];
      const body = JSON.stringify({ type, title, status, request_id: 'x' });
      return new Response(body, { status, headers: { 'content-type': contentType, ...headers } });
    };
  const lost = () => {
    throw new TypeError('fetch failed');
  };
  const brokenOff = () => {
    const body = new ReadableStream({ start: (controller) => controller.error(new TypeError('terminated')) });
    return new Response(body);
  };

  /** Opens an account at a service that gives these answers in turn, and then repeats the last one. */
  function open(answers: (() => Response)[], { signal }: { signal?: AbortSignal } = {}) {
    const sent: { at: number; headers: unknown }[] = [];
    const startedAt = performance.now();
    const service = {
      baseUrl: 'https://api.broker.example',
      token: 'token',
      fetch: async (_: string, { headers }: RequestInit) => {
        const answer = answers[Math.min(sent.length, answers.length - 1)] ?? lost;
        sent.push({ at: performance.now() - startedAt, headers });
        return answer();
      },
    };
    const options = signal === undefined ? {} : { signal };
    const result = openAccount(service, 'tp5', 'CLIENT01', order, 'order-1', options);
    // The rejection is read after the time has passed.
    result.catch(() => undefined);
    return { sent, result };
  }

  it.each([
    ['is lost', lost],
    ['breaks off', brokenOff],
    ['is a throttling of the gateway', gateway(429, 'Too Many Requests')],
    ['is a crash', gateway(500, 'Internal Server Error')],
    ['is a timeout of the gateway', gateway(503, 'Service Unavailable')],
    ['is an error of the service', problem('internal_error')],
    ['asks for a repeat', problem('request_in_progress', { 'retry-after': '1' })],
    [
      'asks for a repeat, with a charset',
      problem('platform_unavailable', { 'retry-after': '1' }, 'application/problem+json; charset=utf-8'),
    ],
  ])('repeats the request with the same key if the answer %s', async (_, answer) => {
    const { sent, result } = open([answer, opened]);
    await vi.runAllTimersAsync();
    expect(await result).toEqual(ACCOUNT);
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'order-1', authorization: 'Bearer token' };
    expect(sent.map((one) => one.headers)).toEqual([headers, headers]);
  });

  it.each([
    ['login_taken', problem('login_taken')],
    ['login_range_exhausted', problem('login_range_exhausted')],
    ['too_many_requests', problem('too_many_requests', { 'retry-after': '31' })],
  ] as const)('does not repeat a request that is refused with %s', async (type, answer) => {
    const { sent, result } = open([answer]);
    await vi.runAllTimersAsync();
    expect(await refusalOf(result)).toMatchObject({ status: PROBLEMS[type].status, problem: { type } });
    expect(sent).toHaveLength(1);
  });

  it('has one error class, with the status of the gateway, and 0 if no answer arrived', async () => {
    const forbidden = open([gateway(403, 'Forbidden')]);
    const silent = open([lost]);
    await vi.runAllTimersAsync();
    expect(await refusalOf(forbidden.result)).toMatchObject({ status: 403, problem: undefined });
    expect(await refusalOf(silent.result)).toMatchObject({ status: 0, cause: new TypeError('fetch failed') });
    expect([forbidden.sent.length, silent.sent.length]).toEqual([1, 5]);
  });

  it('waits twice as long each time, with jitter, and as long as Retry-After asks for', async () => {
    const waits = async (answer: () => Response) => {
      const { sent } = open([answer]);
      await vi.runAllTimersAsync();
      return sent.slice(1).map(({ at }, index) => at - (sent[index]?.at ?? 0));
    };
    const first = await waits(gateway(429, 'Too Many Requests'));
    for (const [index, longest] of [1_000, 2_000, 4_000, 8_000].entries()) {
      expect(first[index]).toBeGreaterThanOrEqual(longest / 2);
      expect(first[index]).toBeLessThanOrEqual(longest);
    }
    expect(await waits(gateway(429, 'Too Many Requests'))).not.toEqual(first);
    for (const wait of await waits(problem('request_in_progress', { 'retry-after': '3' }))) {
      expect(wait).toBeGreaterThan(3_000);
      expect(wait).toBeLessThanOrEqual(3_500);
    }
  });

  it.each([0, 700])('ends when its caller aborts, after %i ms', async (ms) => {
    const caller = new AbortController();
    const { sent, result } = open([gateway(503, 'Service Unavailable')], caller);
    setTimeout(() => caller.abort(new Error('the page was closed')), ms);
    await vi.runAllTimersAsync();
    await expect(result).rejects.toThrow('the page was closed');
    expect(sent.length).toBeLessThan(3);
  });

  it('passes the caller’s signal to the running request', async () => {
    const caller = new AbortController();
    const service = {
      baseUrl: 'https://api.broker.example',
      fetch: (_: string, { signal }: RequestInit) =>
        new Promise<Response>((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason))),
    };
    const result = openAccount(service, 'tp5', 'CLIENT01', order, 'order-1', { signal: caller.signal });
    caller.abort(new Error('the page was closed'));
    await expect(result).rejects.toThrow('the page was closed');
  });
});
