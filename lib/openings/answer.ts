import { PlatformFailure } from '../platform/platform.ts';
import { Problem, type ProblemOptions } from '../problem.ts';
import type { Telemetry } from '../telemetry.ts';
import type { End } from './drive.ts';

/** A caller without a key must not repeat the request: it would be another one. */
const NO_REPEAT =
  'Do not repeat this request: without an Idempotency-Key that may open a second account. Have the operation looked into.';
const SAME_KEY = 'Repeat the request with the same Idempotency-Key. With another key it may open a second account.';
const OPERATOR =
  'An operator must decide. Do not send the request with another Idempotency-Key: it may open a second account.';
const SAME_BODY =
  'Repeat the first request with its own body: it may have opened an account. Use another Idempotency-Key only for another account.';

/**
 * The public answer to the end of a drive.
 *
 * | end | answer |
 * |---|---|
 * | opened | 200 |
 * | failed | the failure: 400, 409 `login_taken`, 500, 502, 503 |
 * | failed with 503, without a key and without a look-up that found nothing | 504 |
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
    case 'failed': {
      const { failure, absent } = end;
      if (!(failure instanceof PlatformFailure)) throw failure;
      const problem = platformProblem(failure, telemetry);
      if (hasKey || absent || problem.status !== 503) throw problem;
      throw unknownProblem({ operation_id: operationId }, { detail: NO_REPEAT });
    }
    case 'overtaken':
      throw progressProblem(1);
    case 'unknown':
    case 'undecided': {
      const isUndecided = end.kind === 'undecided';
      throw unknownProblem(
        { operation_id: operationId },
        {
          detail: hasKey ? (isUndecided ? OPERATOR : SAME_KEY) : NO_REPEAT,
          ...(isUndecided && !end.keyed && !end.first ? { status: 409 } : {}),
          // Many clients repeat a request automatically if the answer has it.
          ...(isUndecided || !hasKey ? {} : { retryAfterSeconds: 1 }),
        },
      );
    }
  }
}

function unknownProblem(members: { operation_id: string }, options: ProblemOptions): Problem {
  return new Problem('account_outcome_unknown', { members, ...options });
}

/** The key was used with another body. */
export function reusedProblem(): Problem {
  return new Problem('idempotency_key_reused', { detail: SAME_BODY });
}

/** Another worker holds the operation. */
export function progressProblem(retryAfterSeconds: number): Problem {
  return new Problem('request_in_progress', { retryAfterSeconds, detail: SAME_KEY });
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
