import { within } from '../deadline.ts';
import { DeliveryFailure, type DeliveryFailureKind } from '../messages/message.ts';

/** How long one send may take, in milliseconds, whatever time the caller has left. */
const SEND_LIMIT_MS = 10_000;

/** Without a bound, because waiting for a turn would count as connecting. */
export const OWN_CONNECTION = { keepAlive: false, maxSockets: Number.POSITIVE_INFINITY };

/**
 * Client settings of everything that must go out at most once. No repeats; and a connection of its own for each send: a
 * kept one may have died while the function was frozen, and then nobody could tell whether the message had left.
 */
export const AT_MOST_ONCE = {
  maxAttempts: 1,
  requestHandler: { connectionTimeout: 3_000, httpAgent: OWN_CONNECTION, httpsAgent: OWN_CONNECTION },
};

/** The part of an SDK command that `deliver` needs: its list of steps, to notice the moment when the request leaves. */
interface Command {
  middlewareStack: {
    add(
      middleware: <Args, Result>(next: (args: Args) => Promise<Result>) => (args: Args) => Promise<Result>,
      options: { step: 'deserialize'; priority: 'low'; name: string },
    ): void;
  };
}

/** An error answer of a service, as the SDK gives it. */
export interface ServiceAnswer {
  /** The service's error name. */
  name: string;
  /** May quote what was sent: to be looked into, never to be kept or logged. */
  message: string;
  /** The service's own sub-division of a name, where it has one. */
  Reason?: string | undefined;
  Fields?: { Name?: string | undefined }[] | undefined;
}

/** What the names of one service mean; `undefined`: as for every service. */
export type Classify = (answer: ServiceAnswer) => DeliveryFailureKind | undefined;

/** Names that every AWS service uses. */
const COMMON: Partial<Record<string, DeliveryFailureKind>> = {
  Throttling: 'retryable',
  ThrottlingException: 'retryable',
  ThrottledException: 'retryable',
  ThrottledRequestException: 'retryable',
  TooManyRequestsException: 'retryable',
  RequestLimitExceeded: 'retryable',
  ServiceUnavailable: 'retryable',
  ServiceUnavailableException: 'retryable',
  // Credentials and clocks are renewed behind our back.
  ExpiredToken: 'retryable',
  ExpiredTokenException: 'retryable',
  RequestExpired: 'retryable',
  RequestTimeTooSkewed: 'retryable',
};

/** Codes of a connection that never came about. */
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

/**
 * Sends one command, once, and says what became of it.
 *
 * Certain is: nothing left (no connection, no credentials), and every answer of the service below 500, as well as its
 * 503, which it gives before it takes a message on. All else, such as a 500, an answer that cannot be read, a connection
 * that broke off or time that ran out once the request may have left, is `unknown_outcome`.
 *
 * @returns the provider's message id
 * @throws DeliveryFailure
 */
export async function deliver<C extends Command>(
  command: C,
  send: (command: C, options: { abortSignal: AbortSignal }) => Promise<string | undefined>,
  meaning: Classify,
  signal: AbortSignal,
  limitMs = SEND_LIMIT_MS,
): Promise<{ messageId: string }> {
  if (signal.aborted) throw new DeliveryFailure('retryable', 'NoTimeLeft');
  let handedOver = false;
  command.middlewareStack.add(
    (next) => (args) => {
      handedOver = true;
      return next(args);
    },
    { step: 'deserialize', priority: 'low', name: 'noticeDeparture' },
  );

  let messageId: string | undefined;
  try {
    messageId = await send(command, { abortSignal: within(limitMs, signal) });
  } catch (error) {
    throw deliveryFailure(error, handedOver, meaning);
  }
  if (messageId === undefined) throw new DeliveryFailure('unknown_outcome', 'NoMessageId');
  return { messageId };
}

function deliveryFailure(error: unknown, handedOver: boolean, meaning: Classify): DeliveryFailure {
  if (!isRecord(error)) return new DeliveryFailure('unknown_outcome', 'Unknown', error);
  const name = typeof error.name === 'string' ? error.name : 'Unknown';
  if (!handedOver) return new DeliveryFailure('misconfigured', loggableName(name), error);

  const status = isRecord(error.$metadata) ? error.$metadata.httpStatusCode : undefined;
  if (typeof status !== 'number') {
    const code = typeof error.code === 'string' ? error.code : undefined;
    return new DeliveryFailure(
      isConnectFailure(error, code) ? 'retryable' : 'unknown_outcome',
      loggableName(code ?? name),
      error,
    );
  }
  if (!isServiceAnswer(error)) {
    // Not the service's own words (a proxy's page, half an answer): only its status can be believed.
    return new DeliveryFailure(kindByStatus(status), `Http${status}`);
  }
  // The answer is not kept as the cause: its message may quote the recipient.
  const reason = error.Reason === undefined ? name : `${name}.${error.Reason}`;
  return new DeliveryFailure(meaning(error) ?? COMMON[name] ?? kindByStatus(status), loggableName(reason));
}

function isConnectFailure(error: Record<string, unknown>, code: string | undefined): boolean {
  if (code === undefined) {
    // The SDK's connect timeout has a name and no code, and so have other ends of its patience: the text tells.
    return error.name === 'TimeoutError' && /did not establish a connection/.test(String(error.message));
  }
  // Without a system call it is the sum of several addresses' failed connects; later failures are of read or write.
  const call = error.syscall;
  const connecting = call === 'connect' || call === 'getaddrinfo' || error instanceof AggregateError;
  return NOT_CONNECTED.has(code) && connecting;
}

function kindByStatus(status: number): DeliveryFailureKind {
  if (status === 429 || status === 503) return 'retryable';
  return status >= 400 && status < 500 ? 'misconfigured' : 'unknown_outcome';
}

function isServiceAnswer(error: Record<string, unknown>): error is Record<string, unknown> & ServiceAnswer {
  return (
    (error.$fault === 'client' || error.$fault === 'server') &&
    typeof error.name === 'string' &&
    typeof error.message === 'string' &&
    (error.Reason === undefined || typeof error.Reason === 'string') &&
    (error.Fields === undefined || Array.isArray(error.Fields))
  );
}

/** Error names are short words; anything else is not kept. */
function loggableName(text: string): string {
  return /^[\w.]{1,100}$/.test(text) ? text : 'Unknown';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
