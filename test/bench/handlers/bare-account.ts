import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { put, query, read, secret, transact, updateItem } from './bare.ts';

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
 * use, the same calls in the same rows with items and conditions of the same size, and the platform's own protocol, which
 * `connect` implements. No rules, no error handling.
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
    const operation = newOperation(operationId);
    const claimed = secret(PASSWORD_SECRET).then(() =>
      put(OPERATIONS_TABLE, operation.item, { ConditionExpression: NEW, ExpressionAttributeValues: operation.values }),
    );
    const records = await read(CRM_TABLE, `client#${user_id}`, connectionKey);
    const connection = records.find(({ pk }) => pk === connectionKey)?.record as BareConnection;
    // The server is logged in to while the operation is claimed and its logins are read.
    const [session] = await Promise.all([
      secret(connection.secret).then((text) => connect(connection, text)),
      claimed,
      ...(connection.logins ? readReservations(version, operationId) : [readAccounts(user_id, version, operationId)]),
    ]);
    const { connection_id, group, leverage } = order;
    const details = {
      ...{ user_id, version, connection_id, group, leverage, enable_readonly: false, enable_rebate: false },
      ...{ operation_id: operationId, caller: 'anonymous' },
    };
    const state = (life: object, end = false) => stateWrite(operation.item, life, details, end);
    const reserve = (login: number) => ({
      Put: {
        TableName: LOGINS_TABLE,
        Item: {
          ...{ pk: `${version}#${randomUUID()}`, operation_id: operationId, incarnation: operation.item.lease },
          ...{ connection_id, reserved_at: Math.floor(login / 1_000) },
        },
        ConditionExpression: 'attribute_not_exists(pk) OR operation_id = :operation',
        ExpressionAttributeValues: { ':operation': operationId },
      },
    });
    const sent = { Update: state({ at: 'sent', login: 500_000, commands: 'one' }) };
    await transact(sent, ...(connection.logins ? [reserve(500_000)] : []));
    const login = await session({ ...order, operationId });
    const opened_at = new Date().toISOString();
    const account = { pk: user_id, sk: `${version}#${connection_id}#${login}`, ...details, login, opened_at };
    const { pk: _, sk: __, ...detail } = account;
    const open = state({ at: 'open', login, opened_at, recorded: false, deposit: 'none', published: false });
    if (connection.logins) {
      await Promise.all([put(ACCOUNTS_TABLE, account), updateItem(open), publish({ id: operationId, ...detail })]);
    } else {
      // The record is in the transaction that reserves the login.
      await transact({ Update: open }, reserve(login), { Put: { TableName: ACCOUNTS_TABLE, Item: account } });
      await publish({ id: operationId, ...detail });
    }
    await updateItem(state({ at: 'done', login, opened_at, unpaid: false }, true));
    if (order.send_email === true) await import('@aws-sdk/client-ses');
    if (order.send_pop_up === true) await import('@aws-sdk/client-sns');
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login, ...BARE_PASSWORDS }),
    };
  };
}

const NEW =
  'attribute_not_exists(pk) OR (lease = :lease AND revision = :first) ' +
  'OR (expires_at <= :seconds AND lease_until <= :now AND NOT fingerprint IN (:fingerprint))';

/** The item of a new operation, and the values of its condition. */
function newOperation(operation_id: string) {
  const now = Date.now();
  const lease = randomUUID();
  const fingerprint = `1.${randomBytes(32).toString('base64url')}`;
  const item = {
    ...{ pk: `operation#${randomUUID()}`, operation_id, fingerprint, secret: '0123456789abcdef', derivation: 1 },
    ...{ incarnation: lease, revision: 0, life: { at: 'claimed' }, lease, lease_until: now + 30_000 },
    expires_at: Math.floor(now / 1_000) + 86_700,
  };
  const values = { ':lease': lease, ':first': 0, ':seconds': Math.floor(now / 1_000), ':now': now };
  return { item, values: { ...values, ':fingerprint': fingerprint } };
}

/** The write of a state, with what the operation needs to be finished without its caller. @param isEnd it was finished */
function stateWrite(
  { pk, lease, lease_until }: ReturnType<typeof newOperation>['item'],
  life: object,
  details: object,
  isEnd: boolean,
) {
  const now = Date.now();
  const plan = {
    ...{ ...details, keyed: true, exclusive: true, login_given: false, deposit_with_opening: false },
    ...{ generated: 'master', server: 'trading.example.com:443' },
  };
  const set = {
    ...{ life, plan, since: now, sent_at: now, revision: 1, lease_until },
    ...(isEnd ? { expires_at: Math.floor(now / 1_000) } : { due: 'due#00', due_at: lease_until }),
  };
  const entries = Object.entries(set);
  const removed = isEnd ? ['due', 'due_at'] : ['expires_at'];
  const names = [...Object.keys(set), ...removed];
  return {
    TableName: OPERATIONS_TABLE,
    Key: { pk },
    UpdateExpression: `SET ${entries.map(([name]) => `#${name} = :${name}`).join(', ')} REMOVE #${removed.join(', #')}`,
    ConditionExpression: 'lease = :lease AND revision <= :revision',
    ExpressionAttributeNames: Object.fromEntries(names.map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: { ':lease': lease, ...Object.fromEntries(entries.map(([k, v]) => [`:${k}`, v])) },
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
function readAccounts(userId: string, version: string, operationId: string): Promise<unknown> {
  return query(ACCOUNTS_TABLE, {
    ConsistentRead: true,
    KeyConditionExpression: 'pk = :user AND begins_with(sk, :version)',
    FilterExpression: 'operation_id IN (:operation)',
    ExpressionAttributeValues: { ':user': userId, ':version': version, ':operation': operationId },
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
