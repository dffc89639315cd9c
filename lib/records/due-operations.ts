import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { ConditionFailed, DatabaseFailure, type Item, type Table } from '../aws/dynamodb.ts';
import {
  type AskedNotices,
  type EarlierWork,
  type KnownAccount,
  UNFINISHED_SECONDS,
  workIn,
} from './account-operations.ts';
import type { AccountDetails } from './accounts.ts';
import { due, dueUntil, NEVER, readDue } from './due.ts';
import { type Operation, operationsIn } from './operations.ts';

/** An opening of an account that is not at its end. */
export interface OpenOperation {
  operation: Operation;
  /** Of the record that is to be written. */
  details: AccountDetails;
  notices: AskedNotices;
  /** True: the master password was the caller's own, and cannot be derived. */
  masterGiven: boolean;
  earlier: EarlierWork;
  /** Absent: whether it was opened is not known. */
  account: KnownAccount | undefined;
  /** True: there was no account when it could no longer be opened, as far as anyone promises. */
  isAbsent: boolean;
  /** When it is to be taken up next, in epoch milliseconds; `NEVER` where only an operator can settle it. */
  dueAt: number;
}

/**
 * The openings that are not at their end, for those who bring them there without their callers. Whoever takes one up
 * has the lease that a retry would have, so never two work on the same one.
 */
export interface DueOperations {
  /** The keys of those that are due, oldest first. What was written a moment ago may be missing. */
  due(signal: AbortSignal): Promise<string[]>;
  /** All that are not at their end, oldest first; last those that only an operator can settle. */
  open(signal: AbortSignal): Promise<OpenOperation[]>;
  /**
   * @param whoever `operator`: also takes up what is not due, or only an operator's matter
   * @returns undefined where somebody works on it, or nothing is to be done
   */
  takeUp(
    pk: string,
    whoever: 'settler' | 'operator',
    leaseMs: number,
    signal: AbortSignal,
  ): Promise<OpenOperation | undefined>;
  /**
   * Gives the lease up; it is due again at that time (epoch ms).
   * @param isAbsent true: the account is not there, and needs nobody's care unless it comes to be
   */
  putOff(operation: Operation, until: number, isAbsent: boolean, signal: AbortSignal): Promise<void>;
  /** Only an operator can bring it to its end: gives the lease up, and it is not due any more. */
  leaveToOperator(operation: Operation, signal: AbortSignal): Promise<void>;
}

/** So many of a shard are taken up in one run. */
const MAX_DUE = 100;
/** So many of a shard are listed for operators. */
const MAX_LISTED = 1_000;

const DetailsSchema = v.object({
  user_id: v.string(),
  version: v.picklist(['tp5', 'tp4']),
  connection_id: v.string(),
  group: v.string(),
  leverage: v.number(),
  account_type_id: v.optional(v.string()),
  enable_readonly: v.boolean(),
  enable_rebate: v.boolean(),
  rebate_user_id: v.optional(v.string()),
  operation_id: v.string(),
  send_email: v.optional(v.boolean()),
  send_pop_up: v.optional(v.boolean()),
  language: v.optional(v.string()),
  deposit: v.optional(v.number()),
  master_given: v.boolean(),
});
const StoredSchema = v.object({
  pk: v.string(),
  nonce: v.string(),
  lease: v.string(),
  revision: v.number(),
  is_absent: v.optional(v.boolean(), false),
  due_at: v.number(),
  details: DetailsSchema,
});

export function dueOperationsIn(table: Table, now: () => number = Date.now): DueOperations {
  const operations = operationsIn(table, now, UNFINISHED_SECONDS);

  return {
    due: (signal) => dueUntil(table, now(), MAX_DUE, signal),

    async open(signal) {
      const open = (await readDue(table, NEVER, MAX_LISTED, signal)).map(toOpen);
      return open.toSorted((one, other) => one.dueAt - other.dueAt);
    },

    async takeUp(pk, whoever, leaseMs, signal) {
      const at = now();
      const isFree =
        whoever === 'settler'
          ? 'due_at <= :now AND lease_until <= :now AND #state <> :finished'
          : 'attribute_exists(due_at) AND (lease_until <= :now OR #state = :finished)';
      const expression = {
        update: 'SET lease = :lease, lease_until = :until, revision = :first',
        // Our own write, when its answer was lost and it was repeated.
        condition: `(lease = :lease AND revision = :first) OR (${isFree})`,
        names: { '#state': 'state' },
        values: { ':lease': randomUUID(), ':until': at + leaseMs, ':first': 0, ':now': at, ':finished': 'finished' },
      };
      try {
        return toOpen(await table.update({ pk }, expression, signal));
      } catch (error) {
        if (error instanceof ConditionFailed) return undefined;
        throw error;
      }
    },

    putOff(operation, until, isAbsent, signal) {
      const set = { lease_until: 0, ...due(operation.operationId, until), ...(isAbsent ? { is_absent: true } : {}) };
      return operations.write(operation, { set }, signal);
    },

    leaveToOperator(operation, signal) {
      const set = { lease_until: 0, ...due(operation.operationId, NEVER) };
      // From now on it does need somebody's care.
      return operations.write(operation, { set, remove: ['is_absent'] }, signal);
    },
  };
}

/** @throws DatabaseFailure for what no version of ours has written */
function toOpen(item: Item): OpenOperation {
  const stored = v.safeParse(StoredSchema, item);
  if (!stored.success) throw new DatabaseFailure('OperationMalformed');
  const { pk, nonce, lease, revision, is_absent, due_at } = stored.output;
  const { send_email, send_pop_up, language, master_given, deposit: _, ...details } = stored.output.details;
  return {
    operation: { pk, operationId: details.operation_id, nonce, lease, revision },
    details,
    notices: { send_email, send_pop_up, language },
    masterGiven: master_given,
    isAbsent: is_absent,
    dueAt: due_at,
    ...workIn(item),
  };
}
