import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Item } from '../../../infra/crm/table-items.ts';
import { OPERATOR_ONLY } from '../../../lib/records/due.ts';
import { Operators } from '../../support/operators.ts';
import { itemsOf, KEYS, restoredTable, write } from '../../support/restored-tables.ts';

const operators = new Operators();
const ORDER = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
const SOON = Math.floor(Date.now() / 1_000) + 3_600;

async function open(key: string) {
  const answer = await fetch(`${operators.service.url}/public/v1/users/CLIENT01/tp5/accounts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': key },
    body: JSON.stringify(ORDER),
  });
  const { login } = (await answer.json()) as { login?: number };
  return { status: answer.status, login, replayed: answer.headers.get('idempotent-replayed') };
}

/** Deletes these items of a table, or all. */
async function lose(table: string, which: (item: Item) => boolean = () => true): Promise<void> {
  const stored = itemsOf(table);
  for (const item of (await operators.items(table)).filter(which)) await stored.delete(stored.keyOf(item));
}

let tests = 0;
const nameOf = (table: string) => `${table}-restored-${tests}`;

async function backUp(): Promise<void> {
  for (const table of Object.keys(KEYS)) await restoredTable(operators, table, nameOf(table));
}
beforeEach(async () => {
  tests += 1;
  for (const table of ['accounts', 'logins', 'operations', 'registrations']) await lose(table);
});

const restore = (table: string, ...more: string[]) =>
  operators.local('restore', table, '--from', nameOf(table), ...more);

describe('npm run crm -- restore', () => {
  it('brings back what was lost: a retry is answered with the same account, and no login is given twice', async () => {
    const key = randomUUID();
    const first = await open(key);
    expect(first.status).toBe(200);
    const client = await operators.table.read('client#CLIENT01');
    await backUp();
    for (const table of Object.keys(KEYS)) await lose(table, ({ pk }) => !String(pk).startsWith('connection#'));
    const accounts = () => operators.service.platforms.get('tp5-live-1')?.accounts().length;
    const count = accounts();

    for (const table of ['logins', 'operations', 'accounts', 'registrations', 'crm'])
      expect(await restore(table)).toMatchObject({ code: 0 });

    expect(await open(key)).toEqual({ status: 200, login: first.login, replayed: 'true' });
    expect(accounts()).toBe(count);
    const other = await open(randomUUID());
    expect([other.status, other.login === first.login]).toEqual([200, false]);
    expect(await operators.table.read('client#CLIENT01')).toEqual(client);
  });

  it('shows with --dry-run what it would copy, and writes nothing', async () => {
    await open(randomUUID());
    await backUp();
    await lose('accounts');
    expect(await restore('accounts', '--dry-run')).toEqual({
      code: 0,
      out: '1 item would be copied to accounts; 0 exist there; nothing was written.\n',
      told: '',
    });
    expect(await operators.items('accounts')).toEqual([]);
  });

  it('never overwrites what exists, for it is newer', async () => {
    const old = { pk: 'CLIENT01', sk: 'tp5#tp5-live-1#1', group: 'old' };
    await write('accounts', [old]);
    await backUp();
    await lose('accounts');
    await write('accounts', [{ ...old, group: 'new' }]);
    expect((await restore('accounts')).out).toBe('0 items copied to accounts; 1 exist there.\n');
    expect(await operators.items('accounts')).toMatchObject([{ group: 'new' }]);
  });

  it('leaves unfinished operations to operators: they may have been finished since', async () => {
    const unfinished = { pk: 'op#1', operation_id: 'a', due_shard: 'due#0', due_at: 1, expires_at: SOON };
    await write('operations', [unfinished, { pk: 'op#2', operation_id: 'b', expires_at: SOON }]);
    await backUp();
    await lose('operations');
    expect((await restore('operations')).out).toBe('2 items copied to operations; 0 exist there.\n');
    const restored = await operators.items('operations');
    expect(restored.find(({ pk }) => pk === 'op#1')).toEqual({ ...unfinished, due_at: OPERATOR_ONLY });
    expect(restored.find(({ pk }) => pk === 'op#2')).not.toHaveProperty('due_at');
  });

  it('reports a key that belongs to another operation now', async () => {
    await write('logins', [{ pk: 'tp5#500001', operation_id: 'old' }]);
    await backUp();
    await lose('logins');
    await write('logins', [{ pk: 'tp5#500001', operation_id: 'new' }]);
    const { code, told } = await restore('logins');
    expect(told).toContain(
      '1 item of another operation exists now; nothing was overwritten:\n  tp5#500001: restored old, now new\n',
    );
    expect(code).toBe(1);
  });

  it('copies confirmed registrations alone, and nothing that has expired', async () => {
    await write('registrations', [
      { pk: 'registration#1', confirmation: { told: true }, expires_at: SOON },
      { pk: 'registration#2', expires_at: SOON },
      { pk: 'registration#3', confirmation: { told: true }, expires_at: 1 },
    ]);
    await backUp();
    await lose('registrations');
    expect((await restore('registrations')).out).toBe(
      '1 item copied to registrations; 0 exist there, 1 left out (expired), 1 left out (not confirmed).\n',
    );
  });

  it('adds CRM records that are missing, and changed ones with --overwrite', async () => {
    await backUp();
    await operators.local('delete', 'clients', 'CLIENT02');
    const [ann] =
      (await operators.local('list', 'clients', '--json')).out.match(/\{[^{}]*"CLIENT01"(?:[^{}]|\{[^}]*\})*\}/) ?? [];
    await operators.local('put', 'client', await operators.fileOf({ ...JSON.parse(ann ?? '{}'), name: 'Changed' }));
    expect((await restore('crm', '--dry-run')).out).toContain('+ client#CLIENT02\n1 record would change');
    expect((await restore('crm')).out).toBe('1 record changed in the local service.\n');
    expect((await restore('crm')).out).toBe('No record is missing.\n');
    expect((await restore('crm', '--overwrite')).out).toBe('1 record changed in the local service.\n');
    expect(await operators.table.read('client#CLIENT01')).toMatchObject({ record: { name: 'Ann Lee' } });
  });

  it.each([
    ['limits', 1, 'The limits are not restored: their windows begin again by themselves.'],
    ['hats', 2, 'TABLE is crm, accounts, logins, operations, registrations.'],
  ])('refuses the table %s', async (table, code, sentence) => {
    const refused = await operators.local('restore', table, '--from', 'x');
    expect(refused.code).toBe(code);
    expect(refused.told).toContain(sentence);
  });

  it('says that there is no restored table of this name', async () => {
    expect(await operators.local('restore', 'accounts', '--from', 'nothing')).toMatchObject({
      code: 1,
      told: 'There is no such table in this account and region.\n',
    });
  });
});
