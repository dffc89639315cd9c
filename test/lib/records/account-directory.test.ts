import { describe, expect, it } from 'vitest';
import { serializeItems } from '../../../infra/crm/crm-items.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { dynamoAccountDirectory } from '../../../lib/records/account-directory.ts';
import { crmKey } from '../../../lib/records/crm-table.ts';

const items = await serializeItems(DEMO_RECORDS);

/** Holds the demo records, as the operators' command writes them. */
function directory(changes: Record<string, object> = {}) {
  const table: Pick<Table, 'getMany'> = {
    getMany: async (keys) =>
      keys.flatMap(({ pk }) =>
        items.filter((item) => item.pk === pk).map((item) => ({ ...item, ...changes[item.pk] })),
      ),
  };
  return dynamoAccountDirectory(table as Table);
}
const { signal } = new AbortController();
const ids = { userId: 'CLIENT01', connectionId: 'tp5-live-1' };

describe('The records of an opening', () => {
  it('are the client with the phone number in E.164, and the connection', async () => {
    const { client, connection, accountType, rebateUser } = await directory().readAccountRecords(ids, signal);
    expect(client).toMatchObject({ id: 'CLIENT01', email: 'ann@example.com', phone: '+447400123456' });
    expect(connection).toMatchObject({ id: 'tp5-live-1', platform: 'tp5' });
    expect([accountType, rebateUser]).toEqual([undefined, undefined]);
  });

  it('have no phone number where the item has none', async () => {
    const { client } = await directory({ [crmKey.client('CLIENT01')]: { e164: undefined } }).readAccountRecords(
      ids,
      signal,
    );
    expect(client).not.toHaveProperty('phone');
  });

  it('are undefined where there are none', async () => {
    const { client, connection } = await directory().readAccountRecords(
      { userId: 'NOBODY01', connectionId: 'none' },
      signal,
    );
    expect([client, connection]).toEqual([undefined, undefined]);
  });

  it('may have members that a newer version of the service wrote', async () => {
    const pk = crmKey.connection('tp5-live-1');
    const { record } = items.find((item) => item.pk === pk) ?? {};
    const newer = directory({ [pk]: { record: { ...(record as object), shard: 3 } } });
    const { connection } = await newer.readAccountRecords(ids, signal);
    expect(connection).toEqual(record);
  });

  it('that break their own rules are a failure of the database, not a record', async () => {
    const damaged = directory({ [crmKey.client('CLIENT01')]: { record: { id: 'CLIENT01' } } });
    await expect(damaged.readAccountRecords(ids, signal)).rejects.toMatchObject({ reason: 'CrmRecordMalformed' });
  });
});
