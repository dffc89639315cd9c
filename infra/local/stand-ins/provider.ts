import { Webhook } from 'standardwebhooks';
import type { SigningKeys } from '../../../lib/secrets/webhook-signature.ts';
import { isPhoneChannel, type PhoneChannel } from '../../../lib/validators/otp-types.ts';
import { type Answer, type Call, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface ProviderOptions extends Omit<StandInOptions, 'callers'> {
  /** A message must be signed with one of them. */
  keys: () => SigningKeys;
}

/** The broker's own provider: takes the messages of a phone channel at its path, such as `/sms`. */
export async function startProvider({ keys, record, ...options }: ProviderOptions): Promise<StandIn> {
  const seen = new Set<string>();

  function answer({ method, path, headers, body, fault }: Call): Answer {
    const kind = path.slice(1);
    if (method !== 'POST' || !isPhoneChannel(kind)) return status(404);
    const isSigned = keys().some((key) => verifies(key, body, headers as Record<string, string>));
    if (!isSigned) return status(401);
    deliver(kind, String(headers['webhook-id']), body);
    if (fault === 'reply_lost') throw new Error('The connection breaks.');
    return status(202);
  }

  /** A duplicate is not sent again. */
  function deliver(kind: PhoneChannel, id: string, body: string): void {
    if (seen.has(id)) return;
    seen.add(id);
    const { to, text, language } = JSON.parse(body) as Record<'to' | 'text' | 'language', string>;
    record({ kind, to, text, language });
  }

  return serve({ answer, throttled: () => status(429), refused: () => status(422) }, options);
}

function verifies(key: string, body: string, headers: Record<string, string>): boolean {
  try {
    new Webhook(key).verify(body, headers);
    return true;
  } catch {
    return false;
  }
}

function status(code: number): Answer {
  return { status: code, headers: {}, body: '' };
}
