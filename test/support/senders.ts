import { EventEmitter } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { onTestFinished } from 'vitest';
import { Faults } from '../../infra/local/faults.ts';
import type { OutboxEntry } from '../../infra/local/outbox.ts';
import type { StandIn, StandInOptions } from '../../infra/local/stand-ins/stand-in.ts';
import { listenForTest } from './servers.ts';

export const BRAND = { name: 'Example Markets', supportEmail: 'help@example.com', color: '#0b5cad' };

/** A mail for the mailer of SES. */
export const MAIL = {
  from: { name: 'Example Markets', address: 'no-reply@example.com' },
  replyTo: 'help@example.com',
  to: 'ann@example.com',
  subject: 'Your code',
  text: '123456',
  html: '<b>123456</b>',
  kind: 'code',
};

/**
 * Starts a stand-in for one test, with its faults and its outbox; `taken` reports each message before it is answered.
 */
export async function startedStandIn<O extends object>(
  start: (options: O & StandInOptions) => Promise<StandIn>,
  options: O,
) {
  const faults = new Faults();
  const outbox: OutboxEntry[] = [];
  const taken = new EventEmitter<{ message: [] }>();
  const record = (entry: OutboxEntry) => {
    outbox.push(entry);
    taken.emit('message');
  };
  const standIn = await start({ ...options, faults, record });
  onTestFinished(() => standIn.close());
  return { standIn, faults, outbox, taken };
}

/** A server that answers every request with the given answer. */
export async function answeringServer(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen = { requests: 0, connections: 0 };
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      seen.requests += 1;
      answer(request, response);
    });
  });
  server.on('connection', () => {
    seen.connections += 1;
  });
  return { seen, url: `http://127.0.0.1:${await listenForTest(server)}` };
}
