import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import { OPERATOR_ONLY } from '../../../lib/records/due.ts';
import { postJson } from '../../support/local-service.ts';
import { Operators, runOperatorsCommand } from '../../support/operators.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { KEY_ATTRIBUTES, removeItems, restoredTable, writeItems } from '../../support/restored-tables.ts';

const operators = new Operators();
const ORDER = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
const SOON = Math.floor(Date.now() / 1_000) + 3_600;

async function openAccount(key: string) {
  const path = '/public/v1/users/CLIENT01/tp5/accounts';
  const answer = await postJson(operators.service, path, ORDER, { 'idempotency-key': key });
  const { login } = (await answer.json()) as { login?: number };
  return { status: answer.status, login, replayed: answer.headers.get('idempotent-replayed') };
}

/** Deletes these items of a table, or all. */
async function lose(table: string, which: (item: Item) => boolean = () => true): Promise<void> {
  await removeItems(operators, table, (await operators.items(table)).filter(which));
}

let tests = 0;
const nameOf = (table: string) => `${table}-restored-${tests}`;

async function backUp(): Promise<void> {
  for (const table of Object.keys(KEY_ATTRIBUTES)) await restoredTable(operators, table, nameOf(table));
}
beforeEach(async () => {
  tests += 1;
  for (const table of ['accounts', 'logins', 'operations', 'registrations']) await lose(table);
});

/** A table that lost all items but those that were written since; the backup has the others. */
async function lost(table: string, items: Item[], since: Item[] = []): Promise<void> {
  await writeItems(operators, table, items);
  await restoredTable(operators, table, nameOf(table));
  await lose(table);
  await writeItems(operators, table, since);
}

const restore = (table: string, ...more: string[]) =>
  operators.local('restore', table, '--from', nameOf(table), ...more);

describe('npm run ops -- restore', () => {
  it('restores lost items: a retry is answered with the same account, and no login is given twice', async () => {
    const key = randomUUID();
    const first = await openAccount(key);
    expect(first.status).toBe(200);
    const client = await operators.table.read('client#CLIENT01');
    await backUp();
    for (const table of Object.keys(KEY_ATTRIBUTES))
      await lose(table, ({ pk }) => !String(pk).startsWith('connection#'));
    const accounts = () => operators.service.platforms.get('tp5-live-1')?.accounts().length;
    const count = accounts();

    for (const table of ['logins', 'operations', 'accounts', 'registrations', 'crm'])
      expect(await restore(table)).toMatchObject({ code: 0 });

    expect(await openAccount(key)).toEqual({ status: 200, login: first.login, replayed: 'true' });
    expect(accounts()).toBe(count);
    const other = await openAccount(randomUUID());
    expect([other.status, other.login === first.login]).toEqual([200, false]);
    expect(await operators.table.read('client#CLIENT01')).toEqual(client);
  });

  it('shows with --dry-run what it would copy, and writes nothing', async () => {
    await lost('accounts', [{ pk: 'CLIENT01', sk: 'tp5#tp5-live-1#1' }]);
    const { out } = await restore('accounts', '--dry-run');
    expect(out).toBe('1 item would be copied to accounts; 0 exist there; nothing was written.\n');
    expect(await operators.items('accounts')).toEqual([]);
  });

  it('never overwrites existing items, which are newer', async () => {
    const old = { pk: 'CLIENT01', sk: 'tp5#tp5-live-1#1', group: 'old' };
    await lost('accounts', [old], [{ ...old, group: 'new' }]);
    expect((await restore('accounts')).out).toBe('0 items copied to accounts; 1 exist there.\n');
    expect(await operators.items('accounts')).toMatchObject([{ group: 'new' }]);
  });

  const PLAN = { version: 'tp5', connection_id: 'tp5-demo-1', keyed: true, deposit: 100, deposit_with_opening: false };
  const open = { at: 'open', login: 500_001, recorded: false, published: false };
  const FOUND = { at: 'sent', login: 500_001, commands: 'found' };
  it.each([
    ['that had sent nothing, as far as is known', { at: 'claimed' }, { at: 'undecided' }],
    ['that had sent a command', { at: 'sent', login: 500_001, commands: 'one' }, FOUND],
    ['whose money was not sent', { ...open, deposit: 'due' }, { ...open, deposit: 'found' }],
    ['whose money may have arrived', { ...open, deposit: 'sent' }, { ...open, deposit: 'found' }],
    ['whose money was refused', { ...open, deposit: 'again' }, { ...open, deposit: 'found' }],
    ['without a deposit', { ...open, deposit: 'none' }, { ...open, deposit: 'none' }],
    ['that waits for an operator', { at: 'undecided', login: 500_001 }, { at: 'undecided', login: 500_001 }],
  ])(
    'lets the settler look for the account and deposit of an unfinished operation, and pay nothing: one %s',
    async (_, life, copied) => {
      const due = { due_shard: 'due#0', due_at: 1, lease_until: 9 };
      const stored = { pk: 'key#1', operation_id: 'a', incarnation: 'i', life, plan: PLAN, ...due };
      await lost('operations', [life.at === 'claimed' ? { ...stored, expires_at: SOON } : stored]);
      expect((await restore('operations')).out).toBe('1 item copied to operations; 0 exist there.\n');
      const [restored] = await operators.items('operations');
      expect(restored?.life).toEqual(copied);
      const isOperators = copied.at === 'undecided' && life.at !== 'undecided';
      if (isOperators) expect(restored?.due_at).toBe(OPERATOR_ONLY);
      else expect(Number(restored?.due_at)).toBeLessThanOrEqual(Date.now());
      expect((restored?.plan as object) ?? {}).toEqual(isOperators ? { ...PLAN, deposit: undefined } : PLAN);
      expect(await operators.items('logins')).toEqual(
        'login' in life ? [{ pk: 'tp5#500001', operation_id: 'a', incarnation: 'i', connection_id: 'tp5-demo-1' }] : [],
      );
    },
  );

  it('answers a retry of an operation whose earlier state was restored with the same account', async () => {
    const key = randomUUID();
    const first = await openAccount(key);
    const [finished = {}] = await operators.items('operations');
    const { login } = finished.life as { login: number };
    await lose('operations');
    await lost('operations', [{ ...finished, life: { at: 'sent', login, commands: 'one' } }]);
    await restore('operations');
    expect(await openAccount(key)).toMatchObject({ status: 200, login: first.login });
  });

  it('is not needed for a retry: with every table lost it gets the same account and passwords', async () => {
    const path = '/public/v1/users/CLIENT01/tp5/accounts';
    const key = { 'idempotency-key': randomUUID() };
    const open = async () => (await postJson(operators.service, path, ORDER, key)).json();
    const first = await open();
    const accounts = () => operators.service.platforms.get('tp5-live-1')?.accounts().length;
    const count = accounts();
    for (const table of ['accounts', 'logins', 'operations']) await lose(table);
    expect(await open()).toEqual(first);
    expect(accounts()).toBe(count);
  });

  it('rebuilds the reservations of logins that the records of accounts show', async () => {
    const first = await openAccount(randomUUID());
    const [before] = await operators.items('logins');
    await lose('logins');
    const rebuild = (...more: string[]) => operators.local('rebuild-logins', ...more);
    expect((await rebuild('--dry-run')).out).toBe(
      '1 item would be copied to logins; 0 exist there; nothing was written.\n',
    );
    expect(await rebuild()).toMatchObject({ code: 0, out: '1 item copied to logins; 0 exist there.\n' });
    const { pk, operation_id, connection_id } = before ?? {};
    const reserved_at = expect.any(Number);
    expect(await operators.items('logins')).toEqual([{ pk, operation_id, connection_id, reserved_at }]);
    expect(pk).toBe(`tp5#${first.login}`);
    expect((await rebuild()).out).toBe('0 items copied to logins; 1 exist there.\n');
  });

  describe('rebuilds the reservation of each account under the key that requests give it', () => {
    /** A gateway, a plug-in on two servers, and a server of the other version. */
    const PLACES = {
      'tp4-gw-1': 'tp4',
      'tp4-live-1': 'plug-in',
      'tp4-live-2': 'second plug-in',
      'tp5-live-1': 'tp5',
    } as const;
    type Place = keyof typeof PLACES;
    const account = (connection_id: Place | 'gone', login: number, number = 0): Item => {
      const version = connection_id.startsWith('tp5') ? 'tp5' : 'tp4';
      return {
        ...{ pk: `CLIENT${String(number).padStart(2, '0')}`, sk: `${version}#${connection_id}#${login}` },
        ...{ user_id: 'CLIENT01', version, connection_id, login, group: 'standard', leverage: 100 },
        ...{ enable_readonly: false, enable_rebate: false, operation_id: `${connection_id} ${login}`, caller: 'crm' },
        opened_at: '2026-11-23T10:15:00.000Z',
      };
    };
    const rebuild = () => operators.local('rebuild-logins');

    /** The keys that a request makes, by the operation: it writes the state `sent` or `open`. */
    async function keyOf(id: Place, login: number): Promise<string> {
      const stored = (await operators.table.read(`connection#${id}`))?.record as { host: string; port: number };
      return id.startsWith('tp4-live') ? `${stored.host}:${stored.port}#${login}` : `${id.slice(0, 3)}#${login}`;
    }

    async function importSecondPlugIn(): Promise<void> {
      const { record } = (await operators.table.read('connection#tp4-live-1')) ?? {};
      const second = { ...(record as object), id: 'tp4-live-2', host: '127.0.0.2' };
      expect(await operators.local('import', { connections: [second] })).toMatchObject({ code: 0 });
    }

    it.each<[string, [Place, number][]]>([
      ['a plug-in’s account alone', [['tp4-live-1', 700_001]]],
      [
        'a plug-in’s and a gateway’s account with one login',
        [
          ['tp4-live-1', 700_001],
          ['tp4-gw-1', 700_001],
        ],
      ],
      [
        'the same, the gateway’s first',
        [
          ['tp4-gw-1', 700_001],
          ['tp4-live-1', 700_001],
        ],
      ],
      [
        'two servers that chose one login',
        [
          ['tp4-live-1', 700_001],
          ['tp4-live-2', 700_001],
        ],
      ],
      ['every protocol with one login', (Object.keys(PLACES) as Place[]).map((id) => [id, 700_001])],
    ])('%s', async (_, accounts) => {
      await importSecondPlugIn();
      await writeItems(
        operators,
        'accounts',
        accounts.map(([id, login], index) => account(id, login, index)),
      );
      expect(await rebuild()).toMatchObject({ code: 0, reported: '' });
      const wanted = await Promise.all(
        accounts.map(async ([id, login]) => ({ pk: await keyOf(id, login), operation_id: `${id} ${login}` })),
      );
      const made = (await operators.items('logins')).map(({ pk, operation_id }) => ({ pk, operation_id }));
      expect(new Set(made)).toEqual(new Set(wanted));
    });

    it('in two runs, the plug-in’s account first: that account does not get the gateway’s reservation', async () => {
      await writeItems(operators, 'accounts', [account('tp4-live-1', 700_001)]);
      expect(await rebuild()).toMatchObject({ code: 0 });
      await writeItems(operators, 'accounts', [account('tp4-gw-1', 700_001)]);
      expect(await rebuild()).toMatchObject({ code: 0, out: '1 item copied to logins; 1 exist there.\n' });
      expect(await operators.items('logins')).toContainEqual(
        expect.objectContaining({ pk: 'tp4#700001', operation_id: 'tp4-gw-1 700001' }),
      );
    });

    it('leaves a login that only a plug-in has given free for a gateway', async () => {
      const login = 700_777;
      await writeItems(operators, 'accounts', [account('tp4-live-1', login)]);
      await rebuild();
      const order = {
        connection_id: 'tp4-gw-1',
        group: 'demoforex',
        leverage: 100,
        account_type_id: 'ATDEMO04',
        login,
      };
      const answer = await postJson(operators.service, '/public/v1/users/CLIENT01/tp4/accounts', order);
      expect([answer.status, await answer.json()]).toMatchObject([200, { login }]);
    });

    it('with the key that a request writes, for each protocol', async () => {
      const requests: [Place, string, object][] = [
        ['tp4-live-1', 'tp4', { group: 'standard' }],
        ['tp4-gw-1', 'tp4', { group: 'demoforex', account_type_id: 'ATDEMO04' }],
        ['tp5-live-1', 'tp5', { group: 'real\\standard' }],
      ];
      for (const [connection_id, version, order] of requests) {
        const path = `/public/v1/users/CLIENT01/${version}/accounts`;
        const answer = await postJson(operators.service, path, { connection_id, leverage: 100, ...order });
        expect(answer.status).toBe(200);
      }
      const names = (items: Item[]) => new Set(items.map(({ pk, operation_id }) => `${pk} ${operation_id}`));
      const before = names(await operators.items('logins'));
      expect(before.size).toBe(3);
      await lose('logins');
      expect(await rebuild()).toMatchObject({ code: 0 });
      expect(names(await operators.items('logins'))).toEqual(before);
    });

    it('for more accounts than one call can take, and for two records with one key', async () => {
      const many = Array.from({ length: 120 }, (_, index) => account('tp5-live-1', 500_000 + index, index));
      await writeItems(operators, 'accounts', many);
      expect(await rebuild()).toMatchObject({ code: 0, out: '120 items copied to logins; 0 exist there.\n' });
      await lose('logins');
      const twice = { ...account('tp5-live-1', 500_000, 900), operation_id: 'other' };
      await writeItems(operators, 'accounts', [twice]);
      const { code, out, reported } = await rebuild();
      expect([code, out]).toEqual([1, '120 items copied to logins; 1 exist there.\n']);
      expect(reported).toMatch(/^1 item of another operation exists now; nothing was overwritten:\n {2}tp5#500000: /);
    });

    it('and names the accounts whose key is unknown, and reserves the logins of the others', async () => {
      const unreadable = { ...account('tp5-live-1', 500_001, 1), login: 'many' };
      await writeItems(operators, 'accounts', [account('gone', 7), unreadable, account('tp4-gw-1', 700_001, 2)]);
      await operators.tableOf('crm').put({ pk: 'connection#tp4-live-1', record: { id: 'tp4-live-1' } }, NEVER_ABORTED);
      await writeItems(operators, 'accounts', [account('tp4-live-1', 9, 3)]);
      const { code, out, reported } = await rebuild();
      expect([code, out]).toEqual([1, '1 item copied to logins; 0 exist there.\n']);
      expect(reported.split('\n').toSorted()).toEqual([
        '',
        '  CLIENT01 tp4 7: the CRM has no connection gone',
        '  CLIENT01 tp4 9: the connection tp4-live-1 cannot be read',
        '  CLIENT01 tp5#tp5-live-1#500001: cannot be read',
        '3 accounts could not be placed:',
      ]);
    });
  });

  it('copies no operation whose login another operation holds now', async () => {
    const life = { at: 'sent', login: 500_001, commands: 'one' };
    await lost('operations', [{ pk: 'key#1', operation_id: 'old', life, plan: PLAN, due_shard: 'due#0', due_at: 1 }]);
    await writeItems(operators, 'logins', [{ pk: 'tp5#500001', operation_id: 'new' }]);
    for (const more of [['--dry-run'], []]) {
      const { code, reported } = await restore('operations', ...more);
      expect([code, reported]).toEqual([1, expect.stringContaining('tp5#500001: restored old, now new\n')]);
    }
    expect(await operators.items('operations')).toEqual([]);
  });

  it('reports a key that belongs to another operation now', async () => {
    const reserved = (operation_id: string) => [{ pk: 'tp5#500001', operation_id }];
    await lost('logins', reserved('old'), reserved('new'));
    const { code, reported } = await restore('logins');
    expect(reported).toContain(
      '1 item of another operation exists now; nothing was overwritten:\n  tp5#500001: restored old, now new\n',
    );
    expect(code).toBe(1);
  });

  it('copies confirmed registrations alone, and nothing that has expired', async () => {
    await lost('registrations', [
      { pk: 'registration#1', confirmation: { reported: true }, expires_at: SOON },
      { pk: 'registration#2', expires_at: SOON },
      { pk: 'registration#3', confirmation: { reported: true }, expires_at: 1 },
    ]);
    expect((await restore('registrations')).out).toBe(
      '1 item copied to registrations; 0 exist there, 1 left out (expired), 1 left out (not confirmed).\n',
    );
  });

  it('adds CRM records that are missing, and leaves changed ones to an import of the old state', async () => {
    await backUp();
    await operators.local('delete', 'clients', 'CLIENT02');
    const ann = await operators.table.read('client#CLIENT01');
    await operators.local('import', { clients: [{ ...(ann?.record as object), name: 'Changed' }] });
    expect((await restore('crm', '--dry-run')).out).toContain('+ client#CLIENT02\n1 record would change');
    expect((await restore('crm')).out).toBe('1 record changed in the local service.\n');
    expect((await restore('crm')).out).toBe('No record is missing.\n');
    const old = join(operators.folder, 'old.json');
    await runOperatorsCommand(['export', old, '--table', nameOf('crm')]);
    expect((await operators.local('import', old)).out).toBe('1 record changed in the local service.\n');
    expect(await operators.table.read('client#CLIENT01')).toMatchObject({ record: { name: 'Ann Lee' } });
  });
});
