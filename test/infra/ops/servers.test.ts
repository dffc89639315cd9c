import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { runOps } from '../../../infra/ops/ops.ts';
import { secretStore } from '../../../infra/ops/secrets.ts';
import { signingSecretName } from '../../../infra/settings.ts';
import { type Connection, serverAddress, type WebApiConnection } from '../../../lib/records/crm-records.ts';
import { parseSigningSecret } from '../../../lib/secrets/webhook-signature.ts';
import { openAccount } from '../../support/local-service.ts';
import { cdkJsonOf, Operators, type Person, runOperatorsCommand } from '../../support/operators.ts';

const operators = new Operators();

describe('npm run ops -- secret put', () => {
  const cdkJson = cdkJsonOf({ captcha: { secret: 'broker/captcha' }, 'front.secret': 'front/proxy' });
  const put = (name: string, person: Person, ...options: string[]) =>
    runOperatorsCommand(['secret', 'put', name, ...options, '--local', operators.service.url], { cdkJson, ...person });

  const store = () => secretStore({ endpoint: process.env.AWS_ENDPOINT_URL_SECRETS_MANAGER ?? '' });
  const recordOf = async (id: string) => (await operators.table.read(`connection#${id}`))?.record as Connection;
  const secretValue = async (id: string) => JSON.parse((await operators.stored(`platform/${id}`)) ?? '{}') as object;
  /** A secret that only this server gets. The value of the local service comes back after the test. */
  async function secretFor(id: string, host: string) {
    const value = await secretValue(id);
    onTestFinished(async () => void (await store().write(`platform/${id}`, JSON.stringify(value))));
    await store().write(`platform/${id}`, JSON.stringify({ ...value, hosts: [host] }));
  }

  it.each([
    ['tp5-live-1', ['1000', 'Secret-1', 'yes'], { login: 1000, password: 'Secret-1' }],
    ['tp4-gw-1', ['Secret-2', 'yes'], { master: 'Secret-2' }],
  ])('adds the server of %s to those of its secret, shown and confirmed', async (id, answers, value) => {
    await secretFor(id, 'former.example.com:443');
    const server = serverAddress(await recordOf(id));
    const hosts = [server, 'former.example.com:443'].sort();
    expect(await put(id, { answers: [...answers] })).toEqual({
      code: 0,
      out: `The secret platform/${id} is replaced; functions use it within 5 minutes.\n`,
      reported: `Only these servers get the secret platform/${id}:\n  ${server} (new)\n  former.example.com:443\n`,
    });
    expect(await secretValue(id)).toEqual({ ...value, hosts });
    expect(await store().describe(`platform/${id}`)).toEqual({ versions: id.slice(0, 3) });
    // Known servers need no word.
    expect(await put(id, { input: JSON.stringify(value) })).toMatchObject({ code: 0 });
    // The operator may name all servers himself.
    await put(id, { input: JSON.stringify({ ...value, hosts: [] }) });
    expect(await secretValue(id)).toEqual({ ...value, hosts: [] });
  });

  it('stores nothing for a new server that nobody confirms', async () => {
    await secretFor('tp5-live-1', serverAddress(await recordOf('tp5-live-1')));
    const before = await secretValue('tp5-live-1');
    const input = '{"login":1,"password":"p"}';
    const server = ['--server', 'MT5.example.com:443'];
    expect(await put('tp5-live-1', { answers: ['1', 'p', 'no'] }, ...server)).toMatchObject({ code: 1 });
    const piped = await put('tp5-live-1', { input }, ...server);
    expect(piped).toMatchObject({ code: 1, reported: expect.stringContaining('--yes') });
    expect(await put('tp5-live-1', { input }, '--server', 'mt5.example.com')).toMatchObject({ code: 2 });
    expect(await secretValue('tp5-live-1')).toEqual(before);
    expect(await put('tp5-live-1', { input }, ...server, '--yes')).toMatchObject({ code: 0 });
    expect(await secretValue('tp5-live-1')).toMatchObject({ hosts: expect.arrayContaining(['mt5.example.com:443']) });
  });

  it.each([
    ['tp5', 'tp5-live-1', 'real\\standard', undefined, '{"login":1000,"password":"S3cr3t"}'],
    ['tp4', 'tp4-gw-1', 'demoforex', 'ATDEMO04', '{"master":"S3cr3t"}'],
  ] as const)('gives a planted connection of %s nothing: naming a secret makes no server trusted', async (...row) => {
    const [version, id, group, account_type_id, input] = row;
    const received: string[] = [];
    const listener = createServer((socket) =>
      socket.on('data', (bytes) => void received.push(bytes.toString('latin1'))),
    );
    listener.listen(0, '127.0.0.1');
    onTestFinished(() => void listener.close());
    await once(listener, 'listening');
    const { port } = listener.address() as AddressInfo;
    const { ca: _, ...record } = (await recordOf(id)) as WebApiConnection;
    const planted = { ...record, id: 'planted', port, logins: { from: 1_000, to: 9_999 } };
    await operators.table.write([{ put: { pk: 'connection#planted', kind: 'connection', record: planted } }]);
    const server = serverAddress(await recordOf(id));
    await secretFor(id, server);
    expect((await put(id, { input })).code).toBe(0);
    expect(await secretValue(id)).toMatchObject({ hosts: [server] });
    const order = { connection_id: 'planted', group, leverage: 100, account_type_id };
    const { status, body } = await openAccount(operators.service, version, order);
    expect([status, body.type]).toEqual([502, 'platform_refused']);
    expect(received.join('')).not.toMatch(/S3cr3t|MASTER|GET|POST/);
  });

  const FRONT = '{"current":"0123456789abcdef"}';
  it.each([
    ['broker/captcha', 'The-Secret\n', 'The-Secret'],
    ['front/proxy', FRONT, FRONT],
  ])('creates the secret %s of a setting, from the standard input', async (name, input, value) => {
    const { out } = await put(name, { input });
    expect(out).toContain(`The secret ${name} is made`);
    expect(await operators.stored(name)).toBe(value);
  });

  it('refuses a name that no connection and no setting uses, and says which names exist', async () => {
    const { code, reported } = await put('platform/tp5-live-l', { input: '{"login":1,"password":"S3cr3t"}' });
    expect(code).toBe(1);
    expect(reported).toContain('no connection platform/tp5-live-l, and no setting');
    expect(reported).toContain('; nothing was stored. There are: tp4-demo-1, ');
    expect(reported).toContain(', tp5-live-1, ');
    for (const one of [
      'broker-api-keys/local/pepper (pepper)',
      'front/proxy (front.secret)',
      'broker/captcha (captcha.secret)',
    ])
      expect(reported).toContain(one);
    expect(reported).toContain('broker-api-keys/local/passwords (passwords)');
    expect(await operators.stored('platform/tp5-live-l')).toBeUndefined();
  });

  it.each([
    ['tp5-live-1', '{"master":"S3cr3t-Value"}', 'The secret of tp5-live-1 must be {"login": 1000, "password": "…"}'],
    ['tp4-gw-1', 'S3cr3t-Value', 'The secret of tp4-gw-1 must be {"master": "…"}'],
    ['broker/captcha', '', 'The secret broker/captcha must be the key that its provider gave you'],
    ['front/proxy', '{"current":"S3cr3t"}', 'The secret front/proxy must be {"current":"32 random characters"'],
    ['pepper', '{"current":"1","1":"S3cr3t"}', 'The secret broker-api-keys/local/pepper must be {"current":"1"'],
  ])('refuses a malformed secret without quoting it: %s', async (name, input, sentence) => {
    const stored = () => Promise.all([`platform/${name}`, name, `local/${name}`].map((one) => operators.stored(one)));
    const before = await stored();
    const { code, out, reported } = await put(name, { input });
    expect(code).toBe(1);
    expect(reported).toContain(sentence);
    expect(reported).toContain('; nothing was stored.');
    expect(out + reported).not.toContain('S3cr3t');
    expect(await stored()).toEqual(before);
  });

  it.each(['passwords', 'pepper'])('lets a value of %s add keys, and never lose or change one', async (name) => {
    const secret = `broker-api-keys/local/${name}`;
    const before = (await operators.stored(secret)) ?? '';
    onTestFinished(async () => void (await store().write(secret, before)));
    const keys = JSON.parse(before) as Record<string, string>;
    const more = 'k'.repeat(64);
    for (const value of [
      { current: '2', 2: more },
      { ...keys, 1: more, 2: more },
    ]) {
      const { code, reported } = await put(name, { input: JSON.stringify(value) });
      expect(code).toBe(1);
      expect(reported).toContain(
        `The value loses or changes the key 1 of the secret ${secret}, which stored items need`,
      );
      expect(reported).not.toContain(more);
    }
    expect(await operators.stored(secret)).toBe(before);
    expect(await put(name, { input: JSON.stringify({ ...keys, 2: more }) })).toMatchObject({ code: 0 });
  });
});

describe('npm run ops -- secret rotate', () => {
  const cdkJson = cdkJsonOf({ stage: 'test', crmWebhook: 'https://crm.example.com/hook' });
  const rotate = (name: string) =>
    runOperatorsCommand(['secret', 'rotate', name, '--local', operators.service.url], { cdkJson });
  const NAME = signingSecretName('test', 'crmWebhook');
  const stored = async () => JSON.parse((await operators.stored(NAME)) ?? '{}') as unknown;

  it('creates the signing key, rotates it next to the previous one, and prints each', async () => {
    const first = await rotate('crmWebhook');
    expect(first).toMatchObject({
      code: 0,
      reported: expect.stringMatching(/^The new key of broker-api\/test\/crm-webhook, .*\nThe key is stored\./),
    });
    const [key, ...more] = first.out.split('\n');
    expect([await stored(), more]).toEqual([{ current: key }, ['']]);
    const { out: second } = await rotate(NAME);
    expect(await stored()).toEqual({ current: second.trim(), previous: key });
    const { out: third } = await rotate('crmWebhook');
    expect(await stored()).toEqual({ current: third.trim(), previous: second.trim() });
    expect(parseSigningSecret((await operators.stored(NAME)) ?? '')).toHaveLength(2);
  });

  it('replaces no signing key before the new one is printed', async () => {
    const before = await stored();
    const print = () => {
      throw new Error('interrupted');
    };
    const terminal = { print, report: () => {}, input: Readable.from([]), cdkJson, wait: async () => {} };
    expect(await runOps(['secret', 'rotate', 'crmWebhook', '--local', operators.service.url], terminal)).toBe(1);
    expect(await stored()).toEqual(before);
  });

  it('refuses a name that no request is signed with', async () => {
    expect(await rotate('pepper')).toMatchObject({
      code: 1,
      out: '',
      reported: 'There is no secret pepper that is rotated by this command. There are: crmWebhook, passwords.\n',
    });
  });

  it('replaces the key of derived passwords when all functions know the new one, and keeps all before', async () => {
    const name = operators.service.environment.PASSWORD_SECRET ?? '';
    const keys = async () => JSON.parse((await operators.stored(name)) ?? '') as Record<string, string>;
    const rotatePasswords = (waits: NonNullable<Person['waits']>) =>
      runOperatorsCommand(['secret', 'rotate', 'passwords', '--local', operators.service.url], { waits });
    const first = await keys();
    const stop = async () => {
      throw new Error('stopped');
    };
    expect((await rotatePasswords(stop)).code).toBe(1);
    const added = await keys();
    expect(added).toEqual({ ...first, 2: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const waited: number[] = [];
    const { code, out } = await rotatePasswords(async (milliseconds) => void waited.push(milliseconds / 60_000));
    expect([code, waited.map(Math.round)]).toEqual([0, [5]]);
    expect(out).toContain('the key 2 is used, and the keys before it are kept');
    expect(await keys()).toEqual({ ...added, current: '2' });
    expect((await rotatePasswords(async () => {})).code).toBe(0);
    const third = await keys();
    expect(third).toEqual({ ...added, current: '3', 3: third[3] });
  });
});

describe('npm run ops -- pepper rotate', () => {
  const pepper = async () =>
    JSON.parse((await operators.stored('broker-api-keys/local/pepper')) ?? '') as Record<string, string>;
  const rotate = (waits: Person['waits'] = async () => {}) =>
    runOperatorsCommand(['pepper', 'rotate', '--local', operators.service.url], { waits });

  it('adds a key, uses it when all functions know it, and keeps the one before', async () => {
    const before = await pepper();
    const { current: old = '' } = before;
    const next = String(Number(old) + 1);
    const seen: unknown[] = [];
    const { code, out } = await rotate(async (milliseconds) => {
      const { current, ...keys } = await pepper();
      seen.push([Math.round(milliseconds / 60_000), Object.keys(keys).sort(), current]);
    });
    expect(seen).toEqual([[5, [old, next].sort(), old]]);
    expect(await pepper()).toEqual({ ...before, current: next, [next]: expect.stringMatching(/^[0-9a-f]{64}$/) });
    expect([code, out]).toEqual([0, expect.stringContaining(`sealed with the key ${next}`)]);
  });

  it('removes the keys that were replaced more than a day ago, and no other: registrations need them', async () => {
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'] });
    const rotatedAfter = async (hours: number) => {
      vi.setSystemTime(Date.now() + hours * 3_600_000);
      expect((await rotate()).code).toBe(0);
      return pepper();
    };
    const first = await rotatedAfter(25);
    const second = await rotatedAfter(24);
    expect(second).toMatchObject({ ...first, current: second.current });
    const { current = '', ...others } = await rotatedAfter(25);
    const { current: kept = '' } = second;
    expect(others).toEqual({ [kept]: second[kept], [current]: expect.any(String) });
  });

  it('resumes after an interruption', async () => {
    const stop = async () => {
      throw new Error('stopped');
    };
    const { current: old = '' } = await pepper();
    expect((await rotate(stop)).code).toBe(1);
    const added = await pepper();
    expect(added.current).toBe(old);
    expect((await rotate()).code).toBe(0);
    expect(await pepper()).toEqual({ ...added, current: String(Number(old) + 1) });
  });

  it('loses no key that another command has added while it waited', async () => {
    const added: unknown[] = [];
    const { code, reported } = await rotate(async () => {
      for (let times = 0; times < 2; times += 1) expect((await rotate()).code).toBe(0);
      added.push(await pepper());
    });
    expect([code, reported]).toEqual([1, expect.stringContaining('have changed meanwhile. Call the command again.')]);
    expect(added).toEqual([await pepper()]);
  });
});
