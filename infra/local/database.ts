import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { CreateTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DUE_INDEX } from '../../lib/validators/deployment.ts';
import { type Change, Dynamo, type Reply } from './dynamo.ts';
import { Faults } from './faults.ts';
import { closed, LIKE_AWS, listen, refuseForeign } from './listen.ts';
import { tableArn } from './rights/arn.ts';
import { type Caller, type Callers, findDenial } from './rights/callers.ts';
import type { Need } from './rights/policy.ts';
import { downtime } from './stand-ins/downtime.ts';
import { findCaller } from './stand-ins/stand-in.ts';

/** One call to DynamoDB, with any outcome. */
interface DatabaseCall {
  /** Such as `UpdateItem`. */
  operation: string;
  table: string;
  /** Its client made it before, and had no answer in time or a failure. */
  repeated?: true;
}

export interface DatabaseOptions {
  faults?: Faults;
  /** The callers and their rights; absent: everything is allowed. */
  callers?: Callers;
}

/** The tables of the local service and of the tests. */
export const TABLES = {
  crm: 'crm',
  operations: 'operations',
  registrations: 'registrations',
  limits: 'limits',
  accounts: 'accounts',
  logins: 'logins',
};
export type DatabaseTables = typeof TABLES;

/** DynamoDB on 127.0.0.1, in memory. */
export interface Database {
  readonly url: string;
  readonly faults: Faults;
  /** Every call so far, oldest first; a test may empty it. */
  readonly calls: DatabaseCall[];
  createTables(names: DatabaseTables): Promise<void>;
  /** Called after each call that has written, with all its writes, before it is answered. */
  onWritten(listener: (changes: readonly Change[]) => void): void;
  /** The same tables for observers: their calls meet no fault and are not counted. @returns the address */
  observe(): Promise<string>;
  close(): Promise<void>;
}

/** The tables by the keys they have; all but the accounts' have a partition key alone. */
const SORT_KEYS: Partial<Record<keyof DatabaseTables, string>> = { accounts: 'sk' };

/**
 * The stand-in of DynamoDB: dynalite, behind a server that counts calls and injects faults.
 */
export async function startDatabase({ faults = new Faults(), callers }: DatabaseOptions = {}): Promise<Database> {
  const dynamo = new Dynamo(SORT_KEYS);
  const calls: DatabaseCall[] = [];
  const closing = new AbortController();

  const server = createServer(
    LIKE_AWS,
    refuseForeign((request, response) => {
      const caller = findCaller(request, 'dynamodb', callers);
      if (caller === undefined) fail(request, response, 'com.amazon.coral.service#UnrecognizedClientException');
      else work(caller, request, response).catch(() => request.socket.destroy());
    }),
  );

  async function work(caller: Caller, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const operation = readOperation(request);
    const fault = isAdministration(operation) ? undefined : faults.next();
    down.check();
    const call: DatabaseCall = { operation, table: '', ...(isRepeated(request) ? { repeated: true } : {}) };
    if (!isAdministration(operation)) calls.push(call);
    // The whole request has arrived: it is executed even if its caller disconnects.
    const body = await buffer(request);
    const { tables, needs } = readInput(operation, body.toString('utf8'));
    call.table = tables.join(',');
    if (!isAdministration(operation)) await faults.onCall({ name: operation, fault });
    // Tests move the functions' clock, not this one. A client that compares the two would retry a refused call.
    response.sendDate = false;
    const denial = findDenial(caller, needs);
    if (denial !== undefined) return fail(request, response, ACCESS_DENIED, denial);
    switch (fault?.kind) {
      case 'throttled':
        return fail(request, response, 'com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException');
      case 'refused':
        return fail(request, response, ACCESS_DENIED);
      case 'down':
        // On a connection that was kept from before.
        request.socket.destroy();
        return;
      case 'slow':
        await faults.pause(fault.ms ?? 1_000, closing.signal);
        break;
      case 'repeated':
        repeatLater(request, body, fault.ms ?? 1_000);
    }
    answer(request, response, await dynamo.run(request, body), fault?.kind === 'reply_lost');
  }

  /** A late duplicate of the call, long after the answer. */
  function repeatLater(request: IncomingMessage, body: Buffer, ms: number): void {
    faults.pause(ms, closing.signal).then(
      () => dynamo.run(request, body),
      () => {},
    );
  }

  const observer = createServer(
    LIKE_AWS,
    refuseForeign((request, response) => {
      buffer(request)
        .then((body) => dynamo.run(request, body))
        .then((reply) => answer(request, response, reply))
        .catch(() => request.socket.destroy());
    }),
  );
  let observerUrl: Promise<string> | undefined;
  const observe = () => {
    observerUrl ??= listen(observer, 0).then((free) => `http://127.0.0.1:${free}`);
    return observerUrl;
  };
  const url = `http://127.0.0.1:${await listen(server, 0)}`;
  const down = downtime(server, faults);

  return {
    url,
    faults,
    calls,
    createTables: async (names) => createTables(await observe(), names),
    onWritten(listener) {
      dynamo.onWritten = listener;
    },
    observe,
    async close() {
      down.stop();
      closing.abort();
      await Promise.all([closed(server), closed(observer)]);
    },
  };
}

async function createTables(endpoint: string, names: DatabaseTables): Promise<void> {
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
  const client = new DynamoDBClient({ endpoint, region: 'eu-west-1', credentials });
  const entries = Object.entries(names) as [keyof DatabaseTables, string][];
  await Promise.all(entries.map(([kind, name]) => client.send(new CreateTableCommand(tableInput(kind, name)))));
  client.destroy();
}

const { name: IndexName, shard, at } = DUE_INDEX;
const key = (KeyType: 'HASH' | 'RANGE', AttributeName: string) => ({ AttributeName, KeyType });
const OVER_WHAT_IS_DUE = {
  IndexName,
  KeySchema: [key('HASH', shard), key('RANGE', at)],
  Projection: { ProjectionType: 'KEYS_ONLY' as const },
};

function tableInput(kind: keyof DatabaseTables, TableName: string) {
  const sortKey = SORT_KEYS[kind];
  const isDue = kind === 'operations' || kind === 'registrations';
  const texts = ['pk', ...(sortKey === undefined ? [] : [sortKey]), ...(isDue ? [shard] : [])];
  return {
    TableName,
    BillingMode: 'PAY_PER_REQUEST' as const,
    AttributeDefinitions: [
      ...texts.map((AttributeName) => ({ AttributeName, AttributeType: 'S' as const })),
      ...(isDue ? [{ AttributeName: at, AttributeType: 'N' as const }] : []),
    ],
    KeySchema: [key('HASH', 'pk'), ...(sortKey === undefined ? [] : [key('RANGE', sortKey)])],
    ...(isDue ? { GlobalSecondaryIndexes: [OVER_WHAT_IS_DUE] } : {}),
  };
}

/** @param lost the work is done, and then the connection breaks instead of an answer */
function answer(request: IncomingMessage, response: ServerResponse, reply: Reply, lost = false): void {
  if (lost) request.socket.destroy();
  else response.writeHead(reply.status, reply.headers).end(reply.body);
}

/** Its client made it before. */
function isRepeated({ headers }: IncomingMessage): boolean {
  return /attempt=(?!1;)/.test(String(headers['amz-sdk-request']));
}

function readOperation(request: IncomingMessage): string {
  return String(request.headers['x-amz-target'] ?? '').split('.')[1] ?? '';
}

/** Calls about tables, not items: they neither count nor fail. */
function isAdministration(operation: string): boolean {
  return !/Items?$|^(Query|Scan)$/.test(operation);
}

interface Keyed {
  Item?: { pk?: { S?: string } };
  Key?: { pk?: { S?: string } };
}

interface CallInput extends Keyed {
  TableName?: string;
  IndexName?: string;
  RequestItems?: object;
  TransactItems?: Record<string, Keyed & { TableName: string }>[];
}

/** The tables of a call, and the rights that it needs. */
function readInput(operation: string, body: string): { tables: string[]; needs: Need[] } {
  const { TableName, RequestItems = {}, IndexName, TransactItems, ...keyed } = JSON.parse(body) as CallInput;
  // Of a transaction, IAM asks for the rights of the single writes.
  const writes = (TransactItems ?? []).flatMap((item) =>
    Object.entries(item).map(([action, { TableName: table, ...one }]) => ({ action: `${action}Item`, table, one })),
  );
  const tables = TableName === undefined ? Object.keys(RequestItems) : [TableName];
  const parts =
    TransactItems === undefined ? tables.map((table) => ({ action: operation, table, one: keyed })) : writes;
  return {
    tables: parts.map(({ table }) => table),
    needs: parts.map(({ action, table, one: { Item, Key } }) => {
      const partition = (Item ?? Key)?.pk?.S;
      return {
        action: `dynamodb:${action}`,
        // A query of an index needs the right on the index, and none on its table.
        resource: tableArn(table) + (IndexName === undefined ? '' : `/index/${IndexName}`),
        ...(partition === undefined ? {} : { context: { 'dynamodb:LeadingKeys': partition } }),
      };
    }),
  };
}

const ACCESS_DENIED = 'com.amazon.coral.service#AccessDeniedException';

/** An error as DynamoDB's JSON 1.0 protocol words it. */
function fail(
  request: IncomingMessage,
  response: ServerResponse,
  __type: string,
  Message = 'Requested by the local service.',
): void {
  request.resume();
  response
    .writeHead(400, { 'content-type': 'application/x-amz-json-1.0' })
    .end(JSON.stringify({ __type, message: Message, Message }));
}
