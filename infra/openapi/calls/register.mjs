/**
 * Requests a registration. The person gets a one-time password. With `CODE` it confirms the registration:
 *
 *     API_URL=https://… EMAIL=ann@example.com PASSWORD=… node register.mjs
 *     API_URL=https://… EMAIL=ann@example.com PASSWORD=… CODE=123456 node register.mjs
 */
import { randomUUID } from 'node:crypto';

const { API_URL = 'http://localhost:3000', EMAIL: email, PASSWORD: password, CODE: code } = process.env;
// The same key sends the code once. Use it again if no answer arrives.
const { IDEMPOTENCY_KEY: key = randomUUID() } = process.env;

const registration = {
  email,
  type: 'trader',
  name: 'Ann Lee',
  otp_type: 'email',
  password,
  repeat_password: password,
  form_id: 'FORM0001',
  // A field of the form, by its key.
  k3J9xQ: 'some',
};
const confirmation = { otp_type: 'email', email, code, password };
const path = code === undefined ? 'request' : 'confirm';
const answer = await fetch(`${API_URL}/public/v1/account/register/${path}`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'idempotency-key': key },
  body: JSON.stringify(code === undefined ? registration : confirmation),
  signal: AbortSignal.timeout(35_000),
});
if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
console.log(code === undefined ? 'Sent the code.' : 'Confirmed.');
