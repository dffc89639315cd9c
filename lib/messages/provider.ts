import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Brand } from '../config/deployment.ts';
import { within } from '../deadline.ts';
import { errorCode, Failure } from '../failure.ts';
import { type SigningKeys, webhookHeaders } from '../secrets/webhook-signature.ts';
import type { PhoneChannel } from '../validators/otp-types.ts';
import { spokenText } from './call.ts';
import { DeliveryFailure, type DeliveryFailureKind, type OtpChannel } from './message.ts';
import { smsText } from './sms.ts';
import { findTranslation } from './translations/languages.ts';

export interface ProviderOptions {
  /** The address of the broker's own provider. */
  url: string;
  /** The keys that requests are signed with. */
  keys: (signal: AbortSignal) => Promise<SigningKeys>;
  brand: Brand;
  webOtpDomain?: string | undefined;
}

/** The timeouts of a connection and of the whole send, in milliseconds. */
const CONNECT_MS = 3_000;
const SEND_MS = 10_000;
/** A phone channel through the broker's own provider: one signed request for each message. */
export function providerChannel(channel: PhoneChannel, options: ProviderOptions): OtpChannel {
  const { brand, webOtpDomain } = options;
  const url = new URL(options.url);
  return {
    async prepare(language) {
      await findTranslation(language);
    },
    async send(to, code, language, signal, id = randomUUID()) {
      const translation = await findTranslation(language);
      const { text, language: used } =
        channel === 'call'
          ? spokenText(code, translation, brand)
          : { text: smsText(code, translation, brand, webOtpDomain), language: translation.language };
      const body = JSON.stringify({ to, kind: channel, text, code, language: used });
      await post(url, id, body, options.keys, signal);
      return { messageId: id };
    },
  };
}

/**
 * Posts a message at most once, on a new connection. The answer's status decides; its body is not read. The outcome is
 * unknown if the connection failed without a status.
 */
async function post(
  url: URL,
  id: string,
  body: string,
  keys: ProviderOptions['keys'],
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) throw new DeliveryFailure('retryable', 'NoTimeLeft');
  const end = within(SEND_MS, signal);
  const failWith = (kind: DeliveryFailureKind, reason?: string) => (cause: unknown) => {
    throw new DeliveryFailure(kind, reason ?? errorCode(cause), cause);
  };
  const signing = await keys(end).catch((error: unknown) =>
    failWith('misconfigured', error instanceof Failure ? error.reason : 'NoSigningKey')(error),
  );
  const socket = await connect(url, within(CONNECT_MS, end)).catch(failWith('retryable'));
  const headers = webhookHeaders(signing, { id, body, now: Date.now() });
  const status = await exchange(socket, url, body, headers, end).catch(failWith('unknown_outcome'));
  if (status < 200 || status > 299) throw new DeliveryFailure(kindByStatus(status), `Http${status}`);
}

/** Connects, with TLS for https. No byte of a request is sent before it returns. */
async function connect({ protocol, hostname, port }: URL, signal: AbortSignal): Promise<Socket> {
  const isSecure = protocol === 'https:';
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const to = { host, port: Number(port || (isSecure ? 443 : 80)) };
  const socket = isSecure ? connectTls({ ...to, servername: host, ALPNProtocols: ['http/1.1'] }) : connectTcp(to);
  try {
    await once(socket, isSecure ? 'secureConnect' : 'connect', { signal });
    return socket;
  } catch (error) {
    // Further errors of the closed socket mean nothing.
    socket.on('error', () => {}).destroy();
    throw error;
  }
}

/** Posts a body over HTTP. @returns the status of the answer */
async function exchange(
  socket: Socket,
  { host, pathname, search }: URL,
  body: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<number> {
  const sending = request({
    createConnection: () => socket,
    method: 'POST',
    path: pathname + search,
    headers: { host, 'content-length': Buffer.byteLength(body), ...headers },
    signal,
  });
  // If nothing listens for an upgrade, an answer of 101 closes the request without an error.
  sending.on('error', () => {}).on('upgrade', (answer) => sending.emit('response', answer));
  sending.end(body);
  try {
    const [answer] = (await once(sending, 'response', { signal })) as [IncomingMessage];
    return answer.statusCode ?? 0;
  } finally {
    socket.destroy();
  }
}

/**
 * The statuses that do not speak of the message alone; a firewall in front of a provider answers 403. A 408 proves nothing: a proxy may give it while the provider
 * works. The guide for providers has this table (infra/docs/message-provider.md).
 */
const KINDS: Readonly<Record<number, DeliveryFailureKind>> = {
  401: 'misconfigured',
  403: 'misconfigured',
  408: 'unknown_outcome',
  410: 'refused_recipient',
  422: 'refused_recipient',
  429: 'throttled',
  451: 'refused_recipient',
};

function kindByStatus(status: number): DeliveryFailureKind {
  return KINDS[status] ?? (status >= 400 && status < 500 ? 'refused_message' : 'unknown_outcome');
}
