/**
 * The life of an operation: one request to open a trading account, with all its retries. This file is the only place
 * that decides what happens next. It is pure: no clock, no network, no database. The request, the settler and the
 * operators' command all run the loop of `drive.ts`, which writes each new state under the version that it has read.
 *
 * Two rules ensure the promise "never a second account":
 * - A command is sent only after the state `sent` and the reservation of its login were written in one transaction.
 * - An operation that may have sent a command keeps its login. The platform refuses a login that exists, so the same
 *   command may be repeated, and an account at a reserved login belongs to the operation that holds the reservation.
 */

/** The deposit of a new demo account. `failed`: reported to the operators, never paid again. */
type Deposit = 'none' | 'due' | 'sent' | 'made' | 'failed';

export type Life =
  /** Nothing was sent. */
  | { at: 'claimed' }
  /**
   * The account may exist, at this login only (absent: the protocol cannot name a login). `one`: only one command can
   * have left, and its sender waits for the answer. `many`: the outcome of an earlier command is unknown.
   */
  | { at: 'sent'; login?: number | undefined; commands: 'one' | 'many' }
  /** The account is open; its record, deposit or event may be missing. `opened_at`: ISO 8601, UTC. */
  | { at: 'open'; login: number; opened_at: string; recorded: boolean; deposit: Deposit; published: boolean }
  /** Nothing is missing, except money that an operator must pay. */
  | { at: 'done'; login: number; opened_at: string; unpaid: boolean }
  /** Only an operator can decide: nothing is answered or sent any more. */
  | { at: 'undecided'; login?: number | undefined }
  /** Certainly nothing was opened: the key is free. */
  | { at: 'gone' };
type State = Life['at'];
type Open = Life & { at: 'open' };

/** A fact that the loop has learned. */
export type Fact =
  /** A worker has acquired the operation. */
  | { on: 'resume' }
  /** The order is judged and can be sent, with this login where the protocol names one. */
  | { on: 'ready'; login?: number | undefined }
  /** Another operation holds the login. */
  | { on: 'reserved' }
  /** A command was answered: opened; refused because its login exists; refused; refused for its content. */
  | { on: 'opened'; login: number }
  | { on: 'exists' | 'refused' | 'rejected' }
  /** A command may have been executed, or may still be. `elsewhere`: its answer names a login that it did not name. */
  | { on: 'lost'; elsewhere?: boolean }
  /**
   * The platform was asked about the login. `ours`: the account shows this operation's mark. `foreign`: it shows
   * another operation's id, refuses our password, or may be older than the operation. `unmarked`: none of these.
   * `silent`: the platform cannot say whether the login exists. `unclear`: the platform did not answer.
   */
  | { on: 'ours' | 'unmarked' | 'foreign' | 'absent' | 'silent' | 'unclear' }
  /** The result of completing the account. */
  | { on: 'completed'; recorded: boolean; deposit: PaymentOutcome; published: boolean }
  /** An operator's finding on the server. */
  | { on: 'operator_found'; login: number }
  | { on: 'operator_found_none' | 'operator_paid' };
export type FactName = Fact['on'];
/** `refused`: certainly not paid. `unknown`: the money may have arrived. `kept`: nothing was tried. */
export type PaymentOutcome = 'made' | 'refused' | 'unknown' | 'kept';

/** The next step of the loop. `resume`: decides again, in the new state. `rest`: releases the operation for now. */
export type Step = 'prepare' | 'send' | 'look' | 'pause' | 'complete' | 'pay' | 'resume' | 'rest' | 'stop';

/** The inputs of a decision next to state and fact. */
export interface Context {
  worker: 'request' | 'settler' | 'operator';
  /** The protocol names the login in the command, and the platform refuses one that exists. */
  keyed: boolean;
  /** The next login to choose, if the request leaves the choice to us and one is left. */
  next(): number | undefined;
  /** Whether a deposit follows the opening. */
  deposit: 'none' | 'due';
  /** The time at which an account is known to be open, in epoch milliseconds. */
  now: number;
  /** A day has passed since the operation was sent. Decides what is reported to the operators. */
  old: boolean;
}

type Of<S extends State> = Extract<Life, { at: S }>;
interface Transition<S extends State = State> {
  readonly on: readonly FactName[];
  readonly if?: (life: Of<S>, context: Context, fact: Fact) => boolean;
  /** Absent: the state does not change. */
  readonly to?: (life: Of<S>, context: Context, fact: Fact) => Life;
  readonly step: Step;
}

// Guards.
const one = (life: Of<'sent'>) => life.commands === 'one';
const unkeyed = (_: Life, { keyed }: Context) => !keyed;
/** A repeated command could open a second account: it names no login, or the server opens another one. */
const unrepeatable = (_: Life, { keyed }: Context, fact: Fact) =>
  !keyed || (fact.on === 'lost' && fact.elsewhere === true);
const oneAndNext = (life: Of<'sent'>, { next }: Context) => one(life) && next() !== undefined;
const hasNext = (_: Life, { next }: Context) => next() !== undefined;
const isRequest = (_: Life, { worker }: Context) => worker === 'request';
/** A server that lacks the look-up will lack it later too. */
const lacksLookUpForSettler = (_: Life, { worker, old }: Context) => worker === 'settler' && old;
const depositDue = (life: Open) => life.deposit === 'due';
const complete = (life: Open, context: Context, fact: Fact) => {
  const { recorded, deposit, published } = progress(life, context, fact);
  return recorded && published && deposit !== 'due' && deposit !== 'sent';
};
/** If the protocol names logins, the account can only be at the sent login. */
const plausible = (life: Of<'undecided'>, { keyed }: Context, fact: Fact) =>
  fact.on === 'operator_found' && (!keyed || fact.login === life.login);

// Targets.
const gone = (): Life => ({ at: 'gone' });
const sent = (_: Life, __: Context, fact: Fact): Life => ({
  at: 'sent',
  commands: 'one',
  ...(fact.on === 'ready' && fact.login !== undefined ? { login: fact.login } : {}),
});
const sentNext = (_: Life, { next }: Context): Life => ({ at: 'sent', login: next(), commands: 'one' });
const many = (life: Of<'sent'>): Life => ({ ...life, commands: 'many' });
const undecided = ({ login }: Of<'sent'>): Life => ({ at: 'undecided', ...(login === undefined ? {} : { login }) });
const open = (life: Of<'sent' | 'undecided'>, { deposit, now }: Context, fact: Fact): Life => ({
  at: 'open',
  login: 'login' in fact && fact.login !== undefined ? fact.login : (life.login ?? 0),
  opened_at: new Date(now).toISOString(),
  recorded: false,
  deposit,
  published: false,
});
const paying = (life: Open): Life => ({ ...life, deposit: 'sent' });
function progress(life: Open, { old }: Context, fact: Fact): Open {
  if (fact.on !== 'completed') return life;
  const { recorded, published } = fact;
  return { ...life, recorded, published, deposit: nextDeposit(life.deposit, fact.deposit, old) };
}
const done = (life: Open, context: Context, fact: Fact): Life => {
  const { login, opened_at, deposit } = progress(life, context, fact);
  return { at: 'done', login, opened_at, unpaid: deposit === 'failed' };
};
const paid = (life: Of<'done'>): Life => ({ ...life, unpaid: false });

/** A refused payment becomes due again; after a day it is reported instead. */
function nextDeposit(deposit: Deposit, outcome: PaymentOutcome, old: boolean): Deposit {
  if (deposit !== 'due' && deposit !== 'sent') return deposit;
  if (outcome === 'made') return 'made';
  if (old && outcome !== 'kept') return 'failed';
  return outcome === 'refused' ? 'due' : deposit;
}

/** Every state with its transitions. The first one whose facts and guard match is taken. */
export const LIFE: { readonly [S in State]: readonly Transition<S>[] } = {
  claimed: [
    { on: ['resume'], step: 'prepare' },
    { on: ['ready'], to: sent, step: 'send' },
    { on: ['reserved'], if: hasNext, to: sentNext, step: 'send' },
    { on: ['reserved', 'refused'], to: gone, step: 'stop' },
  ],
  sent: [
    { on: ['resume', 'lost'], if: unrepeatable, to: undecided, step: 'stop' },
    { on: ['resume', 'lost'], to: many, step: 'look' },
    // The server has answered with a login that another operation holds.
    { on: ['reserved'], if: unkeyed, to: undecided, step: 'stop' },
    { on: ['exists'], step: 'look' },
    { on: ['opened', 'ours'], to: open, step: 'resume' },
    // The only command was refused because the login exists: another system uses our range, or the caller's login.
    {
      on: ['unmarked', 'foreign', 'absent', 'silent', 'unclear', 'reserved'],
      if: oneAndNext,
      to: sentNext,
      step: 'send',
    },
    { on: ['unmarked', 'foreign', 'absent', 'silent', 'unclear', 'reserved'], if: one, to: gone, step: 'stop' },
    { on: ['refused', 'rejected'], if: one, to: gone, step: 'stop' },
    // An earlier command may have been executed: from here on the login stays.
    { on: ['unmarked'], to: open, step: 'resume' },
    { on: ['foreign'], to: undecided, step: 'stop' },
    { on: ['silent'], if: lacksLookUpForSettler, to: undecided, step: 'stop' },
    { on: ['absent', 'silent'], if: isRequest, step: 'send' },
    { on: ['refused', 'unclear'], if: isRequest, step: 'pause' },
    { on: ['rejected', 'absent', 'silent', 'unclear'], step: 'rest' },
  ],
  open: [
    { on: ['resume'], if: depositDue, to: paying, step: 'pay' },
    { on: ['resume'], step: 'complete' },
    { on: ['completed'], if: complete, to: done, step: 'stop' },
    { on: ['completed'], to: progress, step: 'rest' },
  ],
  undecided: [
    { on: ['operator_found'], if: plausible, to: open, step: 'resume' },
    { on: ['operator_found_none'], to: gone, step: 'stop' },
    { on: ['resume', 'reserved', 'operator_found'], step: 'stop' },
  ],
  done: [
    { on: ['operator_paid'], to: paid, step: 'stop' },
    { on: ['resume'], step: 'stop' },
  ],
  gone: [],
};

export interface Decision {
  /** The new state; absent: it does not change, and nothing is written. */
  to?: Life;
  step: Step;
}

/** What follows from a fact. @throws Error for a fact that the state has no transition for */
export function decide(life: Life, fact: Fact, context: Context, table: typeof LIFE = LIFE): Decision {
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
