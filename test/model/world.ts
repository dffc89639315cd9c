import {
  type Context,
  decide,
  type Fact,
  type LIFE,
  type Life,
  type PaymentOutcome,
  type Step,
} from '../../lib/openings/life.ts';

/**
 * The world of the exhaustive check: one or two requests for an account, their workers, the ledger and a trading
 * server, small enough to explore every history. The decisions are those of `life.ts`; workers act as `drive.ts` makes
 * them.
 */

/** The possible events of a world. */
export interface Scenario {
  name: string;
  /** The protocol names logins. */
  keyed: boolean;
  /** The account gets a deposit after the opening. */
  funded: boolean;
  /** A stranger opens accounts at our logins. */
  foreign: boolean;
  /** The visibility of accounts: with marks, without, or not even their existence. */
  shows: 'mark' | 'nothing' | 'silent';
  /** The server is restored from a backup: accounts vanish. */
  restored: boolean;
  /** Another request competes for the same logins. */
  rival: boolean;
  /** The server answers an opening with the login of another account, which the ledger has. */
  lies: boolean;
  /** Workers of the first request. */
  workers: number;
}

/** A mistake that the check must find. */
export interface Mistake {
  name: string;
  /** The name of the scenario that shows it, if that is a large one: the others need not be explored. */
  scenario?: string;
  table?: typeof LIFE;
  /** A write succeeds under any version. */
  ignoresVersion?: true;
  /**
   * The login is reserved in a write before the state; a reservation counts as free while its operation has not sent.
   */
  reservesFirst?: true;
}

/** An operation: its request, and how often the request's key was claimed, such as `A1`. */
type Id = string;
const FOREIGN: Id = 'F0';
const NOTHING: Id = '';

interface Worker {
  id: Id;
  role: Context['worker'];
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
  /** Its only command was refused, for another reason than that the login exists. */
  refused: boolean;
}

export interface World {
  /** The current operation of each request. */
  operations: Record<string, { id: Id; life: Life }>;
  /** By login: the operation that holds it. */
  reservations: Id[];
  /** By login: the operation whose account it is. */
  accounts: Id[];
  /** Commands that were sent and may still be executed; login 0: the server chooses. */
  commands: { id: Id; login: number }[];
  /** Paying commands that may still be executed. */
  payments: number;
  deposits: number;
  workers: (Worker | null)[];
}

/** A promise was broken. */
export class Broken extends Error {
  override readonly name = 'Broken';
}

const LOGINS = [1, 2];
/** Further commands of one operation are equal and change nothing. */
const MAX_PENDING = 2;
/** How often a key may be claimed. */
const MAX_CLAIMS = 2;

export function firstWorld({ rival, workers }: Scenario): World {
  const operations: World['operations'] = { A: { id: 'A0', life: { at: 'gone' } } };
  if (rival) operations.B = { id: 'B0', life: { at: 'gone' } };
  return {
    operations,
    reservations: [NOTHING, NOTHING, NOTHING],
    accounts: [NOTHING, NOTHING, NOTHING],
    commands: [],
    payments: 0,
    deposits: 0,
    workers: Array.from({ length: workers + (rival ? 1 : 0) }, () => null),
  };
}

/** Equal for worlds that differ only in the order of equal workers. */
export function keyOf(world: World, { workers: alike }: Scenario): string {
  const { operations, reservations, accounts, commands, payments, deposits, workers } = world;
  const shown = workers.map((worker) => (worker === null ? '' : workerKey(worker)));
  const pending = commands.map(({ id, login }) => id + login).sort();
  let key = `${reservations}|${accounts}|${pending}|${payments}${deposits}|`;
  for (const request in operations) {
    const stored = operations[request];
    if (stored !== undefined) key += `${stored.id}${lifeKey(stored.life)}|`;
  }
  return `${key}${shown.slice(0, alike).sort()}|${shown.slice(alike)}`;
}

function workerKey({ id, role, life, stale, fact, step, reserved, holds, refused }: Worker): string {
  const flags = `${stale ? 's' : ''}${refused ? 'r' : ''}${reserved}${holds}`;
  return `${id}${role}${lifeKey(life)}${flags}${fact === null ? '' : factKey(fact)}${step ?? ''}`;
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
  return 'login' in fact ? `${fact.on}${fact.login}` : fact.on;
}

/** A copy whose parts are replaced, never changed. */
function copy(world: World): World {
  const { operations, reservations, accounts, commands, workers } = world;
  return {
    ...world,
    operations: { ...operations },
    reservations: [...reservations],
    accounts: [...accounts],
    commands: [...commands],
    workers: [...workers],
  };
}

/** Nothing of any request is left open. */
export function isEnd({ operations }: World): boolean {
  return Object.values(operations).every(({ life }) => life.at === 'gone' || (life.at === 'done' && !life.unpaid));
}

/** @throws Broken if the world breaks a promise */
export function checkWorld({ operations, accounts, commands, deposits }: World, { restored }: Scenario): void {
  if (deposits > 1) throw new Broken('The deposit was paid twice.');
  for (const [request, { id, life }] of Object.entries(operations)) {
    const own = LOGINS.filter((login) => accounts[login]?.startsWith(request));
    if (own.length > 1) throw new Broken(`The request ${request} has two accounts.`);
    if (life.at === 'open' || life.at === 'done') {
      const owner = accounts[life.login];
      if (owner !== id && !(restored && owner === NOTHING)) {
        throw new Broken(`The request ${request} is answered with ${owner === NOTHING ? 'no' : "another's"} account.`);
      }
    }
    if (life.at !== 'gone') continue;
    if (own.length > 0) throw new Broken(`The request ${request} was reported as not opened, and its account exists.`);
    if (commands.some((one) => one.id === id && (one.login === 0 || accounts[one.login] !== FOREIGN))) {
      throw new Broken(`The request ${request} was reported as not opened while its command may be executed.`);
    }
  }
}

type Add = (action: string, change: (next: World) => void) => void;

/** Explores one step of everything in a world. */
export class Steps {
  readonly #scenario: Scenario;
  readonly #mistake: Mistake;
  readonly #add: Add;
  readonly #world: World;

  /** @param add is called with everything that may happen next */
  constructor(world: World, scenario: Scenario, mistake: Mistake, add: (action: string, world: World) => void) {
    this.#world = world;
    this.#scenario = scenario;
    this.#mistake = mistake;
    this.#add = (action, change) => {
      const next = copy(world);
      change(next);
      add(action, next);
    };
  }

  /** @throws Broken if a decision breaks a promise */
  all(): void {
    for (const [index, worker] of this.#world.workers.entries()) {
      if (worker === null) this.#start(index, index >= this.#scenario.workers ? 'B' : 'A');
      else {
        this.#add(`${name(worker, index)} dies`, (next) => {
          next.workers[index] = null;
        });
        if (worker.fact !== null) this.#decide(worker, worker.fact, index);
        else if (worker.step === null) this.#askOperator(worker, index);
        else this.#act(worker, worker.step, index);
      }
    }
    this.#happen();
  }

  /** A worker acquires the operation from any holder: leases end, and clocks are wrong. */
  #start(index: number, request: string): void {
    const { id, life } = this.#world.operations[request] ?? { id: NOTHING, life: { at: 'gone' } };
    const claims = Number(id.slice(1));
    if (life.at === 'gone') {
      const next = `${request}${claims + 1}`;
      if (claims < MAX_CLAIMS) {
        this.#add(`request ${index + 1} claims ${next}`, (world) => {
          world.operations[request] = { id: next, life: { at: 'claimed' } };
          begin(world, index, next, 'request', { at: 'claimed' });
        });
      }
      return;
    }
    const roles: Worker['role'][] = ['request'];
    if (life.at === 'sent' || life.at === 'open') roles.push('settler');
    if (life.at === 'undecided' || (life.at === 'done' && life.unpaid)) roles.push('operator');
    for (const role of roles) {
      this.#add(`${role} ${index + 1} acquires ${id}, ${show(life)}`, (world) => begin(world, index, id, role, life));
    }
  }

  /** The operator reports the account on the server; or another operation's account, by mistake. */
  #askOperator(worker: Worker, index: number): void {
    const { accounts, commands, reservations, workers } = this.#world;
    const { life, id } = worker;
    const say = (fact: Fact) =>
      this.#add(`${name(worker, index)} says ${fact.on}${'login' in fact ? ` ${fact.login}` : ''}`, (next) =>
        change(next, index, { fact }),
      );
    if (life.at === 'done') return void say({ on: 'operator_paid' });
    for (const login of LOGINS) {
      const holder = reservations[login] ?? NOTHING;
      if (accounts[login] === id || (holder !== NOTHING && holder !== id)) say({ on: 'operator_found', login });
    }
    if (accounts.includes(id)) return;
    // An operator gets an operation long after its functions have ended.
    if (workers.some((one) => one !== null && one !== worker && one.id === id)) return;
    const isOccupied = 'login' in life && life.login !== undefined && accounts[life.login] === FOREIGN;
    if (isOccupied || !commands.some((one) => one.id === id)) say({ on: 'operator_found_none' });
  }

  /** Decides on a fact, and writes the new state under the version that was read. */
  #decide(worker: Worker, fact: Fact, index: number): void {
    for (const old of fact.on === 'completed' || fact.on === 'silent' ? [false, true] : [false]) {
      const context = this.#context(worker, old);
      const { to, step } = this.#decision(worker.life, fact, context);
      const title = `${name(worker, index)}: ${fact.on}`;
      if (to === undefined) {
        this.#add(`${title}, then ${step}`, (next) => advance(next, index, step));
        continue;
      }
      checkDecision(worker, fact, to, context);
      if (worker.stale && this.#mistake.ignoresVersion !== true) {
        this.#add(`${title}, is overtaken`, (next) => {
          next.workers[index] = null;
        });
        continue;
      }
      const login = this.#loginToReserve(worker.life, to);
      if (login !== undefined && worker.holds !== login && this.#isReserved(worker.id, login)) {
        this.#add(`${title}, finds ${login} reserved`, (next) =>
          change(next, index, { fact: { on: 'reserved' }, reserved: login }),
        );
        continue;
      }
      this.#write(worker, index, `${title}, writes ${show(to)}`, to, step, login);
    }
  }

  #write(worker: Worker, index: number, title: string, to: Life, step: Step, login: number | undefined): void {
    if (this.#mistake.reservesFirst && login !== undefined && worker.holds !== login) {
      this.#add(`${name(worker, index)} reserves ${login}`, (next) => {
        next.reservations[login] = worker.id;
        change(next, index, { holds: login });
      });
      return;
    }
    this.#add(`${title}, then ${step}`, (next) => {
      store(next, worker, to, worker.holds === login ? undefined : login);
      change(next, index, { life: to, reserved: 0, holds: 0 });
      advance(next, index, step);
    });
    if (to.at !== 'sent' || to.commands !== 'one') return;
    this.#add(`${title}, gets no answer, and takes it back`, (next) => {
      store(next, { ...worker, life: to }, { at: 'gone' }, undefined);
      next.workers[index] = null;
    });
  }

  #context({ life, role, reserved }: Worker, old: boolean): Context {
    const { keyed, funded } = this.#scenario;
    const asked = reserved || ('login' in life ? life.login : undefined);
    // The range has two logins, which are tried in order.
    const next = () => (keyed && asked === 1 ? 2 : undefined);
    return { worker: role, keyed, next, deposit: funded ? 'due' : 'none', now: 0, old };
  }

  #decision(life: Life, fact: Fact, context: Context) {
    try {
      return decide(life, fact, context, this.#mistake.table);
    } catch (error) {
      throw new Broken((error as Error).message);
    }
  }

  #loginToReserve(from: Life, to: Life): number | undefined {
    const earlier = from.at === 'sent' ? from.login : undefined;
    const isNamed = to.at === 'sent' || (to.at === 'open' && !this.#scenario.keyed && from.at !== 'open');
    return isNamed && to.login !== earlier ? to.login : undefined;
  }

  #isReserved(id: Id, login: number): boolean {
    const holder = this.#world.reservations[login] ?? NOTHING;
    if (holder === NOTHING || holder === id) return false;
    if (this.#mistake.reservesFirst !== true) return true;
    const { id: current, life } = this.#world.operations[holder.charAt(0)] ?? { id: NOTHING, life: { at: 'gone' } };
    return current === holder && life.at !== 'claimed' && life.at !== 'gone';
  }

  #act(worker: Worker, step: Worker['step'], index: number): void {
    const { life, id } = worker;
    const learn = (fact: Fact, title: string, also: (next: World) => void = () => {}, more: Partial<Worker> = {}) =>
      this.#add(`${name(worker, index)} ${title}`, (next) => {
        also(next);
        change(next, index, { fact, step: null, ...more });
      });
    switch (step) {
      case 'prepare':
        if (!this.#scenario.keyed) learn({ on: 'ready' }, 'has judged the order');
        // Any login: ranges are edited, and callers choose their own.
        else for (const login of LOGINS) learn({ on: 'ready', login }, `has judged the order, and chosen ${login}`);
        learn({ on: 'refused' }, 'refuses the order');
        return;
      case 'send':
        return void this.#add(`${name(worker, index)} sends the command`, (next) => {
          send(next, id, 'login' in life ? (life.login ?? 0) : 0);
          change(next, index, { step: 'answer' });
        });
      case 'answer':
        return void this.#answer(worker, learn);
      case 'look':
      case 'pause':
        return void this.#look(worker, learn);
      case 'complete':
      case 'pay':
        return void this.#complete(worker, step === 'pay', index, learn);
      case 'resume':
        return void learn({ on: 'resume' }, 'goes on');
      default:
        return void this.#add(`${name(worker, index)} ends`, (next) => {
          next.workers[index] = null;
        });
    }
  }

  #answer({ id, life }: Worker, learn: Learn): void {
    const login = 'login' in life ? (life.login ?? 0) : 0;
    const consume = (next: World) => take(next, id, login);
    learn({ on: 'lost' }, 'gets no answer');
    if (!this.#world.commands.some((one) => one.id === id && one.login === login)) return;
    const isFirst = life.at === 'sent' && life.commands === 'one';
    learn({ on: 'refused' }, 'is refused', consume, { refused: isFirst });
    learn({ on: 'rejected' }, 'is refused for the content', consume, { refused: isFirst });
    for (const chosen of this.#free(login)) {
      learn({ on: 'opened', login: chosen }, `has opened ${chosen}`, (next) => {
        consume(next);
        next.accounts[chosen] = id;
      });
    }
    if (login !== 0 && this.#world.accounts[login] !== NOTHING)
      learn({ on: 'exists' }, 'is answered that it exists', consume);
    if (!this.#scenario.lies) return;
    for (const chosen of LOGINS) {
      const holder = this.#world.reservations[chosen];
      const [opened] = this.#free(login);
      if (holder === NOTHING || holder === id || opened === undefined) continue;
      learn({ on: 'opened', login: chosen }, `has opened ${opened}, and gets the answer ${chosen}`, (next) => {
        consume(next);
        next.accounts[opened] = id;
      });
    }
  }

  /** The logins that a command may open: its own, or any if the server chooses. */
  #free(login: number): number[] {
    return LOGINS.filter((one) => (login === 0 || one === login) && this.#world.accounts[one] === NOTHING);
  }

  #look({ id, life }: Worker, learn: Learn): void {
    const { shows } = this.#scenario;
    const owner = this.#world.accounts['login' in life ? (life.login ?? 0) : 0];
    learn({ on: 'unclear' }, 'looks, and gets no answer');
    if (shows === 'silent' || !this.#scenario.keyed) learn({ on: 'silent' }, 'looks: the server cannot say');
    else if (owner === NOTHING) learn({ on: 'absent' }, 'looks, and finds nothing');
    else if (shows === 'nothing') learn({ on: 'unmarked' }, 'looks, and finds an account');
    else learn({ on: owner === id ? 'ours' : 'foreign' }, `looks, and finds ${owner === id ? 'ours' : "another's"}`);
  }

  #complete(worker: Worker, pay: boolean, index: number, learn: Learn): void {
    if (worker.life.at !== 'open') return;
    const { deposit } = worker.life;
    const done = (outcome: PaymentOutcome): Fact => ({
      on: 'completed',
      recorded: true,
      published: true,
      deposit: outcome,
    });
    learn({ on: 'completed', recorded: false, published: false, deposit: 'kept' }, 'completes nothing');
    if (deposit !== 'sent') return void learn(done('kept'), 'completes it');
    if (!pay) return void learn(done(this.#world.deposits > 0 ? 'made' : 'unknown'), 'looks at the balance');
    learn(done('refused'), 'is refused the payment');
    learn(done('made'), 'pays', (next) => {
      next.deposits += 1;
    });
    this.#add(`${name(worker, index)} pays, and gets no answer`, (next) => {
      next.payments = Math.min(MAX_PENDING, next.payments + 1);
      change(next, index, { fact: done('unknown'), step: null });
    });
  }

  /** Events without a worker. */
  #happen(): void {
    const { commands, accounts, payments } = this.#world;
    for (const { id, login } of commands) {
      this.#add(`a command of ${id} is dropped`, (next) => take(next, id, login));
      for (const chosen of this.#free(login)) {
        this.#add(`a late command of ${id} opens ${chosen}`, (next) => {
          take(next, id, login);
          next.accounts[chosen] = id;
        });
      }
    }
    if (payments > 0) {
      this.#add('a payment is dropped', (next) => {
        next.payments -= 1;
      });
      this.#add('a late payment arrives', (next) => {
        next.payments -= 1;
        next.deposits += 1;
      });
    }
    if (this.#scenario.foreign && !accounts.includes(FOREIGN)) {
      for (const free of this.#free(0)) {
        this.#add(`somebody else opens ${free}`, (next) => {
          next.accounts[free] = FOREIGN;
        });
      }
    }
    const lost = LOGINS.find((login) => accounts[login] !== NOTHING);
    if (this.#scenario.restored && lost !== undefined) {
      this.#add(`the server is restored without ${lost}`, (next) => {
        next.accounts[lost] = NOTHING;
      });
    }
  }
}

type Learn = (fact: Fact, title: string, also?: (next: World) => void, more?: Partial<Worker>) => void;

/** @throws Broken for a decision that could only keep a promise by luck */
function checkDecision({ refused, life }: Worker, fact: Fact, to: Life, { next }: Context): void {
  if (to.at === 'sent' && refused && life.at === 'sent')
    throw new Broken('It sends again after its only command was refused.');
  const isTaken = fact.on === 'reserved' || (life.at === 'sent' && TAKEN.has(fact.on) && life.commands === 'one');
  if (isTaken && next() !== undefined && to.at === 'gone') throw new Broken('It gives up although a login is free.');
  if (isTaken && life.at === 'sent' && life.login !== undefined && (to.at === 'open' || to.at === 'undecided')) {
    throw new Broken('It takes the refusal of its only command for an unknown outcome.');
  }
}
const TAKEN: ReadonlySet<string> = new Set(['unmarked', 'foreign', 'absent', 'silent', 'unclear']);

function name({ role, id }: Worker, index: number): string {
  return `${role} ${index + 1} of ${id}`;
}

function show(life: Life): string {
  const { at, ...rest } = life;
  return [at, ...Object.entries(rest).map(([key, value]) => `${key} ${value}`)].join(' ');
}

function begin(world: World, index: number, id: Id, role: Worker['role'], life: Life): void {
  world.workers = world.workers.map((worker) => (worker?.id === id ? { ...worker, stale: true } : worker));
  const fact: Fact | null = role === 'operator' ? null : { on: 'resume' };
  world.workers[index] = { id, role, life, stale: false, fact, step: null, reserved: 0, holds: 0, refused: false };
}

function change(world: World, index: number, changes: Partial<Worker>): void {
  const worker = world.workers[index];
  if (worker) world.workers[index] = { ...worker, ...changes };
}

function advance(world: World, index: number, step: Step): void {
  if (step === 'rest' || step === 'stop') world.workers[index] = null;
  else change(world, index, { fact: null, step });
}

/** Writes a state, with the reservations that go with it. */
function store(world: World, { id, life }: Worker, to: Life, login: number | undefined): void {
  const request = id.charAt(0);
  if (world.operations[request]?.id === id) world.operations[request] = { id, life: to };
  const earlier = life.at === 'sent' ? (life.login ?? 0) : 0;
  const isGivenUp = to.at === 'gone' || (to.at === 'sent' && to.login !== earlier);
  if (isGivenUp && world.reservations[earlier] === id) world.reservations[earlier] = NOTHING;
  if (login !== undefined) world.reservations[login] = id;
}

function send(world: World, id: Id, login: number): void {
  if (world.commands.filter((one) => one.id === id && one.login === login).length < MAX_PENDING) {
    world.commands.push({ id, login });
  }
}

function take(world: World, id: Id, login: number): void {
  const index = world.commands.findIndex((one) => one.id === id && one.login === login);
  if (index >= 0) world.commands.splice(index, 1);
}
