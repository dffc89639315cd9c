import type { Fact, Life } from '../../lib/openings/life.ts';
import type { Scenario } from './scenario.ts';
import { type Command, type Id, type Ledger, MAX_PENDING, type Worker, type World } from './world.ts';

/**
 * The different worlds of a scenario, numbered as they are found. Worlds share most of their parts, so each part is kept
 * once and has a number, and a world is kept as the short text of these numbers. Worlds that differ only in the order of
 * equal workers or of two ledgers are one: what one worker can do, each of them can, and what can happen to one ledger can
 * happen to the other.
 */
export class States {
  readonly #alike: number;
  readonly #isDouble: boolean;
  readonly #numbers = new Map<string, number>();
  readonly #texts: string[] = [];

  readonly #logins = new Parts<readonly Id[]>((owners) => owners.join());
  readonly #commands = new Parts<readonly Command[]>(commandsText);
  readonly #ledger = new Parts<Ledger>(ledgerText);
  readonly #worker = new Parts<Worker>(workerText);
  /** Of each combination of the other members, one world that has it. */
  readonly #others = new Map<number, World>();

  constructor({ workers, double }: Scenario) {
    this.#alike = workers;
    this.#isDouble = double === true;
  }

  get count(): number {
    return this.#texts.length;
  }

  /** The number of a world; `count`, as it was before, if the world is new. */
  add(world: World): number {
    const text = this.#isDouble ? this.#firstTextOf(world) : this.#textOf(world);
    const known = this.#numbers.get(text);
    if (known !== undefined) return known;
    this.#numbers.set(text, this.#texts.length);
    return this.#texts.push(text) - 1;
  }

  /** The world of a number, with its equal workers and its ledgers in any order. */
  world(number: number): World {
    const text = this.#texts[number] as string;
    const numbers: number[] = [];
    for (let at = 0; at < text.length; at += 1) numbers.push(text.charCodeAt(at));
    const workers = numbers.splice(this.#isDouble ? 6 : 5);
    const ledgers = numbers.splice(4);
    const [others, accounts, earlier, commands] = numbers as [number, number, number, number];
    return {
      ...(this.#others.get(others) as World),
      accounts: this.#logins.part(accounts),
      earlier: this.#logins.part(earlier),
      commands: this.#commands.part(commands),
      ledgers: ledgers.map((ledger) => this.#ledger.part(ledger)),
      workers: workers.map((worker) => (worker === 0 ? null : this.#worker.part(worker - 1))),
    };
  }

  /** The first of two texts: that of the world, and that of the same world with its ledgers exchanged. */
  #firstTextOf(world: World): string {
    const text = this.#textOf(world);
    const [ledger, other] = [text.charCodeAt(4), text.charCodeAt(5)];
    if (ledger < other) return text;
    const exchanged = this.#textOf(exchangeLedgers(world));
    return exchanged < text ? exchanged : text;
  }

  #textOf(world: World): string {
    const { accounts, earlier, commands, ledgers, workers } = world;
    const others = otherMembers(world);
    if (!this.#others.has(others)) this.#others.set(others, world);
    const numbers = [others, this.#logins.number(accounts), this.#logins.number(earlier)];
    numbers.push(this.#commands.number(commands));
    for (const ledger of ledgers) numbers.push(this.#ledger.number(ledger));
    const first = numbers.length;
    for (const worker of workers) numbers.push(worker === null ? 0 : this.#worker.number(worker) + 1);
    sortPart(numbers, first, first + this.#alike);
    return String.fromCharCode.apply(undefined, numbers);
  }
}

function exchangeLedgers(world: World): World {
  const workers = world.workers.map((worker) => worker && { ...worker, ledger: 1 - worker.ledger });
  return { ...world, ledgers: world.ledgers.toReversed(), workers };
}

/** Different parts of worlds, with a number from 0 to 65,534 each. */
class Parts<P extends object> {
  readonly #textOf: (part: P) => string;
  readonly #byText = new Map<string, number>();
  /** Most parts of a world are those of the world before. */
  readonly #byIdentity = new Map<P, number>();
  readonly #parts: P[] = [];

  constructor(textOf: (part: P) => string) {
    this.#textOf = textOf;
  }

  part(number: number): P {
    return this.#parts[number] as P;
  }

  number(part: P): number {
    return this.#byIdentity.get(part) ?? this.#byText.get(this.#textOf(part)) ?? this.#add(part);
  }

  #add(part: P): number {
    const number = this.#parts.push(part) - 1;
    if (number >= 0xffff) throw new Error('The text of a world has no room for so many parts.');
    this.#byText.set(this.#textOf(part), number);
    this.#byIdentity.set(part, number);
    return number;
  }
}

function sortPart(numbers: number[], from: number, to: number): void {
  for (let end = from + 1; end < to; end += 1) {
    for (let at = end; at > from; at -= 1) {
      const [left, right] = [numbers[at - 1] as number, numbers[at] as number];
      if (left <= right) break;
      [numbers[at - 1], numbers[at]] = [right, left];
    }
  }
}

/** What is no part of its own, as one number. */
function otherMembers(world: World): number {
  const { relabelled, payments, deposits, server, derivation, hasAnother, lost, isReopened } = world;
  const flags = Number(hasAnother) * 4 + Number(lost) * 2 + Number(isReopened);
  const derived = (server * 2 + derivation) * 8 + flags;
  return ((derived * 3 + relabelled) * (MAX_PENDING + 1) + payments) * 4 + deposits;
}

function commandsText(commands: readonly Command[]): string {
  return commands
    .map(({ id, login, server }) => `${id}${login}${server}`)
    .sort()
    .join();
}

function ledgerText({ operations, reservations, records }: Ledger): string {
  let text = `${reservations}|${records}`;
  for (const request in operations) {
    const stored = operations[request];
    if (stored !== undefined) text += `|${stored.id}${lifeText(stored.life)}${stored.server ?? ''}`;
  }
  return text;
}

function workerText({ id, ledger, role, life, stale, fact, step, reserved, holds, seenOwner }: Worker): string {
  const shownFact = fact === null ? '' : factText(fact);
  const known = `${stale ? 's' : ''}${reserved}${holds}${seenOwner}`;
  return `${id}${ledger}${role}${lifeText(life)}${known}${shownFact}/${step ?? ''}`;
}

function lifeText(life: Life): string {
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

function factText(fact: Fact): string {
  if (fact.on === 'completed') return `completed${fact.deposit}${fact.recorded ? 'r' : ''}${fact.published ? 'p' : ''}`;
  if (fact.on === 'ready') return `ready${fact.login}${fact.found ? 'f' : ''}`;
  return 'login' in fact ? `${fact.on}${fact.login}` : fact.on;
}
