import { randomUUID } from 'node:crypto';
import {
  ConditionFailed,
  type Item,
  type Table,
  type TransactionWrite,
  tryWrite,
  updateAttributes,
} from '../aws/dynamodb.ts';
import { type AccountRecord, accountItem, accountKey } from '../records/accounts.ts';
import { DUE_ATTRIBUTES, dueAttributes, OPERATOR_ONLY, readDue } from '../records/due.ts';
import {
  acquireLease,
  keyExpiry,
  sameBodyCondition,
  secondsUntilFree,
  UNDER_LEASE,
} from '../records/idempotency-keys.ts';
import { DERIVATION, type Identity } from './derivation.ts';
import { findTransition, isFinished, type Life, type LifeAt, nextLife } from './life.ts';
import { heldLogins, type ReservationPlace, reservationKey, reservedLogin } from './reservation.ts';
import { type HeldOperation, isReadable, parseHeld } from './stored-operation.ts';

/**
 * The ledger of openings: one item for each operation, with its state and one version, and one item for each reserved
 * login. Every write is conditional on the version that was read. A write that reserves or releases a login is one
 * transaction with the state, so an operation holds exactly the logins that `heldLogins` tells.
 */

export type Claim =
  | { kind: 'held'; held: HeldOperation }
  /** Another worker holds the operation. */
  | { kind: 'busy'; life: Life; identity: Identity; retryAfterSeconds: number }
  /** The operation ended between two calls: the caller may try again at once. */
  | { kind: 'ended' }
  /** The key was used with another body. */
  | { kind: 'reused' }
  /** The secret that made the operation is gone, or another version of the derivation made it. */
  | { kind: 'underivable'; operationId: string };

/** An operation that the settler may acquire. */
export interface DueOperation {
  pk: string;
  /** Absent in an item without an id. */
  operationId?: string | undefined;
  isReadable: boolean;
  /** Epoch milliseconds. */
  dueAt: number;
  /** The connection whose server must be asked; undefined if none must. */
  connectionId: string | undefined;
}

/** Another worker has acquired the operation. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** Another operation holds the login; nothing was written. */
export class ReservationConflict extends Error {
  override readonly name = 'ReservationConflict';
}

/** The records of accounts that a transaction writes with the state. */
export interface RecordWrites {
  put?: AccountRecord | undefined;
  delete?: Parameters<typeof accountKey>[0] | undefined;
}

export interface Ledger {
  /**
   * @param identities the possible identities of the request. A new operation gets the first one
   * @param leaseMs the maximum time of this worker
   */
  claim(identities: readonly [Identity, ...Identity[]], leaseMs: number, signal: AbortSignal): Promise<Claim>;
  /** Reads an operation without its lease. @throws AwsFailure */
  read(pk: string, signal: AbortSignal): Promise<HeldOperation | undefined>;
  /** The operations that are due, oldest first. The index is eventually consistent. */
  due(signal: AbortSignal): Promise<DueOperation[]>;
  /**
   * An operator may acquire an operation in every state: what can be settled does not depend on when the settler looks.
   * @returns undefined if another worker holds it, or, for the settler, if it is not due
   */
  acquire(
    pk: string,
    worker: 'settler' | 'operator',
    leaseMs: number,
    signal: AbortSignal,
  ): Promise<HeldOperation | undefined>;
  /**
   * Writes a new state, and the plan as `held` has it.
   * @param held the operation as it was read; it becomes the one that is written
   * @throws Overtaken, ReservationConflict, AwsFailure
   */
  write(held: HeldOperation, next: NextState, signal: AbortSignal, records?: RecordWrites): Promise<void>;
  /**
   * Writes the state of an account whose login the server has chosen, although an operator has given the login to
   * another operation: the server's answer counts more than a word. That operation is undecided again.
   * @returns the other operation's id; undefined if it holds the login by proof, and nothing was written
   * @throws Overtaken, ReservationConflict, AwsFailure
   */
  takeFromWord(
    held: HeldOperation,
    next: NextState & { life: LifeAt<'open'> },
    signal: AbortSignal,
  ): Promise<string | undefined>;
  /**
   * Releases the lease.
   * @param until when the settler acts next, in epoch milliseconds, `OPERATOR_ONLY` or `RETRY_ONLY`
   * @throws Overtaken, AwsFailure
   */
  rest(held: HeldOperation, until: number, signal: AbortSignal): Promise<void>;
  /** The operations that hold these logins, by login. */
  holders(place: ReservationPlace, logins: readonly number[], signal: AbortSignal): Promise<Map<number, string>>;
}

/** What a write changes of an operation. */
export type NextState = Pick<HeldOperation, 'life'> & Partial<Pick<HeldOperation, 'since' | 'closed' | 'event'>>;

/** No part of the context decides about a login that is given away. */
const GIVEN_AWAY = { keyed: false, exclusive: false, saidNone: false, deposit: false, mail: false, now: 0 };

/** The maximum number of operations of a shard that the settler reads in one run: more than it can complete. */
const MAX_DUE = 2_500;

interface LedgerTables {
  operations: Table;
  logins: Table;
  accounts: Pick<Table, 'name'>;
}

/** The ledger in DynamoDB. */
export function dynamoLedger({ operations, logins, accounts }: LedgerTables, now: () => number = Date.now): Ledger {
  return {
    claim: (identities, leaseMs, signal) => claim(operations, identities, now(), leaseMs, signal),

    async read(pk, signal) {
      const item = await operations.get({ pk }, signal);
      return item && parseHeld(item);
    },

    async due(signal) {
      const items = await readDue(operations, now(), MAX_DUE, signal);
      return items.map((item) => ({
        pk: String(item.pk),
        operationId: typeof item.operation_id === 'string' ? item.operation_id : undefined,
        isReadable: isReadable(item),
        dueAt: Number(item.due_at),
        connectionId: neededConnection(item),
      }));
    },

    async acquire(pk, worker, leaseMs, signal) {
      const at = now();
      const condition = worker === 'settler' ? 'due_at <= :now' : 'attribute_exists(pk)';
      const wanted = { pk, lease: randomUUID(), at, until: at + leaseMs };
      const item = await acquireLease(operations, wanted, { condition }, signal);
      return item && keepSent(operations, item, signal);
    },

    async write(held, changes, signal, records = {}) {
      const next = { ...held, ...changes, revision: held.revision + 1 };
      const state = stateWrite(operations.name, next);
      const more = [...reservationWrites(logins.name, held, next), ...recordWrites(accounts.name, records)];
      // The SDK gives a transaction a token, so a late duplicate does nothing: `sent` cannot return after the key was freed.
      const isSingle = more.length === 0 && !(held.life.at === 'claimed' && next.life.at === 'sent');
      await underVersion(held, () =>
        isSingle ? single(operations, state, signal) : operations.transact([state, ...more], signal),
      );
      Object.assign(held, changes, { leaseUntil: isReleased(next) ? 0 : held.leaseUntil });
    },

    async takeFromWord(held, changes, signal) {
      const next = { ...held, ...changes, revision: held.revision + 1 };
      const { plan, operationId: operation_id } = next;
      const { login } = changes.life;
      if (plan === undefined) return undefined;
      const [reservation] = await logins.getMany([{ pk: reservationKey(plan, login) }], signal);
      if (typeof reservation?.word !== 'string') return undefined;
      const item = await operations.get({ pk: reservation.word }, signal);
      const other = item && parseHeld(item);
      if (other?.life.at !== 'open' || other.life.login !== login) return undefined;
      if (findTransition(other.life, { on: 'given_away' }, GIVEN_AWAY) === undefined) return undefined;
      const life = nextLife(other.life, { on: 'given_away' }, GIVEN_AWAY);
      const ifOthers = { condition: 'operation_id = :other', values: { ':other': other.operationId } };
      const mine = { pk: reservation.pk, operation_id, connection_id: plan.connection_id };
      const writes: TransactionWrite[] = [
        stateWrite(operations.name, next),
        { table: logins.name, put: mine, expression: ifOthers },
        stateWrite(operations.name, { ...other, life, revision: other.revision + 1 }),
        ...recordWrites(accounts.name, { delete: other.plan && { ...other.plan, login } }),
      ];
      await underVersion(held, () => operations.transact(writes, signal));
      Object.assign(held, changes);
      return other.operationId;
    },

    async rest(held, until, signal) {
      const next = { ...held, revision: held.revision + 1 };
      await underVersion(held, () => single(operations, stateWrite('', next, until), signal));
    },

    async holders(place, wanted, signal) {
      const keys = wanted.map((login) => ({ pk: reservationKey(place, login) }));
      const items = await logins.getMany(keys, signal);
      return new Map(items.map(({ pk, operation_id }) => [reservedLogin(pk), String(operation_id)]));
    },
  };
}

/** Creates a new operation, or acquires the one that has the key. */
async function claim(
  operations: Table,
  identities: readonly [Identity, ...Identity[]],
  at: number,
  leaseMs: number,
  signal: AbortSignal,
): Promise<Claim> {
  const [identity] = identities;
  const { pk, operationId: operation_id, ...origin } = identity;
  const claimed = { lease: randomUUID(), revision: 0, life: { at: 'claimed' } as const };
  const until = at + leaseMs;
  const sameBody = sameBodyCondition(identities.map(({ fingerprint }) => fingerprint));
  const ifNew = {
    // An expired key that has sent nothing is free for another body; the same body continues its operation below. Items
    // of 1.x expire although they sent.
    condition:
      'attribute_not_exists(pk) OR (lease = :lease AND revision = :first) ' +
      'OR (life.#at = :claimed AND attribute_not_exists(closed) ' +
      `AND expires_at <= :seconds AND lease_until <= :now AND NOT ${sameBody.condition})`,
    names: { '#at': 'at' },
    values: {
      ...{ ':lease': claimed.lease, ':first': 0, ':claimed': claimed.life.at },
      ...{ ':seconds': Math.floor(at / 1_000), ':now': at, ...sameBody.values },
    },
  };
  const item = { pk, operation_id, ...origin, ...claimed, lease_until: until, expires_at: keyExpiry(at) };
  const held = { ...identity, ...claimed, leaseUntil: until, event: 0 };
  const isMade = await tryWrite(operations.put(item, signal, ifNew).then(() => true));
  if (isMade === true) return { kind: 'held', held };
  const ifKnown = {
    condition: `${sameBody.condition} AND derivation = :derivation`,
    values: { ...sameBody.values, ':derivation': DERIVATION },
  };
  const acquired = await acquireLease(operations, { pk, lease: claimed.lease, at, until }, ifKnown, signal);
  if (acquired !== undefined) return { kind: 'held', held: await keepSent(operations, acquired, signal) };
  return busyClaim(await operations.get({ pk }, signal), identities, at);
}

/**
 * Reads an acquired item. 1.x let operations that have sent expire: from now on the item is kept. DynamoDB deletes those
 * that nobody acquires in time, as in 1.x.
 */
async function keepSent(operations: Table, item: Item, signal: AbortSignal): Promise<HeldOperation> {
  const held = parseHeld(item);
  if (item.expires_at !== undefined && !isForgotten(held)) {
    const ifOurs = { condition: 'lease = :lease', values: { ':lease': held.lease } };
    await tryWrite(operations.update({ pk: held.pk }, { update: 'REMOVE expires_at', ...ifOurs }, signal));
  }
  return held;
}

/** Whether nothing was sent, so the item of an operation expires. */
function isForgotten({ life, closed }: HeldOperation): boolean {
  return life.at === 'claimed' && closed === undefined;
}

function busyClaim(item: Item | undefined, identities: readonly Identity[], at: number): Claim {
  if (item === undefined) return { kind: 'ended' };
  const { life, leaseUntil, ...identity } = parseHeld(item);
  const isDerivable = identity.derivation === DERIVATION && identities.some(({ secret }) => secret === identity.secret);
  if (!isDerivable) return { kind: 'underivable', operationId: identity.operationId };
  if (!identities.some(({ fingerprint }) => fingerprint === identity.fingerprint)) return { kind: 'reused' };
  return { kind: 'busy', life, identity, retryAfterSeconds: secondsUntilFree(leaseUntil, at) };
}

/** Raises the revision of `held`, whether the write arrived or not. @throws Overtaken, ReservationConflict, AwsFailure */
async function underVersion(held: HeldOperation, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (!(error instanceof ConditionFailed)) throw error;
    const Conflict = error.index > 0 ? ReservationConflict : Overtaken;
    throw new Conflict(undefined, { cause: error });
  } finally {
    held.revision += 1;
  }
}

/** The write of an operation's state. @param until when the settler acts next; absent: the worker keeps its lease */
function stateWrite(table: string, next: HeldOperation, until?: number): TransactionWrite {
  const { pk, life, lease, revision, plan, since, closed, event, leaseUntil, operationId } = next;
  if (life.at === 'gone') {
    // Our own delete counts as done if its answer was lost and the SDK repeated it.
    const condition = `attribute_not_exists(pk) OR (${UNDER_LEASE})`;
    return { table, delete: { pk }, expression: { condition, values: { ':lease': lease, ':revision': revision } } };
  }
  const isOperators = life.at === 'undecided' || (life.at === 'open' && life.deposit === 'unpaid');
  const dueAt = !isReleased(next) ? (until ?? leaseUntil) : isOperators ? OPERATOR_ONLY : undefined;
  const set: Item = {
    life,
    plan,
    since,
    closed,
    event,
    revision,
    lease_until: isReleased(next) || until !== undefined ? 0 : leaseUntil,
    ...(dueAt !== undefined && dueAttributes(operationId, dueAt)),
  };
  const remove = [...(dueAt === undefined ? DUE_ATTRIBUTES : []), ...(isForgotten(next) ? [] : ['expires_at'])];
  const { update, names, values } = updateAttributes(set, remove);
  values[':lease'] = lease;
  return { table, update: { pk }, expression: { update, condition: UNDER_LEASE, names, values } };
}

/** Whether no worker is needed in a state: nothing was sent, an operator decides, or nothing else is missing. */
function isReleased({ life }: HeldOperation): boolean {
  return life.at === 'open' ? isFinished(life) : life.at !== 'sent';
}

async function single(table: Table, write: TransactionWrite, signal: AbortSignal): Promise<void> {
  if ('update' in write) await table.update(write.update, write.expression, signal);
  if ('delete' in write) await table.delete(write.delete, signal, write.expression);
}

/** The reservations that the new state takes and gives up. A login that an operator has named says so. */
function reservationWrites(table: string, before: HeldOperation, next: HeldOperation): TransactionWrite[] {
  const { plan, operationId: operation_id, life } = next;
  if (plan === undefined) return [];
  const [earlier, later] = [heldLogins(before.life, before), heldLogins(life, next)];
  const condition = 'attribute_not_exists(pk) OR operation_id = :operation';
  const expression = { condition, values: { ':operation': operation_id } };
  const word = life.at === 'open' && life.word === true ? { word: next.pk } : {};
  const reservation = { operation_id, connection_id: plan.connection_id, ...word };
  const taken = later.filter((login) => !earlier.includes(login));
  const givenUp = earlier.filter((login) => !later.includes(login));
  const place = (login: number) => ({ pk: reservationKey(plan, login) });
  return [
    ...taken.map((login) => ({ table, expression, put: { ...place(login), ...reservation } })),
    ...givenUp.map((login) => ({ table, delete: place(login), expression })),
  ];
}

function recordWrites(table: string, records: RecordWrites): TransactionWrite[] {
  const put = records.put && accountItem(records.put);
  const removed = records.delete && accountKey(records.delete);
  return [...(put ? [{ table, put }] : []), ...(removed ? [{ table, delete: removed }] : [])];
}

/**
 * The connection whose server is needed to continue an operation. A malformed item is reported when the settler
 * acquires it.
 */
function neededConnection(item: Item): string | undefined {
  if (!isReadable(item)) return undefined;
  const { life, plan } = parseHeld(item);
  const asks = life.at === 'open' ? life.deposit === 'due' || life.deposit === 'sent' : plan?.keyed === true;
  return asks ? plan?.connection_id : undefined;
}
