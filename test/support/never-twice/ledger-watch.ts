import { isDeepStrictEqual } from 'node:util';
import { type EmbeddedDatabase, TABLES } from '../../../infra/local/database.ts';
import type { DynamoAttributes, ItemChange } from '../../../infra/local/dynamo.ts';
import type { Item } from '../../../lib/aws/dynamodb.ts';
import { type DecisionContext, type Fact, findTransition, LIFE, type Life } from '../../../lib/openings/life.ts';

/** An operation as the database stores it. */
export interface WatchedOperation extends Item {
  pk: string;
  operation_id: string;
  lease: string;
  revision: number;
  expires_at?: number;
  life?: Life;
  plan?: {
    user_id: string;
    version: string;
    connection_id: string;
    keyed: boolean;
    exclusive: boolean;
    server?: string;
  };
}

/**
 * Watches every write to the ledger. Each write of an operation must be a transition of `LIFE`, and a reservation must
 * exist exactly as long as its operation names the login.
 */
export class LedgerWatch {
  /** The violations. */
  readonly violations: string[] = [];
  /** The number of writes of operations and reservations. */
  writes = 0;
  /** The newest state of every operation, by its id. Absent: it was never written. */
  readonly operations = new Map<string, WatchedOperation>();
  /** The operation that is stored under each key. */
  readonly stored = new Map<string, string>();
  /** The operation that holds each login, by the key of the login's item. */
  readonly holders = new Map<string, string>();
  /** Operations that were deleted: certainly nothing was opened. */
  readonly gone = new Set<string>();
  /** Operations whose account was found with its deposit missing: they pay nothing. */
  readonly found = new Set<string>();
  readonly #isExpired: (seconds: number) => boolean;

  /** @param isExpired whether a worker's clock may have passed this time, in epoch seconds */
  constructor(isExpired: (seconds: number) => boolean) {
    this.#isExpired = isExpired;
  }

  listenTo(database: EmbeddedDatabase): void {
    database.onWritten((changes) => this.see(changes));
  }

  /** @throws Error for the first violation */
  check(): void {
    const [first] = this.violations;
    if (first !== undefined) throw new Error(first);
  }

  /** The operations of a client that may have acted, oldest first. */
  of(matches: (one: WatchedOperation) => boolean): WatchedOperation[] {
    const operations = [...this.operations.values()];
    return operations.filter((one) => one.life?.at !== 'claimed' && !this.gone.has(one.operation_id) && matches(one));
  }

  /** Checks all writes of one call. */
  see(changes: readonly ItemChange[]): void {
    const operations: WatchedOperation[] = [];
    for (const { table, before, after } of changes) {
      // A repeated delete changes nothing.
      if (before === undefined && after === undefined) continue;
      const [earlier, later] = [before && plain(before), after && plain(after)];
      if (table === TABLES.operations || table === TABLES.logins) this.writes += 1;
      if (table === TABLES.operations) {
        this.#seeOperation(earlier as WatchedOperation, later as WatchedOperation);
        operations.push((later ?? earlier) as WatchedOperation);
      }
      if (table === TABLES.logins) this.#seeReservation(earlier, later);
    }
    for (const one of operations) this.#checkReservation(one);
    for (const { table, after } of changes) {
      if (table === TABLES.logins && after !== undefined) this.#checkHolder(plain(after));
    }
  }

  #seeOperation(before: WatchedOperation | undefined, after: WatchedOperation | undefined): void {
    if (before !== undefined && before.operation_id !== after?.operation_id) {
      if (after === undefined) this.gone.add(before.operation_id);
      else if (before.expires_at === undefined || !this.#isExpired(before.expires_at))
        this.violations.push(`${before.operation_id}: replaced before its key has expired`);
    }
    if (after !== undefined) {
      this.operations.set(after.operation_id, after);
      this.stored.set(after.pk, after.operation_id);
      // A late duplicate of the claim has written the operation again.
      this.gone.delete(after.operation_id);
    } else if (before !== undefined) this.stored.delete(before.pk);
    const [from, to] = [before?.life, after?.life];
    if (to?.at === 'open' && to.deposit === 'found') this.found.add(String(after?.operation_id));
    if (before === undefined || before.operation_id !== after?.operation_id) {
      const isEnd = after === undefined && from !== undefined;
      if (isEnd && !isTransition(from, { at: 'gone' })) this.#violation(before, from, { at: 'gone' });
      if (to !== undefined && to.at !== 'claimed') this.#violation(after, from, to);
      return;
    }
    if (from === undefined || to === undefined || isDeepStrictEqual(from, to)) return;
    if (!isTransition(from, to)) this.#violation(after, from, to);
    if (before.lease !== after.lease || before.revision > after.revision)
      this.violations.push(`${after.operation_id}: ${to.at} was written without the lease or over a later revision`);
  }

  #violation(
    { operation_id }: { operation_id: string } = { operation_id: '' },
    from: Life | undefined,
    to: Life,
  ): void {
    this.violations.push(`${operation_id}: no transition from ${JSON.stringify(from)} to ${JSON.stringify(to)}`);
  }

  #seeReservation(before: Item | undefined, after: Item | undefined): void {
    const [earlier, later] = [before?.operation_id, after?.operation_id];
    if (later !== undefined) this.holders.set(String(after?.pk), String(later));
    else this.holders.delete(String(before?.pk));
    const holder = this.operations.get(String(earlier));
    const isReleased = earlier !== later && holder !== undefined && !this.gone.has(holder.operation_id);
    if (isReleased && reservationKey(holder) === before?.pk)
      this.violations.push(`${earlier}: lost its reservation of ${before?.pk}`);
  }

  #checkReservation(operation: WatchedOperation): void {
    const { operation_id } = operation;
    const key = this.gone.has(operation_id) ? undefined : reservationKey(operation);
    if (key !== undefined && this.holders.get(key) !== operation_id)
      this.violations.push(`${operation_id}: ${operation.life?.at} without a reservation of ${key}`);
  }

  /** A reservation is written with the state that names its login. */
  #checkHolder({ pk, operation_id }: Item): void {
    // An operator has found another client's account at the login.
    if (operation_id === 'nobody') return;
    const holder = this.operations.get(String(operation_id));
    if (holder === undefined || this.gone.has(holder.operation_id) || reservationKey(holder) !== pk)
      this.violations.push(`${operation_id}: reserved ${pk} without naming it`);
  }
}

/** The reservation that an operation must have in its state. */
function reservationKey({ life, plan }: WatchedOperation): string | undefined {
  if (life === undefined || plan === undefined || !('login' in life) || life.login === undefined) return undefined;
  return `${plan.keyed ? plan.version : (plan.server ?? plan.connection_id)}#${life.login}`;
}

const FACTS = [...new Set(Object.values(LIFE).flatMap((row) => row.flatMap(({ on }) => on)))];

const known = new Map<string, boolean>();

/**
 * Whether a row of `LIFE` leads from one state to the other. A worker may write two steps of an open account at once.
 */
export function isTransition(from: Life, to: Life): boolean {
  // Logins and times count by whether they are equal, not by their values.
  const seen: unknown[] = [];
  const key = JSON.stringify([from, to], (name, value) => {
    if (name !== 'login' && name !== 'opened_at') return value;
    if (!seen.includes(value)) seen.push(value);
    return seen.indexOf(value);
  });
  const result = known.get(key) ?? followsFrom(from, to);
  known.set(key, result);
  return result;
}

function followsFrom(from: Life, to: Life): boolean {
  const nexts = targets(from, to);
  if (nexts.some((one) => isDeepStrictEqual(one, to))) return true;
  if (from.at !== 'open') return false;
  return nexts.some((one) => one.at === 'open' && targets(one, to).some((last) => isDeepStrictEqual(last, to)));
}

/** The states that follow from any fact, in any context. */
function targets(from: Life, to: Life): Life[] {
  const login = 'login' in to ? to.login : undefined;
  const other = 'other' in to ? to.other : undefined;
  const now = 'opened_at' in to ? Date.parse(to.opened_at) : 0;
  const found = new Map<string, Life>();
  for (const fact of FACTS.flatMap((name) => factsOf(name, login, other)))
    for (const worker of ['request', 'settler', 'operator'] as const)
      for (const keyed of [true, false])
        for (const next of [undefined, 'login' in from && from.login === login ? undefined : login])
          for (const deposit of ['none', 'due'] as const)
            for (const old of [true, false])
              for (const exclusive of [true, false]) {
                const context = { worker, keyed, exclusive, loginGiven: true, next: () => next, deposit, now, old };
                const target = targetOf(from, fact, context);
                // The state as the database stores it: without members that are undefined.
                if (target !== undefined) found.set(JSON.stringify(target), JSON.parse(JSON.stringify(target)));
              }
  return [...found.values()];
}

function targetOf(from: Life, fact: Fact, context: DecisionContext): Life | undefined {
  try {
    return findTransition(from, fact, context).to;
  } catch {
    // The state has no transition for the fact.
    return undefined;
  }
}

function factsOf(on: Fact['on'], login: number | undefined, other: number | undefined): Fact[] {
  if (on === 'ready') return [true, false].map((isFound): Fact => ({ on, login, found: isFound }));
  if (on === 'lost' && other !== undefined) return [{ on }, { on, other }];
  if (on !== 'completed') return [{ on, login } as Fact];
  return [true, false].flatMap((recorded) =>
    [true, false].flatMap((published) =>
      (['made', 'refused', 'empty', 'unknown', 'kept'] as const).map(
        (deposit): Fact => ({ on, recorded, deposit, published }),
      ),
    ),
  );
}

/** An item in the format of the protocol, as JSON. */
function plain(item: DynamoAttributes): Item {
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, plainValue(value as DynamoAttributes)]));
}

function plainValue(value: DynamoAttributes): unknown {
  const [[type, content] = []] = Object.entries(value);
  if (type === 'N') return Number(content);
  if (type === 'M') return plain(content as DynamoAttributes);
  if (type === 'L') return (content as DynamoAttributes[]).map(plainValue);
  return type === 'NULL' ? null : content;
}
