import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Item, Table } from '../../../lib/aws/dynamodb.ts';
import { clientItem } from '../../../lib/records/crm-clients.ts';
import type { Client } from '../../../lib/records/crm-records.ts';
import { dynamoRegistrationDirectory } from '../../../lib/records/registration-directory.ts';
import type { Telemetry } from '../../../lib/telemetry.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';

const signal = AbortSignal.timeout(60_000);
const PHONE = { country_code: '44', number: '7400123456' };
const ANN: Client = { id: 'CLIENT01', email: 'Ann@Example.com', name: 'Ann', phone: PHONE, referral_code: 'REFANN01' };

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase(afterAll);
  const put = async (item: Item) => database.tables.crm.put(item, signal);
  await put({ ...(await clientItem(ANN)) });
  await put({ ...(await clientItem({ ...ANN, id: 'CLIENT02', referral_code: 'REFANN02' })) });
  await put({ pk: 'form#FORM0001', record: { id: 'FORM0001' } });
  const typed: Client = { id: 'CLIENT03', name: 'Mallory', email: 'mal@example.com', phone: PHONE };
  await put({ ...(await clientItem({ ...typed, phone: { ...PHONE, number: '7400123499' }, unproven: ['phone'] })) });
  await put({ ...(await clientItem({ ...typed, id: 'CLIENT04', email: 'eve@example.com', unproven: ['email'] })) });
});

const logged: unknown[] = [];
const telemetry: Telemetry = { event: (...event) => logged.push(event), with: () => telemetry };
const directory = () => dynamoRegistrationDirectory(database.tables.crm);

describe('The records of a registration', () => {
  it('name an address as a client’s, even if several clients have proven it', async () => {
    expect(await directory().isClient({ otp_type: 'email', address: 'ann@example.com' }, signal)).toBe(true);
    expect(await directory().isClient({ otp_type: 'call', address: '+447400123456' }, signal)).toBe(true);
  });

  it('do not name an address as a client’s if a person only typed it', async () => {
    expect(await directory().isClient({ otp_type: 'email', address: 'eve@example.com' }, signal)).toBe(false);
    expect(await directory().isClient({ otp_type: 'sms', address: '+447400123499' }, signal)).toBe(false);
  });

  it('include the client with the request’s referral code', async () => {
    const ids = { formId: 'FORM0009', referralCode: 'REFANN02' };
    const records = await directory().readRegistrationRecords(ids, telemetry, signal);
    expect(records).toEqual({ form: undefined, referrerId: 'CLIENT02' });
  });

  it('hold a form that was read within 30 seconds, and no form that is missing', async () => {
    let now = 0;
    const read: string[] = [];
    const form = { id: 'FORM0001', fields: [] };
    const items = new Map([['form#FORM0001', { pk: 'form#FORM0001', record: form }]]);
    const table: Pick<Table, 'get'> = {
      get: async ({ pk = '' }) => {
        read.push(pk);
        return items.get(pk);
      },
    };
    const kept = dynamoRegistrationDirectory(table as Table, () => now);
    const formOf = async (formId: string) => (await kept.readRegistrationRecords({ formId }, telemetry, signal)).form;
    for (const at of [0, 29_999, 30_000]) {
      now = at;
      expect(await formOf('FORM0001')).toEqual(form);
    }
    expect(read).toEqual(['form#FORM0001', 'form#FORM0001']);
    await formOf('FORM0002');
    items.set('form#FORM0002', { pk: 'form#FORM0002', record: { ...form, id: 'FORM0002' } });
    expect(await formOf('FORM0002')).toBeDefined();
  });

  it('may have members that a newer version of the service wrote', async () => {
    const form = { id: 'FORM0005', fields: [] };
    await database.tables.crm.put({ pk: 'form#FORM0005', record: { ...form, newer: 1 } }, signal);
    const records = await directory().readRegistrationRecords({ formId: 'FORM0005' }, telemetry, signal);
    expect(records.form).toEqual(form);
  });

  it('leave out a form that breaks its rules, and log its key', async () => {
    const records = await directory().readRegistrationRecords({ formId: 'FORM0001' }, telemetry, signal);
    expect(records).toEqual({ form: undefined, referrerId: undefined });
    expect(logged).toEqual([['CrmItemMalformed', { item: 'form#FORM0001' }]]);
  });
});
