import { randomInt, randomUUID } from 'node:crypto';
import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { put, query, read, secret, transact, update } from './bare.ts';

const { ACCOUNTS_TABLE, CRM_TABLE, EVENT_BUS, LOGINS_TABLE, OPERATIONS_TABLE, PASSWORD_SECRET } = process.env;
/** The logins whose reservations are read before one is chosen: as ours, twenty in the first call of a process, then five. */
let candidates = 20;

/** The inputs of an opening on a trading server. */
export interface BareConnection {
  host: string;
  port: number;
  ca?: string;
  secret: string;
  /** Where we choose the login. */
  logins?: object;
}
export interface BareOrder {
  operationId: string;
  group: string;
  leverage: number;
}
/** Opens an account on a server that is logged in to; @returns its login. */
export type BareSession = (order: BareOrder) => Promise<number>;
interface Body extends BareOrder {
  connection_id: string;
  send_email?: boolean;
  send_pop_up?: boolean;
}

export const BARE_PASSWORDS = { master_password: 'Tr4de-It-Now', investor_password: 'L00k-Only-Pls' };

/**
 * An account as it would be opened with the SDK alone: the same clients, of which the same ones are loaded on first
 * use, the same calls in the same rows, and the platform's own protocol, which `connect` implements. No rules, no error
 * handling.
 */
export function bareAccountHandler(
  version: 'tp5' | 'tp4',
  connect: (connection: BareConnection, secret: string) => Promise<BareSession>,
) {
  return async (event: { body: string; pathParameters: { user_id: string } }) => {
    const order = JSON.parse(event.body) as Body;
    const operationId = randomUUID();
    const { user_id } = event.pathParameters;
    const connectionKey = `connection#${order.connection_id}`;
    const claimed = secret(PASSWORD_SECRET).then(() => put(OPERATIONS_TABLE, { pk: operationId, state: 'running' }));
    const records = await read(CRM_TABLE, `client#${user_id}`, connectionKey);
    const connection = records.find(({ pk }) => pk === connectionKey)?.record as BareConnection;
    // The server is logged in to while the operation is claimed and its logins are read.
    const [session] = await Promise.all([
      secret(connection.secret).then((text) => connect(connection, text)),
      claimed,
      ...(connection.logins ? readReservations(version, operationId) : [readAccounts(user_id, version)]),
    ]);
    const expression = 'SET #state = :state';
    const names = { ExpressionAttributeNames: { '#state': 'state' } };
    const move = (state: string) => update(OPERATIONS_TABLE, operationId, expression, { ':state': state }, names);
    const moved = (state: string) => ({
      Update: {
        TableName: OPERATIONS_TABLE,
        Key: { pk: operationId },
        UpdateExpression: expression,
        ExpressionAttributeValues: { ':state': state },
        ...names,
      },
    });
    const reserved = {
      Put: { TableName: LOGINS_TABLE, Item: { pk: `${version}#${randomUUID()}`, operation_id: operationId } },
    };
    await transact(moved('sent'), ...(connection.logins ? [reserved] : []));
    const login = await session({ ...order, operationId });
    const account = { pk: user_id, sk: `${version}#${order.connection_id}#${login}`, login };
    const opened = () => (connection.logins ? move('open') : transact(moved('open'), reserved));
    await Promise.all([put(ACCOUNTS_TABLE, account), opened(), publish({ ...account, operationId })]);
    await move('done');
    if (order.send_email === true) await import('@aws-sdk/client-ses');
    if (order.send_pop_up === true) await import('@aws-sdk/client-sns');
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login, ...BARE_PASSWORDS }),
    };
  };
}

/** The reservations of the first logins, and those of the operation itself. */
function readReservations(version: string, operationId: string): Promise<unknown>[] {
  const from = randomInt(1e6);
  const keys = Array.from({ length: candidates }, (_, index) => `${version}#${from + index}`);
  candidates = 5;
  return [
    read(LOGINS_TABLE, ...keys),
    query(LOGINS_TABLE, {
      IndexName: 'operation_id',
      KeyConditionExpression: 'operation_id = :id',
      ExpressionAttributeValues: { ':id': operationId },
    }),
  ];
}

/** The accounts of the client, among which the operation may have one. */
function readAccounts(userId: string, version: string): Promise<unknown> {
  return query(ACCOUNTS_TABLE, {
    KeyConditionExpression: 'pk = :user AND begins_with(sk, :version)',
    ExpressionAttributeValues: { ':user': userId, ':version': version },
  });
}

let events: EventBridgeClient | undefined;

async function publish(account: object): Promise<void> {
  const { EventBridgeClient, PutEventsCommand } = await import('@aws-sdk/client-eventbridge');
  events ??= new EventBridgeClient({});
  const Detail = JSON.stringify(account);
  const Entries = [{ EventBusName: EVENT_BUS, Source: 'broker.api', DetailType: 'AccountOpened', Detail }];
  await events.send(new PutEventsCommand({ Entries }));
}
