/**
 * Opens an account with a token that has the scope `accounts:create`. For deployments that name an issuer of tokens.
 *
 *     API_URL=https://… API_TOKEN=… node token.mjs
 */
import { randomUUID } from 'node:crypto';

const { API_URL = 'http://localhost:3000', API_TOKEN = '' } = process.env;
// The same key never opens a second account. Use it again if no answer arrives.
const { IDEMPOTENCY_KEY: key = randomUUID() } = process.env;

const answer = await fetch(`${API_URL}/public/v1/users/CLIENT01/tp5/accounts`, {
  method: 'POST',
  headers: { authorization: `Bearer ${API_TOKEN}`, 'content-type': 'application/json', 'idempotency-key': key },
  body: JSON.stringify({ connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 }),
  signal: AbortSignal.timeout(35_000),
});
if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
const { login } = await answer.json();
console.log(`Opened ${login}.`);
