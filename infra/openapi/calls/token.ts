/**
 * Opens an account with a token that has the scope `accounts:create`, where the deployment names an issuer of tokens:
 *
 *     API_URL=https://… API_TOKEN=… node token.ts
 */
import { randomUUID } from 'node:crypto';
import { openAccount } from '../client.ts';

const { API_URL: baseUrl = 'http://localhost:3000', API_TOKEN: token = '' } = process.env;

const order = { connection_id: 'tp5-live-1', group: 'real\\standard', leverage: 100 };
const { login } = await openAccount({ baseUrl, token }, 'tp5', 'CLIENT01', order, randomUUID());
console.log(`Opened ${login}.`);
