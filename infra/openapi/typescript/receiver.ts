// SPDX-License-Identifier: 0BSD
import { createServer, type IncomingMessage } from 'node:http';
import { Webhook } from 'standardwebhooks';

/**
 * Receives the webhook, for a CRM that is not on AWS. Copy this folder, and
 *
 *     npm install
 *     WEBHOOK_SECRET=whsec_… PORT=4000 npx tsx receiver.ts
 */
const { WEBHOOK_SECRET = '', PORT = '4000' } = process.env;
const webhook = new Webhook(WEBHOOK_SECRET);

/** A message is smaller. A larger body is refused before its signature is verified. */
const MAX_BYTES = 1_048_576;

interface Message {
  type: string;
  data: Record<string, unknown>;
}

/** The answers by `webhook-id`. A CRM keeps them in its database, written together with the client. */
const answers = new Map<string, object>();

/** Handles a new event. */
function receive({ type, data }: Message): object {
  if (type !== 'RegistrationConfirmed') return {};
  // The person has proved to own one address, `data.verified`. The other one is only typed: send nothing to it, and look
  // nobody up by it.
  const client_id = `N${String(answers.size + 1).padStart(7, '0')}`;
  console.log(`The registration ${data.id} is the client ${client_id}.`);
  return { client_id };
}

/** @returns undefined if the body is too large; the connection is then closed */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function verify(body: string, headers: IncomingMessage['headers']): Message | undefined {
  try {
    return webhook.verify(body, headers as Record<string, string>) as Message;
  } catch {
    return undefined;
  }
}

async function handle(request: IncomingMessage): Promise<{ status: number; answer?: object }> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BYTES) return { status: 413 };
  const body = await readBody(request);
  if (body === undefined) return { status: 413 };
  // Of the bytes as they came, with the id and the time.
  const message = verify(body, request.headers);
  if (message === undefined) return { status: 401 };
  const id = String(request.headers['webhook-id']);
  const answer = answers.get(id) ?? receive(message);
  answers.set(id, answer);
  return { status: 200, answer };
}

createServer(async (request, response) => {
  try {
    const { status, answer } = await handle(request);
    // A request that was not read to its end ends with its connection.
    response.writeHead(status, status === 413 ? { connection: 'close' } : { 'content-type': 'application/json' });
    response.end(answer && JSON.stringify(answer));
  } catch {
    // The caller broke off, or an error of our own: the event is delivered again.
    response.writeHead(500).end();
  }
}).listen(Number(PORT), '127.0.0.1', () => console.log('ready'));
