import { describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { serializeItems } from '../../../infra/ops/crm-items.ts';
import { crmTable, tableItems } from '../../../infra/ops/crm-table.ts';
import { CDK_JSON } from '../../../infra/ops/service-secrets.ts';
import { connectionErrors, removeRecords, writeRecords } from '../../../infra/ops/table-records.ts';
import type { Target } from '../../../infra/ops/target.ts';
import type { Terminal } from '../../../infra/ops/terminal.ts';
import { scanItems, type TestDatabase, testDatabase } from '../../support/database.ts';
import { directClient } from '../../support/direct-client.ts';

const terminal = {
  print: () => {},
  report: () => {},
  resolveHost: async () => [],
  cdkJson: CDK_JSON,
} as unknown as Terminal;

/** The calls of a change, by operation. */
function callsSince(database: TestDatabase): string[] {
  return database.calls.splice(0).map(({ operation }) => operation);
}

const newClients = (count: number) =>
  Array.from({ length: count }, (_, n) => ({
    ...{ id: `C${String(n).padStart(7, '0')}`, email: `client${n}@example.com`, name: 'Client' },
  }));

/** The cost of changing a client and a connection in a table with this many other clients. */
async function callsWith(others: number) {
  const database = await testDatabase();
  const table = crmTable('crm', directClient(database));
  const clients = [...DEMO_RECORDS.clients, ...newClients(others)];
  const items = await serializeItems({ ...DEMO_RECORDS, clients });
  await table.write(items.map((item) => ({ put: item })));
  const where = { target: { name: 'the table', table } as Target, dryRun: false, terminal };
  const [ann] = DEMO_RECORDS.clients;
  const connection = DEMO_RECORDS.connections.find(({ protocol }) => protocol === 'web-api');
  if (ann === undefined || connection === undefined) throw new Error('The demo records have both.');

  callsSince(database);
  await writeRecords(where, [{ kind: 'clients', path: 'it', record: { ...ann, email: 'new@example.com' } }]);
  const put = callsSince(database);
  const add = async (id: string, from: number) => {
    const added = { ...connection, id, host: 'mt5.example.com', logins: { from, to: from + 999 } };
    const located = { kind: 'connections', path: 'it', record: added } as const;
    expect(await connectionErrors(where, [located])).toEqual([]);
    await writeRecords(where, [located]);
  };
  await add('tp5-new-1', 1_000);
  callsSince(database);
  await add('tp5-new-2', 2_000);
  const connected = callsSince(database);
  await removeRecords(where, 'clients', [ann.id]);
  const removed = callsSince(database);
  return { put, connected, removed };
}

it('An item that was read before is not written over what another writer has made of it', async () => {
  const table = tableItems('operations', ['pk'], directClient(await testDatabase()));
  const read = { pk: 'op#1', revision: 1, life: { at: 'open', deposit: 'due' }, closed: [1, 2] };
  await table.put(read);
  await expect(table.put(read)).rejects.toThrow('op#1 has changed meanwhile');
  await table.put({ ...read, closed: [1] }, read);
  await table.put(read, { ...read, closed: [1] });
  for (const other of [{ revision: 2 }, { closed: [1] }, { closed: [1, 3] }, { life: { at: 'open' } }])
    await expect(table.put(read, { ...read, ...other })).rejects.toThrow('op#1 has changed meanwhile');
  await table.delete(read);
  await expect(table.put(read, read)).rejects.toThrow('op#1 has changed meanwhile');
  expect(await table.get([read])).toEqual([]);
});

it('An import that the database ends says how many records it has written, and writes no others', async () => {
  const database = await testDatabase();
  let writes = 0;
  const execute: TestDatabase['execute'] = async (operation, input) => {
    if (operation !== 'BatchWriteItem' || ++writes !== 7) return database.execute(operation, input);
    return {
      status: 400,
      headers: {},
      body: Buffer.from('{"__type":"x#ValidationException","message":"Number underflow"}'),
    };
  };
  const table = crmTable('crm', directClient({ execute }));
  const where = { target: { name: 'the table', table } as Target, dryRun: false, terminal };
  const records = newClients(450).map((record) => ({ kind: 'clients', path: record.id, record }) as const);
  const refusal = 'ValidationException: Number underflow At least 175 of 450 changes are written.';
  await expect(writeRecords(where, records)).rejects.toThrow(refusal);
  expect(await scanItems(database.client, 'crm')).toHaveLength(175);
});

describe('A change of one record', () => {
  it('costs as many calls in a small table as in a large one, and never reads all of it', async () => {
    const small = await callsWith(0);
    expect(small).toEqual({
      put: ['BatchGetItem', 'BatchWriteItem'],
      connected: ['Query', 'BatchGetItem', 'BatchGetItem', 'BatchWriteItem'],
      removed: ['BatchGetItem', 'BatchWriteItem'],
    });
    expect(await callsWith(300)).toEqual(small);
  });

  it('costs a hundredth of a read and a twenty-fifth of a write in an import of many', async () => {
    const database = await testDatabase();
    const table = crmTable('crm', directClient(database));
    const where = { target: { name: 'the table', table } as Target, dryRun: false, terminal };
    const clients = newClients(200);
    await writeRecords(
      where,
      clients.map((record) => ({ kind: 'clients', path: record.id, record }) as const),
    );
    const calls = Map.groupBy(callsSince(database), (operation) => operation);
    expect([...calls].map(([operation, { length }]) => [operation, length]).sort()).toEqual([
      ['BatchGetItem', 2],
      ['BatchWriteItem', 8],
    ]);
  });
});
