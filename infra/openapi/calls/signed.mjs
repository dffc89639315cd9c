/**
 * Opens an account with a signed request (AWS Signature Version 4). For deployments that use IAM.
 *
 *     API_URL=https://… AWS_REGION=… AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… node signed.mjs
 */
import { randomUUID } from 'node:crypto';
import { AwsClient } from 'aws4fetch';

const { API_URL = 'http://localhost:3000', AWS_REGION: region = 'eu-west-1' } = process.env;
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
const answer = await aws.fetch(`${API_URL}/public/v1/users/CLIENT01/tp5/accounts`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'idempotency-key': key },
  body: JSON.stringify({ connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 }),
  signal: AbortSignal.timeout(35_000),
});
if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
const { login } = await answer.json();
console.log(`Opened ${login}.`);
