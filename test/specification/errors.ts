import type { Fault as LocalFault } from '../../infra/local/faults.ts';
import type { ProblemType } from '../../lib/http/problem.ts';
import type { Change, Fault } from './table.ts';

/** One case of the table of errors: a request, and what goes wrong with it. */
export interface ErrorCase extends Change {
  /** A row of the specification that it stands for, beside the one of the contract's table of errors. */
  stands?: { row: string; rule: string };
  says: string;
  status: number;
  type: ProblemType;
  /** The whole body, as it is sent. */
  raw?: string;
  /** What the local service makes go wrong: a service or a connection, and how. */
  goesWrong?: [target: string, fault: LocalFault];
  /** More members of the problem. */
  members?: Record<string, unknown>;
  /** All faults that are to be listed. */
  faults?: readonly Fault[];
  retryAfter?: boolean;
}

/** The contract's table of errors: every status and type that the service answers. */
export const ERRORS: readonly [status: number, type: ProblemType][] = [
  [400, 'malformed_json'],
  [400, 'validation_failed'],
  [400, 'form_not_found'],
  [400, 'referrer_not_found'],
  [400, 'otp_type_unavailable'],
  [400, 'tp5_connection_not_found'],
  [400, 'tp4_connection_not_found'],
  [400, 'account_type_not_found'],
  [400, 'account_type_required'],
  [400, 'rebate_user_not_found'],
  [400, 'group_not_found'],
  [400, 'password_rejected'],
  [400, 'not_supported_by_connection'],
  [400, 'code_not_accepted'],
  [403, 'captcha_failed'],
  [404, 'user_not_found'],
  [409, 'login_taken'],
  [409, 'request_in_progress'],
  [409, 'account_outcome_unknown'],
  [413, 'payload_too_large'],
  [415, 'unsupported_media_type'],
  [422, 'idempotency_key_reused'],
  [429, 'too_many_requests'],
  [500, 'internal_error'],
  [502, 'otp_delivery_failed'],
  [502, 'platform_refused'],
  [503, 'platform_unavailable'],
  [503, 'login_range_exhausted'],
  [503, 'account_limit_reached'],
  [504, 'account_outcome_unknown'],
];

/** So many calls go wrong that every repeat does too. */
export const MANY_TIMES = 1_000;
