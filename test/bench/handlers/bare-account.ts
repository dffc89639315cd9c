import { randomUUID } from 'node:crypto';
import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { put, read, secret, update } from './bare.ts';

const { ACCOUNTS_TABLE, CRM_TABLE, EVENT_BUS, OPERATIONS_TABLE, PASSWORD_SECRET } = process.env;

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
interface Body extends BareOrder {
  connection_id: string;
  send_email?: boolean;
  send_pop_up?: boolean;
}

export const BARE_PASSWORDS = { master_password: 'Tr4de-It-Now', investor_password: 'L00k-Only-Pls' };

/**
 * An account as it would be opened with the SDK alone: the same clients, of which the same ones are loaded on first
 * use, the same calls in the obvious order, and the platform's own protocol, which `open` implements. No rules, no
 * error handling.
 */
export function bareAccountHandler(
  version: 'tp5' | 'tp4',
  open: (connection: BareConnection, secret: string, order: BareOrder) => Promise<number>,
) {
  return async (event: { body: string; pathParameters: { user_id: string } }) => {
    const order = JSON.parse(event.body) as Body;
    await secret(PASSWORD_SECRET);
    const operationId = randomUUID();
    const { user_id } = event.pathParameters;
    const connectionKey = `connection#${order.connection_id}`;
    const [records] = await Promise.all([
      read(CRM_TABLE, `client#${user_id}`, connectionKey),
      put(OPERATIONS_TABLE, { pk: operationId, state: 'running' }),
    ]);
    const connection = records.find(({ pk }) => pk === connectionKey)?.record as BareConnection;
    const platformSecret = await secret(connection.secret);
    const names = { ExpressionAttributeNames: { '#state': 'state' } };
    const move = (state: string) =>
      update(OPERATIONS_TABLE, operationId, 'SET #state = :state', { ':state': state }, names);
    await Promise.all([
      move('sent'),
      connection.logins && put(OPERATIONS_TABLE, { pk: `login#${randomUUID()}`, operation_id: operationId }),
    ]);
    const login = await open(connection, platformSecret, { ...order, operationId });
    const account = { pk: user_id, sk: `${version}#${order.connection_id}#${login}`, login };
    await put(ACCOUNTS_TABLE, account);
    await move('finished');
    await publish({ ...account, operationId });
    await move('published');
    if (order.send_email === true) await import('@aws-sdk/client-ses');
    if (order.send_pop_up === true) await import('@aws-sdk/client-sns');
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login, ...BARE_PASSWORDS }),
    };
  };
}

let events: EventBridgeClient | undefined;

async function publish(account: object): Promise<void> {
  const { EventBridgeClient, PutEventsCommand } = await import('@aws-sdk/client-eventbridge');
  events ??= new EventBridgeClient({});
  const Detail = JSON.stringify(account);
  const Entries = [{ EventBusName: EVENT_BUS, Source: 'broker.api', DetailType: 'AccountOpened', Detail }];
  await events.send(new PutEventsCommand({ Entries }));
}
