import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CheckResult, runChecks } from '../../../infra/doctor/checks.ts';
import type { ServerProbes } from '../../../infra/doctor/probes.ts';
import { SERVER_FAILURES } from '../../../infra/doctor/server-failures.ts';
import type { ServerReport } from '../../../infra/doctor/server-report.ts';
import { connectionCheck } from '../../../infra/doctor/service-checks.ts';
import type { ManagerRights } from '../../../infra/local/platforms/web-api-accounts.ts';
import { startWebApiServer } from '../../../infra/local/platforms/web-api-server.ts';
import { PlatformFailure, type ServerRights } from '../../../lib/platform/platform.ts';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';
import { HEALTHY_PROBES, SOUND_SERVER } from '../../support/doctor-probes.ts';
import { openAccount } from '../../support/local-service.ts';
import { Operators } from '../../support/operators.ts';

/** Refusals of one order, which no login can meet. */
const OF_AN_ORDER: readonly string[] = ['command_too_long', 'value_not_transmittable'];

describe('npm run doctor: a trading server', () => {
  const found = async (probes: Partial<ServerProbes>, connection: Connection = LIVE, ids: string[] = []) => {
    const records = { ...(await HEALTHY_PROBES.records()), connections: [connection] };
    return runChecks([connectionCheck(ids)], { ...HEALTHY_PROBES, records: async () => records, ...probes });
  };
  const reported = (report: Partial<ServerReport>, connection?: Connection) =>
    found({ report: async () => ({ ...SOUND_SERVER, ...report }) }, connection);

  it('counts as working with the right secret, a login, the needed rights, and room in its range', async () => {
    const question = 'server';
    expect(await found({})).toEqual([
      { question, subject: 'tp5-live-1', state: 'works', detail: 'accepts our login' },
      {
        question,
        subject: 'tp5-live-1 rights',
        state: 'works',
        detail: 'may open accounts, see personal data, change balances',
      },
      { question, subject: 'tp5-live-1 groups', state: 'works', detail: 'real\\standard' },
      { question, subject: 'tp5-live-1 logins', state: 'works', detail: '500000 to 599999: 3 of 20 samples are taken' },
    ]);
  });

  const put = 'npm run ops -- secret put tp5-live-1 --stack broker-api-prod';
  const refused = new PlatformFailure('platform_refused', { reason: 'retcode_1001' });
  it.each<[string, Partial<ServerProbes>, Partial<CheckResult>]>([
    ['has no secret', { secret: async () => undefined }, { state: 'missing', fix: put }],
    [
      'refuses us',
      { report: () => Promise.reject(refused) },
      { detail: "reached, and refuses the manager's login or its password: platform_refused (retcode_1001)" },
    ],
  ])('that %s is reported, without its secret', async (_, probes, expected) => {
    const all = await found(probes);
    expect(all).toMatchObject([expected]);
    expect(JSON.stringify(all)).not.toContain('hidden-word');
  });

  const VALUE = { login: 1_000, password: 'hidden-word', master: 'hidden-word' };
  const storing = (value: unknown) => ({
    secret: async () => (typeof value === 'string' ? value : JSON.stringify(value)),
  });
  const asked: Partial<ServerProbes> = { report: () => Promise.reject(new Error('The server was asked.')) };

  describe.each([LIVE, PLUG_IN, GATEWAY])('with a secret for $protocol', (connection) => {
    const { id, secret } = connection;
    const address = `${connection.host}:443`;
    const wrongShape = `the secret ${secret} has another shape`;
    const leads = (to: string) => `leads to ${address}, and its secret is for ${to}`;
    it.each<[string, unknown, string]>([
      ['of another protocol', { [connection === LIVE ? 'master' : 'password']: 'hidden-word' }, wrongShape],
      ['that is no JSON', 'hidden-word', wrongShape],
      ['whose servers are no list', { ...VALUE, hosts: address }, wrongShape],
      ['for another server', { ...VALUE, hosts: ['other.example.com:443'] }, leads('other.example.com:443')],
      [
        'for two others',
        { ...VALUE, hosts: [`${connection.host}:444`, `x${address}`] },
        leads(`${connection.host}:444, x${address}`),
      ],
      ['for no server', { ...VALUE, hosts: [] }, leads('no server')],
    ])('%s is an error, and the server is not asked', async (_, value, detail) => {
      const all = await found({ ...storing(value), ...asked }, connection);
      const fix = expect.stringContaining(`npm run ops -- secret put ${id} --stack broker-api-prod`);
      expect(all).toEqual([{ question: 'server', subject: id, state: 'missing', detail, fix }]);
      expect(JSON.stringify(all)).not.toContain('hidden-word');
    });

    const anyServer = `${secret} names no server: whoever writes connections can have it sent elsewhere`;
    const anyVersion = `${secret} names no platform version: the functions of both read it`;
    it.each<[string, object, string | undefined, string[]]>([
      ['names its server and its version', { hosts: [address.toUpperCase()] }, connection.platform, []],
      ['names neither', {}, undefined, [anyServer, anyVersion]],
      ['names no server', {}, connection.platform, [anyServer]],
      ['names no version', { hosts: [address] }, undefined, [anyVersion]],
    ])('that %s has its warnings', async (_, hosts, versions, details) => {
      const probes = { ...storing({ ...VALUE, ...hosts }), describedSecret: async () => ({ versions }) };
      const warnings = (all: CheckResult[]) => all.filter(({ subject }) => subject === `${id} secret`);
      const fix = `npm run ops -- secret put ${id} --stack broker-api-prod`;
      expect(warnings(await found(probes, connection))).toEqual(
        details.map((detail) => ({ question: 'server', subject: `${id} secret`, state: 'warning', detail, fix })),
      );
      // They are about the secret: a server that is down has them, too.
      const down: Partial<ServerProbes> = { report: () => Promise.reject(refused) };
      expect(warnings(await found({ ...probes, ...down }, connection))).toHaveLength(details.length);
      expect(warnings(await found({ ...probes, place: ['--local'] }, connection))).toEqual([]);
    });
  });

  it('whose secret no function can read, or whose text protocol leads through the internet, has a warning', async () => {
    const probes: Partial<ServerProbes> = { secretPrefix: async () => 'mt/', isPublic: async () => true };
    const warned = (all: CheckResult[]) => all.filter(({ state }) => state === 'warning').map(({ subject }) => subject);
    expect(warned(await found(probes))).toEqual(['tp5-live-1 secret']);
    const ofGateway = warned(await found(probes, GATEWAY));
    expect(ofGateway).toEqual(expect.arrayContaining(['tp4-gw-1 secret', 'tp4-gw-1 network']));
  });

  it.each(Object.entries(SERVER_FAILURES))(
    'that fails with %s is not reported as down',
    async (row, { detail, fix }) => {
      const reason = row.replace('xx', '99').replace('…', 'cert_has_expired');
      const [result] = await found({
        report: () => Promise.reject(new PlatformFailure('platform_refused', { reason })),
      });
      expect(result).toMatchObject({ state: 'missing', detail: expect.stringContaining(`${detail}: `), fix });
      expect(`${detail} ${fix}`).toMatch(/^(reached|not asked)(?!.*start it)/);
    },
  );

  it('that refuses us has a reason of the table, whatever the adapter', async () => {
    const files = await readdir('lib/platform', { recursive: true });
    const sources = await Promise.all(
      files.filter((name) => name.endsWith('.ts')).map((name) => readFile(`lib/platform/${name}`, 'utf8')),
    );
    const reasons = sources.flatMap((source) => [
      ...source.matchAll(/'platform_refused',\s*\{\s*reason: '(\w+)'/g),
      ...source.matchAll(/unsendable\('(\w+)'/g),
    ]);
    const words = reasons.map(([, reason = '']) => reason).filter((reason) => !OF_AN_ORDER.includes(reason));
    expect(words.length).toBeGreaterThan(5);
    expect(words.filter((reason) => SERVER_FAILURES[reason] === undefined)).toEqual([]);
  });

  it.each<[string, string]>([
    ['auth_http_404', 'reached, but this is no Web API at this path: platform_refused (HTTP 404)'],
    [
      'auth_http_302',
      'reached, but it leads elsewhere, so this is no Web API at this path: platform_refused (HTTP 302)',
    ],
  ])('whose login answers %s is reported as no Web API', async (reason, detail) => {
    const failure = new PlatformFailure('platform_refused', { reason });
    const [result] = await found({ report: () => Promise.reject(failure) });
    expect(result).toMatchObject({ detail, fix: expect.stringContaining('/auth_start') });
  });

  it.each(['connect_ECONNREFUSED', 'connect_timeout', 'auth_timeout'])(
    'that is unreachable (%s) is reported as down',
    async (reason) => {
      const failure = new PlatformFailure('platform_unavailable', { reason });
      const [result] = await found({ report: () => Promise.reject(failure) });
      expect(result).toMatchObject({
        detail: `not reached: platform_unavailable (${reason})`,
        fix: expect.stringContaining('start it'),
      });
    },
  );

  const unknown: ServerRights = { openAccounts: 'unknown', seePersonalData: 'unknown', changeBalances: 'unknown' };
  const { rights } = SOUND_SERVER;
  it.each<[string, Partial<ServerRights>, boolean, Partial<CheckResult>]>([
    [
      'may not open accounts',
      { openAccounts: 'denied' },
      false,
      { state: 'missing', fix: expect.stringContaining('Edit accounts') },
    ],
    [
      'may not see personal data',
      { seePersonalData: 'denied' },
      false,
      { state: 'missing', fix: expect.stringContaining('_GENERAL') },
    ],
    [
      'may not change balances, and need not',
      { changeBalances: 'denied' },
      false,
      { state: 'works', detail: 'may open accounts, see personal data; may not change balances, and need not' },
    ],
    [
      'may not pay the deposits of demo accounts',
      { changeBalances: 'denied' },
      true,
      { state: 'missing', detail: 'may open accounts, see personal data; may not change balances' },
    ],
    [
      'may do an unknown set of things',
      unknown,
      false,
      {
        state: 'warning',
        detail: 'cannot be seen: whether it may open accounts, see personal data, change balances',
        fix: expect.stringContaining('one account in a demo group'),
      },
    ],
  ])('on which we %s is reported', async (_, more, demo, expected) => {
    const all = await reported({ rights: { ...rights, ...more } }, { ...LIVE, demo });
    expect(all[1]).toMatchObject({ subject: 'tp5-live-1 rights', ...expected });
  });

  it('on which an account was opened needs no other proof of our rights', async () => {
    const used = async () => new Set([GATEWAY.id, LIVE.id]);
    const report = async () => ({ ...SOUND_SERVER, rights: unknown });
    for (const connection of [GATEWAY, LIVE]) {
      const [, rightsFound] = await found({ report, usedConnections: used }, connection);
      expect(rightsFound).toMatchObject({ state: 'works', detail: 'an account was opened here' });
    }
  });

  it('whose protocol has no command for rights is reported', async () => {
    const [, ...rest] = await reported({ rights: unknown }, GATEWAY);
    expect(rest).toMatchObject([
      { subject: 'tp4-gw-1 rights', state: 'warning', detail: 'cannot be seen: the protocol has no command for them' },
      { subject: 'tp4-gw-1 logins', state: 'works', detail: '700000 to 799999: 3 of 20 samples are taken' },
    ]);
  });

  it.each<[string, Partial<ServerReport>, Partial<CheckResult>]>([
    [
      'lacks a group',
      { groups: { unknown: ['real\\none'], notShown: [] } },
      { subject: 'tp5-live-1 groups', state: 'missing', detail: 'the server has no real\\none' },
    ],
    [
      'does not show a group',
      { groups: { unknown: [], notShown: ['real\\vip'] } },
      { subject: 'tp5-live-1 groups', state: 'warning' },
    ],
    [
      'has a range that fills up',
      { ranges: { asked: 20, sampled: true, taken: 11, strangers: [] } },
      { state: 'warning' },
    ],
    [
      'has a range that is full',
      { ranges: { asked: 20, sampled: true, taken: 20, strangers: [] } },
      { state: 'missing' },
    ],
    [
      'does not know which logins exist',
      { ranges: { asked: 0, sampled: true, taken: 0, strangers: [] } },
      { state: 'warning' },
    ],
    [
      'has accounts in the range that the ledger does not know',
      { ranges: { asked: 20, sampled: true, taken: 2, strangers: [500_001, 500_002] } },
      { state: 'warning', detail: 'the ledger does not know 2 accounts in the range: 500001, 500002' },
    ],
  ])('that %s is reported, and how to fix it', async (_, report, expected) => {
    expect(await reported(report)).toContainEqual(
      expect.objectContaining({ ...expected, fix: expect.stringMatching(/.{10}/) }),
    );
  });
});

describe('npm run doctor -- --local', () => {
  const operators = new Operators();

  /** The doctor's results on a server whose manager has these rights. */
  async function examined(rights: ManagerRights): Promise<{ code: number; found: CheckResult[] }> {
    const secret = JSON.parse((await operators.stored('platform/tp5-demo-1')) ?? '') as {
      login: number;
      password: string;
    };
    const server = await startWebApiServer({ manager: secret, groups: [{ name: 'demo\\standard' }], rights });
    onTestFinished(() => server.close());
    const { id, protocol, platform } = LIVE;
    const address = { host: '127.0.0.1', port: server.port, ca: server.ca };
    const logins = { from: 500_000, to: 599_999 };
    const connection = { id, protocol, platform, ...address, demo: true, logins, secret: 'platform/tp5-demo-1' };
    await operators.local('import', { connections: [connection] });
    const { code, results } = await operators.doctor();
    expect(server.accounts()).toEqual([]);
    return { code, found: results.filter(({ subject }) => subject.startsWith('tp5-live-1')) };
  }

  it('sees a right that was removed, and says how to fix it', async () => {
    const whole = await examined({});
    expect(whole.found[1]).toMatchObject({ state: 'works' });
    const { code, found } = await examined({ openAccounts: false, changeBalances: false });
    expect(found[1]).toEqual({
      question: 'server',
      subject: 'tp5-live-1 rights',
      state: 'missing',
      detail: 'may see personal data; may not open accounts, change balances',
      fix: expect.stringMatching(/Administrator.*Edit accounts.*Work with funds/),
    });
    expect([whole.code, code]).toEqual([0, 1]);
  });

  const UNSEEN = 'rights: cannot be seen: the protocol has no command for them';
  const MAY = 'rights: may open accounts, see personal data, change balances';
  it.each([
    ['tp5-demo-1', ['accepts our login', MAY, '600000 to 699999: none of 100000 logins is taken']],
    ['tp4-gw-1', ['accepts our login', UNSEEN, '600000 to 649999: none of 20 samples is taken']],
    ['tp4-live-1', ['can be reached', 'rights: cannot be seen, nor whether our password is right']],
  ])('checks only %s if the connection is named, and creates no account there', async (id, says) => {
    const { code, results } = await operators.doctor({ ids: [id] });
    const found = results.map(({ subject, detail }) => `${subject}: ${detail}`);
    expect(found.map((one, index) => one.includes(says[index] ?? '?'))).toEqual(says.map(() => true));
    expect(code).toBe(0);
    expect(operators.service.platforms.get(id)?.accounts()).toEqual([]);
  });

  it('counts the taken logins of a server that cannot list them', async () => {
    const order = { connection_id: 'tp4-gw-1', group: 'demoforex', leverage: 1, account_type_id: 'ATDEMO04' };
    expect((await openAccount(operators.service, 'tp4', { ...order, login: 649_999 })).status).toBe(200);
    const { results } = await operators.doctor({ ids: ['tp4-gw-1'] });
    expect(results.at(-1)?.detail).toContain('1 of 20 samples is taken');
    expect(results[1]).toMatchObject({ state: 'works', detail: 'an account was opened here' });
  });

  it('says which connection cannot be used, and why, and which does not exist', async () => {
    operators.service.faults('tp4-gw-1').set({ kind: 'down', times: 5 });
    const { code, results } = await operators.doctor({ ids: ['tp4-gw-1', 'tp5-live-9'] });
    operators.service.faults('tp4-gw-1').clear();
    expect(results).toMatchObject([
      {
        subject: 'tp4-gw-1',
        state: 'missing',
        detail: expect.stringMatching(/^not reached: platform_unavailable \(.+\)$/),
        fix: expect.stringContaining('cannot be reached from here'),
      },
      { subject: 'tp5-live-9', state: 'missing', detail: 'there is no such connection' },
    ]);
    expect(code).toBe(1);
  });
});
