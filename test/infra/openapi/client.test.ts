import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest';
import { oneTimeCode } from '../../../infra/local/one-time-code.ts';
import { type LocalService, startService } from '../../../infra/local/service.ts';
import type { Account, Body, Problem } from '../../../infra/openapi/client.ts';
import { confirm, openAccount, Refused, register } from '../../../infra/openapi/client.ts';
import { EXAMPLE_USER_ID, REQUEST_EXAMPLES } from '../../../infra/openapi/examples.ts';
import type { components, operations } from '../../../infra/openapi/openapi-types.ts';
import type { OperationId } from '../../../infra/routes.ts';
import type { ProblemType } from '../../../lib/problem.ts';
import type { ConfirmationBodySchema } from '../../../lib/validators/confirmation.ts';
import type { Rule, Violation } from '../../../lib/validators/primitives.ts';
import type { RegistrationBodySchema } from '../../../lib/validators/registration.ts';
import type { TradingAccountAnswerSchema, TradingAccountRequest } from '../../../lib/validators/trading-account.ts';
import { checked } from '../../support/openapi.ts';

const PATHS: Readonly<Record<OperationId, string>> = {
  requestRegistration: '/public/v1/account/register/request',
  confirmRegistration: '/public/v1/account/register/confirm',
  createTp5Account: `/public/v1/users/${EXAMPLE_USER_ID}/tp5/accounts`,
  createTp4Account: `/public/v1/users/${EXAMPLE_USER_ID}/tp4/accounts`,
};

describe('The generated types', () => {
  it('are those of the validators', () => {
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

  it('are those of the errors', () => {
    expectTypeOf<Problem['type']>().toEqualTypeOf<ProblemType>();
    expectTypeOf<components['schemas']['Rule']>().toEqualTypeOf<Rule>();
    expectTypeOf<Violation>().toExtend<components['schemas']['Violation']>();
    expectTypeOf<keyof operations>().toEqualTypeOf<OperationId>();
  });

  it('tell the members of a problem by its type', () => {
    expectTypeOf<Extract<Problem, { type: 'otp_type_unavailable' }>['available']>().toEqualTypeOf<
      ('email' | 'sms' | 'call' | 'whatsapp')[]
    >();
    expectTypeOf<Extract<Problem, { type: 'account_outcome_unknown' }>['operation_id']>().toEqualTypeOf<string>();
    expectTypeOf<Extract<Problem, { type: 'user_not_found' }>['status']>().toEqualTypeOf<404>();
  });

  it('fit the documented examples', () => {
    type Example<Name extends OperationId> = (typeof REQUEST_EXAMPLES)[Name][string]['value'];
    expectTypeOf<Example<'requestRegistration'>>().toExtend<Body<'requestRegistration'>>();
    expectTypeOf<Example<'confirmRegistration'>>().toExtend<Body<'confirmRegistration'>>();
    expectTypeOf<Example<'createTp5Account'>>().toExtend<Body<'createTp5Account'>>();
    expectTypeOf<Example<'createTp4Account'>>().toExtend<Body<'createTp4Account'>>();
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

  /** The code of the example is that of no registration. */
  function withCode(confirmation: v.InferInput<typeof ConfirmationBodySchema>) {
    const { otp_type, ...address } = confirmation;
    const message = service.outbox
      .list()
      .findLast(({ kind, to }) => kind === otp_type && (!('email' in address) || to === address.email));
    return { ...confirmation, code: (message && oneTimeCode(message)) ?? 'none' };
  }

  const examples = Object.entries(REQUEST_EXAMPLES).flatMap(([operation, named]) =>
    Object.entries(named).map(([name, { value }]) => [operation as OperationId, name, value] as const),
  );

  it.each(examples)('the documented example of %s, "%s", is accepted', async (operation, name, body) => {
    const answer = await fetch(`${service.url}${PATHS[operation]}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.1' },
      body: JSON.stringify('code' in body ? withCode(body) : body),
    });
    await checked(answer);
    expect(answer.status, name).toBe(operation.endsWith('Registration') ? 204 : 200);
    if (operation === 'requestRegistration') {
      const { email } = body as { email: string };
      expect(
        service.outbox.list().some(({ to, text }) => (to === email || to.startsWith('+')) && /\d{6}/.test(text)),
      ).toBe(true);
    }
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
    const messages = service.outbox.list().filter(({ to }) => to === 'nia@example.com');
    expect(messages).toHaveLength(1);

    const [message] = messages;
    const { email, password } = person;
    const code = (message && oneTimeCode(message)) ?? 'none';
    service.bus.clear();
    for (let i = 0; i < 2; i += 1) {
      await confirm({ baseUrl: service.url }, { otp_type: 'email', email, code, password });
    }
    expect(service.bus.list()).toMatchObject([{ 'detail-type': 'RegistrationConfirmed' }]);
  });

  it('the client opens one account for one key', async () => {
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
    const first = await openAccount({ baseUrl: service.url }, 'tp5', 'CLIENT01', order, 'order-1');
    expect(await openAccount({ baseUrl: service.url }, 'tp5', 'CLIENT01', order, 'order-1')).toEqual(first);
    expect(service.platforms.get('tp5-live-1')?.access(first.login, first.master_password)).toBe('master');
  });

  it('the client tells why a request is refused', async () => {
    const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 5001 };
    const refused = await openAccount({ baseUrl: service.url }, 'tp5', 'short', order, 'order-2').catch(
      (error: unknown) => error,
    );
    if (!(refused instanceof Refused) || refused.problem.type !== 'validation_failed') return expect.fail();
    expect(refused.problem.errors).toEqual([
      { parameter: 'user_id', rule: 'length', detail: 'must be 8 characters' },
      { pointer: '#/leverage', rule: 'maximum', detail: 'must be at most 5000' },
    ]);
  });
});

describe.concurrent('The client', () => {
  const servers: Server[] = [];
  afterAll(() => {
    for (const server of servers) server.close();
  });

  type Answer = [status: number, headers: Record<string, string>, body: object];

  /** A server that gives these answers in turn, and the keys and credentials that it was sent. */
  async function answering(...answers: (Answer | 'lost' | 'broken off')[]) {
    const seen: (string | undefined)[][] = [];
    const server = createServer((request, response) => {
      const answer = answers[Math.min(seen.length, answers.length - 1)] ?? 'lost';
      seen.push([String(request.headers['idempotency-key']), request.headers.authorization]);
      request.resume();
      if (answer === 'lost') return request.socket.destroy();
      if (answer === 'broken off') {
        response.writeHead(200, { 'content-length': 100 });
        return response.write('{', () => request.socket.destroy());
      }
      const [status, headers, body] = answer;
      return response.writeHead(status, headers).end(JSON.stringify(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    servers.push(server);
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
  }

  /** A problem after which the service asks to wait so long. */
  function busy(retryAfter: string): Answer {
    const problem = { type: 'request_in_progress', title: 'Wait', status: 409, request_id: 'x' };
    return [409, { 'content-type': 'application/problem+json', 'retry-after': retryAfter }, problem];
  }

  const order = { connection_id: 'x', group: 'x', leverage: 1 };
  const account = { login: 1, master_password: 'a', investor_password: 'b' };

  it('repeats with the same key when the service asks for it, and not before', async () => {
    const { url, seen } = await answering(busy('1'), [200, {}, account]);
    const startedAt = performance.now();
    expect(await openAccount({ baseUrl: url, token: 'token' }, 'tp5', 'CLIENT01', order, 'order-1')).toEqual(account);
    expect(performance.now() - startedAt).toBeGreaterThan(990);
    expect(seen).toEqual([
      ['order-1', 'Bearer token'],
      ['order-1', 'Bearer token'],
    ]);
  });

  it.each<[string, Answer | 'lost' | 'broken off']>([
    ['is lost', 'lost'],
    ['breaks off', 'broken off'],
    ['is the gateway giving up', [503, { 'content-type': 'application/json' }, { message: 'Service Unavailable' }]],
  ])('repeats with the same key when the answer %s', async (_, answer) => {
    const { url, seen } = await answering(answer, [200, {}, account]);
    expect(await openAccount({ baseUrl: url }, 'tp5', 'CLIENT01', order, 'order-1')).toEqual(account);
    expect(seen).toEqual([
      ['order-1', undefined],
      ['order-1', undefined],
    ]);
  });

  it('gives up at once when it is asked to wait longer than half a minute', async () => {
    const { url, seen } = await answering(busy('31'));
    await expect(openAccount({ baseUrl: url }, 'tp5', 'CLIENT01', order, 'order-1')).rejects.toBeInstanceOf(Refused);
    expect(seen).toHaveLength(1);
  });

  it('says so when the gateway itself refuses', async () => {
    const { url } = await answering([403, { 'content-type': 'application/json' }, { message: 'Forbidden' }]);
    await expect(openAccount({ baseUrl: url }, 'tp5', 'CLIENT01', order, 'order-1')).rejects.toThrow(
      'The gateway answered 403.',
    );
  });
});
