/** A call to an AWS service failed, or its data is malformed. If it was a write, it may be done. The message holds no data. */
export class AwsFailure extends Error {
  override readonly name = 'AwsFailure';
  /** For the log: the service's error name, a system error code such as `ECONNRESET`, or a code of ours. */
  readonly reason: string;

  constructor(reason: string, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
  }

  /** The result of a call to the SDK, or its failure. */
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
    const failure = new AwsFailure(failureReason(error), error);
    // Its first place is the adapter that called the service.
    Error.captureStackTrace(failure, AwsFailure.from);
    return failure;
  }
}

function failureReason(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
