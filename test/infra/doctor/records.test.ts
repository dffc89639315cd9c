import { describe, expect, it } from 'vitest';
import { inspectRecords } from '../../../infra/doctor/record-report.ts';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { type CrmItem, itemKey } from '../../../infra/ops/crm-items.ts';
import { dynamoCrmClients } from '../../../lib/records/crm-clients.ts';
import { Operators } from '../../support/operators.ts';

const operators = new Operators();
const [ann] = DEMO_RECORDS.clients;
const NEW_CLIENT = { id: 'CLIENT99', email: 'new@example.com', name: 'New', referral_code: 'REFNEW99' };

/** What the doctor says about the CRM records. */
async function looked(fix = false) {
  const { code, results } = await operators.doctor({ fix });
  const found = results.filter(({ question }) => question === 'client');
  const lines = found.map(({ subject, detail }) => `${subject}: ${detail}`).toSorted();
  return { code, lines, fixes: new Set(found.map(({ fix }) => fix)) };
}

describe('The doctor, asked about the CRM records,', () => {
  it('says that every item is right', async () => {
    expect(await looked()).toMatchObject({ code: 0, lines: [expect.stringMatching(/^records: \d+ items$/)] });
  });

  it('lists every invalid item of another writer, and fixes the attributes that follow from the records', async () => {
    const phone = { country_code: '44', number: '7400123456' };
    const typed = { ...NEW_CLIENT, id: 'CLIENT55', phone, unproven: ['phone'] };
    await operators.table.write([
      { put: { pk: 'client#CLIENT50', record: { id: 'CLIENT50', email: 'fifty@example.com' } } },
      { put: { pk: 'client#CLIENT51', record: { ...ann, id: 'CLIENT52' } } },
      { put: { pk: 'client#CLIENT53', record: { ...NEW_CLIENT, id: 'CLIENT53', language: 'no language' } } },
      { put: { pk: 'client#CLIENT01', record: ann } },
      { put: { pk: 'client#CLIENT55', record: typed, proven_phone: '+447400123456' } },
      { put: { pk: 'form#FORM0002', record: { id: 'FORM0002', fields: [] } } },
      { put: { pk: 'form#FORM0003', kind: 'form', record: { id: 'FORM0003', fields: [], titel: 'mistyped' } } },
      { put: { pk: 'hat#1' } },
    ]);
    const broken = [
      'client#CLIENT50.name: is required',
      'client#CLIENT51.id: must be the id in the key',
      'client#CLIENT53.language: must be a BCP 47 tag',
      'form#FORM0003.titel: is not known',
      'hat#1: is not a key of this table',
    ];
    const derived = ['client#CLIENT01', 'client#CLIENT53', 'client#CLIENT55', 'form#FORM0002'].map(
      (key) => `${key}: has attributes that do not follow from its record`,
    );
    const fix = `npm run doctor -- --fix --local=${operators.service.url}`;
    expect(await looked()).toEqual({
      code: 1,
      lines: [...broken, ...derived].toSorted(),
      fixes: new Set(['correct it in the CRM', fix]),
    });
    const shared = 'client#CLIENT53, client#CLIENT55';
    expect(await looked(true)).toMatchObject({
      code: 1,
      lines: [...broken, `${shared}: have one referral code`].toSorted(),
    });
    expect(await operators.table.find('proven_phone', '+447400123456')).toEqual(['client#CLIENT01']);
  });

  it('says how many items it has fixed', async () => {
    await operators.table.write([{ put: { pk: 'client#CLIENT01', record: ann } }]);
    expect(await looked(true)).toMatchObject({ lines: [expect.stringMatching(/ items, 1 of them fixed$/)] });
    expect(await operators.table.find('proven_email', 'ann@example.com')).toEqual(['client#CLIENT01']);
  });

  it('fixes no client who was erased, imported or proven after the doctor has read the table', async () => {
    const clients = ['ERASED01', 'IMPORT01', 'PROVEN01', 'SAME0001'].map((id) => ({
      ...{ id, name: 'Ray', email: `${id}@example.com`, phone: { country_code: '44', number: '7400123456' } },
      unproven: ['email' as const],
    }));
    await operators.table.write(clients.map((record) => ({ put: { pk: itemKey('clients', record.id), record } })));
    const [, imported, proven] = clients;
    if (imported === undefined || proven === undefined) throw new Error('There are four clients.');
    const real = operators.table;
    const table: typeof real = {
      ...real,
      async *pages(filter) {
        const pages: CrmItem[][] = [];
        for await (const page of real.pages(filter)) pages.push(page);
        await operators.local('delete', 'clients', 'ERASED01');
        await operators.local('import', { clients: [{ ...imported, unproven: ['phone'], language: 'de' }] });
        const { unproven: _, ...client } = proven;
        await dynamoCrmClients(operators.tableOf('crm')).add(client, 'email', AbortSignal.timeout(60_000));
        yield* pages;
      },
    };
    const { fixed, errors } = await inspectRecords({ table }, true);
    expect(fixed).toBe(1);
    expect(errors.filter(({ rule }) => rule === 'has changed meanwhile').map(({ path }) => path)).toEqual(
      ['ERASED01', 'IMPORT01', 'PROVEN01'].map((id) => itemKey('clients', id)),
    );
    const items = await real.readMany(clients.map(({ id }) => itemKey('clients', id)));
    expect(new Map(items.map(({ pk, record: _, ...derived }) => [pk, derived]))).toEqual(
      new Map<string, object>([
        ['client#IMPORT01', { e164: '+447400123456', proven_email: 'import01@example.com' }],
        ['client#PROVEN01', { proven_email: 'proven01@example.com' }],
        ['client#SAME0001', { e164: '+447400123456', proven_phone: '+447400123456' }],
      ]),
    );
  });
});
