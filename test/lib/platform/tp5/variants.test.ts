import { describe, expect, it } from 'vitest';
import type { Fault } from '../../../../infra/local/faults.ts';
import { ANY_TIME, failureOf, NEVER_ABORTED } from '../../../support/outcomes.ts';
import { anOrder, openWebApiAccount, platformOn, scriptedServer, testServer } from '../../../support/web-api.ts';

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';

describe('A server that reads bodies of one content type', () => {
  it.each([
    [FORM, '3', 0],
    [FORM, '415', 0],
    [JSON_TYPE, '3', 1],
    [JSON_TYPE, '415', 1],
  ] as const)(
    'wants %s, refuses others with %s: the first opening costs %i more commands, later openings none',
    async (wants, refusal, more) => {
      const server = await testServer({ contentType: { wants, refusal } });
      const platform = platformOn(server);
      for (const login of [71, 72])
        expect(await platform.open(anOrder({ login }), ANY_TIME, NEVER_ABORTED)).toEqual({ login });
      expect(server.commands).toBe(2 + more);
    },
  );

  it('is sent a refused body twice, until it is known which type it reads', async () => {
    const bodies: [unknown, string][] = [];
    let code = '3 Invalid parameters';
    const server = await scriptedServer(({ headers, path }, response) => {
      bodies.push([headers['content-type'], path]);
      response.end(JSON.stringify({ retcode: code, login: '5' }));
    });
    const platform = platformOn(server);
    const open = () => platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
    expect(await failureOf(open())).toMatchObject({ kind: 'platform_refused', reason: 'retcode_3', proof: 'content' });
    expect(bodies).toHaveLength(2);
    code = '0 Done';
    await open();
    code = '3 Invalid parameters';
    await failureOf(open());
    expect(bodies.map(([type]) => type)).toEqual([FORM, JSON_TYPE, FORM, FORM]);
  });

  it('is not sent the body again after the deadline', async () => {
    let time = 0;
    const server = await scriptedServer((_, response) => {
      time = 11;
      response.end('{"retcode":"3 Invalid parameters"}');
    });
    const failure = await failureOf(platformOn(server, { now: () => time }).open(anOrder(), 10, NEVER_ABORTED));
    expect([failure.reason, failure.proof]).toEqual(['too_late_to_send', 'content']);
    expect(server.requests).toHaveLength(1);
  });

  it('keeps its rule: a lost answer to the second body leaves the outcome unknown', async () => {
    const server = await scriptedServer((_, response) => {
      if (server.requests.length === 1) response.writeHead(415).end();
      else response.destroy();
    });
    expect(await failureOf(openWebApiAccount(server))).toMatchObject({
      kind: 'account_outcome_unknown',
      proof: 'nothing',
    });
    expect(server.requests).toHaveLength(2);
  });
});

describe('An HTTP status', () => {
  const OTHERS = [201, 204, 302, 400, 404, 405, 408, 409, 410, 411, 413, 414, 422, 429, 500, 501, 502, 503, 504];

  it.each(OTHERS)('%i leaves the outcome of an opening and of a payment unknown', async (status) => {
    const server = await scriptedServer((_, response) => response.writeHead(status).end('<html>'));
    const expected = { kind: 'account_outcome_unknown', reason: `http_${status}`, proof: 'nothing' };
    expect(await failureOf(openWebApiAccount(server))).toMatchObject(expected);
    expect(server.requests).toHaveLength(1);
    const paid = platformOn(server).fund(71, 100, ANY_TIME, NEVER_ABORTED);
    expect(await failureOf(paid)).toMatchObject(expected);
  });

  it('415 to both content types leaves the outcome unknown too', async () => {
    const server = await scriptedServer((_, response) => response.writeHead(415).end());
    expect(await failureOf(openWebApiAccount(server))).toMatchObject({
      kind: 'account_outcome_unknown',
      proof: 'nothing',
    });
    expect(server.requests).toHaveLength(2);
  });

  it('401 says that the server refuses us', async () => {
    const server = await scriptedServer((_, response) => response.writeHead(401).end('<html>'));
    expect(await failureOf(openWebApiAccount(server))).toMatchObject({ kind: 'platform_refused', proof: 'not_served' });
  });

  it.each([400, 404, 413, 502])(
    '%i of a proxy proves nothing after an executed command, which a look-up shows',
    async (code) => {
      const server = await testServer();
      const platform = platformOn(server);
      const order = anOrder({ login: 71 });
      server.faults.set({ kind: 'executed_retcode', code, times: 1 });
      const failure = await failureOf(platform.open(order, ANY_TIME, NEVER_ABORTED));
      expect(failure).toMatchObject({ kind: 'account_outcome_unknown', reason: `http_${code}`, proof: 'nothing' });
      expect(await platform.look(71, order.operationId, NEVER_ABORTED)).toEqual({ is: 'ours' });
    },
  );

  it('403 twice says that the server refuses us', async () => {
    const server = await testServer({ forbiddenPaths: ['/api/user/add'] });
    expect(await failureOf(openWebApiAccount(server))).toMatchObject({ reason: 'forbidden', proof: 'not_served' });
  });
});

describe('Before the command leaves', () => {
  it.each([
    ['a refused login', { fault: { kind: 'refused', step: 'authentication' } }, 'platform_refused', 'not_served'],
    ['code 1012', { fault: { kind: 'retcode', code: 1012, step: 'authentication' } }, 'platform_refused', 'not_served'],
    ['code 1018', { fault: { kind: 'retcode', code: 1018, step: 'authentication' } }, 'platform_unavailable', 'unsent'],
    ['a silent login', { fault: { kind: 'silence', step: 'authentication' } }, 'platform_unavailable', 'unsent'],
    ['no TLS', { fault: { kind: 'session_dropped', step: 'tls' } }, 'platform_unavailable', 'unsent'],
    ['a certificate that is not trusted', { ca: '' }, 'platform_refused', 'not_served'],
    ['an aborted request', { signal: AbortSignal.abort() }, 'platform_unavailable', 'unsent'],
  ] as const)('%s proves that it did not', async (_, { fault, ca, signal = NEVER_ABORTED }: Setup, kind, proof) => {
    const server = await testServer();
    if (fault !== undefined) server.faults.set({ ...fault, times: 1 });
    const platform = platformOn(ca === undefined ? server : { port: server.port }, { authMs: 1_000 });
    expect(await failureOf(platform.open(anOrder(), ANY_TIME, signal))).toMatchObject({ kind, proof });
    expect(server.commands).toBe(0);
  });
});

interface Setup {
  fault?: Omit<Fault, 'times'>;
  ca?: string;
  signal?: AbortSignal;
}

it('A cookie of the login is sent back on its connection, and a new session gets a cookie of its own', async () => {
  const server = await testServer({ cookie: true });
  const platform = platformOn(server);
  await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
  server.forgetSessions();
  await platform.open(anOrder(), ANY_TIME, NEVER_ABORTED);
  expect(server.sessions).toBe(2);
});

it.each(['byte_order_mark', 'control_characters'] as const)('Answers with a %s are read', async (answers) => {
  const server = await testServer({ answers });
  const platform = platformOn(server);
  const order = anOrder({ login: 71, name: 'Ann\u2028Lee' });
  expect(await platform.open(order, ANY_TIME, NEVER_ABORTED)).toEqual({ login: 71 });
  server.edit(71, { comment: `${order.operationId}\r\n\tmoved` });
  expect(await platform.look(71, order.operationId, NEVER_ABORTED)).toEqual({ is: 'ours' });
});

it.each([
  [undefined, /^[A-Z][a-z]+( [A-Z][a-z]+)*$/, 'United Kingdom'],
  ['name', /^[A-Z][a-z]+( [A-Z][a-z]+)*$/, 'United Kingdom'],
  ['code', /^[A-Z]{2}$/, 'GB'],
] as const)(
  'A connection with the country format %s sends the country as the server wants it',
  async (country_format, countries, country) => {
    const server = await testServer({ countries });
    const platform = platformOn(server, {}, country_format === undefined ? {} : { country_format });
    const { login } = await platform.open(anOrder({ country: 'GB' }), ANY_TIME, NEVER_ABORTED);
    expect(server.details(login)).toMatchObject({ country });
  },
);
