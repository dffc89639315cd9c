import { DAY_MS, type Fact, LIFE, type Life, nextLife } from '../../lib/openings/life.ts';
import {
  Broken,
  count,
  GONE,
  isOpen,
  LOGINS,
  type Mistake,
  type Owner,
  type Scenario,
  type Worker,
  type World,
} from './world.ts';

/** Adds a world that may follow, and what happens then. */
type Add = (action: string, next: World) => void;

export interface Turn {
  scenario: Scenario;
  mistake: Mistake;
  world: World;
  add: Add;
}

const MAX_COMMANDS = 2;

/** Adds everything that may happen next, by workers, operators, the server and others. @throws Broken */
export function exploreSteps(turn: Turn): void {
  const { world, add } = turn;
  for (const [index, worker] of world.workers.entries()) {
    if (worker === null) acquire(turn, index);
    else {
      add(`worker ${index} dies`, withWorker(world, index, null));
      act(turn, worker, index);
    }
  }
  if (turn.scenario.errors !== undefined) operate(turn);
  happenAlone(turn);
}

function withWorker(world: World, index: number, worker: Worker | null): World {
  return { ...world, workers: world.workers.map((one, at) => (at === index ? worker : one)) };
}

/** A worker acquires the operation from any other: leases end, and clocks are wrong. */
function acquire({ world, scenario, add }: Turn, index: number): void {
  const { life } = world;
  const roles: Worker['role'][] = life.at === 'sent' || isOpen(life) ? ['request', 'settler'] : ['request'];
  for (const role of scenario.workers === 1 || index === 1 ? roles : roles.slice(0, 1)) {
    const claimed: Life = life.at === 'gone' ? { at: 'claimed' } : life;
    const worker: Worker = { role, life: claimed, stale: false, step: 'resume', rejected: false, isNew: false };
    const others = world.workers.map((one) => one && { ...one, stale: true });
    add(`a ${role} acquires ${life.at}`, withWorker({ ...world, life: claimed, workers: others }, index, worker));
  }
}

/** Learns a fact as `learn.ts` does: the new state is written under the version that was read. */
function learn(
  turn: Turn,
  worker: Worker,
  index: number,
  fact: Fact,
  title: string,
  before: World,
  next: Worker,
): void {
  const { mistake, add } = turn;
  if (worker.stale && mistake.ignoresVersion !== true) {
    add(`${title}, and is overtaken`, withWorker(before, index, null));
    return;
  }
  const isNew = worker.isNew || fact.on === 'opened';
  for (const now of fact.on === 'completed' ? [0, 3 * DAY_MS] : [0]) {
    const life = decide(turn, worker.life, fact, now);
    const isOver = !isOpen(life) && life.at !== 'sent';
    const isOut = isOver || fact.on === 'completed';
    const after = isOut ? null : { ...next, life, isNew, step: stepIn(life, next) };
    add(now === 0 ? title : `${title}, after days`, withWorker({ ...before, life }, index, after));
  }
}

/** What a worker does in a state that it has written. */
function stepIn(life: Life, worker: Worker): Worker['step'] {
  if (life.at === 'open' && worker.step !== 'pay') return 'complete';
  return life.at === 'sent' && worker.step === 'resume' ? 'look' : worker.step;
}

function decide({ scenario, mistake, world }: Turn, life: Life, fact: Fact, now = 0): Life {
  const context = {
    ...{ keyed: scenario.keyed, closed: world.closed.length > 0, now },
    exclusive: scenario.keyed && scenario.own !== true && scenario.strict !== true,
    ...{ deposit: scenario.funded === true, mail: scenario.mailed === true },
  };
  try {
    return withoutTimes(nextLife(life, fact, context, mistake.table ?? LIFE));
  } catch (error) {
    throw new Broken((error as Error).message);
  }
}

/** Times make no difference in the model. */
function withoutTimes(life: Life): Life {
  return isOpen(life) ? { ...life, opened_at: '1970-01-01T00:00:00.000Z', paid_at: undefined } : life;
}

function act(turn: Turn, worker: Worker, index: number): void {
  const { world, scenario, mistake, add } = turn;
  const { life, step, role } = worker;
  const login = 'login' in life ? (life.login ?? 0) : 0;
  const say = (fact: Fact, title: string, before: World = world, next: Worker = worker) =>
    learn(turn, worker, index, fact, `${role} ${index} ${title}`, before, next);
  switch (step) {
    case 'resume':
      if (life.at === 'claimed') add('prepares', withWorker(world, index, { ...worker, step: 'prepare' }));
      else if (life.at === 'undecided') add('hears 504', withWorker(world, index, null));
      else say({ on: 'resume' }, 'resumes');
      return;
    case 'prepare':
      prepare(turn, say);
      return;
    case 'first':
      send(turn, worker, index, login);
      return;
    case 'answer':
      hear(turn, say, login, worker);
      return;
    case 'look':
      look(turn, say, login, worker);
      if (role === 'request') repeat(turn, worker, index, say, login);
      return;
    case 'complete':
    case 'pay':
    case 'paid':
      if (isOpen(life)) complete(turn, say, worker, index);
      return;
    default:
      throw new Error(`No step ${step satisfies never} of ${mistake.name} in ${scenario.name}.`);
  }
}

type Say = (fact: Fact, title: string, before?: World, next?: Worker) => void;

/** The first command: the order is judged, earlier accounts are looked for, and the next login is reserved. */
function prepare({ world, scenario }: Turn, say: Say): void {
  say({ on: 'not_executed' }, 'is refused');
  const { closed } = world;
  if (!scenario.keyed) {
    say({ on: 'ready' }, 'is ready', world, { ...idle, step: 'first' });
    return;
  }
  for (const login of [...closed, ...(scenario.own === true ? [1] : [])]) {
    const owner = world.accounts[login] as Owner;
    if (owner === 'ours' && scenario.shows === 'comments') {
      say({ on: 'ours', login }, 'finds its account');
      return;
    }
    // The login of the caller is in use: nothing is sent.
    if (scenario.own === true && owner !== '' && scenario.shows !== 'nothing') return;
  }
  const login = scenario.own === true || !closed.includes(1) ? 1 : 2;
  if (scenario.own !== true && closed.includes(login)) return;
  say({ on: 'ready', login }, `reserves ${login}`, world, { ...idle, step: 'first' });
}
const idle: Worker = {
  ...{ role: 'request', life: GONE, stale: false, step: 'resume' },
  rejected: false,
  isNew: false,
};

function send({ world, add }: Turn, worker: Worker, index: number, login: number): void {
  if (world.commands.length === MAX_COMMANDS) return;
  const sent = { ...world, commands: [...world.commands, login].toSorted() };
  add(`sends ${login}`, withWorker(sent, index, { ...worker, step: 'answer', rejected: false }));
}

/** A repeated command is noted before it leaves. */
function repeat(turn: Turn, worker: Worker, index: number, say: Say, login: number): void {
  const { mistake, world, scenario } = turn;
  const isThere = scenario.keyed && scenario.shows !== 'nothing' && world.accounts[login] !== '';
  if (worker.rejected || isThere || (worker.life.at === 'sent' && worker.life.commands === 'taken')) return;
  if (mistake.sendsUnwritten === true) {
    send(turn, worker, index, login);
    return;
  }
  if (mistake.random === true) {
    send(turn, worker, index, 3 - login);
    return;
  }
  say({ on: 'again' }, 'sends again', world, { ...worker, step: 'first' });
}

/** What may be answered to the command, and what the server has done. */
function hear(turn: Turn, say: Say, login: number, worker: Worker): void {
  const { world, scenario } = turn;
  const looks: Worker = { ...worker, step: 'look' };
  say({ on: 'lost' }, 'hears nothing', world, looks);
  const left = without(world.commands, login);
  if (left === undefined) return;
  const taken = { ...world, commands: left };
  say({ on: 'not_executed' }, 'is not served', taken, looks);
  say({ on: 'rejected' }, 'is refused for its content', taken, { ...looks, rejected: true });
  say({ on: 'doubtful' }, 'is refused for the server’s state', taken, looks);
  for (const opened of freeLogins(world, login)) {
    const executed = { ...taken, accounts: { ...world.accounts, [opened]: 'ours' as const } };
    say({ on: 'opened', login: opened }, `has opened ${opened}`, executed, looks);
    say({ on: 'doubtful' }, `has opened ${opened}, and is refused for the server’s state`, executed, looks);
    if (scenario.lies === true)
      say({ on: 'rejected' }, `has opened ${opened}, refused`, executed, { ...looks, rejected: true });
    if (scenario.repeats === true) say({ on: 'exists' }, `opens ${opened} twice`, executed, looks);
  }
  if (login !== 0 && world.accounts[login] !== '') say({ on: 'exists' }, 'hears that it exists', taken, looks);
}

function without(commands: readonly number[], login: number): number[] | undefined {
  const at = commands.indexOf(login);
  return at === -1 ? undefined : commands.toSpliced(at, 1);
}

/** The logins that a command may open. */
function freeLogins({ accounts }: World, login: number): number[] {
  return (login === 0 ? [...LOGINS] : [login]).filter((one) => accounts[one] === '');
}

function look({ world, scenario }: Turn, say: Say, login: number, worker: Worker): void {
  say({ on: 'unanswered' }, 'looks, and hears nothing');
  const owner = world.accounts[login] as Owner;
  if (scenario.shows === 'nothing') {
    say({ on: 'silent' }, 'cannot look');
    return;
  }
  if (owner === '') {
    say({ on: worker.rejected ? 'unopened' : 'absent' }, 'sees no account');
    return;
  }
  if (scenario.shows === 'comments' && owner === 'ours') {
    say({ on: 'ours', login }, 'sees its account');
    return;
  }
  say({ on: scenario.shows === 'comments' && owner === 'rival' ? 'foreign' : 'unmarked' }, 'sees an account');
}

/** Record, event, mail and deposit. */
function complete(turn: Turn, say: Say, worker: Worker, index: number): void {
  const { world, mistake, add } = turn;
  const { life, step } = worker;
  if (!isOpen(life)) return;
  const { login } = life;
  const pays = { ...worker, step: 'pay' as const };
  if (step === 'complete' && life.deposit === 'due') {
    if (!worker.isNew && world.paid > 0) {
      finish(turn, say, worker, 'made');
      return;
    }
    if (mistake.paysUnwritten === true) add('is about to pay', withWorker(world, index, pays));
    else say({ on: 'paying' }, 'is about to pay', world, pays);
    return;
  }
  if (step === 'complete') {
    const isSeen = life.deposit === 'sent' && world.paid > 0;
    finish(turn, say, worker, life.deposit === 'sent' ? (isSeen ? 'made' : 'unknown') : 'kept');
    return;
  }
  if (step === 'pay') {
    const paying = { ...world, payments: world.payments + 1 };
    add(`pays into ${login}`, withWorker(paying, index, { ...worker, step: 'paid' }));
    return;
  }
  finish(turn, say, { ...worker, isNew: false }, 'unknown');
  if (world.payments === 0) return;
  const arrived = { ...world, payments: world.payments - 1 };
  finish({ ...turn, world: arrived }, say, worker, 'refused');
  finish({ ...turn, world: { ...arrived, paid: world.paid + 1 } }, say, worker, 'made');
}

function finish({ world }: Turn, say: Say, worker: Worker, deposit: 'made' | 'refused' | 'unknown' | 'kept'): void {
  const { life } = worker;
  if (!isOpen(life)) return;
  const { login } = life;
  const isMailed = life.mail === 'due';
  const mails = isMailed && !world.mails.includes(login) ? [...world.mails, login].toSorted() : world.mails;
  const known = worker.stale ? world : { ...world, record: login, event: login, mails };
  const completed = { on: 'completed', recorded: true, published: true, deposit } as const;
  say({ ...completed, mail: isMailed ? 'sent' : 'kept' }, `completes, the deposit ${deposit}`, known, {
    ...worker,
    step: 'complete',
    isNew: false,
  });
  if (isMailed)
    say(
      { ...completed, mail: 'refused' },
      'completes, the mail refused',
      { ...known, mails: world.mails },
      { ...worker, step: 'complete' },
    );
}

/** An operator says something: what is true, or, as often as the scenario lets him err, what is not. */
function operate(turn: Turn): void {
  const { world, scenario, add } = turn;
  const { life, closed, errors, accounts } = world;
  const isSayable =
    life.at === 'sent' ||
    life.at === 'undecided' ||
    (isOpen(life) && life.word === true) ||
    (life.at === 'claimed' && closed.length > 0);
  if (isOpen(life) && life.deposit === 'unpaid') say(turn, { on: 'said_paid' }, 'the deposit is paid', {});
  if (!isSayable) return;
  const mayErr = errors < (scenario.errors ?? 0);
  const sent = 'login' in life ? life.login : closed.at(-1);
  const candidates = scenario.keyed ? new Set([sent ?? 0, ...closed]) : LOGINS;
  for (const login of candidates) {
    const owner = accounts[login];
    const isProven = scenario.shows === 'comments' && scenario.keyed;
    if (login === 0 || (isProven && owner !== 'ours') || owner === 'rival') continue;
    if (owner !== 'ours' && !mayErr) continue;
    if (isOpen(life) && life.login === login) continue;
    const fact: Fact = isProven ? { on: 'ours', login } : { on: 'said_login', login };
    const left = [...new Set([...closed, sent ?? login])].filter((one) => one !== login);
    const kept = scenario.keyed && left.length > 0 ? left : closed;
    const erred = owner === 'ours' ? errors : errors + 1;
    say(turn, fact, `the account is ${login}`, { record: login, closed: kept, errors: erred });
  }
  if (isOpen(life) || life.at === 'claimed')
    say(turn, { on: 'said_undecided', login: scenario.keyed ? sent : undefined }, 'undecided', { record: 0 });
  if (life.at === 'claimed') return;
  // A command that is about to leave, may leave: an operator speaks when the time of its worker is over.
  const isLeaving = world.workers.some((worker) => worker?.step === 'first');
  const isThere = count(world, 'ours') > 0 || world.commands.length > 0 || isLeaving;
  const isShown = scenario.shows === 'comments' && scenario.keyed && accounts[sent ?? 0] === 'ours';
  if (isShown || (isThere && !mayErr)) return;
  const closedNow = [...new Set([...closed, ...(scenario.keyed && sent !== undefined ? [sent] : [99])])];
  const erred = isThere ? { errors: errors + 1, saidNoneWrongly: true } : {};
  say(turn, { on: 'said_none' }, 'there is none', { record: 0, closed: closedNow, ...erred });
  add('an operator waits', world);
}

/** The operators' command takes the lease like every worker, and overtakes the others. */
function say(turn: Turn, fact: Fact, title: string, changes: Partial<World>): void {
  const { world, add } = turn;
  const life = decide(turn, world.life, fact);
  const workers = world.workers.map((worker) => worker && { ...worker, stale: true });
  add(`an operator says: ${title}`, { ...world, ...changes, life, workers });
}

/** Late commands and payments, a stranger, and another operation of ours. */
function happenAlone(turn: Turn): void {
  const { world, scenario, add } = turn;
  for (const login of new Set(world.commands)) {
    const commands = without(world.commands, login) ?? [];
    add(`the command for ${login} is lost`, { ...world, commands });
    for (const opened of freeLogins(world, login))
      add(`the command opens ${opened} late`, {
        ...world,
        commands,
        accounts: { ...world.accounts, [opened]: 'ours' },
      });
  }
  if (world.payments > 0) {
    add('a payment is lost', { ...world, payments: world.payments - 1 });
    add('a payment arrives late', { ...world, payments: world.payments - 1, paid: world.paid + 1 });
  }
  if (scenario.stranger === true && !world.hasStranger && world.accounts[1] === '')
    add('a stranger opens 1', { ...world, hasStranger: true, accounts: { ...world.accounts, 1: 'stranger' } });
  if (scenario.rival === true) rivalOpens(turn);
}

/** The plug-in answers another operation with a login: an operator's word about it is given up in the same write. */
function rivalOpens(turn: Turn): void {
  const { world, add } = turn;
  if (count(world, 'rival') > 0) return;
  for (const login of LOGINS.filter((one) => world.accounts[one] === '')) {
    const accounts = { ...world.accounts, [login]: 'rival' as const };
    const { life } = world;
    if (!isOpen(life) || life.login !== login) add(`another operation opens ${login}`, { ...world, accounts });
    else {
      const workers = world.workers.map((worker) => worker && { ...worker, stale: true });
      const given = { ...world, accounts, workers, life: decide(turn, life, { on: 'given_away' }), record: 0 };
      add(`another operation opens ${login}, which an operator has named`, given);
    }
  }
}
