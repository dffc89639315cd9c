// SPDX-License-Identifier: 0BSD
import { randomUUID } from 'node:crypto';
import { AwsClient } from 'aws4fetch';

/**
 * Opens a real account for a client, and prints its passwords once. Copy this folder, `npm install`, and
 *
 *     USER_ID=CLIENT01 CONNECTION_ID=tp5-live-1 GROUP='real\standard' npx tsx account.ts
 *
 * This calls the local service. A deployment has an address `API_URL` and needs either a token with the scope
 * `accounts:create` (`API_TOKEN`), or a signature (AWS Signature Version 4) by the credentials of a role
 * (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`) in its region (`AWS_REGION`).
 */
const { API_URL = 'http://localhost:3000', API_TOKEN, USER_ID, CONNECTION_ID, GROUP } = process.env;
const { LEVERAGE = '100', PLATFORM = 'tp5', ACCOUNT_TYPE_ID } = process.env;
const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY = '', AWS_SESSION_TOKEN, AWS_REGION = 'eu-west-1' } = process.env;
// The same key never opens a second account.
const { IDEMPOTENCY_KEY: key = randomUUID() } = process.env;
if (!USER_ID || !CONNECTION_ID || !GROUP) throw new Error('USER_ID, CONNECTION_ID and GROUP are needed.');

const order = { connection_id: CONNECTION_ID, group: GROUP, leverage: Number(LEVERAGE) };
const request = {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'idempotency-key': key },
  body: JSON.stringify(ACCOUNT_TYPE_ID ? { ...order, account_type_id: ACCOUNT_TYPE_ID } : order),
};

/** Calls with the token or the signature, if there is one. */
function send(url: string): Promise<Response> {
  const signal = AbortSignal.timeout(35_000);
  if (API_TOKEN) {
    return fetch(url, { ...request, signal, headers: { ...request.headers, authorization: `Bearer ${API_TOKEN}` } });
  }
  if (!AWS_ACCESS_KEY_ID) return fetch(url, { ...request, signal });
  const credentials = { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY };
  const session = AWS_SESSION_TOKEN ? { sessionToken: AWS_SESSION_TOKEN } : {};
  const aws = new AwsClient({ ...credentials, ...session, region: AWS_REGION, service: 'execute-api', retries: 0 });
  return aws.fetch(url, { ...request, signal });
}

console.log(`Opening a real account for ${USER_ID} on ${CONNECTION_ID}, at ${API_URL}.`);
console.log(`If no answer arrives, run this again with IDEMPOTENCY_KEY=${key}: it never opens a second account.`);
const answer = await send(`${API_URL}/public/v1/users/${encodeURIComponent(USER_ID)}/${PLATFORM}/accounts`);
if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
const { login, master_password, investor_password } = (await answer.json()) as Record<string, string | number>;
console.log(
  `Opened ${login}. These passwords are shown once: master ${master_password}, investor ${investor_password}`,
);
