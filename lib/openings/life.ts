/**
 * The life of an operation: one request to open a trading account, with all its retries. This file is the only place
 * that decides what happens next. It is pure: no clock, no network, no database. The request, the settler and the
 * operators' command all run the loop of `drive.ts`, which writes each new state under the version that it has read.
 *
 * Three rules ensure the promise "never a second account":
 * - The logins of an operation follow from its request, so every repeat of the request names the same logins.
 * - A command is sent only after the state `sent` and the reservation of its login were written in one transaction.
 * - Only proof decides whose account is at a login. A server's refusal is no proof that nothing was opened.
 */

/** The state of an operation. */
export type Life =
  /** Nothing was sent, as far as the ledger knows. */
  | { at: 'claimed' }
  /**
   * The account may exist, at this login only (absent: the protocol cannot name a login). `one`: only one command can
   * have left, and its sender waits for the answer. `many`: the outcome of an earlier command is unknown. `found`: the
   * same, and the ledger may have been lost since. `taken`: the only command was answered that the login exists.
   */
  | { at: 'sent'; login?: number | undefined; commands: 'one' | 'many' | 'found' | 'taken' }
  /**
   * The account is open; its record, deposit or event may be missing. `opened_at`: ISO 8601, UTC.
   *
   * The deposit of a new demo account is `due` if nothing was paid. It is due `again`, after a look at the balance, if a
   * payment was refused, or the answer to the opening was lost. `sent`: a payment may have left. `found`: the account was
   * found after "exists" or by its reservation, so an earlier payment may have left. `failed`: it was reported to the
   * operators, and is never paid again.
   */
  | {
      at: 'open';
      login: number;
      opened_at: string;
      recorded: boolean;
      deposit: 'none' | 'due' | 'again' | 'sent' | 'found' | 'made' | 'failed';
      published: boolean;
    }
  /** Nothing is missing, except money that an operator must pay. */
  | { at: 'done'; login: number; opened_at: string; unpaid: boolean }
  /** Only an operator can decide: nothing is answered or sent any more. `other`: the login that the server answered. */
  | { at: 'undecided'; login?: number | undefined; other?: number | undefined }
  /** Nothing was opened: the key is free. */
  | { at: 'gone' };
/** The variants of `Life` with these states. */
export type LifeAt<S extends Life['at']> = Extract<Life, { at: S }>;

/**
 * A fact that the loop has learned. `resume`: a worker has acquired the operation. `failure`: the error that shows the
 * fact; no transition depends on it.
 */
export type Fact = { failure?: unknown } & (
  | { on: 'resume' }
  /**
   * The order is judged and can be sent, with this login where the protocol names one. `found`: the operation's own
   * reservation or account was found at it, so a command may have left.
   */
  | { on: 'ready'; login?: number | undefined; found?: boolean }
  /**
   * The record of the operation's account was found. Another operation may have reserved its login since, and keeps the
   * reservation. `opened_at`: ISO 8601, UTC.
   */
  | { on: 'recorded'; login: number; opened_at: string }
  /** Another operation holds the login. */
  | { on: 'reserved' }
  /** A command was answered with this login. */
  | { on: 'opened'; login: number }
  /**
   * The other answers to a command. `exists`: its login exists. `not_executed`: it did not leave, or the server refused
   * our rights. `rejected`: the server refused its content. `doubtful`: the server spoke of its own state, which proves
   * nothing.
   */
  | { on: 'exists' | 'not_executed' | 'rejected' | 'doubtful' }
  /**
   * A command may have been executed, or may still be. `other`: its answer names this login, which the command did not
   * name.
   */
  | { on: 'lost'; other?: number }
  /**
   * The account at the login. `ours`: proof that it is this operation's. `foreign`: proof that it is another
   * operation's. `unproven`: an account without proof.
   */
  | { on: 'ours' | 'foreign' | 'unproven' }
  /**
   * The other results of a look-up. `silent`: the platform has no command for it. `unclear`: the platform did not
   * answer. `moved`: the connection leads to another server than the first command did.
   */
  | { on: 'absent' | 'silent' | 'unclear' | 'moved' }
  /**
   * The record of the operation's account exists, and the account does not. `login`: the record's login, if it is
   * another one.
   */
  | { on: 'deleted'; login?: number }
  /** The results of a look-up after a refusal: the login is absent, or that could not be found out. */
  | { on: 'refused' | 'unconfirmed' }
  /** The result of completing the account. */
  | { on: 'completed'; recorded: boolean; deposit: PaymentOutcome; published: boolean }
  /**
   * An operator's finding on the server. `operator_foreign`: the account at the login is another client's.
   * `operator_resumed`: the account is there, and its order is lost; a retry, which has the order, decides again.
   */
  | { on: 'operator_found'; login: number }
  | { on: 'operator_found_none' | 'operator_foreign' | 'operator_resumed' | 'operator_paid' }
);

/**
 * The outcome of a payment. `refused`: certainly not paid. `empty`: the account holds no money. `unknown`: the money
 * may have arrived. `kept`: nothing was tried.
 */
export type PaymentOutcome = 'made' | 'refused' | 'empty' | 'unknown' | 'kept';

/**
 * The next step of the loop. `look`: is there an account at the login? `prove`: the login exists, whose is it?
 * `confirm`: the command was refused, is the login absent? `repay`: pays if the account is empty. `resume`: decides
 * again, in the new state. `rest`: releases the operation for now.
 */
export type Step =
  | 'prepare'
  | 'send'
  | 'look'
  | 'prove'
  | 'confirm'
  | 'pause'
  | 'complete'
  | 'pay'
  | 'repay'
  | 'resume'
  | 'rest'
  | 'stop';

/** The inputs of a decision next to state and fact. */
export interface DecisionContext {
  worker: 'request' | 'settler' | 'operator';
  /** True: the protocol names the login in the command, and the platform refuses a login that exists. */
  keyed: boolean;
  /** True: only this service opens accounts at the login, so an account there that may be ours is ours. */
  exclusive: boolean;
  /** True: the caller has chosen the login. */
  loginGiven: boolean;
  /** The next login to choose, if the request leaves the choice to us and a login is left. */
  next(): number | undefined;
  /** Whether a deposit follows the opening. */
  deposit: 'none' | 'due';
  /** The time at which an account is known to be open, in epoch milliseconds. */
  now: number;
  /** True: a day has passed since the operation was sent. It decides what is reported to the operators. */
  old: boolean;
}

interface Transition<S extends Life['at'] = Life['at']> {
  readonly on: readonly Fact['on'][];
  readonly if?: (life: LifeAt<S>, context: DecisionContext, fact: Fact) => boolean;
  /** The new state. Absent: the state does not change. */
  readonly to?: (life: LifeAt<S>, context: DecisionContext, fact: Fact) => Life;
  readonly step: Step;
}

// Guards.
const one = (life: LifeAt<'sent'>) => life.commands === 'one';
const taken = (life: LifeAt<'sent'>) => life.commands === 'taken';
const unkeyed = (_: Life, { keyed }: DecisionContext) => !keyed;
const isFound = (_: Life, __: DecisionContext, fact: Fact) => fact.on === 'ready' && fact.found === true;
/** A repeated command could open a second account: it names no login, or the server opens another one. */
const unrepeatable = (_: Life, { keyed }: DecisionContext, fact: Fact) =>
  !keyed || (fact.on === 'lost' && fact.other !== undefined);
const hasNext = (_: Life, { next }: DecisionContext) => next() !== undefined;
/**
 * Whether nothing decides whose an account without proof is. It is ours only if no other program can have opened it,
 * and our command may have.
 */
const undecidable = (life: LifeAt<'sent'>, { exclusive }: DecisionContext) => taken(life) || !exclusive;
const isRequest = (_: Life, { worker }: DecisionContext) => worker === 'request';
/** A server that lacks the look-up will lack it later too. */
const lacksLookUpForSettler = (_: Life, { worker, old }: DecisionContext) => worker === 'settler' && old;
/** A caller's own login is free after a day: no later operation depends on it. */
const isOldAndGiven = (_: Life, { old, loginGiven }: DecisionContext) => old && loginGiven;
const depositDue = (life: LifeAt<'open'>) => life.deposit === 'due';
const depositRefused = (life: LifeAt<'open'>) => life.deposit === 'again';
const complete = (life: LifeAt<'open'>, context: DecisionContext, fact: Fact) => {
  const { recorded, deposit, published } = progress(life, context, fact);
  return recorded && published && (deposit === 'none' || deposit === 'made' || deposit === 'failed');
};
/**
 * Whether the account can be at this login: where the protocol names logins, only at the sent or the answered one. An
 * operation that was restored without its login is found by its record, its reservation or the server's account.
 */
const plausible = (life: LifeAt<'undecided'>, { keyed }: DecisionContext, fact: Fact) =>
  fact.on === 'operator_found' &&
  (!keyed || life.login === undefined || fact.login === life.login || fact.login === life.other);

// Targets.
const gone = (): Life => ({ at: 'gone' });
const claimed = (): Life => ({ at: 'claimed' });
const sent = (_: Life, __: DecisionContext, fact: Fact): Life => ({
  at: 'sent',
  commands: fact.on === 'ready' && fact.found === true ? 'found' : 'one',
  login: fact.on === 'ready' ? fact.login : undefined,
});
const sentNext = (_: Life, { next }: DecisionContext): Life => ({ at: 'sent', login: next(), commands: 'one' });
const many = (life: LifeAt<'sent'>): Life => ({ ...life, commands: life.commands === 'found' ? 'found' : 'many' });
const loginTaken = (life: LifeAt<'sent'>): Life => ({ ...life, commands: 'taken' });
const undecided = (life: LifeAt<'claimed' | 'sent'>, _: DecisionContext, fact: Fact): Life => ({
  at: 'undecided',
  login: (fact.on === 'deleted' ? fact.login : undefined) ?? ('login' in life ? life.login : undefined),
  other: fact.on === 'lost' ? fact.other : undefined,
});
/**
 * The deposit of an account that is open now. A payment may have left if the ledger was lost; an operator may have
 * paid, too.
 */
function firstDeposit(life: LifeAt<'claimed' | 'sent' | 'undecided'>, { deposit }: DecisionContext, { on }: Fact) {
  if (deposit === 'none' || on === 'opened') return deposit;
  return life.at === 'sent' && on !== 'recorded' && (life.commands === 'one' || life.commands === 'many')
    ? 'again'
    : 'found';
}
const open = (life: LifeAt<'claimed' | 'sent' | 'undecided'>, context: DecisionContext, fact: Fact): Life => ({
  at: 'open',
  login: ('login' in fact ? fact.login : 'login' in life ? life.login : undefined) ?? 0,
  opened_at: fact.on === 'recorded' ? fact.opened_at : new Date(context.now).toISOString(),
  recorded: fact.on === 'recorded',
  deposit: firstDeposit(life, context, fact),
  published: false,
});
const paying = (life: LifeAt<'open'>): Life => ({ ...life, deposit: 'sent' });
function progress(life: LifeAt<'open'>, { old }: DecisionContext, fact: Fact): LifeAt<'open'> {
  if (fact.on !== 'completed') return life;
  const { recorded, published } = fact;
  return { ...life, recorded, published, deposit: nextDeposit(life.deposit, fact.deposit, old) };
}
const done = (life: LifeAt<'open'>, context: DecisionContext, fact: Fact): Life => {
  const { login, opened_at, deposit } = progress(life, context, fact);
  return { at: 'done', login, opened_at, unpaid: deposit === 'failed' };
};
const paid = (life: LifeAt<'done'>): Life => ({ ...life, unpaid: false });

/**
 * A refused payment is tried again for a day. An account that stays empty is reported; an account that was found is
 * reported at once.
 */
function nextDeposit(deposit: LifeAt<'open'>['deposit'], outcome: PaymentOutcome, old: boolean) {
  if (outcome === 'kept' || (deposit !== 'sent' && deposit !== 'found')) return deposit;
  if (outcome === 'made') return 'made';
  if (old || (deposit === 'found' && outcome === 'empty')) return 'failed';
  return outcome === 'refused' ? 'again' : deposit;
}

/** Every state with its transitions. The first one whose facts and guard match is taken. */
export const LIFE: { readonly [S in Life['at']]: readonly Transition<S>[] } = {
  claimed: [
    { on: ['resume'], step: 'prepare' },
    { on: ['ready'], if: isFound, to: sent, step: 'look' },
    { on: ['ready'], to: sent, step: 'send' },
    // The ledger was lost, or the key has expired.
    { on: ['recorded'], to: open, step: 'resume' },
    { on: ['deleted'], to: undecided, step: 'stop' },
    { on: ['reserved'], if: hasNext, to: sentNext, step: 'send' },
    { on: ['reserved', 'not_executed'], to: gone, step: 'stop' },
  ],
  sent: [
    { on: ['opened', 'ours', 'recorded'], to: open, step: 'resume' },
    { on: ['resume', 'lost', 'doubtful'], if: unrepeatable, to: undecided, step: 'stop' },
    // The server has answered with a login that another operation holds.
    { on: ['reserved'], if: unkeyed, to: undecided, step: 'stop' },
    { on: ['resume'], if: taken, step: 'prove' },
    { on: ['resume', 'lost'], to: many, step: 'look' },
    { on: ['doubtful'], to: many, step: 'confirm' },
    { on: ['exists'], if: one, to: loginTaken, step: 'prove' },
    { on: ['exists'], step: 'prove' },
    // The server refuses our login as long as another operation's account is there.
    { on: ['foreign', 'reserved'], if: hasNext, to: sentNext, step: 'send' },
    { on: ['foreign', 'reserved'], to: gone, step: 'stop' },
    { on: ['unproven'], if: undecidable, to: undecided, step: 'stop' },
    { on: ['unproven'], to: open, step: 'resume' },
    { on: ['moved', 'deleted'], to: undecided, step: 'stop' },
    // The server says that the login exists, and shows no account.
    { on: ['absent'], if: taken, to: undecided, step: 'stop' },
    { on: ['rejected'], if: unkeyed, to: gone, step: 'stop' },
    { on: ['rejected'], step: 'confirm' },
    { on: ['not_executed', 'refused'], if: one, to: gone, step: 'stop' },
    // An earlier command may have been executed, so from here on the login stays.
    { on: ['silent'], if: lacksLookUpForSettler, to: undecided, step: 'stop' },
    { on: ['absent', 'silent'], if: isRequest, step: 'send' },
    { on: ['not_executed', 'unclear'], if: isRequest, step: 'pause' },
    { on: ['operator_found_none'], if: isOldAndGiven, to: gone, step: 'stop' },
    { on: ['not_executed', 'refused', 'unconfirmed', 'absent', 'silent', 'unclear'], step: 'rest' },
  ],
  open: [
    { on: ['resume'], if: depositDue, to: paying, step: 'pay' },
    { on: ['resume'], if: depositRefused, to: paying, step: 'repay' },
    { on: ['resume'], step: 'complete' },
    { on: ['completed'], if: complete, to: done, step: 'stop' },
    { on: ['completed'], to: progress, step: 'rest' },
  ],
  undecided: [
    { on: ['operator_found'], if: plausible, to: open, step: 'resume' },
    // The login is reserved for no operation, and a retry chooses the next one.
    { on: ['operator_foreign', 'operator_resumed'], to: claimed, step: 'stop' },
    { on: ['operator_found_none'], to: gone, step: 'stop' },
    { on: ['resume', 'reserved', 'operator_found'], step: 'stop' },
  ],
  done: [
    { on: ['operator_paid'], to: paid, step: 'stop' },
    { on: ['resume'], step: 'stop' },
  ],
  gone: [],
};

/**
 * The transition of a state that a fact causes. `to` is the new state. Without it the state does not change, and nothing is
 * written.
 * @throws Error for a fact that the state has no transition for
 */
export function findTransition(
  life: Life,
  fact: Fact,
  context: DecisionContext,
  table: typeof LIFE = LIFE,
): { to?: Life; step: Step } {
  // TypeScript cannot relate a state to its own row.
  const row = table[life.at] as readonly Transition[];
  const found = row.find((one) => one.on.includes(fact.on) && (one.if === undefined || one.if(life, context, fact)));
  if (found === undefined) throw new Error(`No transition from ${life.at} on ${fact.on}.`);
  const to = found.to?.(life, context, fact);
  return to === undefined || isSame(life, to) ? { step: found.step } : { to, step: found.step };
}

function isSame(one: Life, other: Life): boolean {
  return one.at === other.at && JSON.stringify(one) === JSON.stringify(other);
}
