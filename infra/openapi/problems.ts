import { PROBLEMS, type ProblemType } from '../../lib/problem.ts';
import { KEPT_SECONDS } from '../../lib/records/operations.ts';
import { EXTENSIONS, type OperationId, ROUTES } from '../routes.ts';

/** The operations by their `operationId` in the OpenAPI document. */
export const OPERATIONS: readonly OperationId[] = [...ROUTES, ...EXTENSIONS].map(({ operation }) => operation);

const EVERY: readonly OperationId[] = OPERATIONS;
const REGISTRATION: readonly OperationId[] = ['requestRegistration'];
const CONFIRMATION: readonly OperationId[] = ['confirmRegistration'];
const ACCOUNTS: readonly OperationId[] = ['createTp5Account', 'createTp4Account'];
/** Those that keep an `Idempotency-Key`. */
const KEYED: readonly OperationId[] = [...REGISTRATION, ...ACCOUNTS];
const TP5: readonly OperationId[] = ['createTp5Account'];
const TP4: readonly OperationId[] = ['createTp4Account'];

/** A member of the problem document beside `type`, `title`, `status` and `request_id`. */
export type ProblemMember = 'detail' | 'errors' | 'available' | 'operation_id';

interface ProblemNote {
  /** The operations that answer it. */
  operations: readonly OperationId[];
  when: string;
  /** Where the type has a second status: when it is that one. */
  whenSettling?: string;
  /** Whether it comes with `Retry-After`. */
  retryAfter?: 'always' | 'sometimes';
  /** The members that it has, and whether they are always there. */
  members?: Partial<Record<ProblemMember, 'always' | 'sometimes'>>;
}

/** What OpenAPI says of each public error type beside its status and title. */
export const PROBLEM_NOTES: Readonly<Record<ProblemType, ProblemNote>> = {
  malformed_json: { operations: EVERY, when: 'The body is empty, or not JSON, or not an object at the root.' },
  validation_failed: {
    operations: EVERY,
    when: 'A field, the path parameter or a header breaks its rule; `errors` lists every fault of the request at once.',
    members: { detail: 'sometimes', errors: 'always' },
  },
  form_not_found: { operations: REGISTRATION, when: 'No form has this `form_id`.' },
  referrer_not_found: { operations: REGISTRATION, when: 'No client has this referral code.' },
  otp_type_unavailable: {
    operations: REGISTRATION,
    when: 'This deployment has no integration for that channel; `available` lists those that it has.',
    members: { available: 'always' },
  },
  tp5_connection_not_found: {
    operations: TP5,
    when: 'No connection is found for the given `connection_id`, or it is one of the other platform version.',
  },
  tp4_connection_not_found: {
    operations: TP4,
    when: 'No connection is found for the given `connection_id`, or it is one of the other platform version.',
  },
  account_type_not_found: {
    operations: ACCOUNTS,
    when: 'The `account_type_id` is unknown, or of the other platform version.',
  },
  account_type_required: {
    operations: ACCOUNTS,
    when: 'The connection is a demo one and `account_type_id` is absent.',
  },
  rebate_user_not_found: { operations: ACCOUNTS, when: 'No client has this `rebate_user_id`.' },
  group_not_found: {
    operations: ACCOUNTS,
    when: 'The platform does not know the group, or the connection does not offer it.',
  },
  password_rejected: {
    operations: ACCOUNTS,
    when: 'The platform refused a password that keeps the rules of its version, because its group asks for more.',
  },
  not_supported_by_connection: {
    operations: TP4,
    when: "This connection's protocol cannot do what was asked, such as a `login` of one's own; `errors` names the fields. Nothing was sent to the platform.",
    members: { errors: 'always' },
  },
  code_not_accepted: {
    operations: CONFIRMATION,
    when: 'A wrong, expired or used code, no guesses left, no such registration, or a wrong password: one answer for all. The person asks for a new code.',
  },
  captcha_failed: {
    operations: REGISTRATION,
    when: 'The deployment asks for a captcha, and its provider refused the `captcha-token`: wrong, expired or used. Have a new one solved.',
  },
  user_not_found: { operations: ACCOUNTS, when: 'No client has this `user_id`.' },
  login_taken: { operations: ACCOUNTS, when: 'The custom `login` is in use.' },
  request_in_progress: {
    operations: KEYED,
    when: 'A request with the same `Idempotency-Key` is being worked on. Try again after `Retry-After`.',
    retryAfter: 'always',
  },
  payload_too_large: {
    operations: EVERY,
    when: 'The body is over its limit; or, of a registration, a document or all fields of the form together: then `errors` names it.',
    members: { detail: 'sometimes', errors: 'sometimes' },
  },
  unsupported_media_type: { operations: EVERY, when: 'The content type is not `application/json` or a `+json` type.' },
  idempotency_key_reused: {
    operations: KEYED,
    when: `The \`Idempotency-Key\` was used with another body within the last ${KEPT_SECONDS / 3_600} hours.`,
  },
  too_many_requests: {
    operations: [...REGISTRATION, ...CONFIRMATION],
    when: 'A limit is reached: see the operation. Try again after `Retry-After`.',
    retryAfter: 'always',
  },
  internal_error: {
    operations: EVERY,
    when: 'A fault of ours. Safe to repeat, with the same `Idempotency-Key` where there was one.',
  },
  otp_delivery_failed: {
    operations: REGISTRATION,
    when: 'The message provider refused or failed, and nothing was sent. Safe to repeat.',
  },
  platform_refused: {
    operations: ACCOUNTS,
    when: "The platform refused the service: credentials, permissions, or an address that it does not admit. A matter for the broker's operators. No account was opened.",
  },
  platform_unavailable: {
    operations: ACCOUNTS,
    when: 'The platform cannot be reached or is busy. No account was opened; safe to repeat after `Retry-After`.',
    retryAfter: 'always',
  },
  login_range_exhausted: {
    operations: ACCOUNTS,
    when: 'The platform, or the range of logins that the connection has for itself, has no login left. No account was opened.',
  },
  account_limit_reached: {
    operations: TP5,
    when: "The platform's licence admits no further account. No account was opened.",
  },
  account_outcome_unknown: {
    operations: ACCOUNTS,
    when: 'The platform may have opened the account and did not say so in time. A request with an `Idempotency-Key` may be repeated with the same key: never a second account is opened; `Retry-After` comes where a repeat may find out more. Do not repeat a request that had no key, which may open a second account: have the operation `operation_id` looked into.',
    whenSettling:
      'A repeated request whose outcome is still unknown and cannot be looked up; an operator must settle the operation `operation_id`.',
    retryAfter: 'sometimes',
    members: { detail: 'sometimes', operation_id: 'always' },
  },
};

export const PROBLEM_TYPES = Object.keys(PROBLEMS) as ProblemType[];

/** The statuses that a problem of this type is answered with; the second one where it has one is that of a retry. */
export function statusesOf(type: ProblemType): number[] {
  const row: { status: number; settleStatus?: number } = PROBLEMS[type];
  return row.settleStatus === undefined ? [row.status] : [row.status, row.settleStatus];
}

/** Whether `Retry-After` comes with this type at this status: an operator's work has no hour. */
export function retriesAfter(type: ProblemType, status: number): 'always' | 'sometimes' | undefined {
  return status === PROBLEMS[type].status ? PROBLEM_NOTES[type].retryAfter : undefined;
}

/** The problem types that an operation answers with this status. */
export function typesAnswered(operation: OperationId, status: number): ProblemType[] {
  return PROBLEM_TYPES.filter(
    (type) => PROBLEM_NOTES[type].operations.includes(operation) && statusesOf(type).includes(status),
  );
}
