import { type DecisionContext, LIFE, type Life, type Step } from '../../lib/openings/life.ts';
import type { Mistake } from './scenario.ts';

/** The table without one of its transitions. */
function without(state: Life['at'], index: number): Mistake {
  return {
    name: `without ${state} ${index + 1}`,
    table: { ...LIFE, [state]: LIFE[state].filter((_, at) => at !== index) },
  };
}

/**
 * Transitions that no promise of the model needs: they spare operators and callers work. `drive.test.ts` shows them, by
 * the facts that they are about.
 */
const CONVENIENT: readonly (readonly string[])[] = [
  ['absent'],
  ['rejected'],
  ['silent'],
  ['not_executed', 'unclear'],
  ['not_executed', 'refused'],
];

/** The table without one transition, for each transition that a promise needs. */
export const REMOVALS: readonly Mistake[] = (Object.keys(LIFE) as Life['at'][]).flatMap((state) =>
  LIFE[state].flatMap(({ on, if: guard }, index) => {
    const isConvenient = guard !== undefined && CONVENIENT.some((facts) => facts.join() === on.join());
    return isConvenient ? [] : [without(state, index)];
  }),
);

interface Rule {
  on: readonly string[];
  if?: (...args: never[]) => boolean;
  to?: (life: never, ...rest: never[]) => Life;
  step: Step;
}

/** The table with rules that come before those of a state. */
function first(name: string, state: Life['at'], ...rules: Rule[]): Mistake {
  return { name, table: { ...LIFE, [state]: [...rules, ...LIFE[state]] } as typeof LIFE };
}

const gone = (): Life => ({ at: 'gone' });
const isMany = (life: Life) => life.at === 'sent' && life.commands === 'many';
const open = (life: Life): Life => ({
  at: 'open',
  login: 'login' in life ? (life.login ?? 0) : 0,
  opened_at: '',
  recorded: false,
  deposit: 'none',
  published: false,
});
const next = (_: Life, context: Pick<DecisionContext, 'next'>): Life => ({
  at: 'sent',
  login: context.next(),
  commands: 'one',
});
const hasNext = (_: Life, context: Pick<DecisionContext, 'next'>) => context.next() !== undefined;
const due = (life: Life) => ({ ...open(life), deposit: 'due' }) as Life;

/** Possible mistakes, or those of an earlier version. */
export const MISTAKES: readonly Mistake[] = [
  { name: 'A write does not compare the version.', ignoresVersion: true, scenario: 'web-registration, three workers' },
  {
    name: 'The login is reserved before the state is written.',
    reservesFirst: true,
    scenario: 'two requests for the same logins',
  },
  {
    name: 'The logins do not follow from the key, and all tables are lost.',
    random: true,
    scenario: 'all tables lost',
  },
  {
    name: 'The logins do not follow from the key, and a clock is ahead.',
    random: true,
    scenario: 'keys that expire early, without proof',
  },
  {
    name: 'A claim does not look for its own reservation.',
    ignoresReservation: true,
    scenario: 'a deposit, and operations that are set back',
  },
  {
    name: 'A login that another operation holds is not given up.',
    cancelsRelease: true,
    scenario: 'a worker whose time ends, and the account of another operation without its reservation',
  },
  {
    name: 'A login with the account of another operation is forgotten.',
    forgetsOwner: true,
    scenario: 'a worker whose time ends, and the account of another operation without its reservation',
  },
  {
    name: 'A server that accepts any password is believed.',
    believesPasswords: true,
    scenario: 'a strict connection without proof',
  },
  {
    name: 'The record of the account is not looked at, and the account was deleted.',
    ignoresRecord: true,
    scenario: 'a server and a ledger that are restored',
  },
  {
    name: 'The record of the account is not looked at, and the key has expired.',
    ignoresRecord: true,
    scenario: 'web-registration, keys that expire early',
  },
  {
    name: 'The record of the account is not read before a login is passed over.',
    ignoresRecord: true,
    scenario: 'keys that expire early, and another operation that takes the login since',
  },
  first('Absence ends an operation that has sent.', 'sent', { on: ['absent'], to: gone, step: 'stop' }),
  first('A refusal about the state of the server frees the key.', 'sent', { on: ['doubtful'], to: gone, step: 'stop' }),
  first('A refusal of the content frees the key without a look-up.', 'sent', {
    on: ['rejected'],
    to: gone,
    step: 'stop',
  }),
  first('A repeated command that is refused frees the key.', 'sent', {
    on: ['rejected', 'not_executed'],
    to: gone,
    step: 'stop',
  }),
  first('A retry does not note that a second command may be under way.', 'sent', { on: ['resume'], step: 'look' }),
  first('A lost answer does not note that the command may be under way.', 'sent', { on: ['lost'], step: 'look' }),
  first('A lost answer leads to the next login.', 'sent', {
    on: ['absent'],
    if: (life: Life, context: Pick<DecisionContext, 'next'>) => isMany(life) && context.next() !== undefined,
    to: next,
    step: 'send',
  } as Rule),
  first('A login that exists leads to the next one.', 'sent', {
    on: ['unproven'],
    if: hasNext,
    to: next,
    step: 'send',
  } as Rule),
  first('A lost answer of web-registration is looked up and sent again.', 'sent', {
    on: ['lost', 'resume'],
    to: (life: Life) => ({ ...life, commands: 'many' }) as Life,
    step: 'look',
  } as Rule),
  first('A look-up without an answer shows an account of ours.', 'sent', {
    on: ['unclear', 'unconfirmed'],
    to: open,
    step: 'resume',
  }),
  first('A server that cannot look shows that nothing was opened.', 'sent', { on: ['silent'], to: gone, step: 'stop' }),
  first('A refusal of the content frees the key after a look-up without an answer.', 'sent', {
    on: ['unconfirmed'],
    to: gone,
    step: 'stop',
  }),
  first('A deleted account is opened again.', 'sent', {
    on: ['deleted'],
    if: (_: Life, { worker }: DecisionContext) => worker === 'request',
    step: 'send',
  } as Rule),
  {
    ...first('Another server shows that nothing was opened.', 'sent', { on: ['moved'], to: gone, step: 'stop' }),
    scenario: 'a connection that leads to another server',
  },
  {
    name: 'A command is sent to another server than the first one.',
    ignoresMove: true,
    scenario: 'a connection that leads to another server',
  },
  {
    name: 'A claim looks under the newest key of the secret alone.',
    ignoresEarlierKey: true,
    scenario: 'keys that expire early, a secret that is rotated, and a server that is restored',
  },
  first("Another operation's mark is not compared.", 'sent', {
    on: ['foreign'],
    if: isMany,
    to: open,
    step: 'resume',
  } as Rule),
  first('An account without proof is always ours.', 'sent', { on: ['unproven'], to: open, step: 'resume' }),
  first('A login that exists is ours, although the command was refused.', 'sent', {
    on: ['exists'],
    to: open,
    step: 'resume',
  } as Rule),
  first('The operator frees a key while a retry opens the account.', 'sent', {
    on: ['unclear'],
    to: gone,
    step: 'stop',
  }),
  first('An account that was found is paid.', 'sent', { on: ['ours'], to: due, step: 'resume' }),
  first('An account that was found by its reservation is paid if it is empty.', 'sent', {
    on: ['ours'],
    to: (life: Life) => ({ ...open(life), deposit: 'again' }) as Life,
    step: 'resume',
  }),
  first('A refused payment is repeated without a look at the balance.', 'open', {
    on: ['resume'],
    if: (life: Life) => life.at === 'open' && life.deposit === 'again',
    to: (life: Life) => ({ ...life, deposit: 'sent' }) as Life,
    step: 'pay',
  } as Rule),
  first('An account that stays empty is paid again.', 'open', {
    on: ['completed'],
    if: (_: Life, __: unknown, fact: { deposit?: string }) => fact.deposit === 'empty',
    to: (life: Life) => ({ ...life, deposit: 'due' }) as Life,
    step: 'rest',
  } as Rule),
  first('A deposit is paid before that is written.', 'open', {
    on: ['resume'],
    if: (life: Life) => life.at === 'open' && life.deposit === 'sent',
    to: (life: Life) => ({ ...life, deposit: 'sent' }) as Life,
    step: 'pay',
  } as Rule),
  first('A payment whose answer is lost is due again.', 'open', {
    on: ['completed'],
    if: (_: Life, __: unknown, fact: { deposit?: string }) => fact.deposit === 'unknown',
    to: (life: Life) => ({ ...life, deposit: 'due' }) as Life,
    step: 'rest',
  } as Rule),
];
