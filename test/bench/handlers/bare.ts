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
  type PutCommandInput,
  QueryCommand,
  type QueryCommandInput,
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

export function put(
  TableName: string | undefined,
  Item: Record<string, unknown>,
  more: Pick<PutCommandInput, 'ConditionExpression' | 'ExpressionAttributeValues'> = {},
): Promise<unknown> {
  return database.send(new PutCommand({ TableName, Item, ...more }));
}

export function updateItem(input: UpdateCommandInput): Promise<unknown> {
  return database.send(new UpdateCommand(input));
}

export function update(
  TableName: string | undefined,
  pk: string,
  UpdateExpression: string,
  ExpressionAttributeValues: Record<string, unknown>,
  more: { ConditionExpression?: string; ExpressionAttributeNames?: Record<string, string> } = {},
): Promise<unknown> {
  return updateItem({ TableName, Key: { pk }, UpdateExpression, ExpressionAttributeValues, ...more });
}

export function query(TableName: string | undefined, input: Omit<QueryCommandInput, 'TableName'>): Promise<unknown> {
  return database.send(new QueryCommand({ TableName, ...input }));
}

export function transact(...TransactItems: NonNullable<TransactWriteCommandInput['TransactItems']>): Promise<unknown> {
  return database.send(new TransactWriteCommand({ TransactItems }));
}
