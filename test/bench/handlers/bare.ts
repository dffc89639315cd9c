import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  GetSecretValueCommand,
  type GetSecretValueCommandOutput,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import {
  BatchGetCommand,
  DynamoDBDocumentClient,
  PutCommand,
  TransactWriteCommand,
  type TransactWriteCommandInput,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';

/** The SDK alone, as others would use it: a client for each service, and the calls that every route makes. */

const database = DynamoDBDocumentClient.from(new DynamoDBClient({}));
const secrets = new SecretsManagerClient({});
const known = new Map<string, Promise<string>>();

/** The text of a secret, which is read once. */
export function secret(name = ''): Promise<string> {
  const reading = known.get(name) ?? secrets.send(new GetSecretValueCommand({ SecretId: name })).then(textOf);
  known.set(name, reading);
  return reading;
}

function textOf({ SecretString = '' }: GetSecretValueCommandOutput): string {
  return SecretString;
}

export async function read(table = '', ...keys: string[]): Promise<Record<string, unknown>[]> {
  const RequestItems = { [table]: { Keys: keys.map((pk) => ({ pk })), ConsistentRead: true } };
  return (await database.send(new BatchGetCommand({ RequestItems }))).Responses?.[table] ?? [];
}

export function put(TableName: string | undefined, Item: Record<string, unknown>): Promise<unknown> {
  return database.send(new PutCommand({ TableName, Item }));
}

export function update(
  TableName: string | undefined,
  pk: string,
  UpdateExpression: string,
  ExpressionAttributeValues: Record<string, unknown>,
  more: { ConditionExpression?: string; ExpressionAttributeNames?: Record<string, string> } = {},
): Promise<unknown> {
  const expressions = { UpdateExpression, ExpressionAttributeValues, ...more };
  return database.send(new UpdateCommand({ TableName, Key: { pk }, ...expressions }));
}

export function transact(...TransactItems: NonNullable<TransactWriteCommandInput['TransactItems']>): Promise<unknown> {
  return database.send(new TransactWriteCommand({ TransactItems }));
}
