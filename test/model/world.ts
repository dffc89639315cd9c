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

export interface Worker {
  id: Id;
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
  operations: Record<string, { id: Id; life: Life; server?: number }>;
  /** By login: the operation that holds it. */
  reservations: Id[];
  /** By login: the operation whose record names it. */
  records: Id[];
}

export interface World {
  ledgers: Ledger[];
  /** By login: the operation whose account it is. */
  accounts: Id[];
  /** The accounts of the server that the connection led to before; commands go to the server of their time. */
  earlier: Id[];
  /** The server that the connection leads to: 0, then 1. */
  server: number;
  /** How often the derivation of the request has changed: 0 or 1. */
  derivation: number;
  /** Another operation has reserved a login. */
  hasAnother: boolean;
  /** The login whose comment a dealer has changed to another operation's id; 0: none. */
  relabelled: number;
  /** Commands that were sent and may still be executed; login 0: the server chooses. */
  commands: { id: Id; login: number; server: number }[];
  /** Paying commands that may still be executed. */
  payments: number;
  deposits: number;
  /** The ledger was lost. */
  lost: boolean;
  /** An account was opened again that the ledger knows and the server had lost. */
  isReopened: boolean;
  workers: (Worker | null)[];
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

/** Equal for worlds that differ only in the order of equal workers. */
export function keyOf(world: World, { workers: alike }: Scenario): string {
  const { ledgers, accounts, relabelled, commands, payments, deposits, lost, workers } = world;
  const { earlier, server, derivation, hasAnother } = world;
  const shown = workers.map((worker) => (worker === null ? '' : workerKey(worker)));
  const pending = commands.map(({ id, login, server: of }) => `${id}${login}${of}`).sort();
  let key = `${accounts}${relabelled}|${pending}|${payments}${deposits}${lost ? 'l' : ''}|`;
  key += `${earlier}${server}${derivation}${hasAnother ? 'a' : ''}|`;
  for (const { operations, reservations, records } of ledgers) {
    key += `${reservations}|${records}|`;
    for (const request in operations) {
      const stored = operations[request];
      if (stored !== undefined) key += `${stored.id}${lifeKey(stored.life)}${stored.server ?? ''}|`;
    }
  }
  return `${key}${shown.slice(0, alike).sort()}|${shown.slice(alike)}`;
}

function workerKey({ id, ledger, role, life, stale, fact, step, reserved, holds, seenOwner }: Worker): string {
  const shownFact = fact === null ? '' : factKey(fact);
  const known = `${stale ? 's' : ''}${reserved}${holds}${seenOwner}`;
  return `${id}${ledger}${role}${lifeKey(life)}${known}${shownFact}/${step ?? ''}`;
}

function lifeKey(life: Life): string {
  switch (life.at) {
    case 'sent':
      return `sent${life.login}${life.commands}`;
    case 'open':
      return `open${life.login}${life.deposit}${life.recorded ? 'r' : ''}${life.published ? 'p' : ''}`;
    case 'done':
      return `done${life.login}${life.unpaid ? 'u' : ''}`;
    case 'undecided':
      return `undecided${life.login}`;
    default:
      return life.at;
  }
}

function factKey(fact: Fact): string {
  if (fact.on === 'completed') return `completed${fact.deposit}${fact.recorded ? 'r' : ''}${fact.published ? 'p' : ''}`;
  if (fact.on === 'ready') return `ready${fact.login}${fact.found ? 'f' : ''}`;
  return 'login' in fact ? `${fact.on}${fact.login}` : fact.on;
}

/** A copy whose parts are replaced, never changed. */
export function copyWorld(world: World): World {
  const { ledgers, accounts, earlier, commands, workers } = world;
  return {
    ...world,
    ledgers: ledgers.map(({ operations, reservations, records }) => ({
      operations: { ...operations },
      reservations: [...reservations],
      records: [...records],
    })),
    accounts: [...accounts],
    earlier: [...earlier],
    commands: [...commands],
    workers: [...workers],
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
  world.workers[index] = { id, ledger, role, life, stale: false, fact, step: null, ...nothing };
}

export function changeWorker(world: World, index: number, changes: Partial<Worker>): void {
  const worker = world.workers[index];
  if (worker) world.workers[index] = { ...worker, ...changes };
}

/** Gives a worker its next step, or ends it. */
export function advance(world: World, index: number, step: Step): void {
  if (step === 'rest' || step === 'stop') world.workers[index] = null;
  else changeWorker(world, index, { fact: null, step });
}

/** Writes a state, with the reservations that go with it. */
export function storeLife(
  world: World,
  { id, life, ledger, seenOwner }: Worker,
  to: Life,
  login: number | undefined,
): void {
  const { operations, reservations, records } = world.ledgers[ledger] as Ledger;
  const server = operations[id.charAt(0)]?.server ?? (to.at === 'sent' ? world.server : undefined);
  const hasPlan = to.at !== 'gone' && to.at !== 'claimed' && server !== undefined;
  operations[id.charAt(0)] = { id, life: to, ...(hasPlan ? { server } : {}) };
  const earlier = 'login' in life ? (life.login ?? 0) : 0;
  const isGivenUp = life.at === 'sent' && (to.at === 'gone' || (to.at === 'sent' && to.login !== earlier));
  if (isGivenUp && reservations[earlier] === id) reservations[earlier] = seenOwner;
  const isHeld = ![NOTHING, id].includes(reservations[earlier] ?? NOTHING);
  if (to.at === 'claimed' && earlier !== 0 && !isHeld) reservations[earlier] = NOBODY;
  if (login !== undefined) reservations[login] = id;
  if (to.at === 'open' || to.at === 'done') records[to.login] = id;
}

/** An operation that has sent nothing gets the identity under which a trace of it was found. */
export function adoptIdentity(world: World, worker: Worker, found: Id): void {
  if (found === worker.id) return;
  const { operations } = world.ledgers[worker.ledger] as Ledger;
  const stored = operations[worker.id.charAt(0)];
  if (!worker.stale && stored?.id === worker.id) operations[worker.id.charAt(0)] = { ...stored, id: found };
  world.workers = world.workers.map((one) => (one === worker ? { ...worker, id: found } : one));
}

export function addCommand(world: World, id: Id, login: number): void {
  const { server } = world;
  if (world.commands.filter((one) => one.id === id && one.login === login).length < MAX_PENDING) {
    world.commands.push({ id, login, server });
  }
}

export function takeCommand(world: World, id: Id, login: number, server = world.server): void {
  const index = world.commands.findIndex((one) => one.id === id && one.login === login && one.server === server);
  if (index >= 0) world.commands.splice(index, 1);
}
