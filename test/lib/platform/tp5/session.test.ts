import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { ANY_TIME, failureOf, NEVER_ABORTED, outcomeOf } from '../../../support/outcomes.ts';
import { listenForTest } from '../../../support/servers.ts';
import {
  anOrder,
  connectionTo,
  localCertificate,
  openWebApiAccount,
  platformOn,
  scriptedServer,
  testServer,
} from '../../../support/web-api.ts';

const CLOSE = { connection: 'close' };
/** A web server that has a page for paths without `/api/`. */
const page404: RequestListener = ({ url }, response) => {
  if (url?.startsWith('/api/')) response.writeHead(404).end('Not here.');
  else response.end('<html>Welcome</html>');
};
const DONE = '{"retcode":"0 Done","login":"1","answer":[]}';

describe('authentication of both sides', () => {
  it('a server that does not know the password is refused', async () => {
    const server = await scriptedServer((_request, response) => response.end(DONE), { impostor: true });
    expect(await outcomeOf(openWebApiAccount(server))).toBe('platform_refused server_not_authentic');
    expect(server.requests).toEqual([]);
  });

  it.each([
    ['a password that the server does not accept', { login: 1000, password: 'another' }, 'auth_forbidden'],
    ['an unknown manager', { login: 1, password: 'Password1' }, 'retcode_1001'],
  ])('%s is a refusal', async (_, manager, reason) => {
    const server = await testServer({ manager });
    expect(await outcomeOf(platformOn(server).check(NEVER_ABORTED))).toBe(`platform_refused ${reason}`);
  });

  it.each([
    ['{"retcode":"1018 Server is busy"}', 'platform_unavailable', 'retcode_1018'],
    ['{"retcode":"1012 Address is not allowed"}', 'platform_refused', 'retcode_1012'],
    ['{"retcode":"12 Too frequent requests"}', 'platform_unavailable', 'retcode_12'],
    ['{"retcode":"0 Done","srv_rand":"zz"}', 'platform_unavailable', 'malformed_answer'],
    ['garbage', 'platform_refused', 'auth_page'],
    ['<html>Welcome</html>', 'platform_refused', 'auth_page'],
  ])('a server that answers auth/start with %s is %s', async (start, kind, reason) => {
    const server = await scriptedServer((_request, response) => response.end(DONE), { start });
    expect(await outcomeOf(platformOn(server).check(NEVER_ABORTED))).toBe(`${kind} ${reason}`);
  });

  it.each([
    [302, 'platform_refused'],
    [400, 'platform_refused'],
    [401, 'platform_refused'],
    [405, 'platform_refused'],
    [500, 'platform_unavailable'],
    [502, 'platform_unavailable'],
    [503, 'platform_unavailable'],
  ])('a server that answers auth/start with HTTP status %i is %s', async (status, kind) => {
    const server = await testServer();
    server.faults.set({ kind: 'retcode', code: status, step: 'authentication', times: 2 });
    expect(await outcomeOf(platformOn(server).check(NEVER_ABORTED))).toBe(`${kind} auth_http_${status}`);
  });

  it.each<[string, RequestListener, string]>([
    ['404 to all, and ends the connection', (_, response) => response.writeHead(404, CLOSE).end(), 'auth_http_404'],
    ['404, then a page', page404, 'auth_page'],
    ['a page of 300 kB', (_, response) => response.end(`<html>${'x'.repeat(300_000)}`), 'auth_page'],
    ['another protocol', ({ socket }) => socket.end('SSH-2.0-OpenSSH_9.9\r\n'), 'auth_page'],
    ['401, and ends the connection', (_, response) => response.writeHead(401, CLOSE).end(), 'auth_http_401'],
    ['a way elsewhere', (_, response) => response.writeHead(308, { location: '/' }).end(), 'auth_http_308'],
  ])('a server that answers authentication with %s is refused', async (_, listener, reason) => {
    const { key, cert } = await localCertificate();
    const server = createServer({ key, cert, keepAliveTimeout: 0 }, listener);
    const port = await listenForTest(server);
    expect(await outcomeOf(platformOn({ port, ca: cert }).check(NEVER_ABORTED))).toBe(`platform_refused ${reason}`);
  });

  // Of two answers the one that says more counts: 404 says only that there is no such path.
  it.each([
    [500, 'platform_unavailable auth_http_500'],
    [503, 'platform_unavailable auth_http_503'],
    [403, 'platform_refused auth_forbidden'],
    [401, 'platform_refused auth_http_401'],
    [404, 'platform_refused auth_http_404'],
  ])('a server that answers the usual path with 404 and the older one with %i is %s', async (status, outcome) => {
    const { key, cert } = await localCertificate();
    const server = createServer({ key, cert }, ({ url = '' }, response) =>
      response.writeHead(url.startsWith('/api/') ? 404 : status, { 'content-length': 0 }).end(),
    );
    const port = await listenForTest(server);
    expect(await outcomeOf(platformOn({ port, ca: cert }).check(NEVER_ABORTED))).toBe(outcome);
  });

  it('a server that keeps silent in the middle is unavailable within the limit', async () => {
    const server = await scriptedServer((_request, response) => response.end(DONE));
    server.stopAuthentication();
    expect(await failureOf(platformOn(server, { authMs: 50 }).check(NEVER_ABORTED))).toMatchObject({
      kind: 'platform_unavailable',
      options: { reason: 'auth_timeout', retryAfterSeconds: 10 },
    });
  });
});

describe('the session', () => {
  it('is kept from call to call', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    for (let call = 0; call < 5; call += 1) await platform.check(NEVER_ABORTED);
    expect(server.sessions).toBe(1);
  });

  it('counts as gone when it was idle for more than 150 seconds', async () => {
    const server = await testServer();
    let time = 0;
    const platform = platformOn(server, { now: () => time });
    await platform.check(NEVER_ABORTED);
    time += 150_000;
    await platform.check(NEVER_ABORTED);
    expect(server.sessions).toBe(1);
    time += 150_001;
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    expect(server.sessions).toBe(2);
    expect(server.accounts()).toHaveLength(1);
  });

  it('is opened again if the server has dropped it', async () => {
    const server = await testServer({ idleMs: 200 });
    const platform = platformOn(server);
    await platform.check(NEVER_ABORTED);
    await expect.poll(() => server.connections).toBe(0);
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    expect(server.sessions).toBe(2);
  });

  it('is not used if its end arrives right before the command', async () => {
    const sockets: Socket[] = [];
    const server = await scriptedServer((_request, response) => {
      if (response.socket !== null) sockets.push(response.socket);
      response.end(DONE);
    });
    const platform = platformOn(server);
    await platform.check(NEVER_ABORTED);
    for (const socket of sockets) socket.destroy();
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    expect(server.requests.map(({ path }) => path)).toEqual(['/api/test/access', '/api/user/add']);
  });

  it('that sends unrequested data is not used again', async () => {
    const sockets: Socket[] = [];
    const server = await scriptedServer((_request, response) => {
      if (response.socket !== null) sockets.push(response.socket);
      response.end(DONE);
    });
    const platform = platformOn(server);
    await platform.check(NEVER_ABORTED);
    for (const socket of sockets)
      await new Promise((resolve) => socket.write('HTTP/1.1 408 Request Timeout\r\n\r\n', resolve));
    // Until the client has read it.
    for (let turns = 0; turns < 10; turns += 1) await setImmediate();
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    expect(server.requests).toHaveLength(2);
  });

  it('is opened again after a 403, and the command sent again: it was not executed', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.check(NEVER_ABORTED);
    server.forgetSessions();
    await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    expect({ sessions: server.sessions, accounts: server.accounts().length }).toEqual({
      sessions: 2,
      accounts: 1,
    });
  });

  it('a second 403 says that the path is forbidden', async () => {
    const server = await testServer({ forbiddenPaths: ['/api/user/add'] });
    const platform = platformOn(server);
    expect(await outcomeOf(platform.open(anOrder(), ANY_TIME, NEVER_ABORTED))).toBe('platform_refused forbidden');
    expect(server.sessions).toBe(2);
    await platform.check(NEVER_ABORTED);
    expect(server.sessions).toBe(2);
  });

  it('a 403 after which the server cannot be reached has opened nothing', async () => {
    const server = await scriptedServer((_request, response) => {
      server.stopAuthentication();
      response.writeHead(403).end('403 Forbidden');
    });
    const platform = platformOn(server, { authMs: 500 });
    expect((await failureOf(platform.open(anOrder(), ANY_TIME, NEVER_ABORTED))).kind).toBe('platform_unavailable');
    expect(server.requests).toHaveLength(1);
  });

  it('logs out, and the next call opens another session', async () => {
    const server = await scriptedServer((_request, response) => response.end(DONE));
    const platform = platformOn(server);
    await platform.check(NEVER_ABORTED);
    await platform.close();
    await platform.check(NEVER_ABORTED);
    expect(server.requests.map(({ path }) => path)).toEqual(['/api/test/access', '/api/quit', '/api/test/access']);
  });
});

describe('commands at the same time', () => {
  it('20 openings at once share one session, one after the other, and all succeed', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    const opened = await Promise.all(
      Array.from({ length: 20 }, () => platform.open(anOrder(), ANY_TIME, NEVER_ABORTED)),
    );
    expect(new Set(opened.map(({ login }) => login)).size).toBe(20);
    expect(server.accounts()).toHaveLength(20);
    expect(server.sessions).toBe(1);
  });

  it('never run two at the same time', async () => {
    let running = 0;
    let most = 0;
    const server = await scriptedServer((_request, response) => {
      running += 1;
      most = Math.max(most, running);
      setImmediate().then(() => {
        running -= 1;
        response.end(DONE);
      });
    });
    const platform = platformOn(server);
    await Promise.all(Array.from({ length: 10 }, () => platform.check(NEVER_ABORTED)));
    expect(most).toBe(1);
  });

  it('a command that waits leaves the queue when its time is up, and was not sent', async () => {
    const server = await testServer();
    const platform = platformOn(server, { commandMs: 600_000 });
    await platform.check(NEVER_ABORTED);
    server.faults.set({ kind: 'silence', times: 1 });
    const caller = new AbortController();
    const first = failureOf(platform.open(anOrder(), ANY_TIME, caller.signal));
    await expect.poll(() => server.commands).toBe(1);
    const second = await failureOf(platform.open(anOrder(), ANY_TIME, AbortSignal.timeout(100)));
    expect(second).toMatchObject({ kind: 'platform_unavailable', options: { reason: 'queue_timeout' } });
    const third = platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    caller.abort();
    expect(await first).toMatchObject({ kind: 'account_outcome_unknown' });
    expect(await third).toEqual({ login: 5_001 });
    expect(server.commands).toBe(2);
  });

  it('leave the others alone if one of them fails', async () => {
    const server = await testServer();
    const platform = platformOn(server);
    await platform.check(NEVER_ABORTED);
    server.faults.set({ kind: 'session_dropped', times: 1, after: 3 });
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, () => platform.open(anOrder(), ANY_TIME, NEVER_ABORTED)),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(9);
    expect(server.accounts()).toHaveLength(9);
    expect(server.sessions).toBe(2);
  });
});

it('No failure of a session quotes the secret', async () => {
  const server = await testServer({ manager: { login: 1000, password: 'another' } });
  const failed = await failureOf(platformOn(server).check(NEVER_ABORTED));
  expect(JSON.stringify([failed, failed.message, failed.options, connectionTo(server)])).not.toContain('Password1');
});
