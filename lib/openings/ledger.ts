import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import {
  ConditionFailed,
  type Item,
  type Table,
  type Transact,
  type TransactionWrite,
  tryWrite,
  updateAttributes,
} from '../aws/dynamodb.ts';
import { AwsFailure } from '../aws/failure.ts';
import { RESERVATION_INDEX } from '../config/deployment.ts';
import { type AccountDetails, type AccountRecord, accountItem } from '../records/accounts.ts';
import { DUE_ATTRIBUTES, dueAttributes, OPERATOR_ONLY, readDue } from '../records/due.ts';
import { acquireLease, isSameBody, keyExpiry, secondsUntilFree, UNDER_LEASE } from '../records/idempotency-keys.ts';
import { DERIVATION, type Identity } from './derivation.ts';
import type { Life } from './life.ts';
import { namedLoginKey, reservedLogin } from './reservation-key.ts';
import { type MovedReservation, reservationWrites } from './reservation-writes.ts';

/**
 * The ledger of openings: one item for each operation, with its state and one version, and one item for each reserved
 * login. Every write is conditional on the version that was read; a write that reserves a login also writes the state
 * `sent`, in one transaction. So a reservation exists if and only if its operation may have sent the login.
 */

/** The data to finish an operation without its caller. The plan holds no personal data and no password. */
export type OperationPlan = v.InferOutput<typeof PlanSchema>;

/** An operation that this worker holds. Its version is the lease with the revision; every write raises the revision. */
export interface HeldOperation extends Identity {
  readonly lease: string;
  /** The end of the lease that the next write sets, in epoch milliseconds. */
  leaseUntil: number;
  /** The id of this life of the operation: after its key was freed, the same request makes the same operation again. */
  readonly incarnation: string;
  revision: number;
  life: Life;
  /** Present in the state `sent` and later. */
  plan?: OperationPlan | undefined;
  /** The login of an account that an earlier life of the operation may have opened, if the state does not show it. */
  found?: number;
  /** The operation whose account is at the login of the state, if its id was seen there. */
  seenOwner?: string | undefined;
  /** The reservations that the next write moves: an operator has found whose account is at their logins. */
  moved?: readonly MovedReservation[] | undefined;
  /** When a request first and last wrote the state `sent`, which is before a command, in epoch milliseconds. */
  since?: number | undefined;
  sentAt?: number | undefined;
}

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

/** The reason of an item that cannot be read. */
export const OPERATION_MALFORMED = 'OperationMalformed';

/** An operation that the settler may acquire. */
export interface DueOperation {
  pk: string;
  /** Absent in an item that cannot be read. */
  operationId?: string | undefined;
  /** Epoch milliseconds. */
  dueAt: number;
  /** The connection whose server must be asked; undefined if none must. */
  connectionId: string | undefined;
  /** The operation's item, as it was when the list was read. Absent: the item is known to be readable. */
  item?: Item;
}

/** Another worker has acquired the operation. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken';
}

/** Another operation holds the login; nothing was written. */
export class ReservationConflict extends Error {
  override readonly name = 'ReservationConflict';
}

export interface Ledger {
  /**
   * @param identities the possible identities of the request. A new operation gets the first one
   * @param leaseMs the maximum time of this worker
   */
  claim(identities: readonly [Identity, ...Identity[]], leaseMs: number, signal: AbortSignal): Promise<Claim>;
  /**
   * Gives an operation that has sent nothing another identity of its request: the operation's reservation was found
   * under it.
   * @throws Overtaken, AwsFailure
   */
  adopt(held: HeldOperation, identity: Identity, signal: AbortSignal): Promise<HeldOperation>;
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
   * Writes a new state, with the plan, the times and the lease of `held`. If another operation has reserved the login
   * of an account with a record since, the reservation stays with that operation.
   * @param record of the account, if the same transaction shall write it
   * @throws Overtaken, ReservationConflict, AwsFailure
   */
  write(held: HeldOperation, to: Life, signal: AbortSignal, record?: AccountRecord): Promise<void>;
  /**
   * Releases the lease.
   * @param until when the settler acts next, in epoch milliseconds, `OPERATOR_ONLY` or `RETRY_ONLY`
   * @throws Overtaken, AwsFailure
   */
  rest(held: HeldOperation, until: number, signal: AbortSignal): Promise<void>;
  /** The operations that hold these logins, by login. */
  holders(
    version: AccountDetails['version'],
    logins: readonly number[],
    signal: AbortSignal,
  ): Promise<Map<number, string>>;
  /** The logins that an operation holds, wherever they are in its sequence. The index is eventually consistent. */
  reserved(version: AccountDetails['version'], operationId: string, signal: AbortSignal): Promise<number[]>;
}

/** The maximum number of operations of a shard that the settler reads in one run: more than it can complete. */
const MAX_DUE = 2_500;
/**
 * The maximum number of reservations that are read of an operation. It holds one login; after a table was restored it
 * may hold another one.
 */
const MAX_RESERVED = 10;

const text = v.string();
const flag = v.boolean();
const optionalText = v.optional(text);
const optionalFlag = v.optional(flag);
const login = v.pipe(v.number(), v.integer(), v.minValue(1));
const optionalLogin = v.optional(login);
const LifeSchema: v.GenericSchema<Life> = v.variant('at', [
  v.object({ at: v.literal('claimed') }),
  v.object({
    at: v.literal('sent'),
    login: optionalLogin,
    commands: v.picklist(['one', 'many', 'found', 'taken']),
  }),
  v.object({
    at: v.literal('open'),
    login,
    opened_at: text,
    recorded: flag,
    deposit: v.picklist(['none', 'due', 'again', 'sent', 'found', 'made', 'failed']),
    published: flag,
  }),
  v.object({ at: v.literal('done'), login, opened_at: text, unpaid: flag }),
  v.object({ at: v.literal('undecided'), login: optionalLogin, other: optionalLogin }),
]);
export const PlanSchema = v.object({
  // The known part of the account's record.
  user_id: text,
  version: v.picklist(['tp5', 'tp4']),
  connection_id: text,
  group: text,
  leverage: v.number(),
  account_type_id: optionalText,
  enable_readonly: flag,
  enable_rebate: flag,
  rebate_user_id: optionalText,
  operation_id: text,
  caller: text,
  send_email: optionalFlag,
  send_pop_up: optionalFlag,
  /** The language of the notices, as a BCP 47 tag. Absent: the client's own. */
  language: optionalText,
  /** True: the protocol names the login, and the platform refuses a login that exists. */
  keyed: flag,
  /** True: only this service opens accounts at the operation's logins. */
  exclusive: flag,
  /** The caller chose the login. */
  login_given: flag,
  /** The deposit, in units of the account's currency. */
  deposit: v.optional(v.number()),
  /** True: the command that opens the account also funds it. */
  deposit_with_opening: flag,
  /** The role of a generated password, by which the account can be recognized. */
  generated: v.optional(v.picklist(['master', 'investor'])),
  /** The address of the server that the first command went to. */
  server: optionalText,
});
const StoredSchema = v.object({
  pk: text,
  operation_id: text,
  // The origin that the passwords and the logins follow from.
  fingerprint: text,
  secret: text,
  derivation: v.number(),
  lease: text,
  lease_until: v.number(),
  incarnation: text,
  revision: v.number(),
  life: LifeSchema,
  plan: v.optional(PlanSchema),
  since: v.optional(v.number()),
  sent_at: v.optional(v.number()),
});

/** Whether the settler can work on an operation. */
export function isReadable(item: Item): boolean {
  return item.plan !== undefined && v.safeParse(StoredSchema, item).success;
}

/** The ledger in DynamoDB. @param tables their `names` are for transactions */
export function dynamoLedger(
  tables: {
    operations: Table;
    logins: Table;
    names: Record<'operations' | 'logins' | 'accounts', string>;
    transact: Transact;
  },
  now: () => number = Date.now,
): Ledger {
  const { operations, logins } = tables;
  return {
    claim: (identities, leaseMs, signal) => claim(operations, identities, now(), leaseMs, signal),

    async adopt(held, identity, signal) {
      const adopted = { ...held, ...identity };
      const { update, names, values } = updateAttributes({ ...storedIdentity(identity), revision: held.revision + 1 });
      const expression = { update, condition: UNDER_LEASE, names, values: { ...values, ':lease': held.lease } };
      await writeUnderVersion(adopted, async () => {
        await operations.update({ pk: held.pk }, expression, signal);
      });
      return adopted;
    },

    async due(signal) {
      const items = await readDue(operations, now(), MAX_DUE, signal);
      return items.map((item) => ({
        pk: String(item.pk),
        ...(typeof item.operation_id === 'string' ? { operationId: item.operation_id } : {}),
        dueAt: Number(item.due_at),
        connectionId: neededConnection(item),
        item,
      }));
    },

    async acquire(pk, worker, leaseMs, signal) {
      const at = now();
      const condition = worker === 'settler' ? 'due_at <= :now' : 'attribute_exists(pk)';
      const wanted = { pk, lease: randomUUID(), at, until: at + leaseMs };
      const item = await acquireLease(operations, wanted, { condition }, signal);
      return item && parseHeld(item);
    },

    write: (held, to, signal, record) => write(tables, now(), held, to, signal, record),

    async rest(held, until, signal) {
      const next = { ...held, revision: held.revision + 1 };
      await writeUnderVersion(held, () => single(operations, stateWrite('', next, now(), until), signal));
    },

    async holders(version, wanted, signal) {
      const items = await logins.getMany(
        wanted.map((login) => ({ pk: namedLoginKey(version, login) })),
        signal,
      );
      return new Map(items.map(({ pk, operation_id }) => [reservedLogin(pk), String(operation_id)]));
    },

    async reserved(version, operationId, signal) {
      const keys = await logins.findKeys(RESERVATION_INDEX, operationId, MAX_RESERVED, signal);
      // Reservations of a server that chooses its logins have other keys.
      return keys.filter((key) => key === namedLoginKey(version, reservedLogin(key))).map(reservedLogin);
    },
  };
}

function newOperation(identity: Identity, leaseUntil: number): HeldOperation {
  const lease = randomUUID();
  return {
    ...identity,
    lease,
    leaseUntil,
    incarnation: lease,
    revision: 0,
    life: { at: 'claimed' },
  };
}

function storedIdentity({ operationId: operation_id, fingerprint, secret, derivation }: Identity): Item {
  return { operation_id, fingerprint, secret, derivation };
}

/** Creates a new operation, or acquires the one that has the key. */
async function claim(
  operations: Table,
  identities: readonly [Identity, ...Identity[]],
  at: number,
  leaseMs: number,
  signal: AbortSignal,
): Promise<Claim> {
  const held = newOperation(identities[0], at + leaseMs);
  const { pk, lease, leaseUntil: until, incarnation, revision, life } = held;
  const isSame = isSameBody(identities.map(({ fingerprint }) => fingerprint));
  const claim = { incarnation, revision, life, lease, lease_until: until, expires_at: keyExpiry(at) };
  const isNew = {
    // The same request continues its operation even after its key has expired.
    condition:
      'attribute_not_exists(pk) OR (lease = :lease AND revision = :first) ' +
      `OR (expires_at <= :seconds AND lease_until <= :now AND NOT ${isSame.condition})`,
    values: { ':lease': lease, ':first': 0, ':seconds': Math.floor(at / 1_000), ':now': at, ...isSame.values },
  };
  const item = { pk, ...storedIdentity(held), ...claim };
  const claimed = await tryWrite(operations.put(item, signal, isNew).then(() => held));
  if (claimed !== undefined) return { kind: 'held', held };
  const isKnown = {
    condition: `${isSame.condition} AND derivation = :derivation`,
    values: { ...isSame.values, ':derivation': DERIVATION },
  };
  const taken = await acquireLease(operations, { pk, lease, at, until }, isKnown, signal);
  if (taken !== undefined) return { kind: 'held', held: parseHeld(taken) };
  return busyClaim(await operations.get({ pk }, signal), identities, at);
}

async function write(
  tables: Parameters<typeof dynamoLedger>[0],
  at: number,
  held: HeldOperation,
  to: Life,
  signal: AbortSignal,
  record?: AccountRecord,
): Promise<void> {
  const { operations, logins, names, transact } = tables;
  const next = { ...held, revision: held.revision + 1, life: to };
  const state = stateWrite(names.operations, next, at);
  const { taken, givenUp, earlier: pk = '' } = reservationWrites(names.logins, held, next);
  const records = record === undefined ? [] : [{ table: names.accounts, put: accountItem(record) }];
  const attempt = async (reserved: TransactionWrite[], released: TransactionWrite[]): Promise<void> => {
    try {
      await transact([state, ...reserved, ...released, ...records], signal);
    } catch (error) {
      if (!(error instanceof ConditionFailed) || error.index === 0) throw error;
      if (error.index <= reserved.length) {
        if (!isOfRecord(to)) throw error;
        return attempt([], released);
      }
      // After the reservations were lost, another operation may hold the login: then there is nothing to release.
      const [reservation] = await logins.getMany([{ pk }], signal);
      if (reservation?.operation_id === held.operationId) throw error;
      await attempt(reserved, []);
    }
  };
  await writeUnderVersion(held, async () => {
    // A late duplicate of a transaction does nothing, so the state `sent` cannot return after the key was freed.
    if (taken.length + givenUp.length + records.length === 0 && to.at !== 'sent')
      return single(operations, state, signal);
    await attempt(taken, givenUp);
  });
  held.life = to;
  held.seenOwner = undefined;
  held.moved = undefined;
}

/** Whether the operation knows the new login of its state by the record of its account. */
function isOfRecord(to: Life): boolean {
  return to.at === 'undecided' || (to.at === 'open' && to.recorded);
}

/** Raises the revision of `held`, whether the write arrived or not. @throws Overtaken, ReservationConflict, AwsFailure */
async function writeUnderVersion(held: HeldOperation, work: () => Promise<void>): Promise<void> {
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
function stateWrite(table: string, next: HeldOperation, at: number, until?: number): TransactionWrite {
  const { pk, life, lease, revision, plan, since, sentAt: sent_at, leaseUntil, operationId } = next;
  if (life.at === 'gone') {
    // Our own delete counts as done if its answer was lost and the SDK repeated it.
    const condition = `attribute_not_exists(pk) OR (${UNDER_LEASE})`;
    return { table, delete: { pk }, expression: { condition, values: { ':lease': lease, ':revision': revision } } };
  }
  const isFinished = life.at === 'done' && !life.unpaid;
  const isOperators = life.at === 'undecided' || (life.at === 'done' && life.unpaid);
  // A claimed operation is continued by a retry alone, and a finished one is only read again by a retry.
  const isIdle = isFinished || life.at === 'claimed';
  const dueAt = isOperators ? OPERATOR_ONLY : isIdle ? undefined : (until ?? leaseUntil);
  const isReleased = isOperators || isIdle || until !== undefined;
  const set: Item = {
    life,
    plan,
    since,
    sent_at,
    revision,
    lease_until: isReleased ? 0 : leaseUntil,
    ...(dueAt !== undefined && dueAttributes(operationId, dueAt)),
    ...(isIdle && { expires_at: keyExpiry(at) }),
  };
  const remove = [...(dueAt === undefined ? DUE_ATTRIBUTES : []), ...(isIdle ? [] : ['expires_at'])];
  const { update, names, values } = updateAttributes(set, remove);
  values[':lease'] = lease;
  return { table, update: { pk }, expression: { update, condition: UNDER_LEASE, names, values } };
}

async function single(table: Table, write: TransactionWrite, signal: AbortSignal): Promise<void> {
  if ('update' in write) await table.update(write.update, write.expression, signal);
  if ('delete' in write) await table.delete(write.delete, signal, write.expression);
}

function parse(item: Item): v.InferOutput<typeof StoredSchema> {
  const result = v.safeParse(StoredSchema, item);
  if (!result.success) throw AwsFailure.ofItem(OPERATION_MALFORMED, item.pk);
  return result.output;
}

/**
 * The connection whose server is needed to continue an operation. A malformed item is reported when the settler
 * acquires it.
 */
function neededConnection(item: Item): string | undefined {
  const { output, success } = v.safeParse(StoredSchema, item);
  if (!success || output.plan === undefined) return undefined;
  const { life, plan } = output;
  const asks = life.at === 'open' ? !['none', 'made', 'failed'].includes(life.deposit) : plan.keyed;
  return asks ? plan.connection_id : undefined;
}

export function parseHeld(item: Item): HeldOperation {
  const { operation_id: operationId, lease_until: leaseUntil, sent_at: sentAt, ...same } = parse(item);
  return { ...same, operationId, leaseUntil, sentAt };
}

function busyClaim(item: Item | undefined, identities: readonly Identity[], at: number): Claim {
  if (item === undefined) return { kind: 'ended' };
  const { life, leaseUntil, ...identity } = parseHeld(item);
  const isDerivable = identity.derivation === DERIVATION && identities.some(({ secret }) => secret === identity.secret);
  if (!isDerivable) return { kind: 'underivable', operationId: identity.operationId };
  if (!identities.some(({ fingerprint }) => fingerprint === identity.fingerprint)) return { kind: 'reused' };
  return { kind: 'busy', life, identity, retryAfterSeconds: secondsUntilFree(leaseUntil, at) };
}
