import { expect, it } from 'vitest';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import { openAccount } from '../../support/local-service.ts';
import { Operators } from '../../support/operators.ts';
import { removeItems, restoredTable, writeItems } from '../../support/restored-tables.ts';

const operators = new Operators();
const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };

it('After tables were lost, restore puts what is absent, rebuild writes the rest, and a retry hears its account', async () => {
  const key = 'before-the-loss';
  const { body } = await openAccount(operators.service, 'tp5', order, key);
  const [record = {}] = await operators.items('accounts');
  const expired: Item = { ...record, sk: 'expired', expires_at: 1 };
  await writeItems(operators, 'accounts', [expired]);
  await restoredTable(operators, 'accounts', 'accounts-restored');
  const changed = { ...record, caller: 'changed since' };
  await removeItems(operators, 'accounts', [record, expired]);
  for (const table of ['operations', 'logins']) await removeItems(operators, table, await operators.items(table));

  const restore = (...options: string[]) =>
    operators.local('restore', 'accounts', '--from', 'accounts-restored', ...options);
  expect((await restore('--dry-run')).out).toContain('1 item would be put into accounts; 0 stay as they are, 1 have');
  expect(await operators.items('accounts')).toEqual([]);
  expect(await restore()).toMatchObject({ code: 0, reported: '' });
  expect(await operators.items('accounts')).toEqual([record]);
  await writeItems(operators, 'accounts', [changed]);
  expect((await restore()).out).toContain('0 items put into accounts; 1 stay as they are, 1 have expired.');
  expect(await operators.items('accounts')).toEqual([changed]);

  const dry = await operators.local('rebuild', '--dry-run');
  expect(dry.out).toBe('1 reservation and 1 operation would be written; 1 due again.\n');
  expect(await operators.items('logins')).toEqual([]);
  const rebuilt = await operators.local('rebuild');
  expect(rebuilt.out).toBe('1 reservation and 1 operation written; 1 due again.\n');
  // These servers cannot list their accounts.
  expect(rebuilt.reported).toMatch(/^To work through .*\n {2}tp4-gw-1: .*\n {2}tp4-gw-2: .*\n$/);
  const again = await openAccount(operators.service, 'tp5', order, key);
  expect(again).toMatchObject({ status: 200, body });
});

it.each<[string[], number, string]>([
  [['hats', '--from', 'x'], 2, 'TABLE is crm, accounts, logins, operations, registrations.'],
  [['accounts', '--from', 'accounts-restored-2'], 1, 'There is no such table in this account and region.'],
  [['accounts', '--from', 'logins-restored'], 1, 'its name must begin with accounts-restored.'],
])('restore %j is refused', async (args, code, sentence) => {
  const refused = await operators.local('restore', ...args);
  expect([refused.code, refused.reported]).toEqual([code, expect.stringContaining(sentence)]);
});
