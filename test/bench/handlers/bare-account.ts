import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { BatchGetCommand, DynamoDBDocumentClient, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';

const { env } = process;

/** The inputs of an opening on a trading server. */
export interface BareConnection {
  host: string;
  port: number;
  ca?: string;
  secret: string;
  /** Where we choose the login. */
  logins?: object;
}
interface Body {
  connection_id: string;
  group: string;
  leverage: number;
  send_email?: boolean;
  send_pop_up?: boolean;
}
export interface BareOrder {
  operationId: string;
  group: string;
  leverage: number;
}

/**
 * An account as it would be opened with the SDK alone: the same clients, of which the same ones are loaded on first
 * use, the same calls in the obvious order, and the platform's own protocol, which `open` implements. No rules, no
 * error handling.
 */
export function bareAccountHandler(
  version: 'tp5' | 'tp4',
  open: (connection: BareConnection, secret: string, order: BareOrder) => Promise<number>,
) {
  const database = DynamoDBDocumentClient.from(new DynamoDBClient({}));
  const secrets = new SecretsManagerClient({});
  const kept = new Map<string, string>();

  async function secret(name: string): Promise<string> {
    const value =
      kept.get(name) ?? (await secrets.send(new GetSecretValueCommand({ SecretId: name }))).SecretString ?? '';
    kept.set(name, value);
    return value;
  }

  return async (event: { body: string; pathParameters: { user_id: string } }) => {
    const order = JSON.parse(event.body) as Body;
    await secret(env.PASSWORD_SECRET ?? '');
    const operationId = randomUUID();
    const Key = { pk: operationId };
    const connectionKey = `connection#${order.connection_id}`;
    const Keys = [{ pk: `client#${event.pathParameters.user_id}` }, { pk: connectionKey }];
    const [records] = await Promise.all([
      database.send(new BatchGetCommand({ RequestItems: { [env.CRM_TABLE ?? '']: { Keys, ConsistentRead: true } } })),
      database.send(new PutCommand({ TableName: env.OPERATIONS_TABLE, Item: { ...Key, state: 'running' } })),
    ]);
    const item = records.Responses?.[env.CRM_TABLE ?? '']?.find(({ pk }) => pk === connectionKey);
    const connection = item?.record as BareConnection;
    const platformSecret = await secret(connection.secret);
    const move = (state: string) =>
      database.send(
        new UpdateCommand({
          TableName: env.OPERATIONS_TABLE,
          Key,
          UpdateExpression: 'SET #state = :state',
          ExpressionAttributeNames: { '#state': 'state' },
          ExpressionAttributeValues: { ':state': state },
        }),
      );
    const reservation = { pk: `login#${randomUUID()}`, operation_id: operationId };
    await Promise.all([
      move('sent'),
      connection.logins && database.send(new PutCommand({ TableName: env.OPERATIONS_TABLE, Item: reservation })),
    ]);
    const login = await open(connection, platformSecret, { ...order, operationId });
    const account = { pk: event.pathParameters.user_id, sk: `${version}#${order.connection_id}#${login}`, login };
    await database.send(new PutCommand({ TableName: env.ACCOUNTS_TABLE, Item: account }));
    await move('finished');
    await publish({ ...account, operationId });
    await move('published');
    if (order.send_email === true) await sendMail(login);
    if (order.send_pop_up === true) await sendPopUp(login);
    return {
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login, ...BARE_PASSWORDS }),
    };
  };
}

export const BARE_PASSWORDS = { master_password: 'Tr4de-It-Now', investor_password: 'L00k-Only-Pls' };

let events: EventBridgeClient | undefined;

async function publish(account: object): Promise<void> {
  const { EventBridgeClient, PutEventsCommand } = await import('@aws-sdk/client-eventbridge');
  events ??= new EventBridgeClient({});
  const Detail = JSON.stringify(account);
  const Entries = [{ EventBusName: env.EVENT_BUS, Source: 'broker.api', DetailType: 'AccountOpened', Detail }];
  await events.send(new PutEventsCommand({ Entries }));
}

async function sendMail(login: number): Promise<void> {
  const { SESClient, SendEmailCommand } = await import('@aws-sdk/client-ses');
  const command = new SendEmailCommand({
    Source: env.SENDER_ADDRESS,
    Destination: { ToAddresses: ['ann@example.com'] },
    Message: { Subject: { Data: 'Your account' }, Body: { Text: { Data: String(login) } } },
  });
  await new SESClient({}).send(command);
}

async function sendPopUp(login: number): Promise<void> {
  const { PublishCommand, SNSClient } = await import('@aws-sdk/client-sns');
  await new SNSClient({}).send(new PublishCommand({ TopicArn: env.NOTIFICATIONS_TOPIC_ARN, Message: String(login) }));
}
