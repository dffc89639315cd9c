import { PutSuppressedDestinationCommand, SESv2Client } from '@aws-sdk/client-sesv2';
import type { LocalService } from '../../infra/local/service.ts';
import { dynamoTable } from '../../lib/aws/dynamodb.ts';
import { dynamoRegistrations } from '../../lib/records/registrations.ts';
import { scanItems } from './database.ts';
import { directClient } from './direct-client.ts';
import { newSource } from './gateway-events.ts';
import { checkedAnswer } from './openapi.ts';

const REGISTRATION = {
  email: 'new@example.com',
  type: 'trader',
  name: 'New Trader',
  password: 'correct horse battery',
  repeat_password: 'correct horse battery',
  form_id: 'FORM0002',
};

export const PHONE = { country_code: '44', number: '7400123499' };
type At = Pick<LocalService, 'url'>;

/**
 * Posts a body, as JSON unless it is a text, from a separate address, so that no limit is reached unintentionally. An
 * answer of the API is checked against the OpenAPI document.
 */
export async function postJson({ url }: At, path: string, body: unknown, headers: Record<string, string> = {}) {
  const answer = await fetch(url + path, {
    method: 'POST',
    // A busy machine may use a kept connection after the service has closed it.
    headers: { 'content-type': 'application/json', connection: 'close', 'x-forwarded-for': newSource(), ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return path.startsWith('/public/') ? checkedAnswer(answer) : answer;
}

export function register(service: At, change: object = {}, headers: Record<string, string> = {}) {
  return postJson(service, '/public/v1/account/register/request', { ...REGISTRATION, ...change }, headers);
}

/** @param key the `Idempotency-Key` */
export async function openAccount(service: At, version: 'tp5' | 'tp4', body: object, key?: string) {
  const path = `/public/v1/users/CLIENT01/${version}/accounts`;
  const answer = await postJson(
    service,
    path,
    { leverage: 100, ...body },
    key === undefined ? {} : { 'idempotency-key': key },
  );
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

export async function getText(service: LocalService, path: string, headers: Record<string, string> = {}) {
  const answer = await fetch(service.url + path, { headers, redirect: 'manual' });
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, text, json: () => JSON.parse(text) as unknown };
}

export async function putJson(service: LocalService, path: string, body: unknown) {
  const answer = await fetch(service.url + path, {
    method: 'PUT',
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    body: (await answer.json()) as Record<string, unknown>,
  };
}

/** The tables of the service, with no fault. */
export function tablesOf({ database }: Pick<LocalService, 'database'>) {
  const client = directClient(database);
  const table = (name: string) => dynamoTable(client, name);
  return {
    table,
    registrations: dynamoRegistrations(table('registrations')),
    /** All items of a table. */
    items: (name: string) => scanItems(client, name),
  };
}

/** Puts an address on the suppression list of SES, as after a bounce. */
export async function suppressAddress(address: string): Promise<void> {
  const client = new SESv2Client({});
  await client.send(new PutSuppressedDestinationCommand({ EmailAddress: address, Reason: 'BOUNCE' }));
  client.destroy();
}
