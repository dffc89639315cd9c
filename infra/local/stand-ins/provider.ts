import type { SigningKeys } from '../../../lib/secrets/webhook-signature.ts';
import { isPhoneChannel } from '../../../lib/validators/otp-types.ts';
import { checkSignature } from './crm.ts';
import { type Answer, type Call, ServiceError, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface ProviderOptions extends Pick<StandInOptions, 'faults' | 'record'> {
  /** A message must be signed with one of them. */
  keys: () => SigningKeys;
}

/** The broker's own provider: takes the messages of a phone channel at its path, such as `/sms`. */
export async function startProvider({ keys, record, faults }: ProviderOptions): Promise<StandIn> {
  const seen = new Set<string>();

  function answer(call: Call): Answer {
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
  return serve({ answer, error, throttled: failure(429), refused: failure(422) }, { faults });
}

function failure(status: number): ServiceError {
  return new ServiceError('Failure', undefined, status);
}
