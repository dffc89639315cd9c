import { NumberValue } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import { settlementConfig } from '../../../lib/config.ts';
import { settlementDependencies } from '../../../lib/openings/dependencies.ts';
import { settleOperations } from '../../../lib/openings/settler.ts';
import { dueAttributes, OPERATOR_ONLY } from '../../../lib/records/due.ts';
import { publishPending } from '../../../lib/registration/confirmation.ts';
import type { Telemetry } from '../../../lib/telemetry.ts';
import { openAccount, register } from '../../support/local-service.ts';
import { Operators, runOperatorsCommand, unknownOperation } from '../../support/operators.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { restoredTable, writeItems } from '../../support/restored-tables.ts';

const operators = new Operators();
const EMAIL = 'ann@example.com';
const now = Date.now() - 60_000;
/** A number that JavaScript does not have. */
const HUGE = NumberValue.from('1E+100');

/** Items of each table that cannot be read. */
const UNREADABLE: Readonly<Record<string, readonly Item[]>> = {
  crm: [
    { pk: 'client#BROKEN01', record: 'broken' },
    { pk: 'client#BROKEN02', record: { id: HUGE } },
    { pk: 'connection#broken', kind: 'connection', record: {} },
    { pk: 'form#BROKEN01', kind: 'form', record: { fields: HUGE } },
    { pk: 'account_type#BROKEN01', kind: 'account_type' },
    { pk: 'nothing', kind: 'connection' },
  ],
  accounts: [
    { pk: 'CLIENT01', sk: 'tp5#broken', login: 'many' },
    { pk: 'CLIENT01', sk: 'tp5#huge', login: HUGE },
  ],
  logins: [{ pk: 'broken', connection_id: HUGE }, { pk: 'tp5#abc' }],
  operations: [
    { pk: 'operation#broken', life: 'broken', ...dueAttributes('broken', now) },
    { pk: 'operation#huge', operation_id: 'HUGE', life: { at: 'sent', login: HUGE }, ...dueAttributes('HUGE', now) },
    { pk: 'operation#old', operation_id: 'OLD', life: { at: 'sent' }, ...dueAttributes('OLD', OPERATOR_ONLY) },
  ],
  registrations: [
    { pk: 'registration#broken', confirmation: { published: false }, ...dueAttributes('broken', now) },
    { pk: 'registration#huge', confirmation: HUGE, ...dueAttributes('huge', now), expires_at: HUGE },
  ],
  limits: [{ pk: 'broken', count: HUGE }],
};
const OPERATIONS = ['item operation#broken', 'item operation#huge', 'item operation#old'];
const CONNECTIONS = ['connection#broken', 'nothing'];
const CLIENTS = ['client#BROKEN01', 'client#BROKEN02'];

let opened: Item = {};
let undecided = '';
beforeAll(async () => {
  const order = { connection_id: 'tp5-live-1', group: 'real\\standard' };
  const { status, body } = await openAccount(operators.service, 'tp5', order);
  expect(status).toBe(200);
  opened = (await operators.items('operations')).find(({ life }) => Object(life).login === body.login) ?? {};
  undecided = (await unknownOperation(operators)).id;
});
beforeEach(async () => {
  for (const [table, items] of Object.entries(UNREADABLE)) await writeItems(operators, table, items);
});

/** Each command, its exit code, what it shows of the others, and the items that it names. */
const ROWS: readonly [command: string, code: number, shows: string | RegExp, named: readonly string[]][] = [
  ['operations --open', 1, /[0-9a-f-]{36} +CLIENT01 /, OPERATIONS],
  ['operations --open --json', 1, '"operation_id": "', OPERATIONS],
  ['operation UNDECIDED', 0, '"user_id": "CLIENT01"', []],
  ['operation HUGE', 1, '', ['item operation#huge', 'infra/docs/operating.md']],
  ['operation operation#broken', 1, '', ['item operation#broken', 'infra/docs/operating.md']],
  ['settle ANOTHER --none', 0, 'is settled', []],
  ['settle HUGE --none', 1, '', ['item operation#huge']],
  ['client CLIENT01', 1, 'real\\standard', ['CLIENT01 tp5#broken', 'CLIENT01 tp5#huge', ...OPERATIONS]],
  ['client BROKEN01', 1, 'Record:\n"broken"', ['client#BROKEN01', ...OPERATIONS]],
  ['registration asks@example.com', 1, '1 registration of', ['item registration#unread']],
  ['rebuild-logins --dry-run', 1, 'exist there', ['CLIENT01 tp5#broken', 'CLIENT01 tp5#huge']],
  ['export', 1, '"CLIENT01"', [...CLIENTS, ...CONNECTIONS, 'form#BROKEN01', 'account_type#BROKEN01']],
  ['list clients', 1, 'CLIENT01', CLIENTS],
  ['list connections', 1, 'tp5-live-1', CONNECTIONS],
  ['list forms', 1, 'FORM0001', ['form#BROKEN01']],
  ['list account-types', 1, 'ATDEMO01', ['account_type#BROKEN01']],
  ['form FORM0001', 0, 'FORM0001', []],
  ['form BROKEN01', 1, '', ['form#BROKEN01']],
  ['import FILE --dry-run', 0, '1 record would change', CONNECTIONS],
  ['delete clients BROKEN01 --dry-run', 0, '- client#BROKEN01', []],
  ['forget --client CLIENT01 --dry-run', 0, '- client#CLIENT01', []],
  ['secret put tp5-demo-1 --yes', 0, 'platform/tp5-demo-1', []],
  ['secret put broken', 1, '', ['connection broken']],
  ['redeliver', 0, '', []],
  ['restore crm --from crm-restored --dry-run', 1, 'No record is missing', CLIENTS],
  ...['logins', 'operations', 'accounts', 'registrations'].map((table): (typeof ROWS)[number] => [
    `restore ${table} --from ${table}-restored --dry-run`,
    0,
    'exist there',
    [],
  ]),
];

/** A connection of a trading server, with another name. */
async function importFile(): Promise<string> {
  const stored = await operators.table.read('connection#tp5-live-1');
  return operators.fileOf({ connections: [{ ...Object(stored?.record), name: 'Renamed' }] });
}

describe('With an unreadable item in every table', () => {
  it.each(ROWS)(
    'npm run ops -- %s exits with %i, shows the readable items, and names the unreadable ones of its table',
    async (...row) => {
      const [command, code, shows, named] = row;
      const [, table] = /^restore (\w+)/.exec(command) ?? [];
      if (table !== undefined) await restoredTable(operators, table, `${table}-restored`);
      if (command.includes('asks@')) {
        await register(operators.service, { email: 'asks@example.com' });
        await writeItems(operators, 'registrations', [{ pk: 'registration#unread', address: 'asks@example.com' }]);
      }
      const words: Record<string, string> = { UNDECIDED: undecided, FILE: await importFile() };
      if (command.includes('ANOTHER')) words.ANOTHER = (await unknownOperation(operators)).id;
      const args = command.split(' ').map((word) => words[word] ?? word);
      const input = '{"login":1000,"password":"x"}';
      const {
        code: ended,
        out,
        reported,
      } = await runOperatorsCommand([...args, '--local', operators.service.url], {
        input,
      });
      expect({ reported, code: ended }).toEqual({ reported: expect.anything(), code });
      expect(out).toMatch(shows);
      for (const one of named) expect(reported).toContain(one);
    },
  );

  it('the doctor names each item of the CRM, and asks every server', async () => {
    const { code, results } = await operators.doctor();
    expect(code).toBe(1);
    const subjects = results.map(({ subject }) => subject);
    for (const pk of UNREADABLE.crm?.map((item) => String(item.pk)) ?? [])
      expect(subjects.filter((one) => one.startsWith(pk))).not.toEqual([]);
    expect(results).toContainEqual(expect.objectContaining({ subject: 'tp5-live-1', state: 'works' }));
    expect(results.filter(({ state }) => state === 'unknown')).toEqual([]);
  });

  it('the settler completes the others, and logs each item of its lists once in a run', async () => {
    const life = { ...Object(opened.life), at: 'open', recorded: true, deposit: 'none', published: false };
    await writeItems(operators, 'operations', [{ ...opened, life, ...dueAttributes(String(opened.pk), now) }]);
    await register(operators.service, { email: EMAIL });
    const logged: [string, unknown][] = [];
    const telemetry: Telemetry = {
      event: (name, { item, ...fields }: Record<string, unknown> = {}) => void logged.push([name, item ?? fields]),
      with: () => telemetry,
    };
    const dependencies = settlementDependencies(settlementConfig());
    await publishPending(dependencies, telemetry, NEVER_ABORTED);
    await settleOperations(dependencies, telemetry, Date.now() + 30_000);
    const named = (event: string) => logged.filter(([name]) => name === event).map(([, item]) => item);
    expect(named('OperationNotSettled').sort()).toEqual(['operation#broken', 'operation#huge']);
    expect(named('EventFailed').sort()).toEqual(['registration#broken', 'registration#huge']);
    const settled = (await operators.items('operations')).find(({ pk }) => pk === opened.pk);
    expect(settled?.life).toMatchObject({ at: 'done' });
  });
});
