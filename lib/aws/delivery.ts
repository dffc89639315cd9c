import { within } from '../deadline.ts';
import { DeliveryFailure, type DeliveryFailureKind } from '../messages/message.ts';
import { addBeforeSend, type SdkCommand } from './early-connection.ts';

/** The timeout of one send, in milliseconds, even if the caller has more time. */
const SEND_LIMIT_MS = 10_000;

/** Unbounded: waiting for a free socket would count as connecting. */
export const OWN_CONNECTION = { keepAlive: false, maxSockets: Number.POSITIVE_INFINITY };

/**
 * Client settings for messages that must be sent at most once: no retries, and a new connection for each send. A kept
 * connection may have closed while the function was frozen. Then it would be unknown whether the message was sent.
 */
export const AT_MOST_ONCE = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 3_000, httpAgent: OWN_CONNECTION, httpsAgent: OWN_CONNECTION },
};

/** A service's error response, as the SDK returns it. */
export interface ServiceErrorResponse {
  /** The service's error name. */
  name: string;
  /** The error's message may quote the request: use it to classify the error, never keep or log it. */
  message: string;
  /** A more specific code, on some services. */
  Reason?: string | undefined;
  Fields?: { Name?: string | undefined }[] | undefined;
}

/**
 * The kind of failure for each error of one service, by error name and reason such as `ConflictException.OPTED_OUT`, or
 * by name alone. The common rules decide about all other errors.
 */
export type FailureKindsByError = Readonly<
  Partial<Record<string, DeliveryFailureKind | ((answer: ServiceErrorResponse) => DeliveryFailureKind)>>
>;

/** Names that every AWS service uses. */
const COMMON: FailureKindsByError = {
  Throttling: 'throttled',
  ThrottlingException: 'throttled',
  ThrottledException: 'throttled',
  ThrottledRequestException: 'throttled',
  TooManyRequestsException: 'throttled',
  RequestLimitExceeded: 'throttled',
  ServiceUnavailable: 'retryable',
  ServiceUnavailableException: 'retryable',
  // The SDK renews credentials and corrects the clock by itself.
  ExpiredToken: 'retryable',
  ExpiredTokenException: 'retryable',
  RequestExpired: 'retryable',
  RequestTimeTooSkewed: 'retryable',
};

/** Error codes of a connection that was not established. */
const NOT_CONNECTED = new Set([
  'EADDRNOTAVAIL',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
]);

/** The errors of a server's certificate, by which Node ends a connection before it is used. */
const CERTIFICATE_REFUSED = /^(?:ERR_TLS_CERT_ALTNAME_INVALID$|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/**
 * Sends one command once and classifies its outcome.
 *
 * The outcome is certain if the request was not sent (no connection, no credentials), and for every error that the
 * service names. Everything else is `unknown_outcome`: an unreadable response with a 5xx other than 503 (which a service
 * returns before it accepts a message), or a connection or timeout that failed after the request may have been sent.
 *
 * @returns the provider's message id
 * @throws DeliveryFailure
 */
export async function deliverCommand<C extends SdkCommand>(
  command: C,
  send: (command: C, options: { abortSignal: AbortSignal }) => Promise<string | undefined>,
  failures: FailureKindsByError,
  signal: AbortSignal,
  limitMs = SEND_LIMIT_MS,
): Promise<{ messageId: string }> {
  if (signal.aborted) throw new DeliveryFailure('retryable', 'NoTimeLeft');
  let handedOver = false;
  addBeforeSend(command, () => {
    handedOver = true;
  });

  let messageId: string | undefined;
  try {
    messageId = await send(command, { abortSignal: within(limitMs, signal) });
  } catch (error) {
    throw deliveryFailure(error, handedOver, failures);
  }
  if (messageId === undefined) throw new DeliveryFailure('unknown_outcome', 'NoMessageId');
  return { messageId };
}

function deliveryFailure(error: unknown, handedOver: boolean, failures: FailureKindsByError): DeliveryFailure {
  if (!isRecord(error)) return new DeliveryFailure('unknown_outcome', 'Unknown', error);
  const name = typeof error.name === 'string' ? error.name : 'Unknown';
  if (!handedOver) return new DeliveryFailure('misconfigured', loggableName(name), error);

  const status = isRecord(error.$metadata) ? error.$metadata.httpStatusCode : undefined;
  if (typeof status !== 'number') {
    const code = typeof error.code === 'string' ? error.code : undefined;
    const kind = isConnectFailure(error, code) ? 'retryable' : 'unknown_outcome';
    return new DeliveryFailure(kind, loggableName(code ?? name), error);
  }
  if (!isServiceAnswer(error)) {
    // This is not a response of the service, but a proxy's page or a truncated response: only the status is reliable.
    return new DeliveryFailure(kindByStatus(status), `Http${status}`);
  }
  // The SDK's error is not kept as the cause: its message may quote the recipient.
  const reason = error.Reason === undefined ? name : `${name}.${error.Reason}`;
  const kind = failures[reason] ?? failures[name] ?? COMMON[name] ?? kindByStatus(status);
  return new DeliveryFailure(typeof kind === 'string' ? kind : kind(error), loggableName(reason));
}

function isConnectFailure(error: Record<string, unknown>, code: string | undefined): boolean {
  if (code === undefined) {
    // The SDK's connect timeout has a name and no code, like its other timeouts: only the message differs.
    return error.name === 'TimeoutError' && /did not establish a connection/.test(String(error.message));
  }
  // Node names neither a code nor a system call of its own for a connection that ends before it is secure.
  if (CERTIFICATE_REFUSED.test(code) || /before secure TLS connection was established/.test(String(error.message)))
    return true;
  // An error without a system call sums up failed connections to several addresses. Later failures name `read` or
  // `write`.
  const call = error.syscall;
  const connecting = call === 'connect' || call === 'getaddrinfo' || error instanceof AggregateError;
  return NOT_CONNECTED.has(code) && connecting;
}

function kindByStatus(status: number): DeliveryFailureKind {
  if (status === 429) return 'throttled';
  // A service returns 503 before it accepts a message.
  if (status === 503) return 'retryable';
  return status >= 400 && status < 500 && status !== 408 ? 'misconfigured' : 'unknown_outcome';
}

/** The SDK's names for an answer that names no error. */
const UNNAMED = /^Unknown(Error)?$/;

function isServiceAnswer(error: Record<string, unknown>): error is Record<string, unknown> & ServiceErrorResponse {
  return (
    (error.$fault === 'client' || error.$fault === 'server') &&
    typeof error.name === 'string' &&
    !UNNAMED.test(error.name) &&
    typeof error.message === 'string' &&
    (error.Reason === undefined || typeof error.Reason === 'string') &&
    (error.Fields === undefined || Array.isArray(error.Fields))
  );
}

/** Error names are short identifiers. Other text is not logged. */
function loggableName(text: string): string {
  return /^[\w.]{1,100}$/.test(text) ? text : 'Unknown';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
