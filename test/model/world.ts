import type { LIFE, Life, LifeAt } from '../../lib/openings/life.ts';

/** What may happen in a world. Absent: no. */
export interface Scenario {
  name: string;
  /** The protocol names logins. */
  keyed: boolean;
  /** What a look shows: whose an account is, whether the login exists, or nothing. */
  shows: 'comments' | 'existence' | 'nothing';
  /** The requests at work at the same time. The settler does what a request does that sends nothing and dies. */
  workers: 1 | 2;
  /** Accounts without an id are an operator's. */
  strict?: boolean;
  /** The caller has chosen the login. */
  own?: boolean;
  /** Once: a stranger opens an account at our first login. */
  stranger?: boolean;
  /** The server executes a command or a payment, and refuses its content. */
  lies?: boolean;
  /** The server opens another login than the only command names, and answers with it. */
  renames?: boolean;
  /** The server says that our first login exists, and shows no account there. */
  archived?: boolean;
  /** A gateway repeats a command, and answers that the login exists. */
  repeats?: boolean;
  /** The operation was lost, and its account is at our first login. */
  lost?: boolean;
  /** The account gets a deposit after the opening. */
  funded?: boolean;
  /** The client gets a mail. */
  mailed?: boolean;
  /** Operators say something of the operation, and may be wrong this often. */
  errors?: 0 | 1 | 2;
  /** Another operation opens a login that is ours, or that an operator has given to ours. */
  rival?: boolean;
}

/** A mistake that the model must find. */
export interface Mistake {
  name: string;
  table?: typeof LIFE;
  /** What a worker does wrong. */
  does?: 'overwrite' | 'send unwritten' | 'send other' | 'pay unwritten' | 'pay unread' | 'forget closed' | 'reuse';
}

/** The account of our operation, of a stranger, or of another operation of ours; one that no look shows; none. */
export type Owner = 'ours' | 'stranger' | 'rival' | 'archived' | '';

export interface Worker {
  /** As this worker knows it. */
  life: Life;
  /** Another worker has acquired the operation since. */
  stale: boolean;
  /**
   * What the worker does next. `first`: sends the first command; `answer`: waits for the answer to a command; `paid`: for
   * that to a payment.
   */
  step: 'resume' | 'prepare' | 'first' | 'answer' | 'look' | 'complete' | 'pay' | 'paid';
  /** The last answer was a refusal of the content. */
  rejected: boolean;
  /** The account was opened by a command of this worker, which has paid nothing. */
  isNew: boolean;
}

/** A part of a world is replaced, never changed. */
export interface World {
  /** The stored state of the operation. */
  life: Life;
  closed: readonly number[];
  accounts: Readonly<Record<number, Owner>>;
  /** The logins of commands that may still be executed; 0: the server chooses. */
  commands: readonly number[];
  workers: readonly (Worker | null)[];
  /** The login of the account's record and of its last event; 0: none. */
  record: number;
  event: number;
  /** The logins of which the client has a mail. */
  mails: readonly number[];
  /** Payments that have arrived, and those that may still arrive. */
  paid: number;
  payments: number;
  /** The only command that has left was answered that its login exists. */
  isTaken: boolean;
  /** How often an operator was wrong. */
  errors: number;
  /**
   * What `lib/README.md` lists as not kept, if it has happened: a second account after a wrong "none", or a stranger's
   * account in a range that is not exclusive.
   */
  unkept: '' | 'second' | 'stranger';
}

export const LOGINS = [1, 2] as const;

export function firstWorld({ workers, archived, lost }: Scenario): World {
  return {
    life: { at: 'gone' },
    closed: [],
    accounts: { 1: archived ? 'archived' : lost ? 'ours' : '', 2: '' },
    commands: [],
    workers: Array<null>(workers).fill(null),
    record: 0,
    event: 0,
    mails: [],
    paid: 0,
    payments: 0,
    isTaken: false,
    errors: 0,
    unkept: '',
  };
}

/** A promise was broken. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

export const count = (world: World, owner: Owner) => LOGINS.filter((login) => world.accounts[login] === owner).length;

export const isOpen = (life: Life): life is LifeAt<'open'> => life.at === 'open';

/** @throws Broken if the world breaks a promise */
export function checkWorld(world: World, { funded, rival, own, lost }: Scenario): void {
  const { life, accounts, commands, paid, closed, unkept, record } = world;
  if (count(world, 'ours') > 1 && unkept !== 'second') throw new Broken('A request has two accounts.');
  if (isOpen(life) && life.word !== true && accounts[life.login] !== 'ours' && unkept !== 'stranger')
    throw new Broken('The caller hears an account that is not his.');
  if (life.at === 'sent' && !own && closed.includes(life.login ?? 0)) throw new Broken('A closed login is used again.');
  const isFree = life.at === 'gone' && !lost;
  if (isFree && count(world, 'ours') > 0) throw new Broken('A key is free, and its account exists.');
  if (isFree && commands.some((login) => login === 0 || accounts[login] === ''))
    throw new Broken('A key is free while its command may be executed.');
  if (paid > 1 && funded) throw new Broken('A deposit was paid twice.');
  if (rival && isOpen(life) && accounts[life.login] === 'rival' && record === life.login)
    throw new Broken('The record of an account names a request whose account it is not.');
}

/** Whether a history may end here: the key is free, or everything is done, and known to the client and the CRM. */
export function isEnd(world: World, scenario: Scenario): boolean {
  const { life, accounts, record, event, mails, workers, closed, unkept } = world;
  if (workers.some((worker) => worker !== null)) return false;
  if (life.at === 'gone' || (life.at === 'claimed' && closed.length > 0)) return record === 0;
  if (!isOpen(life)) return false;
  const { login, mail, deposit } = life;
  const isKnown =
    record === login && event === login && (!scenario.mailed || mail === 'failed' || mails.includes(login));
  const isPaid = deposit !== 'due' && deposit !== 'sent';
  // Of a word that is wrong the operator hears: it can still be put right.
  return isKnown && isPaid && mail !== 'due' && (accounts[login] === 'ours' || unkept === 'stranger');
}
