// SPDX-License-Identifier: 0BSD
import { randomUUID } from 'node:crypto';

/**
 * Requests a registration, and prints its id. The person gets a one-time password. With the id and the code it confirms
 * the registration. Copy this folder, `npm install`, and
 *
 *     EMAIL=ann@example.com PASSWORD=… npx tsx register.ts
 *     REGISTRATION_ID=… CODE=123456 npx tsx register.ts
 *
 * `API_URL` is the address of the deployment; without it the local service is called. `FIELDS` has the fields of your
 * form as JSON.
 */
const { API_URL = 'http://localhost:3000', EMAIL: email, PASSWORD: password } = process.env;
const { REGISTRATION_ID: registration_id, CODE: code } = process.env;
const { NAME: name = 'Ann Lee', FORM_ID: form_id = 'FORM0001', FIELDS = '{"k3J9xQ":"some"}' } = process.env;
// A repeated key sends no second code. Use the same key again if no answer arrives.
const { IDEMPOTENCY_KEY: key = randomUUID() } = process.env;

const person = { email, type: 'trader', name, otp_type: 'email', password, repeat_password: password, form_id };
const [path, body] =
  code === undefined ? ['request', { ...person, ...JSON.parse(FIELDS) }] : ['confirm', { registration_id, code }];
const answer = await fetch(`${API_URL}/public/v1/account/register/${path}`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'idempotency-key': key },
  body: JSON.stringify(body),
  signal: AbortSignal.timeout(35_000),
});
if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
console.log(code === undefined ? answer.headers.get('registration-id') : 'Confirmed.');
