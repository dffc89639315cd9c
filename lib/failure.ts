/** An error whose reason may be logged: a code of ours, of a service or of a connection. It has no data of a request. */
export class Failure extends Error {
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }
}

/**
 * The code of an error such as `ECONNREFUSED`, or its name; never its message. If the error has a cause, the cause's
 * code.
 */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if (error.cause instanceof Error) return errorCode(error.cause);
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
