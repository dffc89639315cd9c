import { PlatformFailure } from '../platform/platform.ts';
import { Problem, type ProblemOptions } from '../problem.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Fact, Life, SeenFact } from './life.ts';

/** How far a request has come. */
export interface Progress {
  life: Life;
  /** The error for which nothing was sent, or of the last command that failed. */
  failure?: unknown;
  /** What the answer to the last command shows. Absent: this request has sent none. */
  answer?: Fact['on'];
  /** What the last look at the login has shown. */
  seen?: SeenFact['on'];
}

/** Whether the server answered the command with an error, about its content or about its own state. */
export function isErrorAnswer(answer: Progress['answer']): boolean {
  return answer === 'rejected' || answer === 'doubtful';
}

/** A caller without a key must not repeat the request: the repeat would be another request. */
const NO_REPEAT =
  'Do not repeat this request: without an Idempotency-Key that may open a second account. Have the operation looked into.';
const SAME_KEY = 'Repeat the request with the same Idempotency-Key. With another key it may open a second account.';
const OPERATOR =
  'An operator must decide. Do not send the request with another Idempotency-Key: it may open a second account.';
export const SAME_BODY =
  'Repeat the first request with its own body: it may have opened an account. Use another Idempotency-Key only for another account.';

/**
 * The public answer to the end of a request's work.
 *
 * | state | answer |
 * |---|---|
 * | open | 200 |
 * | claimed, gone: nothing was opened | the failure: 400, 409 `login_taken`, 500, 502, 503 |
 * | sent, the last command was answered with an error | the failure; without a key, if an account may exist: 504 |
 * | sent | 504, with `Retry-After` for a caller with a key |
 * | undecided | 504 |
 *
 * @returns the login of the account
 * @throws Problem for every other state
 */
export function publicAnswer(
  { life, failure, answer, seen }: Progress,
  { operationId, hasKey }: { operationId: string; hasKey: boolean },
  telemetry: Telemetry,
): number {
  const unknown = (options: ProblemOptions) =>
    new Problem('account_outcome_unknown', { members: { operation_id: operationId }, ...options });
  switch (life.at) {
    case 'open':
      return life.login;
    case 'claimed':
    case 'gone':
      throw failure instanceof PlatformFailure ? platformProblem(failure, telemetry) : failure;
    case 'undecided':
      // Many clients repeat a request automatically if the answer has `Retry-After`.
      throw unknown({ detail: hasKey ? OPERATOR : NO_REPEAT });
    case 'sent': {
      // Where no look-up can show that the login is absent, a refusal of the content proves nothing about an earlier command.
      const isBlind = seen === 'silent' && life.commands !== 'one';
      if (!isErrorAnswer(answer) || !(failure instanceof PlatformFailure) || (isBlind && failure.proof === 'content'))
        throw unknown(hasKey ? { detail: SAME_KEY, retryAfterSeconds: 1 } : { detail: NO_REPEAT });
      const problem = platformProblem(failure, telemetry);
      if (hasKey || seen === 'absent' || (problem.status !== 503 && life.commands === 'one')) throw problem;
      throw unknown({ detail: NO_REPEAT });
    }
  }
}

/** The problem that another worker holds the operation. */
export function progressProblem(retryAfterSeconds: number): Problem {
  return new Problem('request_in_progress', { retryAfterSeconds, detail: SAME_KEY });
}

function platformProblem({ kind, options }: PlatformFailure, telemetry: Telemetry): Problem {
  const { reason, errors, retryAfterSeconds } = options;
  if (kind === 'platform_refused') telemetry.event('PlatformRefused', { reason });
  if (kind !== 'platform_unavailable') return new Problem(kind, { errors, retryAfterSeconds });
  telemetry.event('PlatformUnavailable', { reason });
  return new Problem(kind, { errors, retryAfterSeconds: retryAfterSeconds ?? 5 });
}
