import * as v from 'valibot';
import { DatabaseFailure, type Item, type Table } from '../aws/dynamodb.ts';
import type { AccountDetails } from './accounts.ts';
import { DUE_ATTRIBUTES, due, NEVER } from './due.ts';
import { type Claim, KEPT_SECONDS, type Operation, operationsIn, type Step, workable } from './operations.ts';

/** What is known of the deposit of an account that is open. */
type DepositState =
  /** The command that pays has not left. */
  | 'due'
  /** It has left, once and for all, and nobody knows what became of it. */
  | 'sent'
  | 'made'
  /** It was not paid, which was told: only an operator may have it paid again. */
  | 'failed';

/** An account that is open, and what is still missing of it. */
export interface KnownAccount {
  login: number;
  /** When the account was known to be open: ISO 8601, UTC. */
  opened_at: string;
  /** False: its record could not be written yet. */
  recorded: boolean;
  /** Absent: others of the broker have yet to be told that it is open. */
  told?: true | undefined;
  /** Absent: none is to be made. */
  deposit?: DepositState | undefined;
  /** Of a deposit that was sent: from when on an account that is empty stays empty; epoch ms. */
  deposit_settle_at?: number | undefined;
}

/** How the client is to be told of the account. */
export interface AskedNotices {
  send_email?: boolean | undefined;
  send_pop_up?: boolean | undefined;
  /** BCP 47; absent: the client's own. */
  language?: string | undefined;
}

/** Plain facts with which an operation can be finished without its caller; nothing personal, no password. */
interface SentDetails extends AccountDetails, AskedNotices {
  /** What the account is to be funded with, in units of its currency. */
  deposit?: number | undefined;
  /** True: the master password was the caller's own, and cannot be derived. */
  master_given: boolean;
}

/** What an earlier worker may have done. */
export interface EarlierWork {
  /** From when on a look-up that finds nothing may be believed, where the account has no login of our choice; epoch ms. */
  settleAt: number;
  /** The login that the account was asked for with; absent: the platform was to choose. */
  login?: number | undefined;
  /** Present: the command that pays may have left, and from then on (epoch ms) an account that is empty stays empty. */
  depositSettleAt?: number | undefined;
  /** What the account was to be funded with, in units of its currency. */
  deposit?: number | undefined;
}

export type AccountClaim =
  /** Ours to work on: new, or whoever worked on it ended before anything was sent. */
  | { kind: 'fresh'; operation: Operation }
  /** Ours to settle. */
  | { kind: 'undecided'; operation: Operation; earlier: EarlierWork }
  /** Ours to complete: the account is open, and something of it is missing. */
  | { kind: 'opened'; operation: Operation; account: KnownAccount; earlier: EarlierWork }
  /** Only to answer from. */
  | { kind: 'finished'; operation: Operation; login: number };

/** The operations of accounts. Every step throws LeaseLost when another worker has taken over. */
export interface AccountOperations {
  /** As of all operations; @throws Problem 409 or 422 for what is being worked on, or was another request */
  claim(
    scope: string[] | undefined,
    fingerprints: string[],
    leaseMs: number,
    signal: AbortSignal,
  ): Promise<AccountClaim>;
  /** Notes that from now on the account may exist. */
  markSent(
    operation: Operation,
    sent: { settleAt: number; login?: number | undefined; details: SentDetails },
    signal: AbortSignal,
  ): Promise<void>;
  /** Notes that the command that pays leaves now, for the only time. @param settleAt as in EarlierWork */
  markPaying(operation: Operation, settleAt: number, signal: AbortSignal): Promise<void>;
  /** The account is open. Whoever comes next answers from this, and completes what is missing, if anything is. */
  finish(operation: Operation, account: KnownAccount, signal: AbortSignal): Promise<void>;
  /**
   * The outcome stays unknown: gives the lease up, so that a retry may settle it at once.
   * @param unknown from when on it is certain, as in EarlierWork; `isDue` false: it is due when it was, and not at all
   * where it was left to an operator
   */
  giveUp(operation: Operation, unknown: { settleAt: number; isDue: boolean }, signal: AbortSignal): Promise<void>;
  /** Certainly nothing was created: the operation disappears, and a retry starts anew. */
  release(operation: Operation, signal: AbortSignal): Promise<void>;
}

/** An operation that is not finished is kept until it is, or until an operator has had a year to settle it. */
export const UNFINISHED_SECONDS = 365 * 24 * 60 * 60;

const KnownAccountSchema = v.object({
  login: v.number(),
  opened_at: v.string(),
  recorded: v.boolean(),
  told: v.optional(v.literal(true)),
  deposit: v.optional(v.picklist(['due', 'sent', 'made', 'failed'])),
  deposit_settle_at: v.optional(v.number()),
});
/** What is read of an operation, whoever takes it up. */
const StoredWork = v.object({
  settle_at: v.optional(v.number(), 0),
  login: v.optional(v.number()),
  deposit_settle_at: v.optional(v.number()),
  details: v.optional(v.object({ deposit: v.optional(v.number()) }), {}),
  account: v.optional(KnownAccountSchema),
});

export function accountOperationsIn(table: Table, now: () => number = Date.now): AccountOperations {
  const operations = operationsIn(table, now, UNFINISHED_SECONDS);

  return {
    async claim(...request) {
      return toAccountClaim(await operations.claim(...request));
    },

    markSent(operation, { settleAt, login, details }, signal) {
      const set = { state: 'sent', settle_at: settleAt, login, details, ...due(operation.operationId, settleAt) };
      return operations.write(
        operation,
        { set, remove: login === undefined ? ['login', 'is_absent'] : ['is_absent'] },
        signal,
      );
    },

    markPaying(operation, settleAt, signal) {
      const set = { deposit_by: operation.lease, deposit_settle_at: settleAt };
      const condition = 'attribute_not_exists(deposit_by) OR deposit_by = :lease';
      return operations.write(operation, { set, condition }, signal);
    },

    finish: (operation, account, signal) => operations.write(operation, ending(operation, account, now()), signal),

    giveUp(operation, { settleAt, isDue }, signal) {
      const set = { lease_until: 0, settle_at: settleAt, ...(isDue ? due(operation.operationId, settleAt) : {}) };
      return operations.write(operation, { set }, signal);
    },

    release: operations.release,
  };
}

function ending(operation: Operation, account: KnownAccount, at: number): Step {
  const isPaying = account.deposit === 'due' || account.deposit === 'sent';
  const isIncomplete = !account.recorded || isPaying || account.told !== true;
  if (isIncomplete) {
    const next = Math.max(at, account.deposit_settle_at ?? 0);
    return { set: { state: 'sent', account, lease_until: 0, ...due(operation.operationId, next) } };
  }
  const set = { state: 'finished', account };
  return account.deposit === 'failed'
    ? { set: { ...set, ...due(operation.operationId, NEVER) } }
    : { set, remove: DUE_ATTRIBUTES, keptSeconds: KEPT_SECONDS };
}

/** @throws Problem for what can neither be worked on nor answered from */
function toAccountClaim(claim: Claim): AccountClaim {
  if (claim.kind === 'in_progress' && claim.known !== undefined) {
    const { account } = parse(claim.known.item);
    // Whoever completes it, its login is known.
    if (account !== undefined) return { kind: 'finished', operation: claim.known.operation, login: account.login };
  }
  const ours = workable(claim);
  if (ours.kind === 'fresh') return ours;
  const { operation } = ours;
  const { account, earlier } = workIn(ours.item);
  if (ours.kind === 'finished') {
    if (account === undefined) throw new DatabaseFailure('OperationMalformed');
    return { kind: 'finished', operation, login: account.login };
  }
  return account === undefined
    ? { kind: 'undecided', operation, earlier }
    : { kind: 'opened', operation, account, earlier };
}

/** What an earlier worker may have done, as the operation's item tells. */
export function workIn(item: Item): { earlier: EarlierWork; account: KnownAccount | undefined } {
  const { account, settle_at, login, deposit_settle_at, details } = parse(item);
  const earlier = { settleAt: settle_at, login, depositSettleAt: deposit_settle_at, deposit: details.deposit };
  // Its note may stand although the worker got no answer to it.
  const mayHaveLeft = account?.deposit === 'due' && deposit_settle_at !== undefined;
  return { earlier, account: mayHaveLeft ? { ...account, deposit: 'sent', deposit_settle_at } : account };
}

function parse(item: Item): v.InferOutput<typeof StoredWork> {
  const result = v.safeParse(StoredWork, item);
  if (!result.success) throw new DatabaseFailure('OperationMalformed');
  return result.output;
}
