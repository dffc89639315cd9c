import {
  type DecisionContext,
  type Fact,
  findTransition,
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

/** What may happen in a world. Absent: no. */
export interface Scenario {
  name: string;
  /** The protocol names logins. */
  keyed: boolean;
  /** Workers of the first request. */
  workers: number;
  /** The accounts that a worker can prove to be its own or another operation's. */
  shows: 'comments' | 'passwords' | 'nothing' | 'silent';
  /** The account gets a deposit after the opening. */
  funded?: boolean;
  /** A stranger opens an account at one of our logins. */
  stranger?: boolean;
  /** Once: a dealer writes another operation's id into the comment of an account. */
  relabels?: boolean;
  /** The caller has chosen the login. `true`: outside of the ranges. */
  own?: boolean | 'inside';
  /** Accounts without proof go to the operators. */
  strict?: boolean;
  /** The server is restored from a backup: accounts vanish. */
  restored?: boolean;
  /** Another request competes for the same logins. */
  rival?: boolean;
  /** Once: another operation of ours reserves a login of ours, in one of the ledgers, and sends its command. */
  another?: boolean;
  /** The server executes a command and answers that it refuses its content. */
  lies?: boolean;
  /** The server executes a command and answers that it refuses our rights. */
  liesAboutRights?: boolean;
  /** The server, or a gateway, repeats a command and answers that the login exists. */
  repeats?: boolean;
  /** A plug-in answers an opening with the login of another account, which the ledger has. */
  otherLogin?: boolean;
  /** Every command is answered, and its answer proves something. */
  answers?: boolean;
  /** Once: the operations are set back, the reservations are lost, both are lost, or the records too. */
  loses?: 'operations' | 'reservations' | 'ledger' | 'all';
  /** A payment may be on its way while all tables are lost. */
  losesWhilePaying?: boolean;
  /** A key expires early: a worker's clock is ahead. */
  expires?: boolean;
  /** Two deployments with the same secret have a ledger each. */
  double?: boolean;
  /** Once: the connection leads to another server. */
  moves?: boolean;
  /**
   * Once: the request gets another id and other logins. `edited`: its ranges, its caller, its body or two keys of the
   * secret have changed. `rotated`: one key of the secret, so that claims look under both ids.
   */
  rederives?: 'edited' | 'rotated';
  /** A payment is refused, and made later. */
  paysLater?: boolean;
  /** A gateway repeats a payment. */
  paysTwice?: boolean;
}

/** A mistake that the check must find. */
export interface Mistake {
  name: string;
  /** The name of the scenario that shows it, if that is a large one: the others need not be explored. */
  scenario?: string;
  table?: typeof LIFE;
  /** A write succeeds under any version. */
  ignoresVersion?: true;
  /** The login is reserved before the state is written; a reservation counts only once its operation has sent. */
  reservesFirst?: true;
  /** Operation ids and logins do not follow from the key. */
  random?: true;
  /** Any password that a server accepts is proof. */
  believesPasswords?: true;
  /** An account's record is no proof. */
  ignoresRecord?: true;
  /** A claim does not look for reservations of its own operation. */
  ignoresReservation?: true;
}

/** The promises, as the table of `lib/README.md` names them. */
export type Promised =
  | 'one account'
  | 'no account of somebody else'
  | '`login_taken` never about one’s own account'
  | 'one deposit'
  | 'a key is free only if its commands have ended'
  | 'an account while one login is free'
  | 'a deleted account is not opened again'
  | 'every operation can end'
  | 'every fact has a transition';

/** A promise was broken. */
export class Broken extends Error {
  override readonly name = 'Broken';
  readonly promise: Promised;

  constructor(promise: Promised, message: string) {
    super(message);
    this.promise = promise;
  }
}

/** An operation: its request, and the number of its life if ids are random. */
type Id = string;
const FOREIGN: Id = 'F0';
const NOTHING: Id = '';
/** The holder of a login that an operator found to be a stranger's. */
const NOBODY: Id = 'N0';
/** An operation of ours without a part in the model but its reservation, its command and its account. */
const ANOTHER: Id = 'B0';

interface Worker {
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
}

interface Ledger {
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

const LOGINS = [1, 2];
/** Further commands of one operation are equal and change nothing. */
const MAX_PENDING = 2;
/** How often a key may be claimed, if its lives differ. */
const MAX_LIVES = 3;

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

function workerKey({ id, ledger, role, life, stale, fact, step, reserved, holds }: Worker): string {
  const shownFact = fact === null ? '' : factKey(fact);
  return `${id}${ledger}${role}${lifeKey(life)}${stale ? 's' : ''}${reserved}${holds}${shownFact}/${step ?? ''}`;
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
function copy(world: World): World {
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

/** Nothing of any request is left open. */
export function isEnd({ ledgers, server, derivation }: World): boolean {
  // Operators know what the model does not: the first server, and the request before it was edited.
  if (server > 0 || derivation > 0) return true;
  return ledgers.every(({ operations }) =>
    Object.values(operations).every(({ life }) => life.at === 'gone' || (life.at === 'done' && !life.unpaid)),
  );
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
      if (worker === null) {
        const request = index >= this.#scenario.workers ? 'B' : 'A';
        for (const ledger of this.#world.ledgers.keys()) this.#start(index, request, ledger);
        continue;
      }
      const { life } = worker;
      const isWaiting = life.at === 'sent' && life.commands === 'one';
      if (this.#scenario.answers !== true || !isWaiting)
        this.#add(`${name(worker, index)} dies`, (next) => {
          next.workers[index] = null;
        });
      if (worker.fact !== null) this.#decide(worker, worker.fact, index);
      else if (worker.step === null) this.#askOperator(worker, index);
      else this.#act(worker, worker.step, index);
    }
    this.#happen();
    this.#lose();
  }

  #ledger(worker: Worker): Ledger {
    return this.#world.ledgers[worker.ledger] as Ledger;
  }

  /** A worker acquires the operation from any holder: leases end, and clocks are wrong. */
  #start(index: number, request: string, ledger: number): void {
    const { id, life } = this.#world.ledgers[ledger]?.operations[request] ?? { id: NOTHING, life: { at: 'gone' } };
    if (life.at === 'gone') {
      const lives = Number(id.slice(1));
      if (this.#mistake.random === true && lives === MAX_LIVES) return;
      const derived = request === 'A' ? `A${this.#world.derivation}` : id;
      const next = this.#mistake.random === true ? `${request}${lives + 1}` : derived;
      this.#add(`request ${index + 1} claims ${next}`, (world) => {
        (world.ledgers[ledger] as Ledger).operations[request] = { id: next, life: { at: 'claimed' } };
        begin(world, index, ledger, next, 'request', { at: 'claimed' });
      });
      return;
    }
    const roles: Worker['role'][] = ['request'];
    if (life.at === 'sent' || life.at === 'open') roles.push('settler');
    const isOldAndOwn = life.at === 'sent' && this.#isOwn;
    if (life.at === 'undecided' || isOldAndOwn || (life.at === 'done' && life.unpaid)) roles.push('operator');
    for (const role of roles) {
      this.#add(`${role} ${index + 1} acquires ${id}, ${show(life)}`, (world) =>
        begin(world, index, ledger, id, role, life),
      );
    }
  }

  /** The operator reports what the server has; or another operation's account, by mistake. */
  #askOperator(worker: Worker, index: number): void {
    const { accounts, earlier, commands, deposits, payments, workers } = this.#world;
    const { life, id } = worker;
    // An operator gets an operation long after its functions have ended.
    const isAlone = !workers.some((one) => one !== null && one !== worker && isOf(one.id, id));
    const say = (fact: Fact, also: (next: World) => void = () => {}) =>
      this.#add(`${name(worker, index)} says ${fact.on}${'login' in fact ? ` ${fact.login}` : ''}`, (next) => {
        also(next);
        change(next, index, { fact });
      });
    if (life.at === 'done') {
      if (deposits > 0) return void say({ on: 'operator_paid' });
      if (payments === 0 && isAlone)
        say({ on: 'operator_paid' }, (next) => {
          next.deposits += 1;
        });
      return;
    }
    const login = 'login' in life ? (life.login ?? 0) : 0;
    for (const one of LOGINS) {
      const holder = this.#ledger(worker).reservations[one] ?? NOTHING;
      if (life.at !== 'undecided') continue;
      if (isOf(accounts[one], id) || isOf(earlier[one], id) || (holder !== NOTHING && holder !== id))
        say({ on: 'operator_found', login: one });
    }
    // Where the connection has led to another server, the operator asks the first one too.
    const isElsewhere = earlier.some((one) => isOf(one, id));
    const owner = accounts[login] ?? NOTHING;
    if (life.at === 'undecided' && login !== 0 && owner !== NOTHING && !isOf(owner, id) && !isElsewhere)
      say({ on: 'operator_foreign' });
    const isAbsent = !isElsewhere && (login === 0 ? !accounts.some((one) => isOf(one, id)) : owner === NOTHING);
    const isOver = isAlone && !commands.some((one) => isOf(one.id, id));
    // The operator knows that the account was deleted.
    if (isAbsent && isOver)
      say({ on: 'operator_found_none' }, (next) => {
        const { records } = next.ledgers[worker.ledger] as Ledger;
        if (records[login] === id) records[login] = NOTHING;
      });
  }

  /** Decides on a fact, and writes the new state under the version that was read. */
  #decide(worker: Worker, fact: Fact, index: number): void {
    const hasAge = fact.on === 'completed' || fact.on === 'silent' || fact.on === 'operator_found_none';
    for (const old of hasAge ? [false, true] : [false]) {
      if (fact.on === 'operator_found_none' && worker.life.at === 'sent' && !old) continue;
      const context = this.#context(worker, old);
      const { to, step } = this.#decision(worker.life, fact, context);
      const title = `${name(worker, index)}: ${fact.on}`;
      if (to === undefined) {
        this.#add(`${title}, then ${step}`, (next) => advance(next, index, step));
        continue;
      }
      if (worker.stale && this.#mistake.ignoresVersion !== true) {
        this.#add(`${title}, is overtaken`, (next) => {
          next.workers[index] = null;
        });
        continue;
      }
      this.#checkRelease(worker, fact, to, context);
      const login = this.#loginToReserve(worker.life, to);
      if (login !== undefined && worker.holds !== login && this.#isReserved(worker, login)) {
        this.#add(`${title}, finds ${login} reserved`, (next) =>
          change(next, index, { fact: { on: 'reserved' }, reserved: login }),
        );
        continue;
      }
      this.#write(worker, index, `${title}, writes ${show(to)}`, to, step, login);
    }
  }

  /** @throws Broken if the caller would be told something wrong */
  #checkRelease({ id, role, life }: Worker, fact: Fact, to: Life, { next }: DecisionContext): void {
    if (to.at !== 'gone' || role === 'operator') return;
    if ((fact.on === 'foreign' || fact.on === 'reserved') && next() !== undefined)
      throw new Broken('an account while one login is free', 'It gives up although a login is free.');
    const { accounts, commands, lost, ledgers } = this.#world;
    const isTaken = this.#isOwn && (fact.on === 'foreign' || fact.on === 'reserved');
    if (isTaken) this.#checkTaken(id);
    // Commands of an earlier life, or of another deployment, name the same login.
    if (lost || ledgers.length > 1 || this.#scenario.expires || life.at === 'claimed') return;
    if (accounts.some((owner) => isOf(owner, id)))
      throw new Broken('a key is free only if its commands have ended', 'A key is free, and its account exists.');
    if (commands.some((one) => one.id === id && (one.login === 0 || accounts[one.login] === NOTHING)))
      throw new Broken('a key is free only if its commands have ended', 'A key is free while its command may arrive.');
  }

  /** @throws Broken if the login is in use by the operation itself */
  #checkTaken(id: Id): void {
    if (isOf(this.#world.accounts[1], id))
      throw new Broken(
        '`login_taken` never about one’s own account',
        'The caller hears login_taken about his account.',
      );
  }

  #write(worker: Worker, index: number, title: string, to: Life, step: Step, login: number | undefined): void {
    if (this.#mistake.reservesFirst && login !== undefined && worker.holds !== login) {
      this.#add(`${name(worker, index)} reserves ${login}`, (next) => {
        (next.ledgers[worker.ledger] as Ledger).reservations[login] = worker.id;
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

  #context(worker: Worker, old: boolean): DecisionContext {
    const { life, role, reserved, id } = worker;
    const { keyed, funded, own, strict } = this.#scenario;
    const asked = reserved || ('login' in life ? life.login : undefined);
    const [first, second] = this.#sequence(id);
    return {
      worker: role,
      keyed,
      own: this.#isOwn,
      exclusive: keyed && own !== true && strict !== true,
      next: () => (keyed && role === 'request' && asked === first ? second : undefined),
      deposit: funded === true ? 'due' : 'none',
      now: 0,
      old,
    };
  }

  /** The logins of an operation, in its order. */
  #sequence(id: Id): [number | undefined, number | undefined] {
    if (this.#isOwn) return [1, undefined];
    const isOther = this.#mistake.random === true ? id.slice(1) === '2' : id === 'A1';
    return isOther ? [2, 1] : [1, 2];
  }

  get #isOwn(): boolean {
    const { own } = this.#scenario;
    return own === true || own === 'inside';
  }

  #decision(life: Life, fact: Fact, context: DecisionContext) {
    try {
      return findTransition(life, fact, context, this.#mistake.table);
    } catch (error) {
      throw new Broken('every fact has a transition', (error as Error).message);
    }
  }

  #loginToReserve(from: Life, to: Life): number | undefined {
    const earlier = 'login' in from ? from.login : undefined;
    const later = 'login' in to ? to.login : undefined;
    return later === earlier ? undefined : later;
  }

  #isReserved(worker: Worker, login: number): boolean {
    const { operations, reservations } = this.#ledger(worker);
    const holder = reservations[login] ?? NOTHING;
    if (holder === NOTHING || holder === worker.id) return false;
    if (this.#mistake.reservesFirst !== true) return true;
    const { id: current, life } = operations[holder.charAt(0)] ?? { id: NOTHING, life: { at: 'gone' } };
    return current === holder && life.at !== 'claimed' && life.at !== 'gone';
  }

  #act(worker: Worker, step: Worker['step'], index: number): void {
    const { life, id } = worker;
    const learn: Learn = (fact, title, also = () => {}) =>
      this.#add(`${name(worker, index)} ${title}`, (next) => {
        also(next);
        change(next, index, { fact, step: null });
      });
    switch (step) {
      case 'prepare':
        return void this.#prepare(worker, learn);
      case 'send':
        if (this.#hasMoved(worker)) return void learn({ on: 'moved' }, 'does not send to another server');
        return void this.#add(`${name(worker, index)} sends the command`, (next) => {
          send(next, id, 'login' in life ? (life.login ?? 0) : 0);
          change(next, index, { step: 'answer' });
        });
      case 'answer':
        return void this.#answer(worker, learn);
      case 'look':
      case 'pause':
      case 'prove':
      case 'confirm':
        return void this.#look(worker, step === 'pause' ? 'look' : step, learn);
      case 'complete':
      case 'pay':
      case 'repay':
        return void this.#complete(worker, step, index, learn);
      case 'resume':
        return void learn({ on: 'resume' }, 'resumes');
      default:
        return void this.#add(`${name(worker, index)} ends`, (next) => {
          next.workers[index] = null;
        });
    }
  }

  #prepare(worker: Worker, learn: Learn): void {
    const { keyed, shows, rederives } = this.#scenario;
    learn({ on: 'not_executed' }, 'refuses the order');
    const { reservations, records } = this.#ledger(worker);
    const isMine = (one: Id) => one === worker.id || (rederives === 'rotated' && isOf(one, worker.id));
    const recorded = records.findIndex(isMine);
    const isRead = !keyed || (rederives === 'rotated' && this.#mistake.ignoresRecord !== true);
    const reservation = keyed && this.#mistake.ignoresReservation !== true ? reservations.findIndex(isMine) : -1;
    if (isRead && recorded > 0 && reservation < 0) {
      const found: Fact = keyed
        ? { on: 'ready', login: recorded, found: true }
        : { on: 'recorded', login: recorded, opened_at: '' };
      const adopted = (next: World) => adopt(next, worker, records[recorded] as Id);
      return void learn(found, `finds the record of ${recorded}`, adopted);
    }
    if (!keyed) return void learn({ on: 'ready' }, 'has judged the order');
    if (reservation > 0) {
      const adopted = (next: World) => adopt(next, worker, reservations[reservation] as Id);
      return void learn({ on: 'ready', login: reservation, found: true }, `has chosen ${reservation}`, adopted);
    }
    const login = this.#sequence(worker.id)[0] ?? 0;
    if (!this.#isOwn) return void learn({ on: 'ready', login }, `has chosen ${login}`);
    const sighting = this.#sighting(login, worker);
    if (shows === 'silent') return void learn({ on: 'ready', login }, 'cannot look at the login');
    if (sighting === 'absent') return void learn({ on: 'ready', login }, 'finds the login free');
    if (sighting === 'ours') return void learn({ on: 'ready', login, found: true }, 'finds its own account');
    this.#checkTaken(worker.id);
  }

  #answer({ id, life }: Worker, learn: Learn): void {
    const { keyed, lies, liesAboutRights, repeats, otherLogin, answers } = this.#scenario;
    const login = 'login' in life ? (life.login ?? 0) : 0;
    const consume = (next: World) => take(next, id, login);
    if (answers !== true) learn({ on: 'lost' }, 'gets no answer');
    const { server } = this.#world;
    if (!this.#world.commands.some((one) => one.id === id && one.login === login && one.server === server)) return;
    learn({ on: 'not_executed' }, 'is refused', consume);
    if (answers !== true) {
      learn({ on: 'rejected' }, 'is refused for the content', consume);
      learn({ on: 'doubtful' }, 'is refused for the state of the server', consume);
    }
    for (const chosen of this.#free(login)) {
      const execute = (next: World) => {
        consume(next);
        next.accounts[chosen] = id;
        const isRecorded = next.ledgers.some(({ records }) => records[chosen] === id);
        if (isRecorded && next.earlier[chosen] !== id) next.isReopened = true;
      };
      learn({ on: 'opened', login: chosen }, `has opened ${chosen}`, execute);
      if (answers === true) continue;
      learn({ on: 'doubtful' }, `has opened ${chosen}, and is refused for the state of the server`, execute);
      if (liesAboutRights === true)
        learn({ on: 'not_executed' }, `has opened ${chosen}, and is refused for our rights`, execute);
      if (lies === true) learn({ on: 'rejected' }, `has opened ${chosen}, and is refused for the content`, execute);
      if (repeats === true && keyed)
        learn({ on: 'exists' }, `opens ${chosen}, and is answered that it exists`, execute);
    }
    if (login !== 0 && this.#world.accounts[login] !== NOTHING)
      learn({ on: 'exists' }, 'is answered that it exists', consume);
    if (otherLogin !== true) return;
    for (const chosen of LOGINS) {
      const holder = this.#world.ledgers[0]?.reservations[chosen] ?? NOTHING;
      const [opened] = this.#free(login);
      if (holder === NOTHING || holder === id || opened === undefined) continue;
      learn({ on: 'opened', login: chosen }, `has opened ${opened}, and gets the answer ${chosen}`, (next) => {
        consume(next);
        next.accounts[opened] = id;
      });
    }
  }

  /** The logins that a command may open: its own, or any if the server chooses. */
  #free(login: number, on = this.#world.server): number[] {
    const { server, accounts, earlier } = this.#world;
    const there = on === server ? accounts : earlier;
    return LOGINS.filter((one) => (login === 0 || one === login) && there[one] === NOTHING);
  }

  #sighting(login: number, { id, ledger }: Worker): 'ours' | 'foreign' | 'unproven' | 'absent' | 'silent' {
    const { shows, keyed } = this.#scenario;
    const { ignoresRecord, believesPasswords } = this.#mistake;
    const owner = this.#world.accounts[login] ?? NOTHING;
    const isRecorded = this.#world.ledgers[ledger]?.records[login] === id && ignoresRecord !== true;
    if (!keyed) return 'silent';
    if (shows === 'silent') return isRecorded ? 'ours' : 'silent';
    if (owner === NOTHING) return 'absent';
    if (believesPasswords === true && shows === 'nothing') return 'ours';
    // The id and the passwords of another life are others, if they do not follow from the key.
    if (owner === id && shows !== 'nothing' && login !== this.#world.relabelled) return 'ours';
    if (isRecorded) return 'ours';
    if (login === this.#world.relabelled) return 'foreign';
    return owner !== FOREIGN && owner !== id && shows === 'comments' ? 'foreign' : 'unproven';
  }

  /** Whether the connection has led to another server since the operation's first command. */
  #hasMoved({ id, ledger }: Worker): boolean {
    const stored = this.#world.ledgers[ledger]?.operations[id.charAt(0)];
    return stored?.server !== undefined && stored.server !== this.#world.server;
  }

  #look(worker: Worker, step: 'look' | 'prove' | 'confirm', learn: Learn): void {
    const login = 'login' in worker.life ? (worker.life.login ?? 0) : 0;
    learn({ on: step === 'look' ? 'unclear' : 'unconfirmed' }, 'looks, and gets no answer');
    const sighting = this.#sighting(login, worker);
    if (this.#hasMoved(worker) && sighting !== 'ours') return void learn({ on: 'moved' }, 'looks at another server');
    if (sighting === 'absent' && this.#ledger(worker).records[login] === worker.id)
      return void learn({ on: 'deleted' }, 'looks, and finds nothing where its record has an account');
    if (sighting === 'silent' || sighting === 'absent') {
      const facts = {
        look: sighting,
        prove: sighting === 'silent' ? 'unproven' : 'absent',
        confirm: 'refused',
      } as const;
      const on = step === 'confirm' && sighting === 'silent' ? 'unconfirmed' : facts[step];
      return void learn({ on }, `looks, and learns ${on}`);
    }
    learn({ on: sighting }, `looks, and finds an account: ${sighting}`);
  }

  #complete(worker: Worker, step: 'complete' | 'pay' | 'repay', index: number, learn: Learn): void {
    if (worker.life.at !== 'open') return;
    const { deposit } = worker.life;
    const { deposits } = this.#world;
    const done = (outcome: PaymentOutcome): Fact => ({
      ...{ on: 'completed', recorded: true, published: true },
      deposit: outcome,
    });
    learn({ on: 'completed', recorded: false, published: false, deposit: 'kept' }, 'completes nothing');
    if (deposit !== 'sent' && deposit !== 'found') return void learn(done('kept'), 'completes it');
    if (step === 'complete') {
      learn(done('unknown'), 'cannot read the balance');
      return void learn(done(deposits > 0 ? 'made' : 'empty'), 'reads the balance');
    }
    learn(done('refused'), 'is refused the payment');
    if (this.#scenario.paysLater === true)
      learn(done('refused'), 'is refused the payment, which is made later', (next) => {
        next.payments = Math.min(MAX_PENDING, next.payments + 1);
      });
    if (this.#scenario.paysTwice === true)
      learn(done('made'), 'pays, and a gateway repeats it', (next) => {
        next.deposits += 2;
      });
    if (step === 'repay' && deposits > 0) return void learn(done('made'), 'finds money');
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
    const { commands, accounts, payments, relabelled } = this.#world;
    for (const login of this.#scenario.relabels === true && relabelled === 0 ? LOGINS : []) {
      if (accounts[login] === NOTHING) continue;
      this.#add(`a dealer changes the comment of ${login}`, (next) => {
        next.relabelled = login;
      });
    }
    for (const { id, login, server } of this.#scenario.answers === true ? [] : commands) {
      this.#add(`a command of ${id} is dropped`, (next) => take(next, id, login, server));
      for (const chosen of this.#free(login, server)) {
        this.#add(`a late command of ${id} opens ${chosen}`, (next) => {
          take(next, id, login, server);
          (server === next.server ? next.accounts : next.earlier)[chosen] = id;
        });
      }
    }
    this.#interfere();
    if (payments > 0) {
      this.#add('a payment is dropped', (next) => {
        next.payments -= 1;
      });
      this.#add('a late payment arrives', (next) => {
        next.payments -= 1;
        next.deposits += 1;
      });
    }
    if (this.#scenario.stranger === true && !accounts.includes(FOREIGN)) {
      for (const free of this.#free(0)) {
        this.#add(`somebody else opens ${free}`, (next) => {
          next.accounts[free] = FOREIGN;
        });
      }
    }
    const gone = LOGINS.find((login) => accounts[login] !== NOTHING);
    if (this.#scenario.restored === true && gone !== undefined) {
      this.#add(`the server is restored without ${gone}`, (next) => {
        next.accounts[gone] = NOTHING;
      });
    }
  }

  /** Another operation, another server, another derivation. */
  #interfere(): void {
    const { keyed, another, moves, rederives } = this.#scenario;
    const { ledgers, server, derivation, hasAnother } = this.#world;
    const isUsed = (login: number) => !keyed && this.#world.accounts[login] !== NOTHING;
    for (const [index, { reservations }] of another === true && !hasAnother ? ledgers.entries() : []) {
      for (const login of LOGINS.filter((one) => reservations[one] === NOTHING && !isUsed(one))) {
        this.#add(`another operation reserves ${login} and sends its command`, (next) => {
          next.hasAnother = true;
          (next.ledgers[index] as Ledger).reservations[login] = ANOTHER;
          // A plug-in names its login once the account is open.
          if (keyed) send(next, ANOTHER, login);
          else next.accounts[login] = ANOTHER;
        });
      }
    }
    if (moves === true && server === 0) {
      this.#add('the connection leads to another server', (next) => {
        next.server = 1;
        [next.earlier, next.accounts] = [next.accounts, next.earlier];
      });
    }
    if (rederives !== undefined && derivation === 0) {
      this.#add(`the request is ${rederives}`, (next) => {
        next.derivation = 1;
      });
    }
  }

  /** The ledger is lost in part or whole, once; or a key expires early. Workers that hold an operation are overtaken. */
  #lose(): void {
    const { loses, losesWhilePaying, expires, funded } = this.#scenario;
    const { payments, workers } = this.#world;
    const [ledger] = this.#world.ledgers;
    if (ledger === undefined) return;
    const isPaid = payments > 0 || workers.some((worker) => worker?.step === 'pay' || worker?.step === 'repay');
    const isPaying = loses === 'all' && losesWhilePaying !== true && isPaid;
    const first = (next: World) => next.ledgers[0] as Ledger;
    const overtake = (next: World) => {
      next.workers = next.workers.map((worker) => worker && { ...worker, stale: true });
    };
    // With a rival, the first request's operation is lost: the other one would be lost in the same way.
    for (const [request, { id, life }] of Object.entries(ledger.operations).slice(0, 1)) {
      if (expires === true && life.at === 'done') {
        this.#add(`the key of ${id} expires`, (next) => {
          first(next).operations[request] = { id, life: { at: 'gone' } };
        });
      }
      if (loses === undefined || isPaying || this.#world.lost || life.at === 'gone') continue;
      const states: Life[] = [{ at: 'gone' }];
      if (loses === 'operations' && life.at !== 'claimed') states.push({ at: 'claimed' });
      if (loses === 'operations' && (life.at === 'open' || life.at === 'done'))
        // With a deposit, `crm restore` sets it back.
        states.push({ at: 'sent', login: life.login, commands: funded === true ? 'found' : 'one' });
      for (const state of loses === 'reservations' ? [life] : states) {
        this.#add(`the ledger is lost: ${loses}, ${id} is ${show(state)}`, (next) => {
          next.lost = true;
          const { server } = ledger.operations[request] ?? {};
          const keepsServer = state.at !== 'gone' && state.at !== 'claimed' && server !== undefined;
          first(next).operations[request] = { id, life: state, ...(keepsServer ? { server } : {}) };
          if (loses !== 'operations') first(next).reservations = first(next).reservations.map(() => NOTHING);
          if (loses === 'all') first(next).records = first(next).records.map(() => NOTHING);
          if (loses !== 'reservations') overtake(next);
        });
      }
    }
  }
}

type Learn = (fact: Fact, title: string, also?: (next: World) => void) => void;

/** Whether the account belongs to the operation's request. */
function isOf(owner: Id | undefined, id: Id): boolean {
  return owner !== undefined && owner !== NOTHING && owner.charAt(0) === id.charAt(0);
}

function name({ role, id }: Worker, index: number): string {
  return `${role} ${index + 1} of ${id}`;
}

function show(life: Life): string {
  const { at, ...rest } = life;
  return [at, ...Object.entries(rest).map(([key, value]) => `${key} ${value}`)].join(' ');
}

function begin(world: World, index: number, ledger: number, id: Id, role: Worker['role'], life: Life): void {
  world.workers = world.workers.map((worker) =>
    worker?.id.charAt(0) === id.charAt(0) && worker.ledger === ledger ? { ...worker, stale: true } : worker,
  );
  const fact: Fact | null = role === 'operator' ? null : { on: 'resume' };
  world.workers[index] = { id, ledger, role, life, stale: false, fact, step: null, reserved: 0, holds: 0 };
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
function store(world: World, { id, life, ledger }: Worker, to: Life, login: number | undefined): void {
  const { operations, reservations, records } = world.ledgers[ledger] as Ledger;
  const server = operations[id.charAt(0)]?.server ?? (to.at === 'sent' ? world.server : undefined);
  const hasPlan = to.at !== 'gone' && to.at !== 'claimed' && server !== undefined;
  operations[id.charAt(0)] = { id, life: to, ...(hasPlan ? { server } : {}) };
  const earlier = 'login' in life ? (life.login ?? 0) : 0;
  const isGivenUp = life.at === 'sent' && (to.at === 'gone' || (to.at === 'sent' && to.login !== earlier));
  if (isGivenUp && reservations[earlier] === id) reservations[earlier] = NOTHING;
  if (to.at === 'claimed' && earlier !== 0) reservations[earlier] = NOBODY;
  if (login !== undefined) reservations[login] = id;
  if (to.at === 'open' || to.at === 'done') records[to.login] = id;
}

/** An operation that has sent nothing gets the identity under which a trace of it was found. */
function adopt(world: World, worker: Worker, found: Id): void {
  if (found === worker.id) return;
  const { operations } = world.ledgers[worker.ledger] as Ledger;
  const stored = operations[worker.id.charAt(0)];
  if (!worker.stale && stored?.id === worker.id) operations[worker.id.charAt(0)] = { ...stored, id: found };
  world.workers = world.workers.map((one) => (one === worker ? { ...worker, id: found } : one));
}

function send(world: World, id: Id, login: number): void {
  const { server } = world;
  if (world.commands.filter((one) => one.id === id && one.login === login).length < MAX_PENDING) {
    world.commands.push({ id, login, server });
  }
}

function take(world: World, id: Id, login: number, server = world.server): void {
  const index = world.commands.findIndex((one) => one.id === id && one.login === login && one.server === server);
  if (index >= 0) world.commands.splice(index, 1);
}
