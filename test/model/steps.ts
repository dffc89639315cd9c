import { type DecisionContext, type Fact, findTransition, type Life, type Step } from '../../lib/openings/life.ts';
import { happenAlone, loseTables } from './events.ts';
import { askOperator } from './operators.ts';
import { Broken, isOwn } from './scenario.ts';
import { completeAccount, hasMoved, type Learn, lookUp, receiveAnswer, sightingAt } from './server.ts';
import {
  ANOTHER,
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
  for (const [index, ledger] of turn.world.ledgers.entries()) loseTables(turn, index, ledger);
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
    const title = `${workerName(worker, index)}: ${fact.on}`;
    if (passesOver(turn, worker, fact) && findRecord(turn, worker) > 0) {
      learnRecorded(turn, worker, (learned, read) =>
        turn.add(`${title}, ${read}`, (next) => changeWorker(next, index, { fact: learned })),
      );
      continue;
    }
    const context = contextOf(turn, worker, old);
    const { to, step } = decisionOf(turn, worker.life, fact, context);
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
    const wanted = loginToReserve(worker.life, to);
    const isAnothers = wanted !== undefined && worker.holds !== wanted && isReserved(turn, worker, wanted);
    // The login of a recorded account is the operation's, and another one that has reserved it since keeps it.
    const isLeft = isAnothers && (fact.on === 'recorded' || fact.on === 'deleted');
    const login = isLeft ? undefined : wanted;
    if (login !== undefined && isAnothers) {
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

/** The operations of a worker's request: one for each key of the secret. */
function isOfRequest({ scenario, mistake }: Turn, { id }: Worker): (owner: Id) => boolean {
  const looksUnderBoth = scenario.rederives === 'rotated' && mistake.ignoresEarlierKey !== true;
  return (owner) => owner === id || (looksUnderBoth && isOf(owner, id));
}

/** The login of the record of the request's account; 0: there is none. */
function findRecord(turn: Turn, worker: Worker): number {
  if (turn.mistake.ignoresRecord === true) return 0;
  return Math.max(0, ledgerOf(turn, worker).records.findIndex(isOfRequest(turn, worker)));
}

/** Whether the next login, or none, is about to follow a login that another operation has. */
function passesOver({ scenario }: Turn, { role, life }: Worker, { on }: Fact): boolean {
  const hasTime = scenario.slow !== true || life.at === 'claimed';
  return scenario.keyed && hasTime && role === 'request' && (on === 'reserved' || on === 'foreign');
}

/** What a worker learns when it looks at the login of its account's record. */
function learnRecorded(turn: Turn, worker: Worker, learn: (fact: Fact, title: string) => void): void {
  const login = findRecord(turn, worker);
  const { id, life } = worker;
  const [owner, holder] = [turn.world.accounts[login] ?? NOTHING, ledgerOf(turn, worker).reservations[login]];
  if (life.at === 'sent') learn({ on: 'unclear' }, `reads the record of ${login}, and gets no answer`);
  const shown = login === turn.world.relabelled ? ANOTHER : owner;
  // The other operation that holds the login has its account there.
  const isAnothers = turn.scenario.shows === 'comments' && shown !== NOTHING && shown === holder && !isOf(shown, id);
  if (isAnothers || sightingAt(turn, login, worker) === 'absent')
    return void learn({ on: 'deleted', login }, `reads the record of ${login}, whose account is gone`);
  learn({ on: 'recorded', login, opened_at: '' }, `reads the record of ${login}`);
}

function prepare(turn: Turn, worker: Worker, index: number, learn: Learn): void {
  const { keyed, shows, rederives } = turn.scenario;
  learn({ on: 'not_executed' }, 'refuses the order');
  const { reservations, records } = ledgerOf(turn, worker);
  const logins = loginsOf(turn, worker.id).filter((one) => one !== undefined);
  const isMine = isOfRequest(turn, worker);
  const reservation = keyed && turn.mistake.ignoresReservation !== true ? reservations.findIndex(isMine) : -1;
  const isPassedOver = reservation < 0 && isReserved(turn, worker, logins[0] ?? 0);
  const recorded = !keyed || rederives === 'rotated' || isPassedOver ? findRecord(turn, worker) : 0;
  const adopt = (found: Id | undefined) => (next: World) => adoptIdentity(next, index, worker, found ?? worker.id);
  if (recorded > 0 && !keyed)
    return void learn(
      { on: 'recorded', login: recorded, opened_at: '' },
      `finds the record of ${recorded}`,
      adopt(records[recorded]),
    );
  if (recorded > 0)
    return void learnRecorded(turn, worker, (fact, title) => learn(fact, title, adopt(records[recorded])));
  if (!keyed) return void learn({ on: 'ready' }, 'has judged the order');
  if (reservation > 0)
    return void learn(
      { on: 'ready', login: reservation, found: true },
      `has chosen ${reservation}`,
      adopt(reservations[reservation]),
    );
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
