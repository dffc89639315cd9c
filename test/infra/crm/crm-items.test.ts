import { describe, expect, it } from 'vitest';
import { type CrmFile, parseCrmFile } from '../../../infra/crm/crm-file.ts';
import { parseItems, serializeItems } from '../../../infra/crm/crm-items.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { EXAMPLE_FILE } from '../../support/crm-example.ts';

describe('the items of the table', () => {
  it('hold every record, and lead to a client from its e-mail address, phone number and referral code', async () => {
    const items = await serializeItems(await parseCrmFile(JSON.stringify(EXAMPLE_FILE)));
    expect(items.map(({ pk }) => pk)).toEqual([
      'form#FORM0001',
      'client#CLIENT01',
      'account_type#ATDEMO01',
      'connection#tp5-live-1',
      'connection#tp4-live-1',
      'connection#tp4-gw-1',
      'email#ann@example.com',
      'phone#+447400123456',
      'referral#REFANN01',
    ]);
    expect(items.at(-1)).toEqual({ pk: 'referral#REFANN01', client_id: 'CLIENT01' });
    // Beside the record the number as the platform gets it.
    expect(items[1]).toMatchObject({ record: { phone: { number: '7400123456' } }, e164: '+447400123456' });
  });

  it('lead from an address in lower case and punycode', async () => {
    const client = { id: 'CLIENT01', email: 'Jörg@x.example', name: 'x' };
    const items = await serializeItems({ ...noFile(), clients: [{ ...client, email: 'Ann@BÜCHER.example' }] });
    expect(items[1]?.pk).toBe('email#ann@xn--bcher-kva.example');
  });

  it('become the same records again', async () => {
    const { local_secrets: _, ...records } = DEMO_RECORDS;
    const { records: again } = parseItems(await serializeItems(records));
    for (const kind of ['forms', 'clients', 'account_types', 'connections'] as const) {
      expect(again[kind]).toEqual(records[kind].toSorted((a, b) => (a.id < b.id ? -1 : 1)));
    }
  });

  it('name the faults of a damaged record, and leave it out', () => {
    const { records, faults } = parseItems([{ pk: 'client#CLIENT01', record: { id: 'CLIENT01', name: 'x' } }]);
    expect(records.clients).toEqual([]);
    expect(faults).toEqual([{ path: 'client#CLIENT01.email', rule: 'is required' }]);
  });
});

function noFile(): CrmFile {
  return { forms: [], clients: [], account_types: [], connections: [], local_secrets: {} };
}
