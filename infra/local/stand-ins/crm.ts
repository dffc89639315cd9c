import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { Client } from '../../../lib/records/crm-records.ts';
import type { SigningKeys } from '../../../lib/secrets/webhook-signature.ts';
import { type Answer, type Call, type StandIn, type StandInOptions, serve } from './stand-in.ts';

/** A client that the CRM made, as its page shows it. */
export interface LocalClient extends Pick<Client, 'id' | 'name' | 'email'> {
  /** The registration that it was. */
  registration_id: string;
  /** ISO 8601. */
  at: string;
}

/** A message that the CRM accepted. */
export interface ReceivedMessage {
  /** The `webhook-id`. */
  id: string;
  type: string;
  /** ISO 8601, of its first arrival. */
  at: string;
  data: Record<string, unknown>;
}

export interface CrmOptions extends Omit<StandInOptions, 'record' | 'callers'> {
  /** With one of which a message must be signed. */
  keys: () => SigningKeys;
}

export interface CrmStandIn extends StandIn {
  /** Where events are posted to. */
  readonly webhook: string;
  /** Those that were made since the start, oldest first. */
  clients(): LocalClient[];
  /** The accepted messages, oldest first; a duplicate counts once. */
  received(): ReceivedMessage[];
}

/**
 * The broker's CRM: accepts signed events, and makes a client of each confirmed registration whose email address is not
 * a client's yet. A message that comes again gets the same answer.
 */
export async function startCrm({ keys, ...options }: CrmOptions): Promise<CrmStandIn> {
  const messages = new Map<string, ReceivedMessage>();
  const clients = new Map<string, LocalClient>();

  function answer({ method, path, headers, body, fault }: Call): Answer {
    if (method !== 'POST' || path !== '/events') return json(404, {});
    if (!keys().some((key) => isSigned(key, headers, body))) return json(401, { message: 'The signature is wrong.' });
    if (fault === 'garbage') return { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>Welcome</p>' };
    const id = String(headers['webhook-id']);
    const { type, data } = JSON.parse(body) as Pick<ReceivedMessage, 'type' | 'data'>;
    const at = new Date().toISOString();
    if (!messages.has(id)) messages.set(id, { id, type, at, data });
    if (type === 'RegistrationConfirmed' && data.email_taken !== true && !clients.has(id)) {
      const client = { id: newClientId(), name: String(data.name), email: String(data.email) };
      clients.set(id, { ...client, registration_id: id, at });
    }
    if (fault === 'reply_lost') throw new Error('The connection breaks.');
    const client = clients.get(id);
    return json(200, client === undefined ? {} : { client_id: client.id });
  }

  const running = await serve(
    { answer, throttled: () => json(429, {}), refused: () => json(403, { message: 'Not today.' }) },
    options,
  );
  return Object.assign(running, {
    webhook: `${running.url}/events`,
    clients: () => [...clients.values()],
    received: () => [...messages.values()],
  });
}

function newClientId(): string {
  return `C${randomBytes(4).toString('hex').slice(1).toUpperCase()}`;
}

function isSigned(key: string, headers: Call['headers'], body: string): boolean {
  try {
    new Webhook(key).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

function json(status: number, body: unknown): Answer {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
