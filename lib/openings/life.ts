/**
 * The life of an operation: one request to open a trading account, with all its retries. This table alone decides what
 * an answer, a look-up or an operator's word changes. It is pure: no clock, no network, no database. The request, the
 * settler and the operators' command learn facts by it, and write each new state under the version that they have read.
 *
 * Three rules ensure the promise "never a second account":
 * - The logins of an operation follow from its request, so every repeat of the request names the same logins.
 * - A command is sent only after the state `sent` and the reservation of its login were written in one transaction.
 * - No time, no absence and no error ends an operation that has sent. Only three answers to its only command do.
 */

/** The state of an operation. */
export type Life =
  /** Nothing was sent since the key was free. */
  | { at: 'claimed' }
  /**
   * The account may exist, at this login only. Absent: the protocol cannot name a login. `one`: only one command can
   * have left, and its sender waits for the answer. `many`: the outcome of a command is unknown, so another may follow.
   * `taken`: the only command was answered that the login exists.
   */
  | { at: 'sent'; login?: number | undefined; commands: 'one' | 'many' | 'taken' }
  /** Only an operator can decide; nothing is sent any more. `other`: the server answered with this login instead. */
  | { at: 'undecided'; login?: number | undefined; other?: number | undefined }
  | OpenLife
  /** Nothing was opened: the key is free. This state is not stored. */
  | { at: 'gone' };

/** The account is open. What is missing is completed by any worker. */
interface OpenLife {
  at: 'open';
  login: number;
  /** ISO 8601, UTC. */
  opened_at: string;
  /** True: an operator said so, and no answer of the server proves it. */
  word?: boolean | undefined;
  recorded: boolean;
  published: boolean;
  /** `failed`: the provider refused the mail for a day. */
  mail: 'none' | 'due' | 'sent' | 'failed';
  /**
   * `due`: no payment has left, or the last one was certainly refused. `sent`: a payment may have left. `unpaid`: an
   * operator pays.
   */
  deposit: 'none' | 'due' | 'sent' | 'made' | 'unpaid';
  /** When the last payment may have left, ISO 8601, UTC. */
  paid_at?: string | undefined;
}

/** The variants of `Life` with these states. */
export type LifeAt<S extends Life['at']> = Extract<Life, { at: S }>;

/** Something that a worker has learned about an operation. */
export type Fact =
  /** A request or the settler has acquired the operation. `again`: a request is about to send the command once more. */
  | { on: 'resume' | 'again' }
  /** The order is judged, and can be sent with this login where the protocol names one. */
  | { on: 'ready'; login?: number | undefined }
  /** A command was answered with this login. */
  | { on: 'opened'; login: number }
  /** A command was answered with this login, but the command named another one, or another operation holds it. */
  | { on: 'other_login'; login: number }
  /**
   * The other answers to a command. `lost`: it may have been executed, or may still be. `exists`: its login exists.
   * `not_executed`: it did not leave, or the server refused our rights. `rejected`: the server refused its content.
   * `doubtful`: the server spoke of its own state.
   */
  | { on: 'lost' | 'exists' | 'not_executed' | 'rejected' | 'doubtful' }
  | SeenFact
  /** The login is absent after a refusal of the content. */
  | { on: 'unopened' }
  /** A payment is about to leave. */
  | { on: 'paying' }
  | CompletedFact
  /** An operator's word about the account. */
  | { on: 'said_login'; login: number }
  | { on: 'said_none' | 'said_paid' }
  | { on: 'said_undecided'; login?: number | undefined }
  /** The server has answered another operation with the login that an operator has given to this one. */
  | { on: 'given_away' };

/** What a look at a login has shown. */
export type SeenFact =
  /** The account at the login has our id in its comment. */
  | { on: 'ours'; login: number }
  /**
   * `foreign`: the comment has another operation's id; `unmarked`: no id. `silent`: the server has no command for a
   * look-up. `unanswered`: it did not answer, or the connection leads to another server now. `refusal`: the server's
   * refusal of our rights, instead of an answer.
   */
  | { on: 'foreign' | 'unmarked' | 'absent' | 'silent' | 'unanswered'; refusal?: unknown };

/** What completing an open account has achieved. */
export interface CompletedFact {
  on: 'completed';
  recorded: boolean;
  published: boolean;
  /** `refused`: certainly not sent. `kept`: nothing was tried. */
  mail: 'sent' | 'refused' | 'kept';
  /** `refused`: certainly not paid. `unknown`: the money may have arrived, or the account is empty. */
  deposit: 'made' | 'refused' | 'unknown' | 'kept';
}

/** The inputs of a decision next to state and fact. */
export interface DecisionContext {
  /** True: the protocol names the login in the command, and the server refuses a login that exists. */
  keyed: boolean;
  /** True: only this service opens accounts at the login, so an account without an id is ours after a lost answer. */
  exclusive: boolean;
  /** True: an operator has said that no account is the request's. Its logins are closed. */
  saidNone: boolean;
  /** Whether the account gets a deposit after the opening, and a mail. */
  deposit: boolean;
  mail: boolean;
  /** Epoch milliseconds. */
  now: number;
}

/** After this long, in milliseconds, the settler leaves to the operators what nothing has answered. */
export const DAY_MS = 24 * 60 * 60_000;

interface Transition<S extends Life['at'] = Life['at']> {
  readonly on: readonly Fact['on'][];
  readonly if?: (life: LifeAt<S>, context: DecisionContext, fact: Fact) => boolean;
  /** The new state. Absent: the state stays. */
  readonly to?: (life: LifeAt<S>, context: DecisionContext, fact: Fact) => Life;
}

// Guards.
const isOnly = ({ commands }: LifeAt<'sent'>) => commands === 'one';
const isTaken = ({ commands }: LifeAt<'sent'>) => commands === 'taken';
const isUnnamed = (_: Life, { keyed }: DecisionContext) => !keyed;
/** Without an id, an account is ours only after a lost answer, and where no other program opens accounts. */
const isOurs = ({ commands }: LifeAt<'sent'>, { exclusive }: DecisionContext) => exclusive && commands === 'many';
const isUnpaid = ({ deposit }: LifeAt<'open'>) => deposit === 'unpaid';
/** An operator has decided, and no answer of the server has. */
const isWord = (life: Life, { saidNone }: DecisionContext) =>
  life.at === 'open' ? life.word === true : life.at === 'claimed' && saidNone;
/** No answer of the server has decided. */
const isUnproven = (life: Life, context: DecisionContext) =>
  life.at === 'sent' || life.at === 'undecided' || isWord(life, context);

// Targets.
const sent = (_: Life, __: DecisionContext, fact: Fact): Life => ({
  at: 'sent',
  login: fact.on === 'ready' ? fact.login : undefined,
  commands: 'one',
});
const unsure = (life: LifeAt<'sent'>): Life => ({ ...life, commands: isTaken(life) ? 'taken' : 'many' });
const taken = (life: LifeAt<'sent'>): Life => ({ ...life, commands: isOnly(life) ? 'taken' : life.commands });
/** An operation with closed logins keeps them: its next command must not use them. */
const released = (_: Life, { saidNone }: DecisionContext): Life => ({ at: saidNone ? 'claimed' : 'gone' });
const reclaimed = (): Life => ({ at: 'claimed' });
/** Where the server chooses the logins, none is the operation's while it is undecided. */
const undecided = (life: Life, { keyed }: DecisionContext, fact: Fact): Life => {
  const other = fact.on === 'other_login' ? fact.login : undefined;
  const login = fact.on === 'said_undecided' ? fact.login : 'login' in life ? life.login : undefined;
  return { at: 'undecided', login: keyed ? login : undefined, other };
};
const open = (life: Life, context: DecisionContext, fact: Fact): Life => ({
  at: 'open',
  login: ('login' in fact ? fact.login : 'login' in life ? life.login : undefined) ?? 0,
  opened_at: new Date(context.now).toISOString(),
  ...(fact.on === 'said_login' && { word: true }),
  recorded: false,
  published: false,
  mail: context.mail ? 'due' : 'none',
  deposit: firstDeposit(life, context, fact),
});
/** An earlier payment may have left if an operator has said whose the account is, or if the login was taken. */
function firstDeposit(life: Life, { deposit }: DecisionContext, fact: Fact): LifeAt<'open'>['deposit'] {
  if (!deposit) return 'none';
  const isEarlier = fact.on === 'said_login' || (life.at === 'sent' && life.commands === 'taken');
  return isEarlier ? 'unpaid' : 'due';
}
const paying = (life: LifeAt<'open'>, { now }: DecisionContext): Life => ({
  ...life,
  deposit: 'sent',
  paid_at: new Date(now).toISOString(),
});
const paid = (life: LifeAt<'open'>): Life => ({ ...life, deposit: 'made' });
const completed = (life: LifeAt<'open'>, { now }: DecisionContext, fact: Fact): Life => {
  if (fact.on !== 'completed') return life;
  const isOld = (since: string) => now - Date.parse(since) > DAY_MS;
  return {
    ...life,
    recorded: life.recorded || fact.recorded,
    published: life.published || fact.published,
    mail: nextMail(life, fact, isOld),
    deposit: nextDeposit(life, fact, isOld),
  };
};
/** A refused mail is tried again for a day. */
function nextMail({ mail, opened_at }: LifeAt<'open'>, fact: CompletedFact, isOld: (since: string) => boolean) {
  if (mail !== 'due' || fact.mail === 'kept') return mail;
  if (fact.mail === 'sent') return 'sent';
  return isOld(opened_at) ? 'failed' : 'due';
}
/** A payment is looked for until a day after it. A refused one is repeated for a day after the opening. */
function nextDeposit(life: LifeAt<'open'>, fact: CompletedFact, isOld: (since: string) => boolean) {
  const { deposit, opened_at, paid_at = opened_at } = life;
  if (deposit !== 'due' && deposit !== 'sent') return deposit;
  if (fact.deposit === 'made') return 'made';
  if (isOld(fact.deposit === 'unknown' ? paid_at : opened_at)) return 'unpaid';
  return fact.deposit === 'refused' ? 'due' : deposit;
}

type Table = { readonly [S in Life['at']]: readonly Transition<S>[] } & { readonly any: readonly Transition[] };

/** Every state with its transitions; those of `any` follow them. The first one whose facts and guard match is taken. */
export const LIFE: Table = {
  claimed: [
    { on: ['ready'], to: sent },
    { on: ['not_executed'], to: released },
    // The account is at a closed login, or at the login that the caller has chosen.
    { on: ['ours'], to: open },
  ],
  sent: [
    { on: ['opened'], to: open },
    // The server chooses the login: it cannot be asked, and a repeated command would open a second account.
    { on: ['resume', 'again', 'lost', 'doubtful'], if: isUnnamed, to: undecided },
    { on: ['rejected'], if: isUnnamed, to: released },
    { on: ['resume', 'again', 'lost', 'doubtful'], to: unsure },
    { on: ['exists'], to: taken },
    { on: ['not_executed', 'unopened'], if: isOnly, to: released },
    { on: ['unmarked'], if: isOurs, to: open },
    { on: ['unmarked', 'foreign', 'other_login'], to: undecided },
    // The server says that the login exists, and shows no account.
    { on: ['absent', 'silent'], if: isTaken, to: undecided },
    { on: ['rejected', 'not_executed', 'unopened', 'absent', 'silent', 'unanswered'] },
  ],
  // Only what any state learns changes it.
  undecided: [],
  open: [
    { on: ['paying'], to: paying },
    { on: ['completed'], to: completed },
    { on: ['said_paid'], if: isUnpaid, to: paid },
  ],
  gone: [],
  any: [
    // The comment of an account proves it, or an operator decides.
    { on: ['ours', 'said_login'], if: isUnproven, to: open },
    { on: ['said_none'], if: isUnproven, to: reclaimed },
    { on: ['said_undecided', 'given_away'], if: isWord, to: undecided },
    { on: ['resume'] },
  ],
};

/** The transition that a fact takes; undefined if it cannot be learned in the state. Such a word is not accepted. */
export function findTransition(life: Life, fact: Fact, context: DecisionContext, table: Table = LIFE) {
  // TypeScript cannot relate a state to its own row.
  const rows = [...table[life.at], ...table.any] as readonly Transition[];
  return rows.find(({ on, if: guard }) => on.includes(fact.on) && (guard === undefined || guard(life, context, fact)));
}

/**
 * The state of an operation after a fact.
 * @throws Error for a fact that cannot be learned in the state
 */
export function nextLife(life: Life, fact: Fact, context: DecisionContext, table: Table = LIFE): Life {
  const found = findTransition(life, fact, context, table);
  if (found === undefined) throw new Error(`No transition from ${life.at} on ${fact.on}.`);
  return found.to?.(life, context, fact) ?? life;
}

/** Whether nothing is missing but what an operator does. */
export function isFinished(life: LifeAt<'open'>): boolean {
  return life.recorded && life.published && life.mail !== 'due' && life.deposit !== 'due' && life.deposit !== 'sent';
}
