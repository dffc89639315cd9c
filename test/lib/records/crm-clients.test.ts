import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { emptyRecords, serializeItems } from '../../../infra/crm/crm-items.ts';
import { transactions } from '../../../lib/aws/dynamodb.ts';
import { dynamoCrmClients } from '../../../lib/records/crm-clients.ts';
import type { Client } from '../../../lib/records/crm-records.ts';
import { scanItems, type TestDatabase, testDatabase } from '../../support/database.ts';

const signal = AbortSignal.timeout(60_000);
const ANN: Client = {
  id: 'CLIENT09',
  email: 'Ann@Example.com',
  name: 'Ann',
  phone: { country_code: '44', number: '7400123456' },
  country: 'GB',
};

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
});
beforeEach(async () => {
  for (const { pk } of await items()) await database.tables.crm.delete({ pk: String(pk) }, signal);
});

const items = () => scanItems(database.client, 'crm');
const itemsOf = async (...clients: Client[]) =>
  (await serializeItems({ ...emptyRecords(), clients })).sort((a, b) => (a.pk < b.pk ? -1 : 1));
const add = (client: Client) =>
  dynamoCrmClients(database.tables.crm, 'crm', transactions(database.client)).add(client, signal);

describe('A client that is added', () => {
  it.each([ANN, { id: 'CLIENT09', email: 'ann@example.com', name: 'Ann' }])(
    'has the items that the operators’ command writes',
    async (client) => {
      expect(await add(client)).toBe('written');
      expect(await items()).toEqual(await itemsOf(client));
    },
  );

  it('is recognized when it comes again, and later changes stay', async () => {
    await add(ANN);
    const changed = { ...ANN, email: 'ann@example.com', name: 'Ann Lee', language: 'de' };
    await database.tables.crm.put({ pk: 'client#CLIENT09', record: changed }, signal);
    const before = await items();
    expect(await add({ ...ANN, phone: { country_code: '44', number: '7400123499' } })).toBe('known');
    expect(await items()).toEqual(before);
  });

  it('shares a phone, which leads to both', async () => {
    await add(ANN);
    const second = { ...ANN, id: 'CLIENT10', email: 'bob@example.com' };
    expect(await add(second)).toBe('written');
    expect(await items()).toEqual(await itemsOf(ANN, second));
  });

  it('replaces pointers of its addresses that another writer got wrong', async () => {
    const { crm } = database.tables;
    await crm.put({ pk: 'email#ann@example.com', client: 'CLIENT09' }, signal);
    await crm.put({ pk: 'phone#+447400123456', client_ids: new Set(['CLIENT10']) }, signal);
    expect(await add(ANN)).toBe('written');
    expect(await items()).toEqual(await itemsOf(ANN));
  });

  it('keeps the clients of a shared phone that change between its read and its write', async () => {
    await add(ANN);
    const { crm } = database.tables;
    const phone = (await items()).find(({ pk }) => String(pk).startsWith('phone#'));
    let reads = 0;
    const getMany: typeof crm.getMany = async (...keys) => {
      const found = await crm.getMany(...keys);
      reads += 1;
      if (reads === 1) await crm.put({ ...phone, pk: String(phone?.pk), client_ids: ['CLIENT11'] }, signal);
      return found;
    };
    const clients = dynamoCrmClients({ ...crm, getMany }, 'crm', transactions(database.client));
    expect(await clients.add({ ...ANN, id: 'CLIENT10', email: 'bob@example.com' }, signal)).toBe('written');
    const after = (await items()).find(({ pk }) => pk === phone?.pk);
    expect([reads, after?.client_ids]).toEqual([2, ['CLIENT10', 'CLIENT11']]);
  });

  it.each([
    ['the id', { ...ANN, email: 'bob@example.com' }],
    ['the email address', { ...ANN, id: 'CLIENT10', email: 'ANN@example.com' }],
    ['the id of one and the email address of another', { ...ANN, email: 'other@example.com' }],
  ])('is refused where %s is another’s, and nothing is written', async (_, client) => {
    await add(ANN);
    await add({ id: 'CLIENT11', email: 'other@example.com', name: 'Other' });
    const before = await items();
    expect(await add(client)).toBe('refused');
    expect(await items()).toEqual(before);
  });

  it('is refused if a record of that id cannot be read', async () => {
    await database.tables.crm.put({ pk: 'client#CLIENT09', record: { id: 'CLIENT09' } }, signal);
    expect(await add(ANN)).toBe('refused');
  });

  it('is written once by many at a time', async () => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => add(ANN)));
    expect(outcomes.sort()).toEqual([...Array.from({ length: 7 }, () => 'known'), 'written']);
    expect(await items()).toEqual(await itemsOf(ANN));
  });
});
