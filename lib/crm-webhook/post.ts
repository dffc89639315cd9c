import { once } from 'node:events';
import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import * as v from 'valibot';
import { within } from '../deadline.ts';
import { errorCode, Failure } from '../failure.ts';
import { type SigningKeys, webhookHeaders } from '../secrets/webhook-signature.ts';
import { isEmpty, isObject } from '../validators/primitives.ts';
import { CrmAnswerSchema } from './messages.ts';

/** The CRM did not accept an event, or its status did not arrive. */
export class EventNotAccepted extends Failure {
  override readonly name = 'EventNotAccepted';
  /** The CRM answers 410: nothing will ever be accepted at this address. */
  readonly isGone: boolean;

  constructor(reason: string, { cause, isGone = false }: { cause?: unknown; isGone?: boolean } = {}) {
    super(reason, cause);
    this.isGone = isGone;
  }
}

/** The CRM's answer to an event that it has accepted. */
export interface CrmAnswer {
  client_id?: string | undefined;
  /** Why the client's id could not be read, although the CRM may have created a client. */
  unusable?: 'client_id_malformed' | 'answer_too_large' | 'answer_broken';
}

/** Posts a message with its id. @throws EventNotAccepted; the CRM may have accepted it */
export type PostMessage = (message: { id: string; body: string }, signal: AbortSignal) => Promise<CrmAnswer>;

/** The timeout of the whole exchange, in milliseconds. */
const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 65_536;

/**
 * Posts to the CRM, signed by Standard Webhooks. The status of the answer alone decides whether the event is accepted.
 * No redirect is followed: that would send personal data elsewhere.
 */
export function signedPost(
  url: string,
  keys: (signal: AbortSignal) => Promise<SigningKeys>,
  { now = Date.now, timeoutMs = TIMEOUT_MS }: { now?: () => number; timeoutMs?: number } = {},
): PostMessage {
  const exchange = keptConnections(new URL(url));
  return async ({ id, body }, outer) => {
    const headers = { ...webhookHeaders(await keys(outer), { id, body, now: now() }), 'accept-encoding': 'identity' };
    const signal = within(timeoutMs, outer);
    const answer = await exchange(headers, body, signal).catch((error) => {
      throw new EventNotAccepted(signal.aborted ? 'timeout' : errorCode(error), { cause: error });
    });
    const { statusCode = 0 } = answer;
    if (statusCode >= 200 && statusCode <= 299) return readAnswer(answer);
    answer.destroy();
    throw new EventNotAccepted(`http_${statusCode}`, { isGone: statusCode === 410 });
  };
}

/** Posts on connections that are kept for the next post. */
function keptConnections(url: URL) {
  const { Agent, request } = url.protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: true });

  return async function post(
    headers: OutgoingHttpHeaders,
    body: string,
    signal: AbortSignal,
  ): Promise<IncomingMessage> {
    const posting = request(url, { method: 'POST', headers, agent, signal });
    // An error after the answer's head ends the answer too. If nothing listens for an upgrade, an answer of 101 closes
    // the request without an error.
    posting.on('error', () => {}).on('upgrade', (answer) => posting.emit('response', answer));
    posting.end(body);
    try {
      const [answer] = (await once(posting, 'response', { signal })) as [IncomingMessage];
      return answer;
    } catch (error) {
      // A kept connection may have ended while the function was frozen. The CRM recognizes a duplicate by its id.
      if (posting.reusedSocket && !signal.aborted) return post(headers, body, signal);
      throw error;
    }
  };
}

async function readAnswer(answer: IncomingMessage): Promise<CrmAnswer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    // Leaving the loop closes the connection.
    for await (const chunk of answer as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > MAX_ANSWER_BYTES) return { unusable: 'answer_too_large' };
      chunks.push(chunk);
    }
  } catch {
    return { unusable: 'answer_broken' };
  }
  // A compressed body, which is not read, may name a client.
  const { 'content-encoding': coding = '' } = answer.headers;
  if (bytes > 0 && !/^(identity)?$/i.test(coding)) return { unusable: 'answer_broken' };
  return parseAnswer(Buffer.concat(chunks).toString('utf8'));
}

const ObjectTextSchema = v.pipe(
  v.string(),
  v.transform((text) => text.replace(/^\uFEFF/, '')),
  v.parseJson(),
  v.custom<Record<string, unknown>>(isObject),
);

/**
 * Parses the CRM's answer, which may be any text. A member `client_id` of a JSON object names a client, as a text or as
 * a number of 8 digits.
 */
function parseAnswer(text: string): CrmAnswer {
  const { client_id } = v.parse(v.fallback(ObjectTextSchema, {}), text);
  if (isEmpty(client_id)) return {};
  const id = typeof client_id === 'number' && /^\d{8}$/.test(String(client_id)) ? String(client_id) : client_id;
  const { success, output } = v.safeParse(CrmAnswerSchema, { client_id: id });
  return success ? output : { unusable: 'client_id_malformed' };
}
