import { randomUUID } from 'node:crypto';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import * as v from 'valibot';
import { ConditionFailed, databaseClient, type Item, type Table, table } from '../../lib/aws/dynamodb.ts';
import { accountOperationsIn } from '../../lib/records/account-operations.ts';
import { accountsIn } from '../../lib/records/accounts.ts';
import { CommandError } from './command.ts';
import type { Target } from './target.ts';

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
  deposit: v.optional(v.number()),
});

const OpenOperationSchema = v.object({
  pk: v.string(),
  operation_id: v.string(),
  nonce: v.string(),
  state: v.picklist(['sent', 'finished']),
  /** Until when somebody works on it; epoch milliseconds, as the other times. */
  lease_until: v.number(),
  /** From when on it is certain that nothing more happens by itself. */
  settle_at: v.optional(v.number(), 0),
  /** The login that the account was asked for with. */
  login: v.optional(v.number()),
  deposit_settle_at: v.optional(v.number()),
  details: DetailsSchema,
  account: v.optional(
    v.object({
      login: v.number(),
      opened_at: v.string(),
      recorded: v.boolean(),
      told: v.optional(v.literal(true)),
      deposit: v.optional(v.picklist(['due', 'sent', 'made', 'failed'])),
    }),
  ),
});
/** An opening of an account that is not at its end. */
export type OpenOperation = v.InferOutput<typeof OpenOperationSchema>;

export interface OperationStore {
  /** All that are not at their end. Reads the whole table, which holds what is open, the last day and every login in use. */
  open(): Promise<OpenOperation[]>;
  /** Takes an operation that nobody works on; for a minute nobody else works on it. @throws CommandError */
  take(operation: OpenOperation): Promise<TakenOperation>;
}

/** What can be done with an operation that was taken. */
interface TakenOperation {
  /** The account is open: its record is written, and what is still missing is left to the next who takes it up. */
  finish(account: NonNullable<OpenOperation['account']>): Promise<void>;
  /** Nothing was opened: a retry starts anew. */
  release(): Promise<void>;
}

const LEASE_MS = 60_000;
const CALL_MS = 10_000;
const OPEN = 'attribute_exists(due_shard)';

/** @throws CommandError where nothing but a table of CRM records is named */
export async function operationStore({ database, tables }: Target): Promise<OperationStore> {
  if (tables === undefined) throw new CommandError('Operations are found by --stack NAME or --local.');
  const { operations, accounts } = await tables();
  const client = databaseClient(database);
  const stored = table(client, operations);

  return {
    async open() {
      const found: OpenOperation[] = [];
      let from: Item | undefined;
      do {
        const page = await client.send(
          new ScanCommand({
            TableName: operations,
            FilterExpression: OPEN,
            ConsistentRead: true,
            ExclusiveStartKey: from,
          }),
        );
        for (const item of page.Items ?? []) found.push(v.parse(OpenOperationSchema, item));
        from = page.LastEvaluatedKey;
      } while (from !== undefined);
      return found.toSorted((a, b) => a.settle_at - b.settle_at);
    },

    async take({ pk, operation_id, nonce, details }) {
      const lease = await takeLease(stored, pk);
      const operation = { pk, operationId: operation_id, nonce, lease, revision: 0 };
      const steps = accountOperationsIn(stored);
      const signal = () => AbortSignal.timeout(CALL_MS);
      return {
        async finish(account) {
          const { deposit: _, ...record } = details;
          const { login, opened_at } = account;
          await accountsIn(table(client, accounts)).put({ ...record, operation_id, login, opened_at }, signal());
          await steps.finish(operation, { ...account, recorded: true }, signal());
        },
        release: () => steps.release(operation, signal()),
      };
    },
  };
}

async function takeLease(stored: Table, pk: string): Promise<string> {
  const lease = randomUUID();
  const now = Date.now();
  const expression = {
    update: 'SET #lease = :lease, lease_until = :until, #revision = :first',
    condition: `${OPEN} AND (lease_until <= :now OR #state = :finished)`,
    names: { '#lease': 'lease', '#revision': 'revision', '#state': 'state' },
    values: { ':lease': lease, ':until': now + LEASE_MS, ':first': 0, ':now': now, ':finished': 'finished' },
  };
  try {
    await stored.update({ pk }, expression, AbortSignal.timeout(CALL_MS));
    return lease;
  } catch (error) {
    if (error instanceof ConditionFailed)
      throw new CommandError('Somebody works on it just now; try again in a minute.');
    throw error;
  }
}
