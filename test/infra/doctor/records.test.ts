import { describe, expect, it } from 'vitest';
import { DEMO_RECORDS } from '../../../infra/local/demo-records.ts';
import { Operators } from '../../support/operators.ts';

const operators = new Operators();
const [ann] = DEMO_RECORDS.clients;
const NEW_CLIENT = { id: 'CLIENT99', email: 'new@example.com', name: 'New', referral_code: 'REFNEW99' };

/** What the doctor says about the CRM records. */
async function looked(...options: string[]) {
  const { code, results } = await operators.doctor(...options);
  const found = results.filter(({ question }) => question === 'client');
  const lines = found.map(({ subject, detail }) => `${subject}: ${detail}`).toSorted();
  return { code, lines, fixes: new Set(found.map(({ fix }) => fix)) };
}

describe('The doctor, asked about the CRM records,', () => {
  it('says that every item is right', async () => {
    expect(await looked()).toMatchObject({ code: 0, lines: [expect.stringMatching(/^records: \d+ items$/)] });
  });

  it('lists every item that another writer got wrong, and fixes what follows from the records', async () => {
    await operators.table.write([
      { put: { pk: 'client#CLIENT50', record: { id: 'CLIENT50', email: 'fifty@example.com' } } },
      { put: { pk: 'email#fifty@example.com', client_id: 'CLIENT50' } },
      { put: { pk: 'client#CLIENT51', record: { ...ann, id: 'CLIENT52' } } },
      { put: { pk: 'client#CLIENT53', record: { ...NEW_CLIENT, id: 'CLIENT53', language: 'no language' } } },
      { put: { pk: 'client#CLIENT01', record: ann } },
      { put: { pk: 'referral#REFGONE1', client_id: 'CLIENT77' } },
      { put: { pk: 'phone#+447400999999', client_ids: new Set(['CLIENT77']) as never } },
      { put: { pk: 'phone#+447400123456', client_ids: new Set(['CLIENT01']) as never } },
      { put: { pk: 'hat#1' } },
    ]);
    const broken = [
      'client#CLIENT50.name: is required',
      'client#CLIENT51.id: must be the id in the key',
      'client#CLIENT53.language: must be a BCP 47 tag',
      'hat#1: is not a key of this table',
    ];
    const derived = [
      "client#CLIENT01: has another `e164` than the record's phone, or attributes that are not known",
      'email#new@example.com: is missing, or does not lead to the right records',
      'phone#+447400123456: is missing, or does not lead to the right records',
      'referral#REFNEW99: is missing, or does not lead to the right records',
      'referral#REFGONE1: leads to no such record',
      'phone#+447400999999: leads to no such record',
    ];
    const fix = `npm run doctor -- --fix --local=${operators.service.url}`;
    expect(await looked()).toEqual({
      code: 1,
      lines: [...broken, ...derived].toSorted(),
      fixes: new Set(['correct it in the CRM', fix]),
    });
    expect(await looked('--fix')).toMatchObject({ code: 1, lines: broken, fixes: new Set(['correct it in the CRM']) });
    expect(await operators.table.read('phone#+447400123456')).toMatchObject({ client_ids: ['CLIENT01'] });
  });

  it('says how many items it has fixed', async () => {
    await operators.table.write([{ delete: 'email#ann@example.com' }]);
    expect(await looked('--fix')).toMatchObject({ lines: [expect.stringMatching(/ items, 1 of them fixed$/)] });
    expect(await operators.table.read('email#ann@example.com')).toEqual({
      pk: 'email#ann@example.com',
      client_id: 'CLIENT01',
    });
  });

  it('lists what two records may not share', async () => {
    const twin = { ...NEW_CLIENT, id: 'CLIENT54', email: 'ann@example.com' };
    await operators.table.write([{ put: { pk: 'client#CLIENT54', record: twin } }]);
    expect((await looked()).lines).toContain('client#CLIENT54.email: is the same as client#CLIENT01.email');
  });
});
