import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { platformConnections } from '../../lib/platform/connections.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import { type AlarmRow, ORDERS, requestAccount, walk } from './operators-walk.ts';
import { NEVER_ABORTED } from './outcomes.ts';

const DEMO = { connection_id: 'tp5-demo-1', group: 'demo\\standard', account_type_id: 'ATDEMO01' };
const PLUG_IN = { connection_id: 'tp4-live-1', group: 'standard' };
const WRONG_SECRET = '{"login":1000,"password":"wrong","master":"wrong"}';
const PASSWORDS = 'broker-api-keys/local/passwords';
const NEW_KEY = 'k'.repeat(64);
const FULL = { from: 800_000, to: 800_999 };

const REFUSED_BY_SERVERS = (['tp5', 'tp4'] as const).flatMap((version): AlarmRow[] => {
  const name = `Create${version === 'tp5' ? 'Tp5' : 'Tp4'}Account`;
  const { connection_id } = ORDERS[version];
  const words = { CONNECTION_ID: connection_id };
  return [
    {
      alarms: [`PlatformRefused-${version}`],
      provoke: async () => {
        walk.left.secret = await walk.secret(`platform/${connection_id}`);
        await walk.run('npm run crm -- secret put CONNECTION_ID --stack $STACK', words, WRONG_SECRET);
        await walk.wait(6);
        expect((await requestAccount(version)).status).toBe(502);
      },
      show: `events ${name} PlatformRefused`,
      names: ['connection_id', 'reason'],
      end: async () => {
        expect(await walk.run('npm run doctor -- CONNECTION_ID --stack $STACK', words)).toContain('password');
        await walk.run('npm run crm -- secret put CONNECTION_ID --stack $STACK', words, walk.left.secret);
        expect((await requestAccount(version)).status).toBe(200);
      },
    },
    {
      alarms: [`PlatformUnavailable-${version}`],
      provoke: async () => {
        await walk.fault(connection_id, { kind: 'down', times: 1_000 });
        expect((await requestAccount(version)).status).toBe(503);
      },
      show: `events ${name} PlatformUnavailable`,
      names: ['connection_id', 'reason'],
      end: async () => {
        expect(await walk.run('npm run doctor -- CONNECTION_ID --stack $STACK', words)).toContain('start');
        await walk.repair();
        expect((await requestAccount(version)).status).toBe(200);
      },
    },
    {
      alarms: [`RouteFails-create-${version}-account`, `InternalErrors-create-${version}-account`],
      provoke: async () => {
        walk.left.item = await walk.madeBy('operations', () => requestAccount(version));
        await walk.put('operations', { ...walk.left.item, life: 'broken' });
        expect((await requestAccount(version)).status).toBe(500);
      },
      show: `events ${name} InternalError`,
      names: ['reason', 'item', 'stack'],
      end: async () => {
        walk.says('correct the item');
        await walk.put('operations', walk.left.item);
        expect((await requestAccount(version)).status).toBe(200);
      },
    },
  ];
});

/** The alarms about accounts and the settler. */
export const ACCOUNT_ROWS: readonly AlarmRow[] = [
  ...REFUSED_BY_SERVERS,
  {
    alarms: ['AccountOutcomeUnknown'],
    provoke: async () => {
      await walk.fault('tp4-live-1', { kind: 'reply_lost', times: 1 });
      const { status, id } = await requestAccount('tp4', PLUG_IN);
      expect(status).toBe(504);
      walk.left.id = id;
    },
    show: 'npm run crm -- operations --open --stack $STACK',
    end: async () => {
      const listed = () => walk.run('npm run crm -- operations --open --stack $STACK');
      expect(await listed()).toContain(walk.left.id);
      expect(
        await walk.run('npm run crm -- operation OPERATION_ID --stack $STACK', { OPERATION_ID: walk.left.id }),
      ).toContain('--login N');
      // The administrator's search.
      const accounts = await walk.local<{ login: number; comment: string }[]>('GET', 'platforms/tp4-live-1/accounts');
      const login = accounts.find(({ comment }) => comment.includes(walk.left.id))?.login;
      const words = { OPERATION_ID: walk.left.id, LOGIN: String(login) };
      await walk.run('npm run crm -- settle OPERATION_ID --login LOGIN --stack $STACK', words);
      expect(await requestAccount('tp4', PLUG_IN)).toMatchObject({ status: 200, login });
      expect(await listed()).not.toContain(walk.left.id);
    },
  },
  {
    alarms: ['SettlerFails'],
    provoke: async () => {
      await walk.refuse('operations');
      expect(await walk.settler()).toBe(false);
    },
    show: 'aws logs tail $(output SettleOperationsLogGroup) --since 1h',
    end: async () => {
      await walk.refuse(undefined);
      expect(await walk.settler()).toBe(true);
    },
  },
  {
    alarms: ['AccountNotRecorded'],
    provoke: async () => {
      await walk.refuse('accounts');
      const { status, login } = await requestAccount('tp5');
      expect(status).toBe(200);
      walk.left.id = String(login);
    },
    show: 'events CreateTp5Account AccountNotRecorded',
    names: ['login', 'reason'],
    end: async () => {
      await walk.refuse(undefined);
      expect(await walk.settler()).toBe(true);
      expect((await walk.items('accounts')).map(({ login }) => String(login))).toContain(walk.left.id);
    },
  },
  {
    alarms: ['EventFailed'],
    provoke: async () => {
      await walk.fault('events', { kind: 'refused', times: 1_000 });
      expect((await requestAccount('tp5')).status).toBe(200);
    },
    show: 'events CreateTp5Account EventFailed',
    names: ['login', 'reason'],
    end: async () => {
      await walk.repair();
      const before = (await walk.local<unknown[]>('GET', 'events')).length;
      expect(await walk.settler()).toBe(true);
      expect(await walk.local<unknown[]>('GET', 'events')).toHaveLength(before + 1);
    },
  },
  {
    alarms: ['DepositFailed'],
    provoke: async () => {
      await walk.fault('tp5-demo-1', { kind: 'refused', after: 1, times: 1_000 });
      const { status, login, id } = await requestAccount('tp5', DEMO);
      expect(status).toBe(200);
      walk.left.id = String(login);
      walk.left.secret = id;
      await walk.settler(25 * 60);
    },
    show: 'events SettleOperations DepositFailed',
    names: ['login', 'operation_id'],
    end: async () => {
      await walk.repair();
      const [{ login, operation_id } = {}] = walk.shown('events SettleOperations DepositFailed');
      await deposit(DEMO.connection_id, Number(login), 10_000);
      const words = { OPERATION_ID: String(operation_id) };
      await walk.run('npm run crm -- settle OPERATION_ID --deposit --stack $STACK', words);
      await expect(walk.run('npm run crm -- settle OPERATION_ID --deposit --stack $STACK', words)).rejects.toThrow();
    },
  },
  {
    alarms: ['NoticeFailed'],
    provoke: async () => {
      await walk.fault('ses', { kind: 'refused', times: 1 });
      expect((await requestAccount('tp5', { ...ORDERS.tp5, send_email: true })).status).toBe(200);
    },
    show: 'events CreateTp5Account NoticeFailed',
    names: ['login', 'notice', 'reason'],
    end: async () => expect((await requestAccount('tp5', { ...ORDERS.tp5, send_email: true })).status).toBe(200),
  },
  {
    alarms: ['NotSettled'],
    provoke: async () => {
      walk.left.item = { pk: `operation#${walk.left.key}`, life: 'broken', due_shard: 'due#0', due_at: 1 };
      await walk.put('operations', walk.left.item);
      expect(await walk.settler()).toBe(true);
    },
    show: 'events SettleOperations OperationNotSettled',
    names: ['item', 'reason'],
    end: async () => {
      walk.says('REMOVE due_at, due_shard');
      const { due_at, due_shard, ...taken } = walk.left.item;
      expect([due_at, due_shard]).toEqual([1, 'due#0']);
      await walk.put('operations', taken);
      await settlesSilently('OperationNotSettled');
    },
  },
  {
    alarms: ['OperationUnderivable'],
    provoke: async () => {
      walk.left.secret = await walk.secret(PASSWORDS);
      walk.left.id = String((await requestAccount('tp5')).login);
      await walk.run(
        'npm run crm -- secret put passwords --stack $STACK',
        {},
        JSON.stringify({ current: '2', '2': NEW_KEY }),
      );
      await walk.wait(6);
      expect((await requestAccount('tp5')).status).toBe(500);
    },
    show: 'events CreateTp5Account OperationUnderivable',
    names: ['operation_id'],
    end: async () => {
      const { '1': former } = JSON.parse(walk.left.secret) as Record<string, string>;
      const keys = { current: '2', '1': former, '2': NEW_KEY };
      await walk.run('npm run crm -- secret put passwords --stack $STACK', {}, JSON.stringify(keys));
      await walk.wait(6);
      expect(await requestAccount('tp5')).toMatchObject({ status: 200, login: Number(walk.left.id) });
      expect(await requestAccount('tp5', ORDERS.tp5, randomUUID())).toMatchObject({ status: 200 });
    },
  },
  {
    alarms: ['PlatformRefused-settle-operations', 'SettlerBehind'],
    provoke: async () => {
      const { expires_at, ...item } = await walk.madeBy('operations', () => requestAccount('tp5'));
      const { login } = Object(item.life) as { login: number };
      expect(expires_at).toBeDefined();
      const due = { due_shard: 'due#0', due_at: Number(item.since) };
      await walk.put('operations', { ...item, ...due, life: { at: 'sent', login, commands: 'many' } });
      await walk.fault('tp5-live-1', { kind: 'refused', times: 1_000 });
      expect(await walk.settler(20)).toBe(true);
    },
    show: 'events SettleOperations PlatformRefused',
    names: ['connection_id', 'reason'],
    end: async () => {
      await walk.repair();
      expect(await walk.settler(60)).toBe(true);
      expect((await requestAccount('tp5')).status).toBe(200);
      await settlesSilently('OperationsDue');
    },
  },
  {
    alarms: ['LoginNotOurs', 'LoginsScarce'],
    provoke: fillRange,
    show: 'events CreateTp5Account LoginsScarce',
    names: ['connection_id', 'login_tries'],
    end: async () => {
      expect(
        await walk.run('npm run doctor -- CONNECTION_ID --stack $STACK', { CONNECTION_ID: 'tp5-live-1' }),
      ).toContain('tp5-live-1');
      await connect([FULL, { from: 900_000, to: 999_999 }]);
      expect((await requestAccount('tp5')).status).toBe(200);
    },
  },
];

async function settlesSilently(event: string): Promise<void> {
  await walk.begin('');
  expect(await walk.settler()).toBe(true);
  expect(walk.lines().filter(({ message }) => message === event)).toEqual([]);
}

async function connection(id: string): Promise<Connection> {
  const item = (await walk.items('crm')).find(({ pk }) => pk === `connection#${id}`);
  return item?.record as Connection;
}

async function connect(logins: object): Promise<void> {
  const [item = {}] = (await walk.items('crm')).filter(({ pk }) => pk === 'connection#tp5-live-1');
  await walk.put('crm', { ...item, record: { ...Object(item.record), logins } });
}

/** All logins of a range are reserved, but one that has an account of another program. */
async function fillRange(): Promise<void> {
  const login = FULL.from + 500;
  const key = randomUUID();
  const { status, id } = await requestAccount('tp5', { ...ORDERS.tp5, login }, key);
  expect([status, id]).toEqual([200, expect.anything()]);
  for (const table of ['operations', 'accounts', 'logins'])
    for (const item of (await walk.items(table)).filter((one) => JSON.stringify(one).includes(String(login))))
      await walk.remove(table, item);
  const otherLogins = Array.from({ length: 1_000 }, (_, index) => FULL.from + index).filter((one) => one !== login);
  await walk.putAll(
    'logins',
    otherLogins.map((one) => ({ pk: `tp5#${one}`, operation_id: 'nobody', connection_id: 'tp5-live-1' })),
  );
  await connect(FULL);
  expect((await requestAccount('tp5')).status).not.toBe(200);
}

/** The administrator of a trading server pays. */
async function deposit(id: string, login: number, amount: number): Promise<void> {
  const open = platformConnections({ readSecret: (name) => walk.secret(name) });
  const platform = await open(await connection(id), NEVER_ABORTED);
  await platform.fund(login, amount, Date.now() + 60_000, NEVER_ABORTED);
  await platform.close();
}
