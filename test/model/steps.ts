import { DAY_MS, type Fact, findTransition, LIFE, type Life, type LifeAt, nextLife } from '../../lib/openings/life.ts';
import {
  Broken,
  count,
  isOpen,
  LOGINS,
  type Mistake,
  type Owner,
  type Scenario,
  type Worker,
  type World,
} from './world.ts';

/** Adds a world that may follow, and what happens then. `late`: it happens only a day after the first command. */
type Add = (action: string, next: World, late?: 'late') => void;

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
function acquire({ world, add }: Turn, index: number): void {
  const { life } = world;
  const claimed: Life = life.at === 'gone' ? { at: 'claimed' } : life;
  const worker: Worker = { life: claimed, stale: false, step: 'resume', rejected: false, isNew: false };
  const others = world.workers.map((one) => one && { ...one, stale: true });
  // Of what is undecided the request hears 504.
  const next = life.at === 'undecided' ? null : worker;
  add(`worker ${index} acquires ${life.at}`, withWorker({ ...world, life: claimed, workers: others }, index, next));
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
  const { world, mistake, add } = turn;
  if (worker.stale && mistake.does !== 'overwrite') {
    add(`${title}, and is overtaken`, withWorker(before, index, null));
    return;
  }
  const isNew = worker.isNew || fact.on === 'opened';
  for (const now of fact.on === 'completed' ? [0, 3 * DAY_MS] : [0]) {
    const life = decide(turn, worker.life, fact, now);
    if ((fact.on === 'opened' || fact.on === 'ours') && !isOpen(life))
      throw new Broken('An account is proved, and the caller does not hear it.');
    if (isRefused(turn, worker.life, fact) && life.at === 'sent')
      throw new Broken('Nothing was opened, and the key is not free.');
    const isOver = !isOpen(life) && life.at !== 'sent';
    const isOut = isOver || fact.on === 'completed';
    const after = isOut ? null : { ...next, life, isNew, step: stepIn(life, next) };
    const isTaken = world.isTaken || (fact.on === 'exists' && hasSent('one', worker.life));
    const staysSent = worker.life.at === 'sent' && life.at === 'sent';
    const written = { ...before, life, isTaken: isTaken && staysSent };
    add(now === 0 ? title : `${title}, after days`, withWorker(written, index, after));
  }
}

/** Whether a fact proves that the only command of an operation has opened nothing (contract, 6, rule 5). */
function isRefused({ scenario }: Turn, life: Life, { on }: Fact): boolean {
  return hasSent('one', life) && (on === 'not_executed' || on === 'unopened' || (on === 'rejected' && !scenario.keyed));
}

const hasSent = (commands: LifeAt<'sent'>['commands'], life: Life) => life.at === 'sent' && life.commands === commands;

/** What a worker does in a state that it has written. */
function stepIn(life: Life, worker: Worker): Worker['step'] {
  if (life.at === 'open' && worker.step !== 'pay') return 'complete';
  return life.at === 'sent' && worker.step === 'resume' ? 'look' : worker.step;
}

function decide(turn: Turn, life: Life, fact: Fact, now = 0): Life {
  try {
    return withoutTimes(nextLife(life, fact, contextOf(turn, now), turn.mistake.table ?? LIFE));
  } catch (error) {
    throw new Broken((error as Error).message);
  }
}

function contextOf({ scenario, world }: Turn, now: number) {
  return {
    ...{ keyed: scenario.keyed, exclusive: isExclusive(scenario), saidNone: world.closed.length > 0, now },
    ...{ deposit: scenario.funded === true, mail: scenario.mailed === true },
  };
}

const isExclusive = ({ keyed, own, strict }: Scenario) => keyed && own !== true && strict !== true;

/** Times make no difference in the model. */
function withoutTimes(life: Life): Life {
  return isOpen(life) ? { ...life, opened_at: '1970-01-01T00:00:00.000Z', paid_at: undefined } : life;
}

function act(turn: Turn, worker: Worker, index: number): void {
  const { world, scenario, mistake, add } = turn;
  const { life, step } = worker;
  const login = 'login' in life ? (life.login ?? 0) : 0;
  const say = (fact: Fact, title: string, before: World = world, next: Worker = worker) =>
    learn(turn, worker, index, fact, `worker ${index} ${title}`, before, next);
  switch (step) {
    case 'resume':
      if (life.at === 'claimed') add('prepares', withWorker(world, index, { ...worker, step: 'prepare' }));
      else say({ on: 'resume' }, 'resumes');
      return;
    case 'prepare':
      prepare(turn, say, worker);
      return;
    case 'first':
      send(turn, worker, index, login);
      return;
    case 'answer':
      hear(turn, say, login, worker);
      return;
    case 'look':
      look(turn, say, login, worker);
      repeat(turn, worker, index, say, login);
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
function prepare({ world, scenario, mistake }: Turn, say: Say, worker: Worker): void {
  say({ on: 'not_executed' }, 'is refused');
  const { closed } = world;
  const first: Worker = { ...worker, step: 'first' };
  const ready: World = mayComeSecond(world, scenario) ? { ...world, unkept: 'second' } : world;
  if (!scenario.keyed) {
    say({ on: 'ready' }, 'is ready', ready, first);
    return;
  }
  for (const login of [...(mistake.does === 'forget closed' ? [] : closed), ...(scenario.own === true ? [1] : [])]) {
    const owner = shownOwner(world, login);
    if (owner === 'ours' && scenario.shows === 'comments') {
      say({ on: 'ours', login }, 'finds its account');
      return;
    }
    // The login of the caller is in use: nothing is sent.
    if (scenario.own === true && owner !== '' && scenario.shows !== 'nothing') return;
  }
  const isFree = (login: number) => !closed.includes(login) || mistake.does === 'reuse';
  const login = scenario.own === true ? 1 : LOGINS.find(isFree);
  if (login !== undefined) say({ on: 'ready', login }, `reserves ${login}`, ready, first);
}

/** Whether an operator has said "none", and an account of ours is there that no look shows, or still comes. */
function mayComeSecond({ closed, accounts, commands, workers }: World, { keyed, shows }: Scenario): boolean {
  const isHidden = (!keyed || shows !== 'comments') && Object.values(accounts).includes('ours');
  const isComing = commands.length > 0 || workers.some((worker) => worker?.step === 'first');
  return closed.length > 0 && (isHidden || isComing);
}

const shownOwner = ({ accounts }: World, login: number): Owner => {
  const owner = accounts[login] ?? '';
  return owner === 'archived' ? '' : owner;
};

function send({ world, add }: Turn, worker: Worker, index: number, login: number): void {
  if (world.commands.length === MAX_COMMANDS) return;
  const sent = { ...world, commands: [...world.commands, login].toSorted() };
  add(`sends ${login}`, withWorker(sent, index, { ...worker, step: 'answer', rejected: false }));
}

/** A repeated command is noted before it leaves. */
function repeat(turn: Turn, worker: Worker, index: number, say: Say, login: number): void {
  const { mistake, world, scenario } = turn;
  const isThere = scenario.keyed && scenario.shows !== 'nothing' && shownOwner(world, login) !== '';
  if (worker.rejected || isThere || hasSent('taken', worker.life)) return;
  if (mistake.does === 'send unwritten') {
    send(turn, worker, index, login);
    return;
  }
  if (mistake.does === 'send other') {
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
  const mayRename = scenario.renames === true && hasSent('one', worker.life) && !worker.stale;
  for (const other of mayRename ? freeLogins(world, 3 - login) : []) {
    const executed = { ...taken, accounts: { ...world.accounts, [other]: 'ours' as const } };
    say({ on: 'other_login', login: other }, `has opened ${other} instead`, executed, looks);
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
  const owner = shownOwner(world, login);
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
  const isLost = hasSent('many', worker.life) && !world.isTaken;
  const isUnkept = owner === 'stranger' && isExclusive(scenario) && isLost;
  const seen: World = isUnkept ? { ...world, unkept: 'stranger' } : world;
  say({ on: scenario.shows === 'comments' && owner === 'rival' ? 'foreign' : 'unmarked' }, 'sees an account', seen);
}

/** Record, event, mail and deposit. */
function complete(turn: Turn, say: Say, worker: Worker, index: number): void {
  const { world, mistake, add } = turn;
  const { life, step } = worker;
  if (!isOpen(life)) return;
  const { login } = life;
  const pays = { ...worker, step: 'pay' as const };
  if (step === 'complete' && life.deposit === 'due') {
    if (!worker.isNew && world.paid > 0 && mistake.does !== 'pay unread') {
      finish(turn, say, worker, 'made');
      return;
    }
    if (mistake.does === 'pay unwritten') add('is about to pay', withWorker(world, index, pays));
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
  const made = { ...arrived, paid: world.paid + 1 };
  finish({ ...turn, world: arrived }, say, worker, 'refused');
  finish({ ...turn, world: made }, say, worker, 'made');
  if (turn.scenario.lies === true) finish({ ...turn, world: made }, say, worker, 'refused');
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
  const { world, scenario } = turn;
  const { life, closed, errors, accounts } = world;
  const login = 'login' in life ? life.login : closed.at(-1);
  const isWord = isOpen(life) ? life.word === true : life.at === 'claimed' && closed.length > 0;
  const isUnpaid = isOpen(life) && life.deposit === 'unpaid';
  say(turn, { on: 'said_paid' }, isUnpaid && { deposit: 'made' });
  const undecided = { on: 'said_undecided', login: scenario.keyed ? login : undefined } as const;
  say(turn, undecided, isWord && { at: 'undecided' }, { record: 0 });
  if (!isWord && life.at !== 'sent' && life.at !== 'undecided') {
    say(turn, { on: 'said_none' }, false);
    say(turn, { on: 'said_login', login: 1 }, false);
    return;
  }
  const other = 'other' in life ? life.other : undefined;
  const known = [...new Set([...closed, login, other])].filter((one) => one !== undefined);
  const mayErr = errors < (scenario.errors ?? 0);
  const isShown = scenario.shows === 'comments' && scenario.keyed;
  for (const named of scenario.keyed ? known : LOGINS) {
    const owner = accounts[named];
    if (owner === 'rival' || (owner !== 'ours' && (isShown || !mayErr)) || (isOpen(life) && life.login === named))
      continue;
    const left = known.filter((one) => one !== named);
    const kept = scenario.keyed && left.length > 0 ? left : closed;
    const changes = { record: named, closed: kept, errors: owner === 'ours' ? errors : errors + 1 };
    say(turn, { on: isShown ? 'ours' : 'said_login', login: named }, { at: 'open', login: named }, changes);
  }
  if (life.at === 'claimed') return;
  // A command that is about to leave, may leave: an operator speaks when the time of its worker is over.
  const isLeaving = world.workers.some((worker) => worker?.step === 'first');
  const isThere = count(world, 'ours') > 0 || world.commands.length > 0 || isLeaving;
  if ((isThere && !mayErr) || (isShown && known.some((one) => accounts[one] === 'ours'))) return;
  const changes = { record: 0, closed: scenario.keyed ? known : [99], errors: isThere ? errors + 1 : errors };
  say(turn, { on: 'said_none' }, { at: 'claimed' }, changes);
}

/**
 * The operators' command takes the lease like every worker, and overtakes the others.
 * @param effect what the word must change at once; false: it must be refused (contract, 6, rule 8)
 */
function say(turn: Turn, fact: Fact, effect: Partial<Life> | false, changes: Partial<World> = {}): void {
  const { world, scenario, mistake, add } = turn;
  const { life } = world;
  const word = `an operator says: ${fact.on} ${'login' in fact ? fact.login : ''}`;
  const found = life.at === 'gone' ? undefined : findTransition(life, fact, contextOf(turn, 0), mistake.table ?? LIFE);
  if (effect === false && found !== undefined) throw new Broken(`${word}, which must be refused.`);
  if (effect === false) return;
  const next = decide(turn, life, fact);
  if (JSON.stringify({ ...next, ...effect }) !== JSON.stringify(next)) throw new Broken(`${word}, without effect.`);
  const workers = world.workers.map((worker) => worker && { ...worker, stale: true });
  // An operator speaks of what is sent a day after the first command. No history may need that day, but one with a lost
  // answer whose account no look shows.
  const isHidden = scenario.shows === 'nothing' || ('login' in life && shownOwner(world, life.login ?? 0) === '');
  const isLate = life.at === 'sent' && !(isHidden && hasSent('many', life));
  add(word, { ...world, ...changes, life: next, workers }, isLate ? 'late' : undefined);
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
  if (scenario.stranger === true && world.accounts[1] === '')
    add('a stranger opens 1', { ...world, accounts: { ...world.accounts, 1: 'stranger' } });
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
