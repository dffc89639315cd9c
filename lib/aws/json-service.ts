import { setTimeout as sleep } from 'node:timers/promises';
import { type Service, type ServiceSettings, signedService } from './signed-service.ts';

/** A service that speaks the JSON protocol of AWS. */
interface JsonServiceName extends Service {
  /** Of the protocol. */
  version: '1.0' | '1.1';
  /** Before the name of every operation. */
  target: string;
}

/** What a service answered in place of a result; `name` is its word for the error. */
export class ServiceError extends Error {
  override readonly name: string;
  readonly status: number;

  constructor(name: string, status: number) {
    super(name);
    this.name = name;
    this.status = status;
  }
}

export interface JsonService {
  /**
   * Calls an operation, and repeats it twice where that may help: for what may be done more than once.
   * @returns what the service says, which is believed
   * @throws ServiceError, Stopped, and the errors of Node's sockets
   */
  call<Output>(operation: string, input: object, signal: AbortSignal): Promise<Output>;
  destroy(): void;
}

/** So often a call is made at most. */
const MOST_TRIES = 3;
/** The longest pause before the first repeat, in milliseconds; each further one may be twice as long. */
const PAUSE_MS = 100;
const PAUSE_OF_THROTTLED_MS = 500;

export function jsonService(service: JsonServiceName, settings: ServiceSettings): JsonService {
  const { post, destroy } = signedService(service, settings);
  const contentType = `application/x-amz-json-${service.version}`;

  async function once(operation: string, body: string, tries: number, signal: AbortSignal): Promise<unknown> {
    const headers = {
      'content-type': contentType,
      'x-amz-target': `${service.target}.${operation}`,
      // As clients of AWS tell a repeat.
      'amz-sdk-request': `attempt=${tries}; max=${MOST_TRIES}`,
    };
    const { status, text } = await post(headers, body, signal);
    if (status !== 200) throw new ServiceError(errorName(text) ?? `Http${status}`, status);
    return JSON.parse(text);
  }

  async function call(operation: string, input: object, signal: AbortSignal): Promise<unknown> {
    const body = JSON.stringify(input);
    for (let tries = 1; ; tries += 1) {
      signal.throwIfAborted();
      try {
        return await once(operation, body, tries, signal);
      } catch (error) {
        const pauseMs = pauseAfter(error);
        if (tries === MOST_TRIES || pauseMs === undefined || signal.aborted) throw error;
        await sleep(Math.random() * pauseMs * 2 ** (tries - 1), undefined, { signal });
      }
    }
  }
  return { call: call as JsonService['call'], destroy };
}

/** `com.amazonaws.dynamodb.v20120810#ValidationException` → `ValidationException`. */
function errorName(text: string): string | undefined {
  return /"__type"\s*:\s*"(?:[^"]*#)?(\w+)/.exec(text)?.[1];
}

/** What services call it when they are asked too often. */
const THROTTLED = /^(Throttling|ThrottledRequest|TooManyRequests|ProvisionedThroughputExceeded|RequestLimitExceeded)/;

/** How long is waited before a repeat, at most and in milliseconds; undefined where it would fail in the same way. */
function pauseAfter(error: unknown): number | undefined {
  if (!(error instanceof ServiceError)) return PAUSE_MS;
  if (error.status === 429 || THROTTLED.test(error.name)) return PAUSE_OF_THROTTLED_MS;
  return error.status >= 500 ? PAUSE_MS : undefined;
}
