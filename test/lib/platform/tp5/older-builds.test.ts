import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { listenForTest } from '../../../support/servers.ts';
import { anOrder, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

const LOGIN = 71;
const OLDER = ['body', 'query_3', 'query_404'] as const;

describe.each(OLDER)('A server of an older build that reads the %s of /user_add', (older) => {
  it('opens accounts, finds them by their comments, pays, and shows its logins', async () => {
    const server = await testServer({ older });
    const platform = platformOn(server);
    const order = anOrder({ login: LOGIN, name: 'Ann | Lee', phone: '+447400123456', country: 'GB', readonly: true });
    for (const login of [LOGIN, 72]) {
      expect(await platform.open({ ...order, login }, ANY_TIME, NEVER_ABORTED)).toEqual({ login });
    }
    expect(server.accounts()).toMatchObject([
      {
        login: LOGIN,
        group: order.group,
        leverage: order.leverage,
        name: order.name,
        email: order.email,
        readonly: true,
      },
      { login: 72 },
    ]);
    expect(server.details(LOGIN)).toMatchObject({ phone: order.phone, country: 'United Kingdom' });
    expect(server.access(LOGIN, order.masterPassword)).toBe('master');
    expect(server.access(LOGIN, order.investorPassword)).toBe('investor');
    const { operationId } = order;
    expect(await platform.look(LOGIN, operationId, NEVER_ABORTED)).toEqual({ is: 'ours' });
    await platform.fund(LOGIN, 100, ANY_TIME, NEVER_ABORTED);
    expect(await platform.holdsFunds(LOGIN, NEVER_ABORTED)).toBe(true);
    expect(await platform.logins(NEVER_ABORTED)).toEqual([LOGIN, 72]);
    // After a 404 a new session shows that the server still answers.
    expect(server.sessions).toBe(older === 'query_404' ? 5 : 1);
  });

  it('refuses a login that exists', async () => {
    const server = await testServer({ older });
    const platform = platformOn(server);
    const order = anOrder({ login: LOGIN });
    await platform.open(order, ANY_TIME, NEVER_ABORTED);
    const { kind } = await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED));
    // A 404 to the body proves nothing, so neither does what follows it.
    expect(kind).toBe(older === 'query_404' ? 'account_outcome_unknown' : 'login_taken');
  });
});

it('The paths of an older build are asked for only after 404, and remembered for the next session', async () => {
  const server = await testServer({ older: 'body' });
  const platform = platformOn(server);
  await platform.check(NEVER_ABORTED);
  server.forgetSessions();
  await platform.open(anOrder({ login: LOGIN }), ANY_TIME, NEVER_ABORTED);
  expect(server.sessions).toBe(2);
});

it('A server of an older build that ends the connection after 404 is asked on another one', async () => {
  const server = await testServer({ older: 'body', endsAfter404: true });
  const platform = platformOn(server);
  expect(await platform.open(anOrder({ login: LOGIN }), ANY_TIME, NEVER_ABORTED)).toEqual({ login: LOGIN });
  expect(await platform.logins(NEVER_ABORTED)).toEqual([LOGIN]);
  // A request on the ended connection damages Node's pool of HTTP parsers, and the next servers fail.
  const plain = createServer((_, response) => response.end('whole'));
  const url = `http://127.0.0.1:${await listenForTest(plain)}`;
  const texts = await Promise.all(Array.from({ length: 10 }, async () => (await fetch(url)).text()));
  expect(new Set(texts)).toEqual(new Set(['whole']));
});

it('No request path has a password if the server reads bodies', async () => {
  const server = await scriptedServer((_, response) => response.end('{"retcode":"0 Done","answer":{"Login":"71"}}'));
  const order = anOrder({ login: LOGIN });
  await platformOn(server).open(order, ANY_TIME, NEVER_ABORTED);
  for (const { path } of server.requests) {
    expect(path).not.toContain(encodeURIComponent(order.masterPassword));
    expect(path).not.toContain(encodeURIComponent(order.investorPassword));
  }
});
