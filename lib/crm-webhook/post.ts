import * as v from 'valibot';
import { within } from '../deadline.ts';
import { errorCode, Failure } from '../failure.ts';
import { type SigningKeys, signWebhook } from '../secrets/webhook-signature.ts';
import { isObject } from '../validators/primitives.ts';
import { AnswerSchema, type WebhookAnswer } from './messages.ts';

/** The CRM did not accept an event, or its answer did not arrive. */
export class NotAccepted extends Failure {
  override readonly name = 'NotAccepted';
}

/** Posts a message with its id. @throws NotAccepted; the CRM may have accepted it */
export type Post = (message: { id: string; body: string }, signal: AbortSignal) => Promise<WebhookAnswer>;

/** The timeout of the whole exchange, in milliseconds. */
const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 65_536;

/** Posts to the CRM, signed by Standard Webhooks. It follows no redirect: that would send personal data elsewhere. */
export function signedPost(
  url: string,
  keys: (signal: AbortSignal) => Promise<SigningKeys>,
  { now = Date.now, timeoutMs = TIMEOUT_MS }: { now?: () => number; timeoutMs?: number } = {},
): Post {
  return async ({ id, body }, outer) => {
    const headers = signWebhook(await keys(outer), { id, body, now: now() });
    const signal = within(timeoutMs, outer);
    try {
      const answer = await fetch(url, {
        method: 'POST',
        // A kept connection may have ended while the function was frozen.
        headers: { connection: 'close', 'content-type': 'application/json', ...headers },
        body,
        redirect: 'manual',
        signal,
      });
      if (answer.ok) return accepted(await readText(answer));
      await answer.body?.cancel();
      throw new NotAccepted(`http_${answer.status}`);
    } catch (error) {
      if (error instanceof NotAccepted) throw error;
      throw new NotAccepted(signal.aborted ? 'timeout' : errorCode(error), error);
    }
  };
}

/** An empty answer only means that the event is accepted. */
function accepted(text: string): WebhookAnswer {
  if (text.trim() === '') return {};
  const answer = v.safeParse(v.pipe(v.string(), v.parseJson(), v.check(isObject), AnswerSchema), text);
  if (!answer.success) throw new NotAccepted('answer_malformed');
  return answer.output;
}

async function readText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop closes the connection.
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) throw new NotAccepted('answer_too_large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
