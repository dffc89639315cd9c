import { describe, expect, it, onTestFinished } from 'vitest';
import type { ServerReport } from '../../../infra/crm/server-report.ts';
import { examine } from '../../../infra/doctor/checks.ts';
import { runDoctor } from '../../../infra/doctor/doctor.ts';
import type { Finding, ServerLooks } from '../../../infra/doctor/looks.ts';
import { connectionChecks } from '../../../infra/doctor/stack-checks.ts';
import type { ManagerRights } from '../../../infra/local/platforms/web-api-accounts.ts';
import { startWebApiServer } from '../../../infra/local/platforms/web-api-server.ts';
import { PlatformFailure, type Rights } from '../../../lib/platform/platform.ts';
import type { Connection } from '../../../lib/records/crm-records.ts';
import { HEALTHY, SOUND } from '../../support/doctor-looks.ts';
import { Operators } from '../../support/operators.ts';

const CONNECTION: Connection = {
  id: 'tp5-live-1',
  platform: 'tp5',
  protocol: 'web-api',
  host: 'mt5.example.com',
  port: 443,
  demo: false,
  secret: 'platform/tp5-live-1',
  groups: ['real\\standard'],
  logins: { from: 500_000, to: 599_999 },
};
const GATEWAY: Connection = {
  id: 'tp4-gw-1',
  platform: 'tp4',
  protocol: 'interface-gateway',
  host: '10.0.0.7',
  port: 443,
  demo: true,
  secret: 'platform/tp4-gw-1',
  code_page: 'windows-1252',
  groups: ['demoforex'],
};

describe('A trading server', () => {
  const found = async (looks: Partial<ServerLooks>, connection: Connection = CONNECTION) => {
    const servers = { ...HEALTHY, connections: async () => [connection], ...looks };
    return examine(await connectionChecks(servers), servers);
  };
  const reported = (report: Partial<ServerReport>, connection?: Connection) =>
    found({ report: async () => ({ ...SOUND, ...report }) }, connection);

  it('works where its secret is right, it lets us in, we may do what we need, and its range has room', async () => {
    const area = 'trading server';
    expect(await found({})).toEqual([
      { area, what: 'tp5-live-1', state: 'works', says: 'lets us in' },
      {
        area,
        what: 'tp5-live-1 rights',
        state: 'works',
        says: 'may open accounts, see personal data, change balances',
      },
      { area, what: 'tp5-live-1 groups', state: 'works', says: 'real\\standard' },
      { area, what: 'tp5-live-1 logins', state: 'works', says: '500000 to 599999: 3 of 20 looked at are taken' },
    ]);
  });

  const put = 'npm run crm -- secret put tp5-live-1 --stack broker-api-prod';
  const refused = new PlatformFailure('platform_refused', { reason: 'retcode_1001' });
  it.each<[string, Partial<ServerLooks>, Partial<Finding>]>([
    ['has no secret', { secret: async () => undefined }, { state: 'missing', mend: put }],
    [
      'has a secret of another shape',
      { secret: async () => '{"master":"hidden-word"}' },
      { state: 'missing', mend: put },
    ],
    ['refuses us', { report: () => Promise.reject(refused) }, { says: 'platform_refused (retcode_1001)' }],
  ])('that %s is told of, without its secret', async (_, looks, finding) => {
    const all = await found(looks);
    expect(all).toMatchObject([finding]);
    expect(JSON.stringify(all)).not.toContain('hidden-word');
  });

  const unsaid: Rights = { openAccounts: 'unsaid', seePersonalData: 'unsaid', changeBalances: 'unsaid' };
  const { rights } = SOUND;
  it.each<[string, Partial<Rights>, boolean, Partial<Finding>]>([
    [
      'may not open accounts',
      { openAccounts: 'denied' },
      false,
      { state: 'missing', mend: expect.stringContaining('Edit accounts') },
    ],
    [
      'may not see personal data',
      { seePersonalData: 'denied' },
      false,
      { state: 'missing', mend: expect.stringContaining('_GENERAL') },
    ],
    [
      'may not change balances, and need not',
      { changeBalances: 'denied' },
      false,
      { state: 'works', says: 'may open accounts, see personal data; may not change balances, and need not' },
    ],
    [
      'may not pay the deposits of demo accounts',
      { changeBalances: 'denied' },
      true,
      { state: 'missing', says: 'may open accounts, see personal data; may not change balances' },
    ],
    [
      'may do we know not what',
      unsaid,
      false,
      {
        state: 'warning',
        says: 'cannot be seen: whether it may open accounts, see personal data, change balances',
        mend: expect.stringContaining('one account in a demo group'),
      },
    ],
  ])('on which we %s is told of', async (_, more, demo, finding) => {
    const all = await reported({ rights: { ...rights, ...more } }, { ...CONNECTION, demo });
    expect(all[1]).toMatchObject({ what: 'tp5-live-1 rights', ...finding });
  });

  it('whose protocol has no word for rights is told of', async () => {
    const [, ...rest] = await reported({ rights: unsaid }, GATEWAY);
    expect(rest).toMatchObject([
      { what: 'tp4-gw-1 rights', state: 'warning', says: 'cannot be seen: the protocol has no word for them' },
      { what: 'tp4-gw-1 logins', state: 'warning', says: 'it has no range of its own' },
    ]);
  });

  it.each<[string, Partial<ServerReport>, Partial<Finding>]>([
    [
      'lacks a group',
      { groups: { unknown: ['real\\none'], notShown: [] } },
      { what: 'tp5-live-1 groups', state: 'missing', says: 'the server has no real\\none' },
    ],
    [
      'does not show a group',
      { groups: { unknown: [], notShown: ['real\\vip'] } },
      { what: 'tp5-live-1 groups', state: 'warning' },
    ],
    ['has a range that fills up', { range: { looked: 20, taken: 11 } }, { state: 'warning' }],
    ['has a range that is full', { range: { looked: 20, taken: 20 } }, { state: 'missing' }],
    ['does not know which logins exist', { range: { looked: 0, taken: 0 } }, { state: 'warning' }],
  ])('that %s is told of, and what mends it', async (_, report, finding) => {
    expect(await reported(report)).toContainEqual(
      expect.objectContaining({ ...finding, mend: expect.stringMatching(/.{10}/) }),
    );
  });
});

describe('npm run doctor -- --local', () => {
  const operators = new Operators();

  /** The findings on a server whose manager has these rights. */
  async function findings(rights: ManagerRights): Promise<{ code: number; found: Finding[] }> {
    const secret = JSON.parse((await operators.stored('platform/tp5-demo-1')) ?? '') as {
      login: number;
      password: string;
    };
    const server = await startWebApiServer({ manager: secret, groups: [{ name: 'demo\\standard' }], rights });
    onTestFinished(() => server.close());
    const { id, protocol, platform } = CONNECTION;
    const address = { host: '127.0.0.1', port: server.port, ca: server.ca };
    const connection = { id, protocol, platform, ...address, demo: true, secret: 'platform/tp5-demo-1' };
    await operators.local('put', 'connection', await operators.fileOf(connection));
    let out = '';
    const code = await runDoctor(['--local', operators.service.url, '--json'], (text) => {
      out += text;
    });
    expect(server.accounts()).toEqual([]);
    return { code, found: (JSON.parse(out) as Finding[]).filter(({ what }) => what.startsWith('tp5-live-1')) };
  }

  it('sees a right that is taken away, and says what mends it', async () => {
    const whole = await findings({});
    expect(whole.found[1]).toMatchObject({ state: 'works' });
    const { code, found } = await findings({ openAccounts: false, changeBalances: false });
    expect(found[1]).toEqual({
      area: 'trading server',
      what: 'tp5-live-1 rights',
      state: 'missing',
      says: 'may see personal data; may not open accounts, change balances',
      mend: expect.stringMatching(/Administrator.*Edit accounts.*Work with funds/),
    });
    expect([whole.code, code]).toEqual([0, 1]);
  });
});
