import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb';
import type { EmbeddedDatabase } from '../../infra/local/database.ts';
import { exactNumber } from '../../infra/ops/crm-table.ts';
import type { Item } from '../../lib/aws/dynamodb.ts';

const OPERATIONS: ReadonlyMap<unknown, string> = new Map<unknown, string>([
  [BatchGetCommand, 'BatchGetItem'],
  [BatchWriteCommand, 'BatchWriteItem'],
  [DeleteCommand, 'DeleteItem'],
  [GetCommand, 'GetItem'],
  [PutCommand, 'PutItem'],
  [QueryCommand, 'Query'],
  [ScanCommand, 'Scan'],
  [TransactWriteCommand, 'TransactWriteItems'],
  [UpdateCommand, 'UpdateItem'],
]);

/** The members of a call, and of its answer, that are items or lists of items. */
const SENT = new Set(['Key', 'Keys', 'Item', 'ExpressionAttributeValues', 'ExclusiveStartKey']);
const ANSWERED = new Set(['Item', 'Items', 'Attributes', 'LastEvaluatedKey', 'Keys']);

type Translate = (item: Item) => unknown;
const toProtocol: Translate = (item) => marshall(item, { removeUndefinedValues: true });
const fromProtocol: Translate = (item) =>
  unmarshall(item as Parameters<typeof unmarshall>[0], { wrapNumbers: exactNumber });

/** Translates the items in a value, wherever they are. */
function translated(value: unknown, names: ReadonlySet<string>, translate: Translate): unknown {
  if (Array.isArray(value)) return value.map((one) => translated(one, names, translate));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, one]) => one !== undefined);
  const items = (one: unknown) => (Array.isArray(one) ? one.map(translate) : translate(one as Item));
  return Object.fromEntries(
    entries.map(([name, one]) => [name, names.has(name) ? items(one) : translated(one, names, translate)]),
  );
}

interface Answer {
  /** The items of a batch, by table. */
  Responses?: Record<string, Item[]>;
  /** The type of an error. */
  __type?: string;
  message?: string;
  CancellationReasons?: { Code: string }[];
}

const UNCONNECTED = DynamoDBDocumentClient.from(new DynamoDBClient({ region: 'nowhere' }));

/** The error that the SDK throws. */
function errorOf({ __type = '', message = '', CancellationReasons = [] }: Answer): Error {
  const name = __type.replace(/.*#/, '');
  const more = { message, $metadata: {} };
  if (name === 'ConditionalCheckFailedException') return new ConditionalCheckFailedException(more);
  if (name === 'TransactionCanceledException')
    return new TransactionCanceledException({ ...more, CancellationReasons });
  return Object.assign(new Error(message), { name });
}

/**
 * A client of a database in this process, without HTTP, signatures, repeats, timeouts and faults: a call costs a tenth.
 * `test/lib/aws/dynamodb.test.ts` and the functions have the real one.
 */
export function directClient(database: Pick<EmbeddedDatabase, 'execute'>): DynamoDBDocumentClient {
  const send = async (command: { input: object }, { abortSignal }: { abortSignal?: AbortSignal } = {}) => {
    const operation = OPERATIONS.get(command.constructor);
    if (operation === undefined) throw new Error(`${command.constructor.name} has no operation here.`);
    const stopIfAborted = () => {
      if (abortSignal?.aborted) throw Object.assign(new Error('Request aborted'), { name: 'AbortError' });
    };
    stopIfAborted();
    const input = translated(command.input, SENT, toProtocol) as Item;
    const { status, body } = await database.execute(operation, input);
    stopIfAborted();
    const answer = JSON.parse(String(body)) as Answer;
    if (status !== 200) throw errorOf(answer);
    const { Responses: found = {}, ...members } = answer;
    const tables = Object.entries(found).map(([table, items]) => [table, items.map(fromProtocol)]);
    return { ...(translated(members, ANSWERED, fromProtocol) as Item), Responses: Object.fromEntries(tables) };
  };
  return Object.assign(Object.create(UNCONNECTED) as DynamoDBDocumentClient, { send });
}
