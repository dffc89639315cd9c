import { dueQuery, dynamoTable, type Item, transactionWriter } from '../../lib/aws/dynamodb.ts';
import { DUE_INDEX } from '../../lib/config/deployment.ts';
import { dynamoLedger, type HeldOperation, type Ledger, parseHeld } from '../../lib/openings/ledger.ts';
import { type Accounts, dynamoAccounts } from '../../lib/records/accounts.ts';
import { DUE_SHARDS, OPERATOR_ONLY, RETRY_ONLY } from '../../lib/records/due.ts';
import { openTable, type Target } from './target.ts';

export interface OperationStore {
  ledger: Ledger;
  accounts: Accounts;
}

/** The ledger of a deployment or of the local service. @throws CommandError if only a table of CRM records is named */
export async function openLedger({ database, resource }: Target): Promise<OperationStore> {
  const names = {
    operations: await resource('OperationsTable'),
    logins: await resource('LoginsTable'),
    accounts: await resource('AccountsTable'),
  };
  const [operations, logins] = [dynamoTable(database, names.operations), dynamoTable(database, names.logins)];
  return {
    ledger: dynamoLedger({ operations, logins, names, transact: transactionWriter(database) }),
    accounts: dynamoAccounts(dynamoTable(database, names.accounts)),
  };
}

/** The item of an operation, as operators see it. */
export interface ListedOperation {
  pk: string;
  /** The operation's id; empty if the item has none. */
  id: string;
  /** Undefined if the item cannot be read. */
  held: HeldOperation | undefined;
  /**
   * Epoch milliseconds, `OPERATOR_ONLY` or `RETRY_ONLY`. Undefined: the operation is not on the list of open
   * operations.
   */
  dueAt: number | undefined;
}
/** An operation whose item can be read. */
export type ReadableOperation = ListedOperation & { held: HeldOperation };

export function isReadable(one: ListedOperation): one is ReadableOperation {
  return one.held !== undefined;
}

function readOperation(item: Item): ListedOperation {
  const dueAt = item[DUE_INDEX.at];
  const listed = {
    pk: String(item.pk),
    id: typeof item.operation_id === 'string' ? item.operation_id : '',
    dueAt: typeof dueAt === 'number' ? dueAt : undefined,
  };
  try {
    return { ...listed, held: parseHeld(item) };
  } catch {
    return { ...listed, held: undefined };
  }
}

/** How many operations are read in one call. */
const PAGE = 100;

/**
 * All operations that have not ended, a page at a time: the oldest first, then those that wait for a retry, then those
 * that only an operator can end.
 */
export async function* openOperations(target: Target): AsyncGenerator<ListedOperation[]> {
  const table = await openTable(target, 'Operations');
  async function* keysOf(shard: string) {
    for await (const page of table.query(dueQuery(DUE_INDEX, shard, OPERATOR_ONLY))) yield* page;
  }
  let keys: Item[] = [];
  const read = async () => {
    const items = new Map((await table.get(keys)).map((item) => [item.pk, item]));
    // An operation without this attribute has ended since the index was read.
    const open = keys
      .flatMap(({ pk }): Item[] => [items.get(pk) ?? []].flat())
      .filter((item) => item[DUE_INDEX.shard] !== undefined);
    return open.map(readOperation);
  };
  for await (const key of inOrder(DUE_SHARDS.map(keysOf), (item) => Number(item[DUE_INDEX.at]))) {
    keys.push(key);
    if (keys.length < PAGE) continue;
    yield await read();
    keys = [];
  }
  yield await read();
}

/** Merges streams that are in ascending order. */
async function* inOrder<T>(streams: readonly AsyncGenerator<T>[], rank: (one: T) => number): AsyncGenerator<T> {
  const heads = await Promise.all(streams.map(async (stream) => ({ stream, next: await stream.next() })));
  for (;;) {
    const [first] = heads
      .flatMap((head) => (head.next.done === true ? [] : [{ head, value: head.next.value }]))
      .toSorted((one, other) => rank(one.value) - rank(other.value));
    if (first === undefined) return;
    yield first.value;
    first.head.next = await first.head.stream.next();
  }
}

/** Finds an operation on the list, or in the whole table: the key of an item does not name the operation. */
export async function findOperation(target: Target, id: string): Promise<ListedOperation | undefined> {
  for await (const page of openOperations(target)) {
    const found = page.find((one) => one.id === id || one.pk === id);
    if (found !== undefined) return found;
  }
  for await (const page of (await openTable(target, 'Operations')).pages()) {
    // Operations of registrations have no `life`.
    const item = page.find(({ pk, operation_id, life }) => (operation_id === id || pk === id) && life !== undefined);
    if (item !== undefined) return readOperation(item);
  }
  return undefined;
}

export const UNREADABLE_ITEM = 'its item cannot be read';

/** Names an item that cannot be read. */
export function unreadableItem({ pk, id }: ListedOperation): string {
  const operation = id === '' ? 'An operation' : `The operation ${id}`;
  return `${operation} cannot be read: the item ${pk} of the table of operations.`;
}

/** The members of an operation that people see. */
export function operationFacts({ held, dueAt, ...listed }: ListedOperation): object {
  if (held === undefined) return { operation_id: listed.id, item: listed.pk, error: UNREADABLE_ITEM };
  const { life, plan, since } = held;
  return {
    ...plan,
    operation_id: held.operationId,
    life,
    since: since === undefined ? undefined : new Date(since).toISOString(),
    due_at: describeDue(dueAt),
  };
}

function describeDue(dueAt: number | undefined): string | undefined {
  if (dueAt === OPERATOR_ONLY) return 'operator';
  if (dueAt === RETRY_ONLY) return 'retry';
  return dueAt === undefined ? undefined : new Date(dueAt).toISOString();
}
