import { type DecisionContext, type Fact, findTransition, type Life, type Step } from '../../lib/openings/life.ts';
import { happenAlone, loseTables } from './events.ts';
import { askOperator } from './operators.ts';
import { Broken, isOwn } from './scenario.ts';
import { completeAccount, hasMoved, type Learn, lookUp, receiveAnswer, sightingAt } from './server.ts';
import {
  addCommand,
  adoptIdentity,
  advance,
  beginWork,
  changeLedger,
  changeWorker,
  describeLife,
  type Id,
  isOf,
  type Ledger,
  ledgerOf,
  MAX_LIVES,
  NOTHING,
  reserve,
  setWorker,
  storeLife,
  type Turn,
  type Worker,
  type World,
  workerName,
} from './world.ts';

/** Adds what may happen in a world next, by its workers and without them. @throws Broken if a promise is broken */
export function exploreSteps(turn: Turn): void {
  for (const [index, worker] of turn.world.workers.entries()) {
    if (worker === null) {
      const request = index >= turn.scenario.workers ? 'B' : 'A';
      for (const ledger of turn.world.ledgers.keys()) acquire(turn, index, request, ledger);
      continue;
    }
    const { life } = worker;
    const isWaiting = life.at === 'sent' && life.commands === 'one';
    if (turn.scenario.answers !== true || !isWaiting)
      turn.add(`${workerName(worker, index)} dies`, (next) => {
        setWorker(next, index, null);
      });
    if (worker.fact !== null) decideFact(turn, worker, worker.fact, index);
    else if (worker.step === null) askOperator(turn, worker, index);
    else act(turn, worker, worker.step, index);
  }
  happenAlone(turn);
  loseTables(turn);
}

/** A worker acquires the operation from any holder: leases end, and clocks are wrong. */
function acquire(turn: Turn, index: number, request: string, ledger: number): void {
  const { id, life } = turn.world.ledgers[ledger]?.operations[request] ?? { id: NOTHING, life: { at: 'gone' } };
  if (life.at === 'gone') {
    const lives = Number(id.slice(1));
    if (turn.mistake.random === true && lives === MAX_LIVES) return;
    const derived = request === 'A' ? `A${turn.world.derivation}` : id;
    const next = turn.mistake.random === true ? `${request}${lives + 1}` : derived;
    turn.add(`request ${index + 1} claims ${next}`, (world) => {
      const { operations } = world.ledgers[ledger] as Ledger;
      const claimed = { id: next, life: { at: 'claimed' } } as const;
      changeLedger(world, ledger, { operations: { ...operations, [request]: claimed } });
      beginWork(world, index, ledger, next, 'request', { at: 'claimed' });
    });
    return;
  }
  const roles: Worker['role'][] = ['request', 'operator'];
  if (life.at === 'sent' || life.at === 'open') roles.push('settler');
  for (const role of roles) {
    turn.add(`${role} ${index + 1} acquires ${id}, ${describeLife(life)}`, (world) =>
      beginWork(world, index, ledger, id, role, life),
    );
  }
}

/** Decides on a fact, and writes the new state under the version that was read. */
function decideFact(turn: Turn, worker: Worker, fact: Fact, index: number): void {
  const hasAge = fact.on === 'completed' || fact.on === 'silent' || fact.on === 'operator_found_none';
  for (const old of hasAge ? [false, true] : [false]) {
    if (fact.on === 'operator_found_none' && worker.life.at === 'sent' && !old) continue;
    const context = contextOf(turn, worker, old);
    const { to, step } = decisionOf(turn, worker.life, fact, context);
    const title = `${workerName(worker, index)}: ${fact.on}`;
    if (to === undefined) {
      turn.add(`${title}, then ${step}`, (next) => advance(next, index, step));
      continue;
    }
    if (worker.stale && turn.mistake.ignoresVersion !== true) {
      turn.add(`${title}, is overtaken`, (next) => {
        setWorker(next, index, null);
      });
      continue;
    }
    checkRelease(turn, worker, fact, to, context);
    if (turn.mistake.cancelsRelease === true && isGivenUpByAnother(turn, worker, to)) {
      turn.add(`${title}, cannot give its login up`, (next) => {
        setWorker(next, index, null);
      });
      continue;
    }
    const login = loginToReserve(worker.life, to);
    if (login !== undefined && worker.holds !== login && isReserved(turn, worker, login)) {
      turn.add(`${title}, finds ${login} reserved`, (next) =>
        changeWorker(next, index, { fact: { on: 'reserved' }, reserved: login }),
      );
      continue;
    }
    writeState(turn, worker, index, `${title}, writes ${describeLife(to)}`, to, step, login);
  }
}

/** @throws Broken if the caller would be told something wrong */
function checkRelease(turn: Turn, { id, role, life }: Worker, fact: Fact, to: Life, { next }: DecisionContext): void {
  if (to.at !== 'gone' || role === 'operator') return;
  if ((fact.on === 'foreign' || fact.on === 'reserved') && next() !== undefined)
    throw new Broken('an account while one login is free', 'It gives up although a login is free.');
  const { accounts, earlier, commands, server, lost, ledgers } = turn.world;
  const isTaken = isOwn(turn.scenario) && (fact.on === 'foreign' || fact.on === 'reserved');
  if (isTaken) checkTaken(turn, id);
  // Commands of an earlier life, or of another deployment, name the same login.
  if (lost || ledgers.length > 1 || turn.scenario.expires || life.at === 'claimed') return;
  if (accounts.some((owner) => isOf(owner, id)))
    throw new Broken('a key is free only if its commands have ended', 'A key is free, and its account exists.');
  const isFree = (one: World['commands'][number]) =>
    one.login === 0 || (one.server === server ? accounts : earlier)[one.login] === NOTHING;
  if (commands.some((one) => one.id === id && isFree(one)))
    throw new Broken('a key is free only if its commands have ended', 'A key is free while its command may arrive.');
}

/** @throws Broken if the login is in use by the operation itself */
function checkTaken(turn: Turn, id: Id): void {
  if (isOf(turn.world.accounts[1], id))
    throw new Broken('`login_taken` never about one’s own account', 'The caller hears login_taken about his account.');
}

/** Writes a state. The answer to the write before the first command may be lost. */
function writeState(
  turn: Turn,
  worker: Worker,
  index: number,
  title: string,
  to: Life,
  step: Step,
  login: number | undefined,
): void {
  if (turn.mistake.reservesFirst && login !== undefined && worker.holds !== login) {
    turn.add(`${workerName(worker, index)} reserves ${login}`, (next) => {
      reserve(next, worker.ledger, login, worker.id);
      changeWorker(next, index, { holds: login });
    });
    return;
  }
  turn.add(`${title}, then ${step}`, (next) => {
    const seenOwner = turn.mistake.forgetsOwner === true ? NOTHING : worker.seenOwner;
    storeLife(next, { ...worker, seenOwner }, to, worker.holds === login ? undefined : login);
    changeWorker(next, index, { life: to, reserved: 0, holds: 0, seenOwner: NOTHING });
    advance(next, index, step);
  });
  if (to.at !== 'sent' || to.commands !== 'one') return;
  turn.add(`${title}, gets no answer, and takes it back`, (next) => {
    storeLife(next, { ...worker, life: to }, { at: 'gone' }, undefined);
    setWorker(next, index, null);
  });
}

function contextOf(turn: Turn, worker: Worker, old: boolean): DecisionContext {
  const { life, role, reserved, id } = worker;
  const { keyed, funded, own, strict, slow } = turn.scenario;
  const asked = reserved || ('login' in life ? life.login : undefined);
  const [first, second] = loginsOf(turn, id);
  return {
    worker: role,
    keyed,
    loginGiven: isOwn(turn.scenario),
    exclusive: keyed && own !== true && strict !== true,
    next: () => (keyed && role === 'request' && asked === first && slow !== true ? second : undefined),
    deposit: funded === true ? 'due' : 'none',
    now: 0,
    old,
  };
}

/** Whether a write gives a login up that another operation holds. */
function isGivenUpByAnother(turn: Turn, worker: Worker, to: Life): boolean {
  const { life, id } = worker;
  if (life.at !== 'sent' && life.at !== 'undecided') return false;
  const isGivenUp = to.at === 'claimed' || (life.at === 'sent' && !('login' in to && to.login === life.login));
  return isGivenUp && ![NOTHING, id].includes(ledgerOf(turn, worker).reservations[life.login ?? 0] ?? NOTHING);
}

/** The logins of an operation, in its order. */
function loginsOf(turn: Turn, id: Id): [number | undefined, number | undefined] {
  if (isOwn(turn.scenario)) return [1, undefined];
  const isOther = turn.mistake.random === true ? id.slice(1) === '2' : id === 'A1';
  return isOther ? [2, 1] : [1, 2];
}

function decisionOf(turn: Turn, life: Life, fact: Fact, context: DecisionContext) {
  try {
    return findTransition(life, fact, context, turn.mistake.table);
  } catch (error) {
    throw new Broken('every fact has a transition', (error as Error).message);
  }
}

function loginToReserve(from: Life, to: Life): number | undefined {
  const earlier = 'login' in from ? from.login : undefined;
  const later = 'login' in to ? to.login : undefined;
  return later === earlier ? undefined : later;
}

function isReserved(turn: Turn, worker: Worker, login: number): boolean {
  const { operations, reservations } = ledgerOf(turn, worker);
  const holder = reservations[login] ?? NOTHING;
  if (holder === NOTHING || holder === worker.id) return false;
  if (turn.mistake.reservesFirst !== true) return true;
  const { id: current, life } = operations[holder.charAt(0)] ?? { id: NOTHING, life: { at: 'gone' } };
  return current === holder && life.at !== 'claimed' && life.at !== 'gone';
}

function act(turn: Turn, worker: Worker, step: Worker['step'], index: number): void {
  const { life, id } = worker;
  const learn: Learn = (fact, title, also = () => {}) =>
    turn.add(`${workerName(worker, index)} ${title}`, (next) => {
      also(next);
      changeWorker(next, index, { fact, step: null });
    });
  switch (step) {
    case 'prepare':
      return void prepare(turn, worker, index, learn);
    case 'send':
      if (hasMoved(turn, worker)) return void learn({ on: 'moved' }, 'does not send to another server');
      return void turn.add(`${workerName(worker, index)} sends the command`, (next) => {
        addCommand(next, id, 'login' in life ? (life.login ?? 0) : 0);
        changeWorker(next, index, { step: 'answer' });
      });
    case 'answer':
      return void receiveAnswer(turn, worker, learn);
    case 'look':
    case 'pause':
    case 'prove':
    case 'confirm':
      return void lookUp(turn, worker, step === 'pause' ? 'look' : step, index, learn);
    case 'complete':
    case 'pay':
    case 'repay':
      return void completeAccount(turn, worker, step, index, learn);
    case 'resume':
      return void learn({ on: 'resume' }, 'resumes');
    default:
      return void turn.add(`${workerName(worker, index)} ends`, (next) => {
        setWorker(next, index, null);
      });
  }
}

function prepare(turn: Turn, worker: Worker, index: number, learn: Learn): void {
  const { keyed, shows, rederives } = turn.scenario;
  learn({ on: 'not_executed' }, 'refuses the order');
  const { reservations, records } = ledgerOf(turn, worker);
  const isMine = (one: Id) => one === worker.id || (rederives === 'rotated' && isOf(one, worker.id));
  const recorded = records.findIndex(isMine);
  const isRead = turn.mistake.ignoresRecord !== true && (!keyed || rederives === 'rotated');
  const reservation = keyed && turn.mistake.ignoresReservation !== true ? reservations.findIndex(isMine) : -1;
  if (isRead && recorded > 0 && reservation < 0) {
    const found: Fact = keyed
      ? { on: 'ready', login: recorded, found: true }
      : { on: 'recorded', login: recorded, opened_at: '' };
    const adopted = (next: World) => adoptIdentity(next, index, worker, records[recorded] as Id);
    return void learn(found, `finds the record of ${recorded}`, adopted);
  }
  if (!keyed) return void learn({ on: 'ready' }, 'has judged the order');
  if (reservation > 0) {
    const adopted = (next: World) => adoptIdentity(next, index, worker, reservations[reservation] as Id);
    return void learn({ on: 'ready', login: reservation, found: true }, `has chosen ${reservation}`, adopted);
  }
  const logins = loginsOf(turn, worker.id).filter((one) => one !== undefined);
  // A login that another operation holds is not asked for.
  const login = logins.find((one) => !isReserved(turn, worker, one));
  if (login === undefined) return void (isOwn(turn.scenario) && checkTaken(turn, worker.id));
  if (!isOwn(turn.scenario)) return void learn({ on: 'ready', login }, `has chosen ${login}`);
  const sighting = sightingAt(turn, login, worker);
  if (shows === 'silent') return void learn({ on: 'ready', login }, 'cannot look at the login');
  if (sighting === 'absent') return void learn({ on: 'ready', login }, 'finds the login free');
  if (sighting === 'ours') return void learn({ on: 'ready', login, found: true }, 'finds its own account');
  checkTaken(turn, worker.id);
}
