import { describe, expect, it } from 'vitest';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { anOrder, openWebApiAccount, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

describe('opening an account over the Web API', () => {
  it.each(['answer', 'root', 'both'] as const)(
    'the new login is read from either place: %s',
    async (loginPlacement) => {
      const server = await testServer({ loginPlacement, firstLogin: 77 });
      expect(await openWebApiAccount(server)).toEqual({ login: 77 });
    },
  );

  it('the command has strings only, passwords in the body, and the documented rights', async () => {
    const server = await scriptedServer((_request, response) => response.end('{"retcode":"0 Done","login":"1"}'));
    const platform = platformOn(server);
    const order = anOrder({ readonly: true, country: 'GB', phone: '+447400123456', login: 1 });
    await platform.open(order, ANY_TIME, NEVER_ABORTED);
    await platform.open({ ...order, readonly: false }, ANY_TIME, NEVER_ABORTED);

    expect(server.requests.map(({ path }) => path)).toEqual(['/api/user/add', '/api/user/add']);
    expect(server.requests[0]?.headers).toMatchObject({
      connection: 'keep-alive',
      'content-type': 'application/x-www-form-urlencoded',
      host: `127.0.0.1:${server.port}`,
    });
    expect(server.requests.map(({ body }) => JSON.parse(body))).toEqual([
      {
        PassMain: order.masterPassword,
        PassInvestor: order.investorPassword,
        Group: 'real\\standard',
        Name: 'Ann Lee',
        Leverage: '100',
        Rights: '487',
        Email: 'ann@example.com',
        Phone: '+447400123456',
        Country: 'United Kingdom',
        Login: '1',
        Comment: order.operationId,
      },
      expect.objectContaining({ Rights: '483' }),
    ]);
  });

  it('a name is cut at 127 units, between characters, has no control characters, and is never empty', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.open(anOrder({ name: `${'a'.repeat(120)}👩‍👩‍👧‍👦!` }), ANY_TIME, NEVER_ABORTED);
    await platform.open(anOrder({ name: 'Ann\r\nLeverage: 500' }), ANY_TIME, NEVER_ABORTED);
    await platform.open(anOrder({ name: `a${'\u0301'.repeat(127)}` }), ANY_TIME, NEVER_ABORTED);
    expect(server.accounts().map(({ name }) => name)).toEqual(['a'.repeat(120), 'Ann Leverage: 500', 'Client']);
  });
});

describe('A command whose deadline has passed on the wall clock', () => {
  let time = 1_000_000;
  const deadline = time + 17_000;
  const now = () => time;
  const order = anOrder();
  const late = { kind: 'platform_unavailable', options: { reason: 'too_late_to_send' } };

  it('is not sent, whether it opens or pays', async () => {
    const server = await testServer();
    const platform = platformOn(server, { now });
    time = deadline;
    const { login } = await platform.open(order, deadline, NEVER_ABORTED);
    time = deadline + 1;
    expect(await failureOf(platform.open(order, deadline, NEVER_ABORTED))).toMatchObject(late);
    expect(await failureOf(platform.fund(login, 10_000, deadline, NEVER_ABORTED))).toMatchObject(late);
    expect(server.commands).toBe(1);
  });

  it('is not sent again on a new session', async () => {
    time = deadline;
    const server = await scriptedServer((_request, response) => {
      time += 1;
      response.writeHead(403).end('403 Forbidden');
    });
    expect(await failureOf(platformOn(server, { now }).open(order, deadline, NEVER_ABORTED))).toMatchObject(late);
    expect(server.requests).toHaveLength(1);
  });

  it('is not sent after it has waited for its turn', async () => {
    time = deadline;
    const server = await scriptedServer((_request, response) => {
      time += 1;
      response.end('{"retcode":"0 Done","login":"1"}');
    });
    const platform = platformOn(server, { now });
    const outcomes = await Promise.allSettled([1, 2, 3].map(() => platform.open(order, deadline, NEVER_ABORTED)));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(server.requests).toHaveLength(1);
  });
});

it('A signal that has aborted keeps a command from being sent', async () => {
  const server = await testServer();
  expect((await failureOf(platformOn(server).open(anOrder(), ANY_TIME, AbortSignal.abort()))).kind).toBe(
    'platform_unavailable',
  );
  expect(server.commands).toBe(0);
});
