import { setTimeout as sleep } from 'node:timers/promises';
import type { CreateTableCommandInput, KeySchemaElement } from '@aws-sdk/client-dynamodb';
import { DUE_INDEX } from '../../lib/config/deployment.ts';
import { keyAttributes, stackTable, TABLE_NAMES, type TableName } from '../tables.ts';
import { Dynamo, type DynamoAttributes, type ItemChange } from './dynamo.ts';
import { Faults } from './faults.ts';
import { tableArn } from './rights/arn.ts';
import type { Callers, NeededRight } from './rights/policy.ts';
import { jsonError } from './stand-ins/protocols.ts';
import { type Call, jsonAnswer, ServiceError, serveStandIn } from './stand-ins/stand-in.ts';

/** One call to DynamoDB, with any outcome. */
interface DatabaseCall {
  /** The operation's name, such as `UpdateItem`. */
  operation: string;
  /** The table of the write. A transaction has all its tables, separated by commas. */
  table: string;
  /** The number of keys of a read by keys. */
  keys?: number;
  /** True: the client repeated the call after no answer in time, or after a failure. */
  repeated?: true;
}

export interface DatabaseOptions {
  faults?: Faults;
  /** The callers and their rights; absent: everything is allowed. */
  callers?: Callers;
}

type LocalName = Lowercase<TableName>;
const localName = (name: TableName) => name.toLowerCase() as LocalName;

/** The tables of the local service and of the tests: those of the stack, by their names in small letters. */
export const TABLES = Object.fromEntries(TABLE_NAMES.map((name) => [localName(name), localName(name)])) as {
  readonly [Name in LocalName]: Name;
};
export type DatabaseTables = typeof TABLES;

/** DynamoDB on 127.0.0.1, in memory. */
export type EmbeddedDatabase = Awaited<ReturnType<typeof startDatabase>>;

const ERRORS = {
  error: jsonError,
  throttled: new ServiceError('ProvisionedThroughputExceededException'),
  refused: new ServiceError('AccessDeniedException'),
};

/** The state of each table, which dynalite does not know. */
const DESCRIPTIONS: Readonly<Record<string, object>> = {
  DescribeContinuousBackups: {
    ContinuousBackupsDescription: { PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'ENABLED' } },
  },
  DescribeTimeToLive: { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED' } },
};

/** The stand-in of DynamoDB: dynalite, with calls that are counted and can fail. */
export async function startDatabase({ faults = new Faults(), callers }: DatabaseOptions = {}) {
  const dynamo = emptyDynamo();
  const calls: DatabaseCall[] = [];
  const repeats: Promise<unknown>[] = [];
  const run = ({ method, path: url, headers, bytes }: Call) => dynamo.run({ method, url, headers }, bytes);

  const served = await serveStandIn(
    {
      ...ERRORS,
      signed: { name: 'dynamodb', denied: 'AccessDeniedException', needs },
      name(call) {
        const operation = readOperation(call);
        const isRepeated = /attempt=(?!1;)/.test(String(call.headers['amz-sdk-request']));
        const described = describeCall(operation, JSON.parse(call.body) as CallInput);
        calls.push({ ...described, ...(isRepeated ? { repeated: true } : {}) });
        return operation;
      },
      async answer(call) {
        const { fault } = call;
        const description = DESCRIPTIONS[readOperation(call)];
        if (description !== undefined) return jsonAnswer(description, 200, 'application/x-amz-json-1.0');
        // A late duplicate of the call, long after the answer.
        if (fault?.kind === 'repeated') repeats.push(faults.pause(fault.ms ?? 1_000).then(() => run(call)));
        const reply = await run(call);
        if (fault?.kind === 'reply_lost') throw new Error('The connection breaks.');
        return reply;
      },
    },
    { faults, callers },
  );
  const observed = await serveStandIn({ ...ERRORS, answer: run }, { faults: new Faults() });

  return {
    url: served.url,
    faults,
    /** Every call so far, oldest first; a test may empty it. */
    calls,
    /** The late duplicates of calls; each promise ends when its call is executed. */
    repeats,
    createTables: () => createTables(dynamo),
    createTable: (input: Definition) => createTable(dynamo, input),
    /**
     * Executes a call of this process, which is counted and has no rights, faults or HTTP. @param input in the format
     * of the protocol
     */
    execute(operation: string, input: DynamoAttributes) {
      calls.push(describeCall(operation, input));
      return dynamo.execute(operation, input);
    },
    /** Calls the listener after each call that has written, with all its writes, before the call is answered. */
    onWritten(listener: (changes: readonly ItemChange[]) => void) {
      dynamo.onWritten = listener;
    },
    /** The same tables for observers: their calls get no fault and are not counted. @returns the address */
    observe: async () => observed.url,
    close: async () => void (await Promise.all([served.close(), observed.close()])),
  };
}

/** DynamoDB without tables, HTTP, rights and faults. */
export function emptyDynamo(): Dynamo {
  return new Dynamo(new Map(TABLE_NAMES.map((name) => [localName(name), keyAttributes(name)])));
}

/** Creates these tables of the stack. */
export async function createTables(dynamo: Dynamo, names: readonly TableName[] = TABLE_NAMES): Promise<void> {
  await Promise.all(names.map((name) => createTable(dynamo, tableInput(name))));
}

const TABLE_MS = 10_000;

/** Creates a table, and waits until it can be used: Dynalite answers a moment before. @throws Error after ten seconds */
async function createTable(dynamo: Dynamo, table: Definition): Promise<void> {
  const { status, body } = await dynamo.execute('CreateTable', { ...table });
  if (status !== 200) throw new Error(String(body));
  const isActive = async () => {
    const described = await dynamo.execute('DescribeTable', { TableName: table.TableName });
    return String(described.body).includes('"TableStatus":"ACTIVE"');
  };
  const endsAt = performance.now() + TABLE_MS;
  do {
    if (performance.now() > endsAt) throw new Error(`The table ${table.TableName} cannot be used.`);
    await sleep(1);
  } while (!(await isActive()));
}

type Definition = CreateTableCommandInput & { TableName: string };

const { name: IndexName, shard, at } = DUE_INDEX;
const key = (KeyType: 'HASH' | 'RANGE', AttributeName: string): KeySchemaElement => ({ AttributeName, KeyType });
const indexDefinition = (
  IndexName: string,
  KeySchema: KeySchemaElement[],
  ProjectionType: 'KEYS_ONLY' | 'ALL' = 'KEYS_ONLY',
) => ({ IndexName, KeySchema, Projection: { ProjectionType } });

function tableInput(name: TableName): Definition {
  const { due: isDue, indexes = [], copies } = stackTable(name);
  const [partition = '', sort] = keyAttributes(name);
  const copied = copies === undefined ? [] : [copies];
  const texts = [partition, ...(sort === undefined ? [] : [sort]), ...(isDue ? [shard] : []), ...indexes, ...copied];
  const GlobalSecondaryIndexes = [
    ...(isDue ? [indexDefinition(IndexName, [key('HASH', shard), key('RANGE', at)])] : []),
    ...indexes.map((index) => indexDefinition(index, [key('HASH', index), key('RANGE', partition)])),
    ...copied.map((index) => indexDefinition(index, [key('HASH', index)], 'ALL')),
  ];
  return {
    TableName: localName(name),
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [
      ...texts.map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const })),
      ...(isDue ? [{ AttributeName: at, AttributeType: 'N' as const }] : []),
    ],
    KeySchema: [key('HASH', partition), ...(sort === undefined ? [] : [key('RANGE', sort)])],
    ...(GlobalSecondaryIndexes.length === 0 ? {} : { GlobalSecondaryIndexes }),
  };
}

function readOperation({ headers }: Call): string {
  return String(headers['x-amz-target'] ?? '').split('.')[1] ?? '';
}

interface Keyed {
  Item?: Record<string, unknown> & { pk?: { S?: string } };
  Key?: Record<string, unknown> & { pk?: { S?: string } };
  ExpressionAttributeNames?: Record<string, string>;
  ProjectionExpression?: string;
}

/** A part of a call that IAM judges by itself. */
interface Part extends Keyed {
  action: string;
  table: string;
  IndexName?: string;
}

interface CallInput extends Keyed {
  TableName?: string;
  IndexName?: string;
  RequestItems?: Record<string, { Keys?: unknown[] }>;
  TransactItems?: Record<string, Keyed & { TableName: string }>[];
}

const readParts = (call: Call) => partsOf(readOperation(call), JSON.parse(call.body) as CallInput);

function describeCall(operation: string, input: CallInput): DatabaseCall {
  const table = partsOf(operation, input)
    .map((part) => part.table)
    .join(',');
  const keys = Object.values(input.RequestItems ?? {}).flatMap(({ Keys = [] }) => Keys).length;
  return { operation, table, ...(keys === 0 ? {} : { keys }) };
}

/** The parts of a call, each with its action and table. IAM checks a transaction by the rights of its single writes. */
function partsOf(action: string, input: CallInput): Part[] {
  const { TableName, RequestItems = {}, TransactItems, ...keyed } = input;
  if (TransactItems === undefined) {
    const tables = TableName === undefined ? Object.keys(RequestItems) : [TableName];
    return tables.map((table) => ({ action, table, ...keyed }));
  }
  return TransactItems.flatMap((item) =>
    Object.entries(item).map(([name, { TableName: table, ...one }]) => ({ action: `${name}Item`, table, ...one })),
  );
}

function needs(call: Call): NeededRight[] {
  return readParts(call).map(({ action, table, IndexName, ...part }) => {
    const { Item, Key, ProjectionExpression } = part;
    const partition = (Item ?? Key)?.pk?.S;
    const attributes = [...Object.keys(Item ?? Key ?? {}), ...Object.values(part.ExpressionAttributeNames ?? {})];
    const select = ProjectionExpression === undefined ? 'ALL_ATTRIBUTES' : 'SPECIFIC_ATTRIBUTES';
    return {
      action: `dynamodb:${action}`,
      // A query of an index needs the right on the index, and none on its table.
      resource: tableArn(table) + (IndexName === undefined ? '' : `/index/${IndexName}`),
      context: {
        ...(partition === undefined ? {} : { 'dynamodb:LeadingKeys': partition }),
        'dynamodb:Attributes': [...new Set(attributes)],
        ...(action === 'GetItem' ? { 'dynamodb:Select': select } : {}),
      },
    };
  });
}
