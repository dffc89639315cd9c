import { errorCode, Failure } from '../failure.ts';

/** A call to an AWS service failed, or its data is malformed. A failed write may have been executed. */
export class AwsFailure extends Failure {
  override readonly name = 'AwsFailure';
  /** The key of a stored item that cannot be read. It may be logged, because no caller has typed it. */
  item?: unknown;

  /** @param key of an item that cannot be read */
  static ofItem(reason: string, key: unknown): AwsFailure {
    return Object.assign(new AwsFailure(reason), { item: key });
  }

  /** Awaits a call to the SDK. @returns its result @throws AwsFailure */
  static async translate<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw AwsFailure.from(error);
    }
  }

  /** The failure that an error of the SDK shows. */
  static from(error: unknown): AwsFailure {
    if (error instanceof AwsFailure) return error;
    const failure = new AwsFailure(sdkTimeout(error) ?? errorCode(error), error);
    // The stack begins at the adapter that called the service.
    Error.captureStackTrace(failure, AwsFailure.from);
    return failure;
  }
}

/**
 * The reason of a time-out: the caller's time was up, or the service did not answer or connect in time. Undefined for
 * every other error. Time-outs of the network have the same names, but also a system call.
 */
function sdkTimeout(error: unknown): string | undefined {
  if (!(error instanceof Error) || 'syscall' in error) return undefined;
  if (error.name === 'AbortError') return 'request_out_of_time';
  if (error.name !== 'TimeoutError') return undefined;
  return 'code' in error ? 'no_answer_in_time' : 'no_connection_in_time';
}
