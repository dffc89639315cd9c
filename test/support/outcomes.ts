import type { PlatformFailure } from '../../lib/platform/platform.ts';

/** A deadline that never comes. */
export const ANY_TIME = Number.POSITIVE_INFINITY;
export const NEVER_ABORTED = new AbortController().signal;

/** The failure of a command. */
export async function failureOf<Failure extends { kind: string } = PlatformFailure>(
  command: Promise<unknown>,
): Promise<Failure> {
  const outcome = await command.then(
    () => undefined,
    (error: unknown) => error as Failure,
  );
  if (outcome === undefined) throw new Error('It did not fail.');
  if (outcome.kind === undefined) throw outcome;
  return outcome;
}

/**
 * The result of a command. If it fails: the kind of its failure and the reason, such as `platform_unavailable
 * retcode_12`.
 */
export function outcomeOf(command: Promise<unknown>): Promise<unknown> {
  return command.catch((error: PlatformFailure) => {
    if (error.kind === undefined) throw error;
    return `${error.kind} ${error.options.reason}`;
  });
}
