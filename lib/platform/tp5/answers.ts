import * as v from 'valibot';
import type { Violation } from '../../validators/primitives.ts';
import { PlatformFailure, type PlatformFailureKind, type PlatformFailureOptions } from '../platform.ts';
import { type AnswerKind, commandProof, provenBy } from '../proof.ts';

/** An answer of the Web API; numbers are strings, but JSON numbers are accepted. */
export interface WebApiAnswer {
  retcode: number;
  answer?: unknown;
  login?: unknown;
  /** True: the body was refused with code 3 before, and sent again in another form. */
  isRepeated?: boolean;
}

const WHOLE = /^\d{1,15}$/;
const RetcodeSchema = v.pipe(
  v.union([v.string(), v.number()]),
  // "0 Done": the number before the first space counts, never the text.
  v.transform((value) => String(value).split(' ', 1)[0] ?? ''),
  v.regex(WHOLE),
  v.transform(Number),
);
const AnswerSchema = v.pipe(v.string(), v.parseJson(), v.looseObject({ retcode: RetcodeSchema }));

export const LoginSchema = v.pipe(
  v.union([v.string(), v.number()]),
  v.transform(String),
  v.regex(/^\d{1,16}$/),
  v.transform(Number),
  v.safeInteger(),
  v.minValue(1),
);

/** Parses an answer of the Web API. @returns undefined for any other text */
export function parseAnswer(text: string): (WebApiAnswer & Record<string, unknown>) | undefined {
  // Servers leave control characters in strings as they are. Between values they are white space.
  const result = v.safeParse(AnswerSchema, text.replace(/^\ufeff/, '').replace(/[\x00-\x1f]/g, ' '));
  return result.success ? result.output : undefined;
}

export function isDoneAnswer({ retcode }: WebApiAnswer): boolean {
  return codeKind(retcode) === 'done';
}

/** Parses a member of an answer; @throws PlatformFailure `platform_unavailable` if it is malformed */
export function parseMember<const S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (!result.success) throw new PlatformFailure('platform_unavailable', { reason: 'malformed_answer' });
  return result.output;
}

/** Return codes (`retcode`) of the Web API. */
export const RETCODE_INVALID_PARAMETERS = 3;
export const RETCODE_NOT_FOUND = 13;
export const RETCODE_NO_PERMISSION = 8;
const WRONG_PASSWORD = 3006;
const TOO_FREQUENT = 12;

/** The kinds of the return codes. A code that no row has is an `unknown_code`. */
const CODE_KINDS: readonly (readonly [kind: AnswerKind, codes: readonly number[]])[] = [
  ['done', [0, 1]],
  ['exists', [3_004]],
  ['wrong_password', [WRONG_PASSWORD]],
  ['absent', [RETCODE_NOT_FOUND]],
  ['content', [RETCODE_INVALID_PARAMETERS, 3_001, 3_002, 3_003, 3_005, 3_007]],
  ['no_right', [RETCODE_NO_PERMISSION]],
  ['busy_at_login', [1_018]],
  ['not_us', codesBetween(1_001, 1_034)],
  ['payment', [...codesBetween(4_001, 4_009), 10_006, 10_018, 10_019]],
  // Codes about the server's state. Servers answer executed commands with them.
  ['server_state', [4, 5, 6, 10, 11, TOO_FREQUENT, 15, 1_000]],
  // The server itself does not know the outcome: network, timeout, common error, partial, canceled, duplicate.
  ['server_unsure', [2, 7, 9, 14, 16, 17]],
];

function codesBetween(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

export function codeKind(retcode: number): AnswerKind {
  return CODE_KINDS.find(([, codes]) => codes.includes(retcode))?.[0] ?? 'unknown_code';
}

const RESERVED: Violation = {
  pointer: '#/login',
  rule: 'reserved',
  detail: 'is reserved on another trading server',
};

/** The failure that a return code other than "done" means for a command that opens an account. */
export function openingFailure(retcode: number, loginGiven = false): PlatformFailure {
  const reason = `retcode_${retcode}`;
  const refused = (kind: PlatformFailureKind, more: Partial<PlatformFailureOptions> = {}) =>
    new PlatformFailure(kind, { reason, proof: 'content', ...more });
  if (retcode === 3_002) return refused('login_range_exhausted');
  if (retcode === WRONG_PASSWORD) return refused('password_rejected');
  if (retcode === 3_007) return refused('account_limit_reached');
  if (retcode === 3_004) return refused('login_taken');
  if (retcode === 3_003 && loginGiven) return refused('validation_failed', { errors: [RESERVED] });
  // The connection's range belongs to another server, or lies outside this server's ranges: an operator's mistake.
  if (retcode === 3_003) return refused('platform_refused', { reason: 'login_outside_server_ranges' });
  return actingFailure('open', retcode);
}

/** The failure that a return code other than "done" means for a payment. */
export function paymentFailure(retcode: number): PlatformFailure {
  return actingFailure('deposit', retcode);
}

function actingFailure(step: 'open' | 'deposit', retcode: number): PlatformFailure {
  const kind = codeKind(retcode);
  const proof = commandProof(step, kind);
  const { kind: failure, options } = commandFailure(retcode);
  if (proof !== 'nothing') return new PlatformFailure(failure, { ...options, proof });
  if (provenBy(step, kind) === 'outcome_unknown') return new PlatformFailure('account_outcome_unknown', options);
  return new PlatformFailure('platform_unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, ...options });
}

/** Whether a code shows that the server has read the body of the command: servers answer 3 to a body of an unknown type. */
export function showsBodyRead({ retcode }: WebApiAnswer): boolean {
  const kinds: AnswerKind[] = ['done', 'exists', 'wrong_password', 'content'];
  return kinds.includes(codeKind(retcode)) && retcode !== RETCODE_INVALID_PARAMETERS;
}

const RETRY_AFTER_SECONDS = 10;

/** The failure that a return code other than "done" means for a command that changes nothing. */
export function commandFailure(retcode: number): PlatformFailure {
  const reason = `retcode_${retcode}`;
  if (provenBy('look', codeKind(retcode)) !== 'unanswered') return new PlatformFailure('platform_refused', { reason });
  const retryAfterSeconds = retcode === TOO_FREQUENT ? 5 : RETRY_AFTER_SECONDS;
  return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds });
}
