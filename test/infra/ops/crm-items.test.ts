import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { type CrmFile, parseCrmFile } from '../../../infra/ops/crm-file.ts';
import { serializeItems } from '../../../infra/ops/crm-items.ts';
import { EXAMPLE_FILE } from '../../support/crm-example.ts';

describe('the items of the table', () => {
  it('hold one record each, with the attributes that its indexes need', async () => {
    const items = await serializeItems(await parseCrmFile(JSON.stringify(EXAMPLE_FILE)));
    expect(items.map(({ record: _, ...attributes }) => attributes)).toEqual([
      { pk: 'form#FORM0001', kind: 'form' },
      {
        pk: 'client#CLIENT01',
        // The number as the platform gets it, proven or not.
        e164: '+447400123456',
        proven_email: 'ann@example.com',
        proven_phone: '+447400123456',
        referral_code: 'REFANN01',
      },
      { pk: 'account_type#ATDEMO01', kind: 'account_type' },
      { pk: 'connection#tp5-live-1', kind: 'connection' },
      { pk: 'connection#tp4-live-1', kind: 'connection' },
      { pk: 'connection#tp4-gw-1', kind: 'connection' },
    ]);
    expect(items[1]).toMatchObject({ record: { phone: { number: '7400123456' } } });
  });

  it('find a client by the address in lower case and punycode', async () => {
    const client = { id: 'CLIENT01', email: 'Ann@BÜCHER.example', name: 'x' };
    expect(await serializeItems({ ...noFile(), clients: [client] })).toMatchObject([
      { proven_email: 'ann@xn--bcher-kva.example' },
    ]);
  });

  it('do not find a client by an address that a person only typed', async () => {
    const client = {
      id: 'CLIENT01',
      email: 'ann@example.com',
      name: 'x',
      phone: { country_code: '44', number: '7400123456' },
    };
    const [item] = await serializeItems({ ...noFile(), clients: [{ ...client, unproven: ['email', 'phone'] }] });
    expect(Object.keys(item ?? {})).toEqual(['pk', 'record', 'e164']);
  });
});

describe('infra/crm-items.json', () => {
  const schema: object = JSON.parse(readFileSync(new URL('../../../infra/crm-items.json', import.meta.url), 'utf8'));
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  const client = { id: 'CLIENT01', email: 'ann@example.com', name: 'Ann' };

  it("describes every item that the operators' command writes", async () => {
    const items = await serializeItems(DEMO_RECORDS);
    expect(new Set(items.map(({ pk }) => pk.split('#')[0])).size).toBe(4);
    expect(items.filter((item) => !validate(item))).toEqual([]);
  });

  it.each([
    { pk: 'client#CLIENT01', record: client, e164: '+447400123456', proven_email: 'ann@example.com' },
    { pk: 'client#CLIENT02', record: { ...client, email: undefined, unproven: ['phone'] } },
  ])('accepts $pk', (item) => {
    expect(validate(JSON.parse(JSON.stringify(item)))).toBe(true);
  });

  it.each([
    { pk: 'client#SHORT', record: client },
    { pk: 'client#CLIENT01', record: { ...client, name: undefined } },
    { pk: 'client#CLIENT01', record: client, e164: '07400 123456' },
    { pk: 'client#CLIENT01', record: { ...client, hat: 1 } },
    { pk: 'client#CLIENT01', record: client, hat: 1 },
    { pk: 'client#CLIENT01', record: client, proven_email: 'Ann@example.com' },
    { pk: 'client#CLIENT01', record: client, proven_phone: '07400 123456' },
    { pk: 'client#CLIENT01', record: { ...client, unproven: ['name'] } },
    { pk: 'client#CLIENT/1', record: client },
    { pk: 'form#FORM0001', record: { id: 'FORM0001', fields: [] } },
    { pk: 'hat#1' },
  ])('refuses %j', (item) => {
    expect(validate(JSON.parse(JSON.stringify(item)))).toBe(false);
  });
});

function noFile(): CrmFile {
  return { forms: [], clients: [], account_types: [], connections: [], local_secrets: {} };
}
