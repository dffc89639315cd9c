import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { AwsClient } from 'aws4fetch';
import { CommandError, type Terminal, wrong } from './command.ts';
import type { Target } from './target.ts';

export interface CallOptions {
  /** The `Idempotency-Key`; a new one where none is given. */
  key?: string;
  /** A token, if the deployment uses tokens. */
  token?: string;
}

/** Longer than the service may take, in milliseconds. */
const PATIENCE_MS = 35_000;

/** Sends a request to the API, signed with the credentials of the environment or with a token. */
export async function call(
  { apiUrl }: Target,
  [path, file]: [path: string, file: string],
  { key = randomUUID(), token }: CallOptions,
  terminal: Terminal,
): Promise<void> {
  if (apiUrl === undefined) throw new CommandError('The API is found by --stack NAME or --local.');
  if (!path.startsWith('/')) throw wrong('PATH begins with a slash, such as /public/v1/users/CLIENT01/tp5/accounts.');
  const body = file === '-' ? await readAll(terminal.input) : await readFile(file, 'utf8');
  const headers = {
    'content-type': 'application/json',
    'idempotency-key': key,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  };
  terminal.report(`Idempotency-Key: ${key} (repeat with --key ${key})\n`);
  const send = token === undefined ? await signedFetch() : fetch;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const answer = await send(`${apiUrl}${path}`, { method: 'POST', headers, body, signal });
  const text = await answer.text();
  terminal.report(`HTTP ${answer.status}, x-request-id: ${answer.headers.get('x-request-id') ?? 'none'}\n`);
  if (text !== '') terminal.print(`${text}\n`);
  if (!answer.ok) throw new CommandError('The request was refused.');
}

/** Signs as the AWS SDK would, with the credentials and the region that it finds. */
async function signedFetch(): Promise<typeof fetch> {
  const { config } = new CloudFormationClient({});
  const { accessKeyId, secretAccessKey, sessionToken = '' } = await config.credentials();
  const region = await config.region();
  const client = new AwsClient({
    accessKeyId,
    secretAccessKey,
    sessionToken,
    region,
    service: 'execute-api',
    retries: 0,
  });
  return (input, init) => client.fetch(input as string, init);
}
