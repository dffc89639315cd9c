import { createHash, randomBytes, randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { ConditionFailed, DatabaseFailure, type Item, type Table } from '../aws/dynamodb.ts';
import { Problem } from '../http/problem.ts';

/**
 * The at-most-once record. Every request that may open an account, and every one with an `Idempotency-Key`, is an
 * operation:
 *
 *     running ──▶ sent ──▶ finished          running: nothing that cannot be repeated has happened
 *        ▲  └──────┴──▶ (gone)               sent: the bytes that open the account or carry the code may have left
 *        └─ taken over by a retry            (gone): certainly nothing was created or sent; a retry starts anew
 *
 * Whoever works on it holds its lease; every step is one conditional write under that lease, so a worker that was
 * thought dead cannot go on behind the back of the one that took over.
 */
export interface Operation {
  readonly pk: string;
  /** Travels in the account's comment. */
  readonly operationId: string;
  /** From which absent passwords are derived (base64url, 16 bytes); gone when the operation is. */
  readonly nonce: string;
  readonly lease: string;
}

/** What a finished operation keeps to give its answer again. */
export interface OperationResult {
  login?: number | undefined;
  /** When the account was known to be open: ISO 8601, UTC. */
  opened_at?: string | undefined;
  /** False: the account is open, but its record could not be written yet; a replay writes it. */
  recorded?: boolean | undefined;
  /** False: the account is open, but its deposit is not known to be there; a replay makes up for it. */
  funded?: boolean | undefined;
}

export type Claim =
  /** Ours to work on: new, or an earlier try ended before anything was sent. */
  | { kind: 'fresh'; operation: Operation }
  /** Ours to settle: an earlier try may have acted. Absence is certain from `settleAt` (epoch ms) on. */
  | { kind: 'undecided'; operation: Operation; settleAt: number }
  | { kind: 'finished'; operation: Operation; result: OperationResult }
  | { kind: 'in_progress'; retryAfterSeconds: number }
  /** The key was used with another body. */
  | { kind: 'reused' };

export interface Operations {
  /**
   * @param scope what the idempotency key is unique within, and the key itself; undefined for a request without one
   * @param fingerprints of the body; the first is kept, any may match (keys rotate)
   * @param leaseMs how long this try lasts at most
   */
  claim(scope: string[] | undefined, fingerprints: string[], leaseMs: number, signal: AbortSignal): Promise<Claim>;
  /**
   * Notes that from now on the account may exist or the message be out.
   * @param settleAt when a look-up that finds nothing may be believed, in epoch ms
   * @param details plain facts for the operator who may have to settle it; nothing personal, no password
   * @throws LeaseLost when another try has taken over: nothing may be sent
   */
  markSent(operation: Operation, settleAt: number, details: Item, signal: AbortSignal): Promise<void>;
  /** @param fundFrom where the deposit failed: when it may be paid again, in epoch ms */
  finish(operation: Operation, result: OperationResult, signal: AbortSignal, fundFrom?: number): Promise<void>;
  /** Certainly nothing was created or sent: the operation disappears, and a retry starts anew. */
  release(operation: Operation, signal: AbortSignal): Promise<void>;
  /** The outcome stays unknown: gives the lease up, so that a retry may settle it at once. */
  giveUp(operation: Operation, settleAt: number, signal: AbortSignal): Promise<void>;
}

/** The operations of accounts, whose deposits must not be paid twice either. */
export interface AccountOperations extends Operations {
  /**
   * Notes that from now on the deposit may be on its way. Of all tries, replays of a finished one among them, one at a
   * time may pay.
   * @param settledAt when an account that is empty has certainly not got it, in epoch ms: no other try pays before
   * @throws DepositUnsettled when another try may have paid, or has taken over: nothing may be sent
   */
  markFunding(operation: Operation, settledAt: number, signal: AbortSignal): Promise<void>;
}

/** Another try may have paid the deposit, and it is not certain yet that it did not arrive. */
export class DepositUnsettled extends Error {
  override readonly name = 'DepositUnsettled';
}

/** Another try holds the operation now. */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** A claim that may be worked on, settled or answered from; @throws Problem 409 or 422 for the others */
export function workable(claim: Claim): Exclude<Claim, { kind: 'in_progress' | 'reused' }> {
  if (claim.kind === 'reused') throw new Problem('idempotency_key_reused');
  if (claim.kind === 'in_progress') {
    throw new Problem('request_in_progress', { retryAfterSeconds: claim.retryAfterSeconds });
  }
  return claim;
}

/** How long an operation, and with it the `Idempotency-Key`, is kept: 24 hours. */
const KEPT_SECONDS = 24 * 60 * 60;

const StoredOperation = v.object({
  pk: v.string(),
  operation_id: v.string(),
  nonce: v.string(),
  fingerprint: v.string(),
  state: v.picklist(['running', 'sent', 'finished']),
  lease: v.string(),
  lease_until: v.number(),
  settle_at: v.optional(v.number(), 0),
  result: v.optional(
    v.object({
      login: v.optional(v.number()),
      opened_at: v.optional(v.string()),
      recorded: v.optional(v.boolean()),
      funded: v.optional(v.boolean()),
    }),
    {},
  ),
  expires_at: v.number(),
});
type StoredOperation = v.InferOutput<typeof StoredOperation>;

/**
 * Operations in DynamoDB: one item each, one round trip each step. A claim that may be worked on takes one round trip,
 * or two when it takes over from a try that died.
 */
export function operationsIn(table: Table, now: () => number = Date.now): AccountOperations {
  const underLease = 'lease = :lease';

  /**
   * Takes over what nobody works on any more, in one conditional write; what comes back is the operation as it stands
   * under the new lease. Our own write counts as such a one, when its answer was lost and it was repeated.
   */
  async function takeOver(
    { pk, lease }: Operation,
    fingerprints: string[],
    leaseMs: number,
    signal: AbortSignal,
  ): Promise<Claim | undefined> {
    const at = now();
    const known = fingerprints.map((_, index) => `:fingerprint${index}`);
    try {
      const item = await table.update(
        { pk },
        {
          update: 'SET lease = :lease, lease_until = :until',
          condition:
            `lease = :lease OR (lease_until <= :now AND expires_at > :seconds AND #state <> :finished ` +
            `AND fingerprint IN (${known.join(', ')}))`,
          names: { '#state': 'state' },
          values: {
            ':lease': lease,
            ':until': at + leaseMs,
            ':now': at,
            ':seconds': Math.floor(at / 1_000),
            ':finished': 'finished',
            ...Object.fromEntries(fingerprints.map((fingerprint, index) => [known[index], fingerprint])),
          },
        },
        signal,
      );
      const taken = parseStored(item);
      const operation = toOperation(taken);
      return taken.state === 'sent'
        ? { kind: 'undecided', operation, settleAt: taken.settle_at }
        : { kind: 'fresh', operation };
    } catch (error) {
      if (error instanceof ConditionFailed) return undefined;
      throw error;
    }
  }

  return {
    async claim(scope, fingerprints, leaseMs, signal) {
      const operationId = randomUUID();
      const operation: Operation = {
        pk: scope === undefined ? `operation#${operationId}` : `key#${digest(scope)}`,
        operationId,
        nonce: randomBytes(16).toString('base64url'),
        lease: randomUUID(),
      };
      const at = now();
      const item: Item = {
        pk: operation.pk,
        operation_id: operationId,
        nonce: operation.nonce,
        fingerprint: fingerprints[0],
        state: 'running',
        lease: operation.lease,
        lease_until: at + leaseMs,
        expires_at: Math.floor(at / 1_000) + KEPT_SECONDS,
      };
      try {
        await table.put(item, signal, {
          condition: 'attribute_not_exists(pk) OR (expires_at <= :seconds AND lease_until <= :now)',
          values: { ':seconds': Math.floor(at / 1_000), ':now': at },
        });
        return { kind: 'fresh', operation };
      } catch (error) {
        if (!(error instanceof ConditionFailed)) throw error;
      }
      const taken = await takeOver(operation, fingerprints, leaseMs, signal);
      if (taken !== undefined) return taken;
      const stored = await table.get({ pk: operation.pk }, signal);
      // It ended between the calls: the caller may try again at once.
      if (stored === undefined) return { kind: 'in_progress', retryAfterSeconds: 1 };
      const known = parseStored(stored);
      if (!fingerprints.includes(known.fingerprint)) return { kind: 'reused' };
      if (known.state === 'finished') {
        return { kind: 'finished', operation: toOperation(known), result: known.result };
      }
      const left = known.lease_until - now();
      return { kind: 'in_progress', retryAfterSeconds: Math.min(5, Math.max(1, Math.ceil(left / 1_000))) };
    },

    async markSent(operation, settleAt, details, signal) {
      try {
        await table.update(
          { pk: operation.pk },
          {
            update: 'SET #state = :sent, settle_at = :settle_at, details = :details',
            // Not a finished one: this may be the repeat of a write whose answer was lost, arriving late.
            condition: `${underLease} AND #state <> :finished`,
            names: { '#state': 'state' },
            values: {
              ':sent': 'sent',
              ':finished': 'finished',
              ':settle_at': settleAt,
              ':details': details,
              ':lease': operation.lease,
            },
          },
          signal,
        );
      } catch (error) {
        if (error instanceof ConditionFailed) throw new LeaseLost('Another try has taken over.', { cause: error });
        throw error;
      }
    },

    async markFunding(operation, settledAt, signal) {
      try {
        await table.update(
          { pk: operation.pk },
          {
            update: 'SET fund_from = :settled_at',
            condition: `${underLease} AND (attribute_not_exists(fund_from) OR fund_from <= :now)`,
            values: { ':settled_at': settledAt, ':now': now(), ':lease': operation.lease },
          },
          signal,
        );
      } catch (error) {
        if (error instanceof ConditionFailed) throw new DepositUnsettled('It may be on its way.', { cause: error });
        throw error;
      }
    },

    async finish(operation, result, signal, fundFrom) {
      await table.update(
        { pk: operation.pk },
        {
          update: `SET #state = :finished, #result = :result${fundFrom === undefined ? '' : ', fund_from = :fund_from'}`,
          condition: underLease,
          names: { '#state': 'state', '#result': 'result' },
          values: {
            ':finished': 'finished',
            ':result': result,
            ':lease': operation.lease,
            ...(fundFrom === undefined ? {} : { ':fund_from': fundFrom }),
          },
        },
        signal,
      );
    },

    async release(operation, signal) {
      try {
        await table.delete({ pk: operation.pk }, signal, {
          condition: `attribute_not_exists(pk) OR ${underLease}`,
          values: { ':lease': operation.lease },
        });
      } catch (error) {
        // Another try has taken over: it is not ours to end any more.
        if (!(error instanceof ConditionFailed)) throw error;
      }
    },

    async giveUp(operation, settleAt, signal) {
      await table.update(
        { pk: operation.pk },
        {
          update: 'SET lease_until = :ended, settle_at = :settle_at',
          condition: underLease,
          values: { ':ended': 0, ':settle_at': settleAt, ':lease': operation.lease },
        },
        signal,
      );
    },
  };
}

function digest(scope: string[]): string {
  return createHash('sha256').update(JSON.stringify(scope)).digest('base64url');
}

function parseStored(item: Item): StoredOperation {
  const result = v.safeParse(StoredOperation, item);
  if (!result.success) throw new DatabaseFailure('OperationMalformed');
  return result.output;
}

function toOperation(stored: StoredOperation): Operation {
  return { pk: stored.pk, operationId: stored.operation_id, nonce: stored.nonce, lease: stored.lease };
}
