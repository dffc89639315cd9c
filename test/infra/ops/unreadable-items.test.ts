import { NumberValue } from '@aws-sdk/lib-dynamodb';
import { beforeEach, expect, it } from 'vitest';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import { dueAttributes } from '../../../lib/records/due.ts';
import { Operators } from '../../support/operators.ts';
import { writeItems } from '../../support/restored-tables.ts';

const operators = new Operators();
/** A number that JavaScript does not have. */
const HUGE = NumberValue.from('1E+100');
const PERSON = 'asks@example.com';

/** Items of each table that cannot be read. */
const UNREADABLE: Readonly<Record<string, readonly Item[]>> = {
  crm: [
    { pk: 'client#BROKEN01', record: { id: HUGE } },
    { pk: 'connection#broken', kind: 'connection', record: {} },
    { pk: 'form#BROKEN01', kind: 'form', record: { fields: HUGE } },
  ],
  accounts: [{ pk: 'CLIENT01', sk: 'tp5#huge', login: HUGE }],
  operations: [
    { pk: 'operation#broken', life: 'broken', ...dueAttributes('broken', Date.now()) },
    { pk: 'operation#huge', operation_id: 'HUGE', life: { at: 'sent', login: HUGE }, ...dueAttributes('HUGE', 1) },
  ],
  registrations: [{ pk: 'registration#broken', address: PERSON }],
};
beforeEach(async () => {
  for (const [table, items] of Object.entries(UNREADABLE)) await writeItems(operators, table, items);
});

it.each<[command: string, code: number, shows: string, named: string[]]>([
  ['operations', 1, 'WHAT IS MISSING', ['item operation#broken', 'item operation#huge']],
  ['operation HUGE', 1, '', ['item operation#huge', 'infra/docs/operating.md']],
  ['client CLIENT01', 1, 'Record:', ['CLIENT01 tp5#huge', 'item operation#broken']],
  [`registration ${PERSON}`, 1, '0 registrations', ['item registration#broken']],
  ['rebuild --dry-run', 1, 'would be written', ['CLIENT01 tp5#huge', 'operation#broken', 'operation#huge']],
  ['export', 1, '"CLIENT01"', ['client#BROKEN01', 'connection#broken', 'form#BROKEN01']],
  ['list clients', 1, 'CLIENT01', ['client#BROKEN01']],
  ['list connections', 1, 'tp5-live-1', ['connection#broken']],
  ['form BROKEN01', 1, '', ['form#BROKEN01']],
  ['delete clients BROKEN01 --dry-run', 0, '- client#BROKEN01', []],
  ['forget --client CLIENT01 --dry-run', 0, '- client#CLIENT01', []],
])('With an unreadable item in every table, %s ends with %i, shows the others and names that item', async (...row) => {
  const [command, code, shows, named] = row;
  const ended = await operators.local(...command.split(' '));
  expect(ended.code).toBe(code);
  expect(ended.out).toContain(shows);
  for (const one of named) expect(ended.reported).toContain(one);
});

it('With an unreadable item in every table, the doctor names those of the CRM and asks every server', async () => {
  const { code, results } = await operators.doctor();
  expect(code).toBe(1);
  const subjects = results.map(({ subject }) => subject);
  for (const { pk } of UNREADABLE.crm ?? []) expect(subjects.some((one) => one.startsWith(String(pk)))).toBe(true);
  expect(results).toContainEqual(expect.objectContaining({ subject: 'tp5-live-1', state: 'works' }));
  expect(results.filter(({ state }) => state === 'unknown')).toEqual([]);
});
