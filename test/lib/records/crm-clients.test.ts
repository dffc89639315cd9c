import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { clientItem, dynamoCrmClients } from '../../../lib/records/crm-clients.ts';
import type { AddressKind, Client } from '../../../lib/records/crm-records.ts';
import { scanItems, type TestDatabase, testDatabase } from '../../support/database.ts';

const signal = AbortSignal.timeout(60_000);
const ANN: Client = {
  id: 'CLIENT09',
  email: 'Ann@Example.com',
  name: 'Ann',
  phone: { country_code: '44', number: '7400123456' },
  country: 'GB',
};
const OTHER_PHONE = { country_code: '44', number: '7400123499' };

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
});
beforeEach(async () => {
  for (const { pk } of await items()) await database.tables.crm.delete({ pk: String(pk) }, signal);
});

const items = () => scanItems(database.client, 'crm');
const add = (client: Client, verified: AddressKind = 'email') =>
  dynamoCrmClients(database.tables.crm).add(client, verified, signal);

describe('A client that is added', () => {
  it.each([
    ['email', 'phone', { proven_email: 'ann@example.com' }],
    ['phone', 'email', { proven_phone: '+447400123456' }],
  ] as const)('is one item, found by the verified %s alone; the %s is data', async (verified, other, proven) => {
    expect(await add(ANN, verified)).toBe('written');
    const record = { ...ANN, unproven: [other] };
    expect(await items()).toEqual([{ pk: 'client#CLIENT09', record, e164: '+447400123456', ...proven }]);
  });

  it('is recognized when the CRM names it again, and later changes stay', async () => {
    await add(ANN);
    const changed = await clientItem({ ...ANN, email: 'ann@example.com', name: 'Ann Lee', language: 'de' });
    await database.tables.crm.put({ ...changed }, signal);
    expect(await add({ ...ANN, phone: OTHER_PHONE })).toBe('known');
    expect(await items()).toEqual([changed]);
  });

  it.each(['email', 'phone'] as const)(
    'has proven a typed %s, once a code that was sent to it is confirmed',
    async (kind) => {
      await add(ANN, kind === 'email' ? 'phone' : 'email');
      expect(await add(ANN, kind)).toBe('known');
      expect(await items()).toEqual([await clientItem({ ...ANN, unproven: [] })]);
      expect(await add(ANN, kind)).toBe('known');
    },
  );

  it('may have the proven address of another client', async () => {
    await add(ANN);
    expect(await add({ ...ANN, id: 'CLIENT10' })).toBe('written');
    expect((await items()).map(({ proven_email }) => proven_email)).toEqual(['ann@example.com', 'ann@example.com']);
  });

  it.each([
    ['another email address', { ...ANN, email: 'bob@example.com' }, 'email'],
    ['the email address that was typed, but another verified phone', { ...ANN, phone: OTHER_PHONE }, 'phone'],
  ] as const)('is refused if the client with its id has %s, and nothing is written', async (_, client, verified) => {
    await add(ANN);
    const before = await items();
    expect(await add(client, verified)).toBe('refused');
    expect(await items()).toEqual(before);
  });

  it('is refused if a record of that id cannot be read', async () => {
    await database.tables.crm.put({ pk: 'client#CLIENT09', record: { id: 'CLIENT09' } }, signal);
    expect(await add(ANN)).toBe('refused');
  });

  it('is written once by many at a time', async () => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => add(ANN)));
    expect(outcomes.sort()).toEqual([...Array.from({ length: 7 }, () => 'known'), 'written']);
    expect(await items()).toHaveLength(1);
  });
});
