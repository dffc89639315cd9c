import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

/**
 * A receiver of the webhook, for integrators: copy this file, `npm install standardwebhooks`, and
 *
 *     WEBHOOK_SECRET=whsec_… PORT=4000 node receiver.ts
 */
interface Message {
  type: string;
  data: Record<string, unknown>;
}

const { WEBHOOK_SECRET = '', PORT = '4000' } = process.env;
const webhook = new Webhook(WEBHOOK_SECRET);
/** The answers by `webhook-id`. A CRM keeps them in its database, written together with the client. */
const answers = new Map<string, object>();

/** Handles a new event. */
function receive({ type, data }: Message): object {
  // `email_taken`: the address is a client's already, and a person must decide.
  if (type !== 'RegistrationConfirmed' || data.email_taken === true) return {};
  const client_id = `N${String(answers.size + 1).padStart(7, '0')}`;
  process.stdout.write(`${client_id} is ${data.email}\n`);
  return { client_id };
}

createServer(async (request, response) => {
  const body = await text(request);
  try {
    // Of the bytes as they came, with the id and the time.
    const message = webhook.verify(body, request.headers as Record<string, string>) as Message;
    const id = String(request.headers['webhook-id']);
    const answer = answers.get(id) ?? receive(message);
    answers.set(id, answer);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  } catch {
    // Anything but 2xx: the event is delivered again.
    response.writeHead(401).end();
  }
}).listen(Number(PORT), '127.0.0.1', () => process.stdout.write('ready\n'));
