import { PlatformFailure } from '../platform/platform.ts';
import { Problem } from '../problem.ts';
import type { Telemetry } from '../telemetry.ts';
import type { End } from './drive.ts';

/** A caller without a key must not repeat the request: it would be another one. */
const NO_REPEAT =
  'Do not repeat this request: without an Idempotency-Key that may open a second account. Have the operation looked into.';

/**
 * The public answer to the end of a drive.
 *
 * | end | answer |
 * |---|---|
 * | opened | 200 |
 * | failed | the failure: 400, 409 `login_taken`, 500, 502, 503 |
 * | unknown | 504, with `Retry-After` for a caller with a key |
 * | undecided, protocol names logins | 504 |
 * | undecided, protocol does not | 504 from the drive that reached it, 409 from later ones |
 * | overtaken | 409 `request_in_progress` |
 *
 * @throws Problem for every end but `opened`
 */
export function publicAnswer(
  end: End,
  { operationId, hasKey }: { operationId: string; hasKey: boolean },
  telemetry: Telemetry,
): { login: number; replayed: boolean } {
  switch (end.kind) {
    case 'opened':
      return end;
    case 'failed':
      throw end.failure instanceof PlatformFailure ? platformProblem(end.failure, telemetry) : end.failure;
    case 'overtaken':
      throw progressProblem(1);
    case 'unknown':
    case 'undecided': {
      const status = end.kind === 'undecided' && !end.keyed && !end.first ? 409 : 504;
      throw new Problem('account_outcome_unknown', {
        status,
        members: { operation_id: operationId },
        ...(hasKey ? {} : { detail: NO_REPEAT }),
        // Many clients repeat a request automatically if the answer has it.
        ...(end.kind === 'unknown' && hasKey ? { retryAfterSeconds: 1 } : {}),
      });
    }
  }
}

/** Another worker holds the operation. */
export function progressProblem(retryAfterSeconds: number): Problem {
  return new Problem('request_in_progress', { retryAfterSeconds });
}

/** A failure of the platform that certainly opened nothing. */
function platformProblem(failure: PlatformFailure, telemetry: Telemetry): Problem {
  const { reason, errors, retryAfterSeconds } = failure.options;
  if (failure.kind === 'platform_refused') telemetry.event('PlatformRefused', { reason });
  if (failure.kind === 'platform_unavailable') telemetry.event('PlatformUnavailable', { reason });
  const seconds = retryAfterSeconds ?? (failure.kind === 'platform_unavailable' ? 5 : undefined);
  return new Problem(failure.kind, {
    ...(errors === undefined ? {} : { errors }),
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  });
}
