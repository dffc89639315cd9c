import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import { OPERATOR_ONLY } from '../../../lib/records/due.ts';
import { postJson } from '../../support/local-service.ts';
import { Operators, runOperatorsCommand } from '../../support/operators.ts';
import { KEYS, removeItems, restoredTable, writeItems } from '../../support/restored-tables.ts';

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
  for (const table of Object.keys(KEYS)) await restoredTable(operators, table, nameOf(table));
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

describe('npm run crm -- restore', () => {
  it('restores lost items: a retry is answered with the same account, and no login is given twice', async () => {
    const key = randomUUID();
    const first = await openAccount(key);
    expect(first.status).toBe(200);
    const client = await operators.table.read('client#CLIENT01');
    await backUp();
    for (const table of Object.keys(KEYS)) await lose(table, ({ pk }) => !String(pk).startsWith('connection#'));
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
  ])('lets the settler look for what an unfinished operation has, and pay nothing: one %s', async (_, life, copied) => {
    const due = { due_shard: 'due#0', due_at: 1, lease_until: 9 };
    const stored = { pk: 'key#1', operation_id: 'a', life, plan: PLAN, ...due };
    await lost('operations', [life.at === 'claimed' ? { ...stored, expires_at: SOON } : stored]);
    expect((await restore('operations')).out).toBe('1 item copied to operations; 0 exist there.\n');
    const [restored] = await operators.items('operations');
    expect(restored?.life).toEqual(copied);
    const isOperators = copied.at === 'undecided' && life.at !== 'undecided';
    if (isOperators) expect(restored?.due_at).toBe(OPERATOR_ONLY);
    else expect(Number(restored?.due_at)).toBeLessThanOrEqual(Date.now());
    expect((restored?.plan as object) ?? {}).toEqual(isOperators ? { ...PLAN, deposit: undefined } : PLAN);
    expect(await operators.items('logins')).toEqual(
      'login' in life ? [{ pk: 'tp5#500001', operation_id: 'a', connection_id: 'tp5-demo-1' }] : [],
    );
  });

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

  it('reserves the logins again that the records of accounts show', async () => {
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
