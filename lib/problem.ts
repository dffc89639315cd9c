import type { Violation } from './validators/primitives.ts';

/**
 * The one table of public error types. `type` is a stable word that integrators may switch on; `title` is for people.
 * A problem never contains user input or text of another service. `infra/openapi/problems.ts` describes them.
 */
export const PROBLEMS = {
  malformed_json: { status: 400, title: 'The body is not a JSON object.' },
  validation_failed: { status: 400, title: 'The request is not valid.' },
  form_not_found: { status: 400, title: 'No registration form has this form_id.' },
  referrer_not_found: { status: 400, title: 'No client has this referral code.' },
  otp_type_unavailable: { status: 400, title: 'This channel is not installed.' },
  tp5_connection_not_found: { status: 400, title: 'No tp5 connection has this connection_id.' },
  tp4_connection_not_found: { status: 400, title: 'No tp4 connection has this connection_id.' },
  account_type_not_found: { status: 400, title: 'No account type of this platform version has this account_type_id.' },
  account_type_required: { status: 400, title: 'A demo account needs an account_type_id.' },
  rebate_user_not_found: { status: 400, title: 'No client has this rebate_user_id.' },
  group_not_found: { status: 400, title: 'The platform or the connection does not offer this group.' },
  password_rejected: { status: 400, title: 'The platform asks for a stronger password in this group.' },
  code_not_accepted: { status: 400, title: 'The code is not accepted.' },
  not_supported_by_connection: { status: 400, title: 'This connection cannot do what was asked.' },
  captcha_failed: { status: 403, title: 'The captcha was not passed.' },
  front_required: { status: 403, title: 'Requests must come through the front of the API.' },
  user_not_found: { status: 404, title: 'No client has this user_id.' },
  already_registered: { status: 409, title: 'The address is a client’s already.' },
  login_taken: { status: 409, title: 'This login is in use.' },
  request_in_progress: { status: 409, title: 'A request with this Idempotency-Key is being processed.' },
  payload_too_large: { status: 413, title: 'The body or a document is too large.' },
  unsupported_media_type: { status: 415, title: 'The body must be application/json.' },
  idempotency_key_reused: { status: 422, title: 'This Idempotency-Key was used with another request.' },
  too_many_requests: { status: 429, title: 'Too many requests.' },
  internal_error: { status: 500, title: 'Something went wrong on our side.' },
  otp_delivery_failed: { status: 502, title: 'The one-time password could not be sent.' },
  platform_refused: { status: 502, title: 'The trading platform refused the service.' },
  platform_unavailable: { status: 503, title: 'The trading platform is unavailable; no account is known to exist.' },
  login_range_exhausted: { status: 503, title: 'The trading platform has no free login left.' },
  account_limit_reached: { status: 503, title: 'The trading platform has reached its account limit.' },
  account_outcome_unknown: { status: 504, title: 'Whether the account was opened is not known.' },
} as const;

export type ProblemType = keyof typeof PROBLEMS;

export interface ProblemOptions {
  /** A sentence about this occurrence; never a value that was sent. */
  detail?: string;
  errors?: Violation[] | undefined;
  /** Whole seconds, sent as `Retry-After`. */
  retryAfterSeconds?: number | undefined;
  /** More members of the problem document. */
  members?: { available?: readonly string[]; operation_id?: string };
  /** The status instead of the type's own. */
  status?: number;
  cause?: unknown;
}

/** A use case throws it to answer with a problem. `lib/http/endpoint.ts` writes it as `application/problem+json`. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly type: ProblemType;
  readonly status: number;
  readonly options: ProblemOptions;

  constructor(type: ProblemType, options: ProblemOptions = {}) {
    super(type, { cause: options.cause });
    this.type = type;
    this.status = options.status ?? PROBLEMS[type].status;
    this.options = options;
  }

  /** The problem document of RFC 9457. JSON has no undefined members. */
  toDocument(requestId: string): Record<string, unknown> {
    const { detail, errors, members } = this.options;
    return {
      type: this.type,
      title: PROBLEMS[this.type].title,
      status: this.status,
      detail,
      request_id: requestId,
      errors,
      ...members,
    };
  }
}

/** The problem that lists these violations. */
export function validationProblem(errors: Violation[]): Problem {
  const { size } = new Set(errors.map(({ rule: _, detail: __, ...place }) => JSON.stringify(place)));
  const detail = size === 1 ? '1 field needs attention.' : `${size} fields need attention.`;
  return new Problem('validation_failed', { detail, errors });
}
