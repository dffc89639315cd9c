import { expect, it } from 'vitest';
import { describeOperation } from '../../../infra/ops/operation-text.ts';
import type { Life } from '../../../lib/openings/life.ts';
import type { KnownOperation } from '../../../lib/openings/operator.ts';
import { LIVE } from '../../support/crm-example.ts';

const ID = '0c3f1a2b-1111-8222-9333-444455556666';
const SINCE = Date.parse('2026-11-28T10:00:00Z');
const OPEN = { at: 'open', login: 7, opened_at: '', recorded: true, published: true, mail: 'none' } as const;

/** What is printed of an operation in this state. */
function shown(life: Life, known: Partial<KnownOperation> = {}, closed?: number[]): string {
  const held = { operationId: ID, pk: 'p', fingerprint: '', secret: '1', derivation: 1, lease: '', leaseUntil: 0 };
  const plan: KnownOperation['held']['plan'] = {
    ...{ user_id: 'CLIENT01', version: 'tp5', connection_id: LIVE.id, group: 'real\\standard', leverage: 100 },
    ...{ enable_readonly: false, enable_rebate: false, operation_id: ID, caller: 'crm', keyed: true, exclusive: true },
    ...{ login_given: false, deposit_with_opening: false },
  };
  return describeOperation(
    {
      held: { ...held, revision: 1, event: 0, life, plan, since: SINCE, closed },
      ...{ client: undefined, connection: LIVE, movedFrom: undefined, seen: new Map(), holders: new Map() },
      ...{ funded: undefined, accepted: [], waitsUntil: undefined, ...known },
    },
    ['--stack', 'broker-api-prod'],
  ).join('\n');
}

it.each<[Life, string, number[]?]>([
  [{ at: 'claimed' }, 'nothing was sent, and its key is free'],
  [{ at: 'claimed' }, "no account is the request's, so its key is free; its next use looks first at 5, 6", [5, 6]],
  [{ at: 'sent', login: 7, commands: 'many' }, 'a command for the login 7 has left, and its outcome is unknown'],
  [{ at: 'sent', login: 7, commands: 'taken' }, 'the only command for the login 7 was answered: the login exists'],
  [
    { at: 'undecided', login: 7, other: 8 },
    'an operator decides; the command named the login 7; the server answered with 8',
  ],
  [{ ...OPEN, deposit: 'made' }, 'the account 7 is open: the server said so'],
  [{ ...OPEN, deposit: 'made', word: true }, 'the account 7 is open: an operator said so'],
  [
    { ...OPEN, recorded: false, mail: 'due', deposit: 'unpaid' },
    'Missing: its record\n  Missing: its mail\n  Missing: its deposit: an operator pays',
  ],
])('The state %j is told in the words of an operator', (life, sentence, closed) => {
  expect(shown(life, {}, closed)).toContain(sentence);
});

it('What the server says of each login is told, and who holds it', () => {
  const seen = new Map<number, KnownOperation['seen'] extends ReadonlyMap<number, infer S> ? S : never>([
    [1, { is: 'ours' }],
    [2, { is: 'foreign', owner: 'other' }],
    [3, { is: 'unmarked' }],
    [4, { is: 'absent' }],
    [5, { is: 'silent' }],
    [6, undefined],
  ]);
  const text = shown({ at: 'undecided', login: 1 }, { seen, holders: new Map([[3, 'another']]) });
  expect(text.match(/^ {4}\d: .*$/gm)?.map((line) => line.trim())).toEqual([
    "1: an account with this operation's id",
    "2: an account with another operation's id, other",
    "3: an account without an operation's id; the operation another holds this login",
    '4: no account',
    '5: the server has no command that shows it',
    '6: not seen from here',
  ]);
  const unasked = shown({ ...OPEN, deposit: 'made' }, { seen: new Map([[7, undefined]]) });
  expect(unasked).toContain('7: not asked: the server has shown it before');
  expect(shown({ at: 'undecided' }, { movedFrom: 'mt5.old:443' })).toContain('the first command went to mt5.old:443');
  expect(shown({ ...OPEN, deposit: 'unpaid' }, { funded: true })).toContain('The account holds money.');
});

it.each<[string, Life]>([
  ['an operator says so', { ...OPEN, deposit: 'made', word: true }],
  ['its money is asked for', { ...OPEN, deposit: 'unpaid' }],
])('A login whose look-up failed is not seen, if the account is open and %s', (_, life) => {
  expect(shown(life, { seen: new Map([[7, undefined]]) })).toContain('7: not seen from here');
});

it('An account whose login is unknown is searched for by the id, then by group, name and time', () => {
  const lines = shown({ at: 'undecided' }).split('\n');
  expect(lines).toContain('  First command since the key was free last: 2026-11-28T10:00:00.000Z');
  expect(lines.filter((line) => /cannot say|client's name/.test(line))).toEqual([
    `    It cannot say. Look there for a comment that begins with ${ID}; if there is none, for an account of the group real\\standard`,
    "    with the client's name, registered within five minutes of the first command.",
  ]);
});

it('Every accepted word is printed as a whole command, and a time before which none is accepted', () => {
  const command = (words: string) => `  npm run ops -- settle ${ID} ${words} --stack broker-api-prod\n`;
  const accepted = [
    { say: 'login', login: 7, proven: true },
    { say: 'login', proven: false },
    ...(['none', 'undecided', 'deposit'] as const).map((say) => ({ say, proven: false })),
  ] as const;
  const text = shown({ at: 'undecided', login: 7 }, { accepted });
  expect(text).toContain(`${command('--login 7')}      the account 7 is the request's, as the server shows\n`);
  for (const words of ['--login LOGIN', '--none', '--undecided', '--deposit']) expect(text).toContain(command(words));
  const waiting = shown({ at: 'sent', login: 7, commands: 'one' }, { accepted, waitsUntil: SINCE + 86_400_000 });
  expect(waiting).toMatch(/You decide from 2026-11-29T10:00:00\.000Z on\.$/);
  expect(shown({ ...OPEN, deposit: 'made' })).toMatch(/There is nothing to decide\.$/);
});
