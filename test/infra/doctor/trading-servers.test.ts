import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CheckResult, runChecks } from '../../../infra/doctor/checks.ts';
import type { ServerProbes } from '../../../infra/doctor/probes.ts';
import { SERVER_FAILURES } from '../../../infra/doctor/server-failures.ts';
import type { ServerReport } from '../../../infra/doctor/server-report.ts';
import { connectionCheck } from '../../../infra/doctor/service-checks.ts';
import { startWebApiServer } from '../../../infra/local/platforms/web-api-server.ts';
import { PlatformFailure, type ServerRights } from '../../../lib/platform/platform.ts';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { GATEWAY, LIVE, PLUG_IN } from '../../support/crm-example.ts';
import { HEALTHY_PROBES, SOUND_SERVER } from '../../support/doctor-probes.ts';
import { openAccount } from '../../support/local-service.ts';
import { Operators } from '../../support/operators.ts';

/** Refusals of one order, which no login can meet. */
const OF_AN_ORDER: readonly string[] = ['command_too_long', 'value_not_transmittable'];
const PUT = 'npm run ops -- secret put tp5-live-1 --stack broker-api-prod';
const VALUE = { login: 1_000, password: 'hidden-word', master: 'hidden-word' };

async function found(probes: Partial<ServerProbes>, connection: Connection = LIVE) {
  const records = { ...(await HEALTHY_PROBES.records()), connections: [connection] };
  return runChecks([connectionCheck([])], { ...HEALTHY_PROBES, records: async () => records, ...probes });
}
const reported = (report: Partial<ServerReport>, connection?: Connection) =>
  found({ report: async () => ({ ...SOUND_SERVER, ...report }) }, connection);
const failing = (kind: 'platform_refused' | 'platform_unavailable', reason: string): Partial<ServerProbes> => ({
  report: () => Promise.reject(new PlatformFailure(kind, { reason })),
});
const storing = (value: unknown) => ({ secret: async () => JSON.stringify(value) });

describe('npm run doctor: a trading server', () => {
  it('counts as working with the right secret, a login, the needed rights, and room in its range', async () => {
    const lines = (await found({})).map(({ subject, state, detail }) => [subject, state, detail]);
    expect(lines).toEqual([
      ['tp5-live-1', 'works', 'accepts our login'],
      ['tp5-live-1 rights', 'works', 'may open accounts, see personal data, change balances'],
      ['tp5-live-1 groups', 'works', 'real\\standard'],
      ['tp5-live-1 logins', 'works', '500000 to 599999: 3 of 20 samples are taken'],
    ]);
  });

  it('without a secret is reported with the command that stores it', async () => {
    expect(await found({ secret: async () => undefined })).toMatchObject([{ state: 'missing', fix: PUT }]);
  });

  it.each([LIVE, PLUG_IN, GATEWAY])(
    'of $protocol with a secret of another shape or for other servers is an error, is not asked, and the secret not shown',
    async (connection) => {
      const address = `${connection.host}:443`;
      const wrongShape = `the secret ${connection.secret} has another shape`;
      const leads = (to: string) => `leads to ${address}, and its secret is for ${to}`;
      for (const [value, detail] of [
        [{ [connection === LIVE ? 'master' : 'password']: 'hidden-word' }, wrongShape],
        ['hidden-word', wrongShape],
        [{ ...VALUE, hosts: address }, wrongShape],
        [{ ...VALUE, hosts: [`${connection.host}:444`, `x${address}`] }, leads(`${connection.host}:444, x${address}`)],
        [{ ...VALUE, hosts: [] }, leads('no server')],
      ] as const) {
        const report = () => Promise.reject(new Error('The server was asked.'));
        const all = await found({ ...storing(value), report }, connection);
        const fix = expect.stringContaining(`npm run ops -- secret put ${connection.id} --stack broker-api-prod`);
        expect(all).toEqual([{ question: 'server', subject: connection.id, state: 'missing', detail, fix }]);
        expect(JSON.stringify(all)).not.toContain('hidden-word');
      }
    },
  );

  it('that works all the same has warnings: of its secret, and of passwords that go through the internet', async () => {
    const HOSTS = { hosts: ['mt4gw.example.com:443'] };
    const warned = async (probes: Partial<ServerProbes>, value: object = { ...VALUE, ...HOSTS }) => {
      const all = await found(
        { ...storing(value), usedConnections: async () => new Set([GATEWAY.id]), ...probes },
        GATEWAY,
      );
      return all.filter(({ state }) => state === 'warning').map(({ subject, detail }) => `${subject}: ${detail}`);
    };
    const { secret } = GATEWAY;
    expect(await warned({})).toEqual([]);
    expect(await warned({ isPublic: async () => true })).toEqual([expect.stringMatching(/^tp4-gw-1 network: mt4gw/)]);
    expect(await warned({ secretPrefix: async () => 'mt/' })).toEqual([
      `tp4-gw-1 secret: no function can read ${secret}: its name must begin with mt/`,
    ]);
    const lacking = { describedSecret: async () => ({ versions: undefined }), ...storing(VALUE) };
    const both = [
      `tp4-gw-1 secret: ${secret} names no server: whoever writes connections can have it sent elsewhere`,
      `tp4-gw-1 secret: ${secret} names no platform version: the functions of both read it`,
    ];
    expect(await warned(lacking, VALUE)).toEqual(both);
    // They are about the secret: a server that is down has them, too.
    expect(await warned({ ...lacking, ...failing('platform_unavailable', 'auth_timeout') }, VALUE)).toEqual(both);
    expect(await warned({ ...lacking, place: ['--local'] }, VALUE)).toEqual([]);
  });

  it.each(Object.entries(SERVER_FAILURES))(
    'that fails with %s is not reported as down',
    async (row, { detail, fix, unseen }) => {
      const reason = row.replace('xx', '99').replace('…', 'cert_has_expired');
      const [result] = await found(failing('platform_refused', reason));
      const named = reason.replace('auth_http_', 'HTTP ');
      const said = `${detail}: platform_refused (${/^HTTP \d/.test(named) ? named : reason})`;
      expect(result).toMatchObject({ state: unseen ? 'unknown' : 'missing', detail: said, fix });
      expect(`${detail} ${fix}`).toMatch(/^(reached|not asked)(?!.*start it)/);
    },
  );

  it('that cannot be reached from here is not called missing', async () => {
    const [result] = await found(failing('platform_unavailable', 'connect_timeout'));
    const detail = 'not reached: platform_unavailable (connect_timeout)';
    expect(result).toMatchObject({ state: 'unknown', detail, fix: expect.stringContaining('start it') });
  });

  it('that refuses us has a reason of the table, whatever the adapter', async () => {
    const files = (await readdir('lib/platform', { recursive: true })).filter((name) => name.endsWith('.ts'));
    const sources = await Promise.all(files.map((name) => readFile(`lib/platform/${name}`, 'utf8')));
    const reasons = sources.flatMap((source) => [
      ...source.matchAll(/'platform_refused',\s*\{\s*reason: '(\w+)'/g),
      ...source.matchAll(/unsendable\('(\w+)'/g),
    ]);
    const words = reasons.map(([, reason = '']) => reason).filter((reason) => !OF_AN_ORDER.includes(reason));
    expect(words.length).toBeGreaterThan(5);
    expect(words.filter((reason) => SERVER_FAILURES[reason] === undefined)).toEqual([]);
  });

  const unknown: ServerRights = { openAccounts: 'unknown', seePersonalData: 'unknown', changeBalances: 'unknown' };
  it.each<[string, Partial<ServerRights>, Connection, Partial<CheckResult>]>([
    ['may not open accounts', { openAccounts: 'denied' }, LIVE, { fix: expect.stringContaining('Edit accounts') }],
    ['may not see personal data', { seePersonalData: 'denied' }, LIVE, { fix: expect.stringContaining('_GENERAL') }],
    [
      'may not change balances, and need not',
      { changeBalances: 'denied' },
      LIVE,
      { state: 'works', detail: 'may open accounts, see personal data; may not change balances, and need not' },
    ],
    [
      'may not pay the deposits of demo accounts',
      { changeBalances: 'denied' },
      { ...LIVE, demo: true },
      { state: 'missing', detail: 'may open accounts, see personal data; may not change balances' },
    ],
    [
      'may do an unknown set of things',
      unknown,
      LIVE,
      { state: 'warning', fix: expect.stringContaining('demo group') },
    ],
    ['cannot see our rights', unknown, GATEWAY, { state: 'warning', fix: expect.stringContaining('demo group') }],
  ])('on which we %s is reported', async (_, more, connection, expected) => {
    const all = await reported({ rights: { ...SOUND_SERVER.rights, ...more } }, connection);
    expect(all[1]).toMatchObject({ subject: `${connection.id} rights`, ...expected });
  });

  it('on which an account was opened needs no other proof of our rights', async () => {
    const usedConnections = async () => new Set([GATEWAY.id, LIVE.id]);
    const report = async () => ({ ...SOUND_SERVER, rights: unknown });
    for (const connection of [GATEWAY, LIVE]) {
      const [, rights] = await found({ report, usedConnections }, connection);
      expect(rights).toMatchObject({ state: 'works', detail: 'an account was opened here' });
    }
  });

  const ranges = { asked: 20, sampled: true, taken: 0, strangers: [] };
  it.each<[string, Partial<ServerReport>, Partial<CheckResult>]>([
    [
      'lacks a group',
      { groups: { unknown: ['real\\none'], notShown: [] } },
      { detail: 'the server has no real\\none' },
    ],
    ['does not show a group', { groups: { unknown: [], notShown: ['real\\vip'] } }, { state: 'warning' }],
    ['has a range that fills up', { ranges: { ...ranges, taken: 11 } }, { state: 'warning' }],
    ['has a range that is full', { ranges: { ...ranges, taken: 20 } }, { state: 'missing' }],
    ['does not know which logins exist', { ranges: { ...ranges, asked: 0 } }, { state: 'warning' }],
    [
      'has accounts in the range that the ledger does not know',
      { ranges: { ...ranges, taken: 2, strangers: [500_001, 500_002] } },
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

  it('sees a right that was removed on the server, and opens no account there', async () => {
    const manager = JSON.parse((await operators.stored('platform/tp5-demo-1')) ?? '') as typeof VALUE;
    const rights = { openAccounts: false, changeBalances: false };
    const server = await startWebApiServer({ manager, groups: [{ name: 'demo\\standard' }], rights });
    onTestFinished(() => server.close());
    const { id, protocol, platform, logins } = LIVE;
    const address = { host: '127.0.0.1', port: server.port, ca: server.ca };
    const connection = { id, protocol, platform, ...address, demo: true, logins, secret: 'platform/tp5-demo-1' };
    await operators.local('import', { connections: [connection] });
    const { code, results } = await operators.doctor({ ids: [id] });
    expect(results[1]).toMatchObject({
      state: 'missing',
      detail: 'may see personal data; may not open accounts, change balances',
      fix: expect.stringMatching(/Administrator.*Edit accounts.*Work with funds/),
    });
    expect([code, server.accounts()]).toEqual([1, []]);
  });

  it('samples the logins of a server that cannot list them, and knows when an account was opened there', async () => {
    const before = await operators.doctor({ ids: ['tp4-gw-1'] });
    const details = before.results.map(({ state, detail }) => `${state} ${detail}`);
    expect(details).toEqual([
      'works accepts our login',
      'warning cannot be seen: the protocol has no command for them',
      'works 600000 to 649999: none of 20 samples is taken',
    ]);
    const order = { connection_id: 'tp4-gw-1', group: 'demoforex', leverage: 1, account_type_id: 'ATDEMO04' };
    expect((await openAccount(operators.service, 'tp4', { ...order, login: 649_999 })).status).toBe(200);
    const { code, results } = await operators.doctor({ ids: ['tp4-gw-1'] });
    expect(results[1]).toMatchObject({ state: 'works', detail: 'an account was opened here' });
    expect([code, results[2]?.detail]).toEqual([0, '600000 to 649999: 1 of 20 samples is taken']);
  });

  it('says which connection cannot be used, and why, and which does not exist', async () => {
    operators.service.faults('tp4-gw-1').set({ kind: 'down', times: 5 });
    const { code, results } = await operators.doctor({ ids: ['tp4-gw-1', 'tp5-live-9'] });
    operators.service.faults('tp4-gw-1').clear();
    expect(results).toMatchObject([
      { subject: 'tp4-gw-1', detail: expect.stringMatching(/^not reached: platform_unavailable \(.+\)$/) },
      { subject: 'tp5-live-9', state: 'missing', detail: 'there is no such connection' },
    ]);
    expect(code).toBe(1);
  });
});
