import { describe, expect, it } from 'vitest';
import { platformConnections } from '../../../lib/platform/connections.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED, outcomeOf } from '../../support/outcomes.ts';
import { type TcpRelay, tcpRelay } from '../../support/tcp-relay.ts';
import { aServer, anOrder as aTextOrder, DIALECTS, textPlatform } from '../../support/text-protocol.ts';
import {
  anOrder,
  connectionTo,
  MANAGER,
  openWebApiAccount,
  platformOn,
  scriptedServer,
  testServer,
} from '../../support/web-api.ts';

// If packets are lost, the kernel sends them again for minutes, also after an orderly end of the connection. Only a
// reset stops it: without one a server may execute a command minutes later.

const DONE = '{"retcode":"0 Done","login":"1","answer":[]}';

async function relayed(server: { port: number; ca?: string }) {
  const relay = await tcpRelay(server.port);
  return { relay, to: { ...server, port: relay.port } };
}

function endingsOf({ endings }: TcpRelay) {
  return expect.poll(() => endings);
}

describe('a Web API exchange that is given up resets the connection', () => {
  it('when the answer does not come in time', async () => {
    const server = await testServer();
    const { relay, to } = await relayed(server);
    server.faults.set({ kind: 'silence', times: 1 });
    expect(await outcomeOf(openWebApiAccount(to, {}, { commandMs: 50 }))).toBe(
      'account_outcome_unknown answer_timeout',
    );
    await endingsOf(relay).toEqual(['reset']);
  });

  it('when the caller has no more time', async () => {
    const caller = new AbortController();
    const { relay, to } = await relayed(await scriptedServer(() => caller.abort()));
    const failed = await failureOf(platformOn(to).open(anOrder(), ANY_TIME, caller.signal));
    expect(failed).toMatchObject({ options: { reason: 'answer_timeout' } });
    await endingsOf(relay).toEqual(['reset']);
  });

  it.each([
    ['cannot be read', 'garbage\r\n\r\n', 'malformed_answer'],
    ['breaks off', 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"retcode"', 'answer_timeout'],
    ['is too large', `HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n${'x'.repeat(299_999)}`, 'answer_too_large'],
  ])('when the answer %s', async (_, bytes, reason) => {
    const { relay, to } = await relayed(
      await scriptedServer((_request, response) => {
        response.socket?.write(bytes);
      }),
    );
    const limits = reason === 'answer_timeout' ? { commandMs: 300 } : {};
    expect(await outcomeOf(openWebApiAccount(to, {}, limits))).toBe(`account_outcome_unknown ${reason}`);
    await endingsOf(relay).toEqual(['reset']);
  });

  it.each([
    ['without an answer', ''],
    ['in the middle of its answer', 'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"retcode"'],
  ])('when the server ends it %s', async (_, bytes) => {
    const { relay, to } = await relayed(
      await scriptedServer((_request, response) => {
        response.socket?.end(bytes);
      }),
    );
    const failed = await failureOf(openWebApiAccount(to));
    expect(failed).toMatchObject({ options: { reason: 'connection_closed' } });
    await endingsOf(relay).toEqual(['reset']);
  });

  it('when its platform was replaced in the meantime', async () => {
    const server = await scriptedServer(({ path }, response) => {
      if (path !== '/api/user/add') response.end(DONE);
    });
    const { relay, to } = await relayed(server);
    const secrets = [JSON.stringify(MANAGER), JSON.stringify({ ...MANAGER, note: 'rotated' })];
    const connect = platformConnections({ readSecret: async () => secrets.shift() ?? '' });
    const platform = await connect(connectionTo(to), NEVER_ABORTED);
    const caller = new AbortController();
    const opening = failureOf(platform.open(anOrder(), ANY_TIME, caller.signal));
    await expect.poll(() => server.requests).toHaveLength(1);
    await connect(connectionTo(to), NEVER_ABORTED);
    caller.abort();
    expect(await opening).toMatchObject({ options: { reason: 'answer_timeout' } });
    await endingsOf(relay).toEqual(['reset']);
  });
});

describe('a Web API session ends in order', () => {
  it('when it is no longer needed', async () => {
    const { relay, to } = await relayed(await testServer());
    const platform = platformOn(to);
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    await platform.close();
    await endingsOf(relay).toEqual(['orderly']);
  });

  it('when its record has changed', async () => {
    const { relay, to } = await relayed(await testServer());
    const connect = platformConnections({ readSecret: async () => JSON.stringify(MANAGER) });
    const before = await connect(connectionTo(to), NEVER_ABORTED);
    await before.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    await connect(connectionTo(to, { demo: true }), NEVER_ABORTED);
    await endingsOf(relay).toEqual(['orderly']);
  });

  it('when it was idle for too long', async () => {
    const { relay, to } = await relayed(await testServer());
    let time = 0;
    const platform = platformOn(to, { now: () => time });
    await platform.check(NEVER_ABORTED);
    time += 150_001;
    await platform.check(NEVER_ABORTED);
    await endingsOf(relay).toEqual(['orderly']);
  });

  it.each([
    ['says that the server closes', 200, DONE, { Connection: 'close' }],
    ['is of no use', 200, 'garbage', {}],
    ['is an error', 500, 'garbage', {}],
    ['is an error, and says that the server closes', 500, 'garbage', { Connection: 'close' }],
  ])('after a whole answer that %s', async (_, status, body, headers) => {
    const { relay, to } = await relayed(
      await scriptedServer((_request, response) => response.writeHead(status, headers).end(body)),
    );
    await platformOn(to)
      .check(NEVER_ABORTED)
      .catch(() => {});
    await endingsOf(relay).toEqual(['orderly']);
  });
});

it.each(DIALECTS)('a command to %s that was never sent ends in order', async (dialect) => {
  const server = await aServer({ dialect });
  const { relay, to } = await relayed(server);
  await failureOf(textPlatform(dialect, to.port).open(aTextOrder(), 0, NEVER_ABORTED));
  expect(server.commands).toBe(0);
  await endingsOf(relay).toEqual(['orderly']);
});
