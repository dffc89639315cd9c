import { hash, randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { type Item, type Table, tryWrite } from '../aws/dynamodb.ts';
import { AwsFailure } from '../aws/failure.ts';
import { Problem } from '../problem.ts';
import { assignments } from './assignments.ts';

/**
 * The at-most-once record of a registration with an `Idempotency-Key`:
 *
 *     running ──▶ sent ──▶ finished          running: nothing that cannot be repeated has happened
 *        ▲  └──────┴──▶ (gone)               sent: the message with the code may have left
 *        └─ acquired by a retry              (gone): certainly nothing was sent; a retry starts again
 *
 * A worker holds its lease. Every step is one conditional write under that lease and has a revision. So a worker that
 * lost its lease cannot continue, and a late duplicate of a write cannot overwrite a newer state.
 */
export interface Operation {
  readonly pk: string;
  /** A random UUID. */
  readonly operationId: string;
  /** A random UUID. */
  readonly nonce: string;
  readonly lease: string;
  /** Of the last write under this lease. */
  revision: number;
}

export type Claim =
  /** Held by this worker: new, or nothing was sent by an earlier one. */
  | { kind: 'fresh'; operation: Operation }
  /** Held by this worker, but an earlier one may have sent the message. `item` is the stored operation. */
  | { kind: 'undecided'; operation: Operation; item: Item }
  | { kind: 'finished'; operation: Operation; item: Item }
  /** Held by another worker. `known` is absent if it has just ended. */
  | { kind: 'in_progress'; retryAfterSeconds: number; known?: { operation: Operation; item: Item } }
  /** The key was used with another body. */
  | { kind: 'reused' };

export interface Operations {
  /**
   * @param scope the idempotency key and the scope in which it is unique; undefined for a request without a key
   * @param fingerprints of the body; the first is kept, any may match (keys rotate)
   * @param leaseMs the maximum time of this worker
   */
  claim(scope: string[] | undefined, fingerprints: string[], leaseMs: number, signal: AbortSignal): Promise<Claim>;
  /**
   * Records that the message may be sent from now on.
   * @param details plain facts for the operator; nothing personal
   * @throws LeaseLost if another worker has acquired the operation: nothing may be sent
   */
  markSent(operation: Operation, details: Item, signal: AbortSignal): Promise<void>;
  finish(operation: Operation, signal: AbortSignal): Promise<void>;
  /**
   * Deletes an operation that certainly sent nothing, so that a retry starts again.
   * @throws LeaseLost if another worker has acquired the operation
   */
  release(operation: Operation, signal: AbortSignal): Promise<void>;
}

/** One step of an operation. */
interface Step {
  set: Item;
  remove?: readonly string[];
  /** A condition in addition to the lease, whose value is `:lease`. */
  condition?: string;
  /** The remaining retention; default: that of an unfinished operation. */
  keptSeconds?: number;
}

/** The steps that the kinds of operations are made of. */
export interface OperationSteps extends Operations {
  /** @throws LeaseLost if another worker has acquired the operation, or the condition failed */
  write(operation: Operation, step: Step, signal: AbortSignal): Promise<void>;
}

/** Another worker holds the operation now. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** A claim that this worker may continue; @throws Problem 409 or 422 for the others */
export function workable(claim: Claim): Exclude<Claim, { kind: 'in_progress' | 'reused' }> {
  if (claim.kind === 'reused') throw new Problem('idempotency_key_reused');
  if (claim.kind === 'in_progress') {
    throw new Problem('request_in_progress', { retryAfterSeconds: claim.retryAfterSeconds });
  }
  return claim;
}

/** How long an operation, and with it the `Idempotency-Key`, is kept after the last step: 24 hours. */
export const KEPT_SECONDS = 24 * 60 * 60;

const StoredOperation = v.object({
  pk: v.string(),
  operation_id: v.string(),
  nonce: v.string(),
  fingerprint: v.string(),
  state: v.picklist(['running', 'sent', 'finished']),
  lease: v.string(),
  lease_until: v.number(),
  revision: v.number(),
});
type StoredOperation = v.InferOutput<typeof StoredOperation>;

/**
 * Operations in DynamoDB: one item each, one round trip for each step. Acquiring the operation of a lost worker takes
 * two.
 * @param unfinishedSeconds the retention of an unfinished operation
 */
export function dynamoOperations(
  table: Table,
  now: () => number = Date.now,
  unfinishedSeconds: number = KEPT_SECONDS,
): OperationSteps {
  // Rounded up, so that it never expires early.
  const expiry = (keptSeconds: number) => Math.ceil(now() / 1_000) + keptSeconds;

  const write: OperationSteps['write'] = async (operation, { set, remove, condition, keptSeconds }, signal) => {
    // The SDK's retry of this write has the same revision; a late retry of an earlier write has a smaller one.
    operation.revision += 1;
    const changes = { ...set, revision: operation.revision, expires_at: expiry(keptSeconds ?? unfinishedSeconds) };
    const underLease = 'lease = :lease AND revision <= :revision';
    const { update, names, values } = assignments(changes, remove);
    values[':lease'] = operation.lease;
    const expression = {
      update,
      condition: condition === undefined ? underLease : `${underLease} AND (${condition})`,
      names,
      values,
    };
    await requireLease(table.update({ pk: operation.pk }, expression, signal));
  };

  return {
    write,

    async claim(scope, fingerprints, leaseMs, signal) {
      const operation = newOperation(scope);
      const at = now();
      const seconds = Math.floor(at / 1_000);
      const item: Item = {
        pk: operation.pk,
        operation_id: operation.operationId,
        nonce: operation.nonce,
        fingerprint: fingerprints[0],
        state: 'running',
        lease: operation.lease,
        lease_until: at + leaseMs,
        revision: operation.revision,
        expires_at: expiry(KEPT_SECONDS),
      };
      const isFree = {
        // An attribute that is absent is not greater.
        condition: 'NOT expires_at > :seconds AND NOT lease_until > :now',
        values: { ':seconds': seconds, ':now': at },
      };
      const claimed = await tryWrite(table.put(item, signal, isFree).then(() => operation));
      if (claimed !== undefined) return { kind: 'fresh', operation };
      const lease = { lease: operation.lease, from: at, until: at + leaseMs, expiresAt: expiry(unfinishedSeconds) };
      const taken = await takeOver(table, operation.pk, lease, fingerprints, signal);
      return taken === undefined
        ? readClaim(await table.get({ pk: operation.pk }, signal), fingerprints, now())
        : {
            kind: taken.state === 'sent' ? 'undecided' : 'fresh',
            operation: parseOperation(taken.item),
            item: taken.item,
          };
    },

    markSent: (operation, details, signal) => write(operation, { set: { state: 'sent', details } }, signal),

    finish: (operation, signal) => write(operation, { set: { state: 'finished' }, keptSeconds: KEPT_SECONDS }, signal),

    release: (operation, signal) =>
      requireLease(
        table.delete({ pk: operation.pk }, signal, {
          condition: 'attribute_not_exists(pk) OR lease = :lease',
          values: { ':lease': operation.lease },
        }),
      ),
  };
}

interface Lease {
  lease: string;
  /** Epoch milliseconds. */
  from: number;
  until: number;
  /** Epoch seconds. */
  expiresAt: number;
}

/**
 * Acquires an operation that no worker holds, in one conditional write. It also succeeds if the SDK repeated our own
 * write.
 * @returns the operation under the new lease
 */
async function takeOver(
  table: Table,
  pk: string,
  { lease, from, until, expiresAt }: Lease,
  fingerprints: string[],
  signal: AbortSignal,
): Promise<{ state: StoredOperation['state']; item: Item } | undefined> {
  const known = Object.fromEntries(fingerprints.map((fingerprint, index) => [`:fingerprint${index}`, fingerprint]));
  const { update, names, values } = assignments({ lease, lease_until: until, revision: 0, expires_at: expiresAt });
  const isFree =
    'lease_until <= :now AND expires_at > :seconds AND #state <> :finished ' +
    `AND fingerprint IN (${Object.keys(known).join(', ')})`;
  const condition = `(lease = :lease AND revision = :revision) OR (${isFree})`;
  const given = { ':now': from, ':seconds': Math.floor(from / 1_000), ':finished': 'finished', ...known };
  const expression = { update, condition, names: { ...names, '#state': 'state' }, values: { ...values, ...given } };
  const item = await tryWrite(table.update({ pk }, expression, signal));
  return item && { state: parseStored(item).state, item };
}

/** The claim of a worker that could not acquire the operation. */
function readClaim(item: Item | undefined, fingerprints: string[], at: number): Claim {
  // It ended between the calls: the caller may try again at once.
  if (item === undefined) return { kind: 'in_progress', retryAfterSeconds: 1 };
  const stored = parseStored(item);
  if (!fingerprints.includes(stored.fingerprint)) return { kind: 'reused' };
  const operation = parseOperation(item);
  if (stored.state === 'finished') return { kind: 'finished', operation, item };
  const seconds = Math.ceil((stored.lease_until - at) / 1_000);
  return { kind: 'in_progress', retryAfterSeconds: Math.min(5, Math.max(1, seconds)), known: { operation, item } };
}

async function requireLease(write: Promise<unknown>): Promise<void> {
  const isWritten = await tryWrite(write.then(() => true));
  if (isWritten === undefined) throw new LeaseLost('Another worker has taken over.');
}

function newOperation(scope: string[] | undefined): Operation {
  const operationId = randomUUID();
  return {
    pk: scope === undefined ? `operation#${operationId}` : operationKey(scope),
    operationId,
    nonce: randomUUID(),
    lease: randomUUID(),
    revision: 0,
  };
}

/** The partition key of an idempotency key. @param scope as in `claim` */
function operationKey(scope: string[]): string {
  return `key#${hash('sha256', JSON.stringify(scope), 'base64url')}`;
}

function parseStored(item: Item): StoredOperation {
  const result = v.safeParse(StoredOperation, item);
  if (!result.success) throw new AwsFailure('OperationMalformed');
  return result.output;
}

function parseOperation(item: Item): Operation {
  const { pk, operation_id, nonce, lease, revision } = parseStored(item);
  return { pk, operationId: operation_id, nonce, lease, revision };
}
