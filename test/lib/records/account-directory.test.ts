import { describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { serializeItems } from '../../../infra/ops/crm-items.ts';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { clientItem } from '../../../lib/records/crm-clients.ts';
import { crmKey, dynamoAccountDirectory } from '../../../lib/records/crm-records.ts';
import type { Telemetry } from '../../../lib/telemetry.ts';

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
const NO_LOG: Telemetry = { event: () => {}, with: () => NO_LOG };
const ids = { user_id: 'CLIENT01', connection_id: 'tp5-live-1' };

describe('The records of an opening', () => {
  it('are the client with the phone number in E.164, and the connection', async () => {
    const { client, connection, accountType, rebateUser } = await directory().readAccountRecords(ids, NO_LOG, signal);
    expect(client).toMatchObject({ id: 'CLIENT01', email: 'ann@example.com', phone: '+447400123456' });
    expect(connection).toMatchObject({ id: 'tp5-live-1', platform: 'tp5' });
    expect([accountType, rebateUser]).toEqual([undefined, undefined]);
  });

  it('have no phone number if the item has none', async () => {
    const { client } = await directory({ [crmKey.client('CLIENT01')]: { e164: undefined } }).readAccountRecords(
      ids,
      NO_LOG,
      signal,
    );
    expect(client).not.toHaveProperty('phone');
  });

  // A registration by email accepts every number of a possible length, and the CRM's client gets it.
  it.each([
    ['49', '1222'],
    ['62', '21222222222222'],
  ])('have a phone that is shorter or longer than E.164 allows: +%s %s', async (country_code, number) => {
    const { record, e164 } = await clientItem({ id: 'CLIENT01', name: 'Ann', phone: { country_code, number } });
    const { client } = await directory({ [crmKey.client('CLIENT01')]: { record, e164 } }).readAccountRecords(
      ids,
      NO_LOG,
      signal,
    );
    expect(client?.phone).toBe(`+${country_code}${number}`);
  });

  it('are undefined if they are missing', async () => {
    const { client, connection } = await directory().readAccountRecords(
      { user_id: 'NOBODY01', connection_id: 'none' },
      NO_LOG,
      signal,
    );
    expect([client, connection]).toEqual([undefined, undefined]);
  });

  it('may have members that a newer version of the service wrote', async () => {
    const pk = crmKey.connection('tp5-live-1');
    const { record } = items.find((item) => item.pk === pk) ?? {};
    const newer = directory({ [pk]: { record: { ...(record as object), shard: 3 } } });
    const { connection } = await newer.readAccountRecords(ids, NO_LOG, signal);
    expect(connection).toEqual(record);
  });

  it.each([
    ['breaks its rules', { record: { id: 'CLIENT01' } }],
    ['has another id than its key', { record: { id: 'CLIENT02', email: 'ann@example.com', name: 'Ann' } }],
    ['has a number that is not a plus and digits', { e164: '07400|LEVERAGE=500' }],
  ])('leave out a client that %s, and log its key', async (_, change) => {
    const logged: unknown[] = [];
    const telemetry: Telemetry = { event: (...event) => logged.push(event), with: () => telemetry };
    const damaged = directory({ [crmKey.client('CLIENT01')]: change });
    const { client, connection } = await damaged.readAccountRecords(ids, telemetry, signal);
    expect([client, connection?.id]).toEqual([undefined, 'tp5-live-1']);
    expect(logged).toEqual([['CrmItemMalformed', { item: 'client#CLIENT01' }]]);
  });
});
