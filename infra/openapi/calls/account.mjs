/**
 * Opens an account: with a token that has the scope `accounts:create`, or with a signed request (AWS Signature
 * Version 4). The deployment decides which of them it needs.
 *
 *     API_URL=https://… API_TOKEN=… node account.mjs
 *     API_URL=https://… AWS_REGION=… AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… node account.mjs
 */
import { randomUUID } from 'node:crypto';
import { AwsClient } from 'aws4fetch';

const { API_URL = 'http://localhost:3000', API_TOKEN, AWS_REGION: region = 'eu-west-1' } = process.env;
const { AWS_ACCESS_KEY_ID = '', AWS_SECRET_ACCESS_KEY = '', AWS_SESSION_TOKEN = '' } = process.env;
// The same key never opens a second account. Use it again if no answer arrives.
const { IDEMPOTENCY_KEY: key = randomUUID() } = process.env;

const aws = new AwsClient({
  accessKeyId: AWS_ACCESS_KEY_ID,
  secretAccessKey: AWS_SECRET_ACCESS_KEY,
  sessionToken: AWS_SESSION_TOKEN,
  region,
  service: 'execute-api',
  retries: 0,
});
const url = `${API_URL}/public/v1/users/CLIENT01/tp5/accounts`;
const headers = { 'content-type': 'application/json', 'idempotency-key': key };
const body = JSON.stringify({ connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 });
const request = { method: 'POST', headers, body, signal: AbortSignal.timeout(35_000) };
const answer = API_TOKEN
  ? await fetch(url, { ...request, headers: { ...headers, authorization: `Bearer ${API_TOKEN}` } })
  : await aws.fetch(url, request);
if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
const { login } = await answer.json();
console.log(`Opened ${login}.`);
