import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { put, read, secret, setAttributes, transact, update } from './bare.ts';

const { ACCOUNTS_TABLE, CRM_TABLE, EVENT_BUS, LOGINS_TABLE, OPERATIONS_TABLE, PASSWORD_SECRET } = process.env;

/** A connection with `logins` names the login in its command. */
export type BareConnection = { host: string; port: number; ca?: string; secret: string; logins?: object };
type BareEvent = { body: string; pathParameters: { user_id: string } };
type Body = { connection_id: string; group: string; leverage: number; send_email?: boolean; send_pop_up?: boolean };
type BareOrder = Pick<Body, 'group' | 'leverage'> & { operation_id: string; login: number };
/** Opens an account on a server that is logged in to; @returns its login. */
type BareSession = (order: BareOrder) => Promise<number>;

export const BARE_PASSWORDS = { master_password: 'Tr4deItNow!!', investor_password: 'L00kOnlyPls!' };

/** The condition of the write that claims an operation. */
const IS_NEW =
  'attribute_not_exists(pk) OR (lease = :lease AND revision = :first) OR (life.#at = :claimed AND ' +
  'attribute_not_exists(closed) AND expires_at <= :seconds AND lease_until <= :now AND NOT fingerprint IN (:fingerprint))';

/**
 * An account as it would be opened with the SDK alone: the same clients, of which the same ones are loaded on first use,
 * the same calls in the same order, and items and conditions with the same members. No rules, no error handling.
 * @param connect logs in on the server, by the platform's own protocol
 */
export function bareAccountHandler(
  version: 'tp5' | 'tp4',
  connect: (connection: BareConnection, secret: string) => Promise<BareSession>,
) {
  return async ({ body, pathParameters: { user_id } }: BareEvent) => {
    const { send_email, send_pop_up, ...order } = JSON.parse(body) as Body;
    const { connection_id } = order;
    const now = Date.now();
    const [lease, lease_until, operation_id] = [randomUUID(), now + 30_000, randomUUID()];
    const [pk, fingerprint] = [`operation#${randomUUID()}`, `1.${randomBytes(32).toString('base64url')}`];
    const origin = { pk, fingerprint, secret: '0123456789abcdef', derivation: 1 };

    async function claim() {
      await secret(PASSWORD_SECRET);
      const seconds = Math.floor(now / 1_000);
      const life = { at: 'claimed' };
      const item = { ...origin, operation_id, lease, revision: 0, life, lease_until, expires_at: seconds + 86_700 };
      const times = { ':seconds': seconds, ':now': now };
      const values = { ':lease': lease, ':first': 0, ':claimed': life.at, ':fingerprint': fingerprint, ...times };
      const condition = { ConditionExpression: IS_NEW, ExpressionAttributeNames: { '#at': 'at' } };
      await put({ TableName: OPERATIONS_TABLE, Item: item, ...condition, ExpressionAttributeValues: values });
    }
    async function logIn() {
      const key = `connection#${connection_id}`;
      const records = await read(CRM_TABLE, `client#${user_id}`, key);
      const connection = records.find((item) => item.pk === key)?.record as BareConnection;
      return { connection, open: await connect(connection, await secret(connection.secret)) };
    }
    const [{ connection, open }] = await Promise.all([logIn(), claim()]);

    const [keyed, server] = [connection.logins !== undefined, `${connection.host}:${connection.port}`];
    const details = { user_id, version, ...order, enable_readonly: false, enable_rebate: false, caller: 'anonymous' };
    const place = { keyed, server, exclusive: keyed, login_given: false };
    const plan = { ...details, operation_id, ...place, deposit_with_opening: !keyed };
    const due = { lease_until, due_shard: 'due#0', due_at: lease_until };
    const state = (set: object, removed: readonly string[] = []) => ({
      TableName: OPERATIONS_TABLE,
      Key: { pk },
      ConditionExpression: 'lease = :lease AND revision <= :revision',
      ...setAttributes({ plan, since: now, ...set }, [...removed, 'expires_at'], { ':lease': lease }),
    });
    const reserve = (login: number) => ({
      Put: {
        TableName: LOGINS_TABLE,
        Item: { pk: `${keyed ? version : server}#${login}`, operation_id, connection_id },
        ConditionExpression: 'attribute_not_exists(pk) OR operation_id = :operation',
        ExpressionAttributeValues: { ':operation': operation_id },
      },
    });

    const chosen = randomInt(1e12);
    const sent = { at: 'sent', commands: 'one', ...(keyed && { login: chosen }) };
    const sending = { Update: state({ life: sent, event: 0, revision: 1, ...due }) };
    await transact(sending, ...(keyed ? [reserve(chosen)] : []));
    const login = await open({ ...order, operation_id, login: chosen });
    const opened = { login, opened_at: new Date().toISOString() };
    const life = { at: 'open', ...opened, recorded: false, published: false, mail: 'none', deposit: 'none' };
    const opening = state({ life, event: 1, revision: 2, ...due });
    const written = keyed ? update(opening) : transact({ Update: opening }, reserve(login));
    // A login that the server has chosen is reserved before it is recorded.
    if (!keyed) await written;
    const sk = `${version}#${connection_id}#${login}`;
    const account = { ...details, ...opened };
    const record = { pk: user_id, sk, ...account, operation_id, origin: { ...origin, ...place, event: 1 } };
    const recorded = put({ TableName: ACCOUNTS_TABLE, Item: record });
    await Promise.all([written, recorded, publish({ id: operation_id, ...account })]);
    const done = { life: { ...life, recorded: true, published: true }, event: 1, revision: 3, lease_until: 0 };
    await update(state(done, ['due_shard', 'due_at']));
    if (send_email === true) await import('@aws-sdk/client-ses');
    if (send_pop_up === true) await import('@aws-sdk/client-sns');
    const headers = { 'content-type': 'application/json' };
    return { statusCode: 200, headers, body: JSON.stringify({ login, ...BARE_PASSWORDS }) };
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
