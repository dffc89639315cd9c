import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Agent, request } from 'node:https';
import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { put, read, secret, transact, update } from './bare.ts';

/**
 * An account as it would be opened with the SDK alone: the same clients, of which the same ones are loaded on first use,
 * the same calls in the same rows, and the Web API with Node's own HTTPS client. No rules, no error handling.
 */

interface Connection {
  host: string;
  port: number;
  ca?: string;
  secret: string;
}
interface Order {
  connection_id: string;
  group: string;
  leverage: number;
}

const { ACCOUNTS_TABLE, CRM_TABLE, EVENT_BUS, LOGINS_TABLE, OPERATIONS_TABLE, PASSWORD_SECRET } = process.env;
const LOGIN = 500_000;
const PASSWORDS = { master_password: 'Tr4de-It-Now', investor_password: 'L00k-Only-Pls' };

export async function handler(event: { body: string; pathParameters: { user_id: string } }) {
  const order = JSON.parse(event.body) as Order;
  const { user_id } = event.pathParameters;
  const pk = `operation#${randomUUID()}`;
  const claimed = secret(PASSWORD_SECRET).then(() => put(OPERATIONS_TABLE, { pk, ...order, life: { at: 'claimed' } }));
  const connectionKey = `connection#${order.connection_id}`;
  const records = await read(CRM_TABLE, `client#${user_id}`, connectionKey);
  const connection = records.find((item) => item.pk === connectionKey)?.record as Connection;
  // The server is logged in to while the operation is claimed and its logins are read.
  const logins = Array.from({ length: 20 }, (_, index) => `tp5#${LOGIN + index}`);
  await Promise.all([connect(connection), claimed, read(LOGINS_TABLE, ...logins)]);
  const life = { UpdateExpression: 'SET life = :life', ExpressionAttributeValues: { ':life': { at: 'sent' } } };
  await transact(
    { Update: { TableName: OPERATIONS_TABLE, Key: { pk }, ...life } },
    { Put: { TableName: LOGINS_TABLE, Item: { pk: `tp5#${randomUUID()}`, operation_id: pk } } },
  );
  const login = await addUser(connection, order, pk);
  const account = { user_id, ...order, login, opened_at: new Date().toISOString() };
  await Promise.all([
    put(ACCOUNTS_TABLE, { pk: user_id, sk: `tp5#${login}`, ...account }),
    update(OPERATIONS_TABLE, pk, 'SET life = :life', { ':life': { at: 'open' } }),
    publish(account),
  ]);
  await update(OPERATIONS_TABLE, pk, 'SET life = :life', { ':life': { at: 'done' } });
  const headers = { 'content-type': 'application/json' };
  return { statusCode: 200, headers, body: JSON.stringify({ login, ...PASSWORDS }) };
}

let agent: Agent | undefined;

/** One kept connection, authenticated with its first use. */
async function connect(connection: Connection): Promise<void> {
  const { login, password } = JSON.parse(await secret(connection.secret)) as { login: number; password: string };
  if (agent !== undefined) return;
  agent = new Agent({ keepAlive: true, maxSockets: 1, ca: connection.ca });
  const hash = md5(md5(Buffer.from(password, 'utf16le')), Buffer.from('WebAPI'));
  const start = `/api/auth/start?version=484&agent=Bare&login=${login}&type=manager`;
  const { srv_rand } = (await call(connection, start)) as { srv_rand: string };
  const proof = md5(hash, Buffer.from(srv_rand, 'hex')).toString('hex');
  const random = randomBytes(16).toString('hex');
  await call(connection, `/api/auth/answer?srv_rand_answer=${proof}&cli_rand=${random}`);
}

async function addUser(connection: Connection, { group, leverage }: Order, comment: string): Promise<number> {
  const { answer } = (await call(connection, '/api/user/add', {
    PassMain: PASSWORDS.master_password,
    PassInvestor: PASSWORDS.investor_password,
    Group: group,
    Name: 'Ann Lee',
    Leverage: String(leverage),
    Comment: comment.slice(0, 31),
  })) as { answer: { Login: string } };
  return Number(answer.Login);
}

function call({ host, port }: Connection, path: string, body?: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const sent = request({ agent, host, port, path, method: body === undefined ? 'GET' : 'POST' }, async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
      resolve(JSON.parse(text));
    });
    sent.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function md5(...parts: Buffer[]): Buffer {
  return createHash('md5').update(Buffer.concat(parts)).digest();
}

let events: EventBridgeClient | undefined;

async function publish(account: object): Promise<void> {
  const { EventBridgeClient, PutEventsCommand } = await import('@aws-sdk/client-eventbridge');
  events ??= new EventBridgeClient({});
  const Detail = JSON.stringify(account);
  const Entries = [{ EventBusName: EVENT_BUS, Source: 'broker.api', DetailType: 'AccountOpened', Detail }];
  await events.send(new PutEventsCommand({ Entries }));
}
