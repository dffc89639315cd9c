import type { DecisionContext, Fact, Life, Step } from '../../lib/openings/life.ts';
import { Broken, type Mistake, type Scenario } from './scenario.ts';

/** An operation: its request, and the number of its life if ids are random. */
export type Id = string;
export const FOREIGN: Id = 'F0';
export const NOTHING: Id = '';
/** The holder of a login that an operator found to be a stranger's. */
export const NOBODY: Id = 'N0';
/** An operation of ours without a part in the model but its reservation, its command and its account. */
export const ANOTHER: Id = 'B0';

/** A part of a world is replaced, never changed: the worlds that have it share it. */
export interface Worker {
  readonly id: Id;
  /** The ledger that it writes. */
  ledger: number;
  role: DecisionContext['worker'];
  /** As this worker knows it. */
  life: Life;
  /** Another worker has acquired the operation since. */
  stale: boolean;
  /** To decide on; null while a step is taken. */
  fact: Fact | null;
  step: Step | 'answer' | null;
  /** A login that a write found reserved. */
  reserved: number;
  /** A login that was reserved before the state is written, by mistake. */
  holds: number;
  /** The operation whose id was seen at the login of the state. */
  seenOwner: Id;
}

export interface Ledger {
  /** The current operation of each request. */
  readonly operations: Readonly<Record<string, { id: Id; life: Life; server?: number }>>;
  /** By login: the operation that holds it. */
  readonly reservations: readonly Id[];
  /** By login: the operation whose record names it. */
  readonly records: readonly Id[];
}

export interface World {
  ledgers: readonly Ledger[];
  /** By login: the operation whose account it is. */
  accounts: readonly Id[];
  /** The accounts of the server that the connection led to before; commands go to the server of their time. */
  earlier: readonly Id[];
  /** The server that the connection leads to: 0, then 1. */
  server: number;
  /** How often the derivation of the request has changed: 0 or 1. */
  derivation: number;
  /** Another operation has reserved a login. */
  hasAnother: boolean;
  /** The login whose comment a dealer has changed to another operation's id; 0: none. */
  relabelled: number;
  /** Commands that were sent and may still be executed; login 0: the server chooses. */
  commands: readonly Command[];
  /** Paying commands that may still be executed. */
  payments: number;
  deposits: number;
  /** The ledger was lost. */
  lost: boolean;
  /** An account was opened again that the ledger knows and the server had lost. */
  isReopened: boolean;
  workers: readonly (Worker | null)[];
}

export interface Command {
  readonly id: Id;
  readonly login: number;
  readonly server: number;
}

export const LOGINS = [1, 2];
/** Further commands of one operation are equal and change nothing. */
export const MAX_PENDING = 2;
/** How often a key may be claimed, if its lives differ. */
export const MAX_LIVES = 3;

function firstLedger({ rival }: Scenario): Ledger {
  const gone = (request: string) => ({ id: `${request}0`, life: { at: 'gone' as const } });
  return {
    operations: rival === true ? { A: gone('A'), B: gone('B') } : { A: gone('A') },
    reservations: LOGINS.map(() => NOTHING).concat(NOTHING),
    records: LOGINS.map(() => NOTHING).concat(NOTHING),
  };
}

export function firstWorld(scenario: Scenario): World {
  const ledger = firstLedger(scenario);
  const workers = scenario.workers + (scenario.rival === true ? 1 : 0);
  return {
    ledgers: scenario.double === true ? [ledger, ledger] : [ledger],
    accounts: [NOTHING, NOTHING, NOTHING],
    earlier: [NOTHING, NOTHING, NOTHING],
    server: 0,
    derivation: 0,
    hasAnother: false,
    relabelled: 0,
    commands: [],
    payments: 0,
    deposits: 0,
    lost: false,
    isReopened: false,
    workers: Array.from({ length: workers }, () => null),
  };
}

/** Nothing of any request is left open. A slow worker gives up, but its retries must get an account. */
export function isEnd({ ledgers, accounts }: World, { slow, own }: Scenario): boolean {
  const isTaken = (holder: Id | undefined) => holder !== undefined && holder !== NOTHING && !isOf(holder, 'A');
  const isFree = (login: number) =>
    accounts[login] === NOTHING && !ledgers.some(({ reservations }) => isTaken(reservations[login]));
  const mayGiveUp = slow !== true || !(own === undefined ? LOGINS : [1]).some(isFree);
  const isOver = (life: Life) => (life.at === 'gone' && mayGiveUp) || (life.at === 'done' && !life.unpaid);
  return ledgers.every(({ operations }) => Object.values(operations).every(({ life }) => isOver(life)));
}

/** @throws Broken if the world breaks a promise */
export function checkWorld({ ledgers, accounts, earlier, deposits, isReopened }: World): void {
  if (isReopened) throw new Broken('a deleted account is not opened again', 'A deleted account was opened again.');
  if (deposits > 1) throw new Broken('one deposit', 'The deposit was paid twice.');
  for (const { operations } of ledgers) {
    for (const [request, { life }] of Object.entries(operations)) {
      const own = [...accounts, ...earlier].filter((owner) => owner.startsWith(request));
      if (own.length > 1) throw new Broken('one account', `The request ${request} has two accounts.`);
      if (life.at !== 'open' && life.at !== 'done') continue;
      const owner = accounts[life.login] ?? NOTHING;
      if (owner !== NOTHING && !owner.startsWith(request) && !earlier[life.login]?.startsWith(request))
        throw new Broken('no account of somebody else', `The request ${request} is answered with another's account.`);
    }
  }
}

/** A world, and what may happen in it next. */
export interface Turn {
  scenario: Scenario;
  mistake: Mistake;
  world: World;
  /** Called with everything that may happen next, and how it changes a copy of the world. */
  add(action: string, change: (next: World) => void): void;
}

export function ledgerOf(turn: Turn, worker: Worker): Ledger {
  return turn.world.ledgers[worker.ledger] as Ledger;
}

/** Whether the account belongs to the operation's request. */
export function isOf(owner: Id | undefined, id: Id): boolean {
  return owner !== undefined && owner !== NOTHING && owner.charAt(0) === id.charAt(0);
}

export function workerName({ role, id }: Worker, index: number): string {
  return `${role} ${index + 1} of ${id}`;
}

/** A state in one line of a story. */
export function describeLife(life: Life): string {
  const { at, ...rest } = life;
  return [at, ...Object.entries(rest).map(([key, value]) => `${key} ${value}`)].join(' ');
}

/** A worker acquires an operation: another one that holds it is overtaken. */
export function beginWork(world: World, index: number, ledger: number, id: Id, role: Worker['role'], life: Life): void {
  world.workers = world.workers.map((worker) =>
    worker?.id.charAt(0) === id.charAt(0) && worker.ledger === ledger ? { ...worker, stale: true } : worker,
  );
  const fact: Fact | null = role === 'operator' ? null : { on: 'resume' };
  const nothing = { reserved: 0, holds: 0, seenOwner: NOTHING };
  setWorker(world, index, { id, ledger, role, life, stale: false, fact, step: null, ...nothing });
}

export function setWorker(world: World, index: number, worker: Worker | null): void {
  const workers = [...world.workers];
  workers[index] = worker;
  world.workers = workers;
}

export function changeWorker(world: World, index: number, changes: Partial<Worker>): void {
  const worker = world.workers[index];
  if (worker) setWorker(world, index, { ...worker, ...changes });
}

/** Gives a worker its next step, or ends it. */
export function advance(world: World, index: number, step: Step): void {
  if (step === 'rest' || step === 'stop') setWorker(world, index, null);
  else changeWorker(world, index, { fact: null, step });
}

export function changeLedger(world: World, index: number, changes: Partial<Ledger>): void {
  world.ledgers = world.ledgers.with(index, { ...(world.ledgers[index] as Ledger), ...changes });
}

export function reserve(world: World, ledger: number, login: number, holder: Id): void {
  const { reservations } = world.ledgers[ledger] as Ledger;
  changeLedger(world, ledger, { reservations: reservations.with(login, holder) });
}

/** A server opens an account. */
export function openAccount(world: World, login: number, owner: Id): void {
  world.accounts = world.accounts.with(login, owner);
}

/** Writes a state, with the reservations that go with it. */
export function storeLife(
  world: World,
  { id, life, ledger, seenOwner }: Worker,
  to: Life,
  login: number | undefined,
): void {
  const { operations, reservations, records } = world.ledgers[ledger] as Ledger;
  const request = id.charAt(0);
  const server = operations[request]?.server ?? (to.at === 'sent' ? world.server : undefined);
  const hasPlan = to.at !== 'gone' && to.at !== 'claimed' && server !== undefined;
  const operation = { id, life: to, ...(hasPlan ? { server } : {}) };
  changeLedger(world, ledger, { operations: { ...operations, [request]: operation } });
  const earlier = 'login' in life ? (life.login ?? 0) : 0;
  const isGivenUp = life.at === 'sent' && (to.at === 'gone' || ('login' in to && to.login !== earlier));
  if (isGivenUp && reservations[earlier] === id) reserve(world, ledger, earlier, seenOwner);
  const isHeld = ![NOTHING, id].includes(reservations[earlier] ?? NOTHING);
  if (to.at === 'claimed' && earlier !== 0 && !isHeld) reserve(world, ledger, earlier, NOBODY);
  if (login !== undefined) reserve(world, ledger, login, id);
  if (to.at === 'open' || to.at === 'done') changeLedger(world, ledger, { records: records.with(to.login, id) });
}

/** An operation that has sent nothing gets the identity under which a trace of it was found. */
export function adoptIdentity(world: World, index: number, worker: Worker, found: Id): void {
  if (found === worker.id) return;
  const { operations } = world.ledgers[worker.ledger] as Ledger;
  const request = worker.id.charAt(0);
  const stored = operations[request];
  if (!worker.stale && stored?.id === worker.id)
    changeLedger(world, worker.ledger, { operations: { ...operations, [request]: { ...stored, id: found } } });
  changeWorker(world, index, { id: found });
}

export function addCommand(world: World, id: Id, login: number): void {
  const { server } = world;
  if (world.commands.filter((one) => one.id === id && one.login === login).length < MAX_PENDING) {
    world.commands = [...world.commands, { id, login, server }];
  }
}

export function takeCommand(world: World, id: Id, login: number, server = world.server): void {
  const index = world.commands.findIndex((one) => one.id === id && one.login === login && one.server === server);
  if (index >= 0) world.commands = world.commands.toSpliced(index, 1);
}
