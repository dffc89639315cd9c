import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  type PutCommandInput,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
  type UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb';

/** The SDK alone, as others would use it: a client for each service, and the calls that every route makes. */

const database = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const secrets = new SecretsManagerClient({});
const known = new Map<string, Promise<string>>();

/** The text of a secret, which is read once. */
export function secret(name = ''): Promise<string> {
  const reading = known.get(name) ?? readSecret(name);
  known.set(name, reading);
  return reading;
}

async function readSecret(SecretId: string): Promise<string> {
  const { SecretString = '' } = await secrets.send(new GetSecretValueCommand({ SecretId }));
  return SecretString;
}

export async function read(table = '', ...keys: string[]): Promise<Record<string, unknown>[]> {
  const RequestItems = { [table]: { Keys: keys.map((pk) => ({ pk })), ConsistentRead: true } };
  return (await database.send(new BatchGetCommand({ RequestItems }))).Responses?.[table] ?? [];
}

export function get(TableName: string | undefined, pk: string): Promise<unknown> {
  return database.send(new GetCommand({ TableName, Key: { pk }, ConsistentRead: true }));
}

export function put(input: PutCommandInput): Promise<unknown> {
  return database.send(new PutCommand(input));
}

export function update(input: UpdateCommandInput): Promise<unknown> {
  return database.send(new UpdateCommand({ ...input, ReturnValues: 'NONE' }));
}

/** `SET` and `REMOVE` of attributes. @param more values of the condition */
export function setAttributes(set: object, removed: readonly string[], more: object) {
  const names = Object.keys(set);
  const values = Object.entries(set).map(([name, value]) => [`:${name}`, value]);
  return {
    UpdateExpression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')} REMOVE #${removed.join(', #')}`,
    ExpressionAttributeNames: Object.fromEntries([...names, ...removed].map((name) => [`#${name}`, name])),
    ExpressionAttributeValues: { ...Object.fromEntries(values), ...more },
  };
}

export function transact(...TransactItems: NonNullable<TransactWriteCommandInput['TransactItems']>): Promise<unknown> {
  return database.send(new TransactWriteCommand({ TransactItems }));
}
