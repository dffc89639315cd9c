import { describe, expect, it } from 'vitest';
import type { DynamoAttributes, ItemChange } from '../../../infra/local/dynamo.ts';
import type { Life } from '../../../lib/openings/life.ts';
import { isTransition, LedgerWatch } from './ledger-watch.ts';

const SENT: Life = { at: 'sent', login: 7, commands: 'one' };
const OPEN: Life = {
  at: 'open',
  login: 7,
  opened_at: '2026-01-01T00:00:00.000Z',
  recorded: false,
  deposit: 'due',
  published: false,
};
const DONE: Life = { at: 'done', login: 7, opened_at: '2026-01-01T00:00:00.000Z', unpaid: false };

/** A value in the format of the protocol. */
function wire(value: unknown): DynamoAttributes {
  if (typeof value === 'number') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  return typeof value === 'object' ? { M: wireItem(value as object) } : { S: value };
}
const wireItem = (item: object): DynamoAttributes =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, wire(value)]));

interface Stored {
  life: Life;
  operation_id?: string;
  lease?: string;
  revision?: number;
  expires_at?: number;
}
const operation = (stored: Stored | undefined) =>
  stored &&
  wireItem({
    ...{ pk: 'key#1', operation_id: '1', lease: 'a', revision: 0 },
    plan: { user_id: 'CLIENT01', version: 'tp5', connection_id: 'tp5-live', keyed: true },
    ...stored,
  });
const written = (before: Stored | undefined, after: Stored | undefined): ItemChange => ({
  table: 'operations',
  before: operation(before),
  after: operation(after),
});
const reserved = (holder: string): ItemChange => ({
  table: 'logins',
  before: undefined,
  after: wireItem({ pk: 'tp5#7', operation_id: holder }),
});
const released: ItemChange = { table: 'logins', before: reserved('1').after, after: undefined };

const CLAIM = [written(undefined, { life: { at: 'claimed' } })];
const RESERVATION = [written({ life: { at: 'claimed' } }, { life: SENT, revision: 1 }), reserved('1')];

function violations(...calls: ItemChange[][]): string[] {
  const watch = new LedgerWatch((seconds) => seconds <= 100);
  for (const changes of calls) watch.see(changes);
  return watch.violations;
}

describe('The watch of the ledger', () => {
  it.each<[string, ItemChange[][], string]>([
    ['a state that does not follow', [[written({ life: { at: 'claimed' } }, { life: OPEN })]], 'no transition'],
    ['an end of an open account', [[written({ life: OPEN }, undefined)]], 'no transition'],
    ['an operation that does not begin at its begin', [[written(undefined, { life: DONE })]], 'no transition'],
    [
      'a key that is used before it has expired',
      [[written({ life: DONE, expires_at: 101 }, { life: { at: 'claimed' }, operation_id: '2' })]],
      'replaced',
    ],
    [
      'a write under another lease',
      [CLAIM, [written({ life: { at: 'claimed' } }, { life: SENT, lease: 'b' }), reserved('1')]],
      'without the lease',
    ],
    [
      'a write over a later revision',
      [CLAIM, [written({ life: { at: 'claimed' }, revision: 2 }, { life: SENT, revision: 1 }), reserved('1')]],
      'later revision',
    ],
    ['a command without a reservation', [CLAIM, RESERVATION.slice(0, 1)], 'without a reservation'],
    ['a reservation without a command', [CLAIM, RESERVATION.slice(1)], 'without naming it'],
    [
      'a reservation that is taken from its holder',
      [CLAIM, RESERVATION, [{ ...reserved('2'), before: reserved('1').after }]],
      'lost its reservation',
    ],
    ['a reservation that is deleted', [CLAIM, RESERVATION, [released]], 'lost its reservation'],
  ])('finds %s', (_, calls, what) => {
    expect(violations(...calls).join()).toContain(what);
  });
});

it('An operation that a late duplicate of its claim brings back may act', () => {
  const watch = new LedgerWatch(() => false);
  const release = [written({ life: { at: 'claimed' } }, undefined)];
  for (const changes of [CLAIM, release, CLAIM, RESERVATION]) watch.see(changes);
  expect(watch.violations).toEqual([]);
  expect(watch.of(() => true)).toMatchObject([{ operation_id: '1', life: SENT }]);
});

it('After two commands a login is not new again, but another login may follow', () => {
  const many: Life = { ...SENT, commands: 'many' };
  expect(isTransition(many, SENT)).toBe(false);
  expect(isTransition(many, { ...SENT, login: 8 })).toBe(true);
  expect(isTransition(many, OPEN)).toBe(true);
});

it('An operation whose server answers another login goes to the operators, with that login', () => {
  expect(isTransition(SENT, { at: 'undecided', login: 7, other: 9 })).toBe(true);
  expect(isTransition({ at: 'claimed' }, { at: 'undecided', login: 7, other: 9 })).toBe(false);
});
