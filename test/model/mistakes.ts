import { LIFE, type Life } from '../../lib/openings/life.ts';
import type { Mistake } from './world.ts';

type Table = typeof LIFE;
type Row = Table['sent'][number];

function change(state: Life['at'], rows: readonly Row[]): Table {
  return { ...LIFE, [state]: rows } as Table;
}

/** Every transition with a guard, without it; every transition that changes the state, without that. */
const TAKEN_OUT: readonly Mistake[] = (Object.keys(LIFE) as Life['at'][]).flatMap((state) => {
  const rows = LIFE[state] as readonly Row[];
  return rows.flatMap((row, index): Mistake[] => {
    const replaced = (other: Partial<Row>) => change(state, rows.with(index, { ...row, ...other } as Row));
    const name = `${state} on ${row.on.join(', ')}`;
    return [
      ...(row.if === undefined ? [] : [{ name: `${name}: the guard is gone`, table: replaced({ if: () => true }) }]),
      ...(row.to === undefined
        ? []
        : [{ name: `${name}: the state stays`, table: replaced({ to: (life: Life) => life }) }]),
    ];
  });
});

/**
 * Rules whose absence only makes a history longer, or an operator's work: another one leads to the same end. The tests of
 * `test/lib/openings` show their answers.
 */
const UNSEEN = new Set([
  ...['claimed on ready: the state stays', 'claimed on said_login: the guard is gone'],
  ...['claimed on said_undecided: the guard is gone', 'claimed on said_undecided: the state stays'],
  ...['sent on rejected: the state stays', 'sent on lost: the state stays', 'sent on exists: the state stays'],
  ...['sent on not_executed, unopened: the state stays', 'sent on unmarked: the state stays'],
  ...['sent on unmarked, foreign, reserved: the state stays', 'sent on absent, silent: the state stays'],
  ...['sent on said_none: the state stays', 'open on ours, said_login: the guard is gone'],
  ...['open on said_none: the guard is gone', 'open on said_none: the state stays'],
  ...['open on said_undecided, given_away: the guard is gone', 'open on said_paid: the state stays'],
]);

const gone = (): Life => ({ at: 'gone' });
const opened = {
  ...{ at: 'open', opened_at: '1970-01-01T00:00:00.000Z', recorded: false, published: false },
  ...{ mail: 'none', deposit: 'none' },
} satisfies Partial<Life>;
/** A rule in front of the others. */
const first = (name: string, state: Life['at'], row: Partial<Row>): Mistake => ({
  name,
  table: change(state, [row as Row, ...(LIFE[state] as readonly Row[])]),
});

export const MISTAKES: readonly Mistake[] = [
  ...TAKEN_OUT.filter(({ name }) => !UNSEEN.has(name)),
  { name: 'a write succeeds under any version', ignoresVersion: true },
  { name: 'a repeated command leaves without a note', sendsUnwritten: true },
  { name: 'a retry names another login', random: true },
  { name: 'a payment leaves before that is written', paysUnwritten: true },
  first('absence ends an operation that has sent', 'sent', { on: ['absent'], to: gone }),
  first('a refusal for the state of the server frees the key', 'sent', { on: ['doubtful'], to: gone }),
  first('a refusal of the content frees the key without a look', 'sent', { on: ['rejected'], to: gone }),
  first('a server that cannot look shows that nothing was opened', 'sent', { on: ['silent'], to: gone }),
  first('a login that exists is ours', 'sent', {
    on: ['unmarked'],
    to: (life): Life => ({ ...opened, login: life.login ?? 0 }),
  }),
];
