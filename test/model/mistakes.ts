import { LIFE, type Life } from '../../lib/openings/life.ts';
import type { Mistake } from './world.ts';

type Part = keyof typeof LIFE;
type Row = (typeof LIFE)['sent'][number];

function change(part: Part, rows: readonly Row[]): typeof LIFE {
  return { ...LIFE, [part]: rows };
}

/** Each rule taken out once: a guard; a transition, whose facts then take a later one of the state, or change nothing. */
const TAKEN_OUT: readonly Mistake[] = (Object.keys(LIFE) as Part[]).flatMap((part) => {
  const rows = LIFE[part] as readonly Row[];
  return rows.flatMap((row, index): Mistake[] => {
    const name = `${part} on ${row.on.join(', ')}`;
    const unguarded = change(part, rows.with(index, { ...row, if: () => true }));
    const { to, ...stays } = row;
    const removed = change(part, [...rows.toSpliced(index, 1), stays]);
    return [
      ...(row.if === undefined ? [] : [{ name: `${name}: the guard is gone`, table: unguarded }]),
      ...(to === undefined ? [] : [{ name: `${name}: the rule is gone`, table: removed }]),
    ];
  });
});

const gone = (): Life => ({ at: 'gone' });
const opened = {
  ...{ at: 'open', opened_at: '1970-01-01T00:00:00.000Z', recorded: false, published: false },
  ...{ mail: 'none', deposit: 'none' },
} satisfies Partial<Life>;
/** A rule in front of the others. */
const first = (name: string, part: Part, row: Partial<Row>): Mistake => ({
  name,
  table: change(part, [row as Row, ...(LIFE[part] as readonly Row[])]),
});

export const MISTAKES: readonly Mistake[] = [
  ...TAKEN_OUT,
  { name: 'a write succeeds under any version', does: 'overwrite' },
  { name: 'a repeated command leaves without a note', does: 'send unwritten' },
  { name: 'a retry names another login', does: 'send other' },
  { name: 'a payment leaves before that is written', does: 'pay unwritten' },
  { name: 'the balance is not read before a later payment', does: 'pay unread' },
  { name: 'a closed login is forgotten', does: 'forget closed' },
  { name: 'a closed login is sent again', does: 'reuse' },
  first('a login that is taken becomes ours by a later look', 'sent', {
    on: ['resume'],
    to: (life): Life => ({ ...life, commands: 'many' }),
  }),
  first('absence ends an operation that has sent', 'sent', { on: ['absent'], to: gone }),
  first('a refusal for the state of the server frees the key', 'sent', { on: ['doubtful'], to: gone }),
  first('a refusal of the content frees the key without a look', 'sent', { on: ['rejected'], to: gone }),
  first('a server that cannot look shows that nothing was opened', 'sent', { on: ['silent'], to: gone }),
  first('a login that exists is ours', 'sent', {
    on: ['unmarked'],
    to: (life): Life => ({ ...opened, login: life.login ?? 0 }),
  }),
];
