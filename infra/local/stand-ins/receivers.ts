import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import type { Client } from '../../../lib/records/crm-records.ts';
import type { SigningKeys } from '../../../lib/secrets/webhook-signature.ts';
import { isPhoneChannel } from '../../../lib/validators/otp-types.ts';
import {
  type Call,
  jsonAnswer,
  ServiceError,
  type StandIn,
  type StandInAnswer,
  type StandInOptions,
  serveStandIn,
} from './stand-in.ts';

/** A client that the stand-in of the CRM created, as the page of received messages shows it. */
export interface LocalClient extends Pick<Client, 'id' | 'name' | 'email'> {
  /** The registration that the client was created from. */
  registration_id: string;
  /** ISO 8601. */
  at: string;
}

/** A message that the CRM accepted. */
interface ReceivedMessage {
  /** The `webhook-id`. */
  id: string;
  type: string;
  /** The time of the first arrival, ISO 8601. */
  at: string;
  data: Record<string, unknown>;
}

export interface ReceiverOptions extends Pick<StandInOptions, 'faults'> {
  /** A message must be signed with one of them. */
  keys: () => SigningKeys;
}

/** The seconds for which a throttling CRM asks. */
const CRM_RETRY_AFTER = '240';

export type CrmStandIn = Awaited<ReturnType<typeof startCrm>>;

/**
 * The broker's CRM: accepts signed events, and makes a client of each confirmed registration. A repeated message gets the same answer.
 */
export async function startCrm({ keys, faults }: ReceiverOptions) {
  const messages = new Map<string, ReceivedMessage>();
  const clients = new Map<string, LocalClient>();

  function answer(call: Call): StandInAnswer {
    checkSignature(keys(), call);
    const { headers, body, fault } = call;
    if (fault?.kind === 'gone') throw new ServiceError('Gone', 'This address is gone.', 410);
    if (fault?.kind === 'garbage')
      return { status: 200, headers: { 'content-type': 'text/html' }, body: '<p>Welcome</p>' };
    const id = String(headers['webhook-id']);
    const { type, data } = JSON.parse(body) as Pick<ReceivedMessage, 'type' | 'data'>;
    const at = new Date().toISOString();
    if (!messages.has(id)) messages.set(id, { id, type, at, data });
    if (type === 'RegistrationConfirmed' && !clients.has(id)) {
      const newId = `C${randomBytes(4).toString('hex').slice(1).toUpperCase()}`;
      const client = { id: newId, name: String(data.name), email: String(data.email) };
      clients.set(id, { ...client, registration_id: id, at });
    }
    if (fault?.kind === 'reply_lost') throw new Error('The connection breaks.');
    const client = clients.get(id);
    return jsonAnswer(client === undefined ? {} : { client_id: client.id });
  }

  const running = await serveStandIn(
    {
      answer,
      error: ({ message, status }) => {
        const { headers, ...answer } = jsonAnswer({ message }, status);
        return { ...answer, headers: status === 429 ? { ...headers, 'retry-after': CRM_RETRY_AFTER } : headers };
      },
      throttled: new ServiceError('TooMany', undefined, 429),
      refused: new ServiceError('Refused', 'Not today.', 403),
    },
    { faults },
  );
  return Object.assign(running, {
    webhook: `${running.url}/events`,
    /** The clients that were made since the start, oldest first. */
    clients: () => [...clients.values()],
    /** The accepted messages, oldest first; a duplicate counts once. */
    received: () => [...messages.values()],
  });
}

/** @throws ServiceError 401 if a call of the service is signed with none of the keys */
function checkSignature(keys: SigningKeys, { headers, body }: Call): void {
  const isSigned = keys.some((key) => {
    try {
      return Boolean(new Webhook(key).verify(body, headers as Record<string, string>));
    } catch {
      return false;
    }
  });
  if (!isSigned) throw new ServiceError('WrongSignature', 'The signature is wrong.', 401);
}

/** The broker's own provider: takes the messages of a phone channel at its path, such as `/sms`. */
export async function startProvider({
  keys,
  record,
  faults,
}: ReceiverOptions & Pick<StandInOptions, 'record'>): Promise<StandIn> {
  const seen = new Set<string>();

  function answer(call: Call): StandInAnswer {
    const { path, headers, body, fault } = call;
    const kind = path.slice(1);
    if (!isPhoneChannel(kind)) throw failure(404);
    checkSignature(keys(), call);
    const id = String(headers['webhook-id']);
    const { to, text, language } = JSON.parse(body) as Record<'to' | 'text' | 'language', string>;
    // A duplicate is not sent again.
    if (!seen.has(id)) record({ kind, to, text, language });
    seen.add(id);
    if (fault?.kind === 'reply_lost') throw new Error('The connection breaks.');
    return { status: 202, headers: {}, body: '' };
  }

  const error = ({ status }: ServiceError) => ({ status, headers: {}, body: '' });
  return serveStandIn(
    {
      answer,
      error,
      throttled: failure(429),
      refused: failure(401),
      refused_recipient: failure(422),
      refused_message: failure(403),
    },
    { faults },
  );
}

function failure(status: number): ServiceError {
  return new ServiceError('Failure', undefined, status);
}
