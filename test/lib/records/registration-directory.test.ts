import { describe, expect, it } from 'vitest';
import type { Item, Table } from '../../../lib/aws/dynamodb.ts';
import { dynamoRegistrationDirectory } from '../../../lib/records/registration-directory.ts';
import type { Telemetry } from '../../../lib/telemetry.ts';

const { signal } = new AbortController();

/** A directory of these items, and its log. */
function directory(...items: Item[]) {
  const logged: unknown[] = [];
  const telemetry: Telemetry = { event: (...event) => logged.push(event), with: () => telemetry };
  const table: Pick<Table, 'getMany'> = {
    getMany: async (keys) => items.filter((item) => keys.some(({ pk }) => pk === item.pk)),
  };
  return { directory: dynamoRegistrationDirectory(table as Table), telemetry, logged };
}

const ADDRESSES = { emailKey: 'ann@example.com', phone: '+447400123456' };

describe('The records of a registration', () => {
  it('say whose an address is by its pointers', async () => {
    const { directory: all, telemetry } = directory(
      { pk: 'email#ann@example.com', client_id: 'CLIENT01' },
      { pk: 'phone#+447400123456', client_ids: ['CLIENT01', 'CLIENT02'] },
    );
    expect(await all.isClient(ADDRESSES, telemetry, signal)).toEqual({ email: true, phone: true });
  });

  it('leave out pointers that break their rules, and log no address', async () => {
    const {
      directory: all,
      telemetry,
      logged,
    } = directory(
      { pk: 'email#ann@example.com', client: 'CLIENT01' },
      { pk: 'phone#+447400123456', client_ids: [] },
      { pk: 'referral#REFANN01', client_id: 1 },
    );
    expect(await all.isClient(ADDRESSES, telemetry, signal)).toEqual({ email: false, phone: false });
    const ids = { formId: 'FORM0001', referralCode: 'REFANN01' };
    expect(await all.readRegistrationRecords(ids, telemetry, signal)).toEqual({
      form: undefined,
      referrerId: undefined,
    });
    expect(logged).toEqual(['email', 'phone', 'referral#REFANN01'].map((item) => ['CrmItemMalformed', { item }]));
  });

  it('leave out a form that breaks its rules, and log its key', async () => {
    const { directory: all, telemetry, logged } = directory({ pk: 'form#FORM0001', record: { id: 'FORM0001' } });
    expect((await all.readRegistrationRecords({ formId: 'FORM0001' }, telemetry, signal)).form).toBeUndefined();
    expect(logged).toEqual([['CrmItemMalformed', { item: 'form#FORM0001' }]]);
  });
});
