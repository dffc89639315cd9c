import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { type CrmFile, parseCrmFile } from '../../../infra/crm/crm-file.ts';
import { serializeItems } from '../../../infra/crm/crm-items.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { EXAMPLE_FILE } from '../../support/crm-example.ts';

describe('the items of the table', () => {
  it('hold every record, and lead to a client from its email address, phone number and referral code, and to a connection from its host', async () => {
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
      'server#tp5#mt5.example.com',
      'server#tp4#mt4gw.example.com',
    ]);
    expect(items.slice(6, 10)).toEqual([
      { pk: 'email#ann@example.com', client_id: 'CLIENT01' },
      { pk: 'phone#+447400123456', client_ids: ['CLIENT01'] },
      { pk: 'referral#REFANN01', client_id: 'CLIENT01' },
      { pk: 'server#tp5#mt5.example.com', connection_ids: ['tp5-live-1'] },
    ]);
    // Next to the record is the number as the platform gets it.
    expect(items[1]).toMatchObject({ record: { phone: { number: '7400123456' } }, e164: '+447400123456' });
  });

  it('lead from an address in lower case and punycode', async () => {
    const client = { id: 'CLIENT01', email: 'Jörg@x.example', name: 'x' };
    const items = await serializeItems({ ...noFile(), clients: [{ ...client, email: 'Ann@BÜCHER.example' }] });
    expect(items[1]?.pk).toBe('email#ann@xn--bcher-kva.example');
  });
});

describe('infra/crm-items.json', () => {
  const schema: object = JSON.parse(readFileSync(new URL('../../../infra/crm-items.json', import.meta.url), 'utf8'));
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  const client = { id: 'CLIENT01', email: 'ann@example.com', name: 'Ann' };

  it("describes every item that the operators' command writes", async () => {
    const items = await serializeItems(DEMO_RECORDS);
    expect(new Set(items.map(({ pk }) => pk.split('#')[0])).size).toBe(8);
    expect(items.filter((item) => !validate(item))).toEqual([]);
  });

  it.each([
    { pk: 'client#CLIENT01', record: client, e164: '+447400123456' },
    { pk: 'server#tp4#mt4.example.com', connection_ids: ['a', 'b'] },
  ])('accepts $pk', (item) => {
    expect(validate(item)).toBe(true);
  });

  it.each([
    { pk: 'client#SHORT', record: client },
    { pk: 'client#CLIENT01', record: { ...client, email: undefined } },
    { pk: 'client#CLIENT01', record: client, e164: '07400 123456' },
    { pk: 'client#CLIENT01', record: { ...client, hat: 1 } },
    { pk: 'client#CLIENT01', record: client, hat: 1 },
    { pk: 'email#Ann@example.com', client_id: 'CLIENT01' },
    { pk: 'email#ann@example.com', client_ids: ['CLIENT01'] },
    { pk: 'phone#+447400123456', client_id: 'CLIENT01' },
    { pk: 'phone#+447400123456', client_ids: [] },
    { pk: 'server#mt4.example.com', connection_ids: ['a'] },
    { pk: 'hat#1' },
  ])('refuses %j', (item) => {
    expect(validate(JSON.parse(JSON.stringify(item)))).toBe(false);
  });
});

function noFile(): CrmFile {
  return { forms: [], clients: [], account_types: [], connections: [], local_secrets: {} };
}
