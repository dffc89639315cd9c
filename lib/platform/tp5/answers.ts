import * as v from 'valibot';
import type { Violation } from '../../validators/primitives.ts';
import { PlatformFailure, type PlatformFailureKind } from '../platform.ts';
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

export const RETCODE_INVALID_PARAMETERS = 3;
export const RETCODE_NO_PERMISSION = 8;
export const RETCODE_NOT_FOUND = 13;
const RETCODE_TOO_FREQUENT = 12;
const RETCODE_LOGIN_PROHIBITED = 3_003;

type CodeRow = readonly [from: number, to: number, name: string, kind: AnswerKind, refusal?: PlatformFailureKind];

/**
 * The return codes (`retcode`) of the Web API: both ends of the codes with a name, what they prove, and what the caller of
 * a refused opening hears. Absent: it follows from the proof.
 */
const RETCODES: readonly CodeRow[] = [
  [0, 0, 'done', 'done'],
  [1, 1, 'done, nothing to do', 'done'],
  [2, 2, 'common error', 'server_unsure'],
  [3, 3, 'invalid parameters', 'content'],
  [4, 4, 'invalid data', 'server_state'],
  [5, 5, 'disk error', 'server_state'],
  [6, 6, 'memory error', 'server_state'],
  [7, 7, 'network error', 'server_unsure'],
  [8, 8, 'no permission', 'no_right'],
  [9, 9, 'timeout', 'server_unsure'],
  [10, 10, 'no link to the trade server', 'server_state'],
  [11, 11, 'no service', 'server_state'],
  [12, 12, 'too frequent', 'server_state'],
  [13, 13, 'not found', 'absent'],
  [14, 14, 'partial', 'server_unsure'],
  [15, 15, 'shutting down', 'server_state'],
  [16, 16, 'canceled', 'server_unsure'],
  [17, 17, 'duplicate', 'server_unsure'],
  [1_000, 1_000, 'unspecific failure', 'server_state'],
  [1_018, 1_018, 'server busy at the login', 'busy_at_login'],
  [1_001, 1_034, 'authentication', 'not_us'],
  [3_001, 3_001, 'last administrator', 'content'],
  [3_002, 3_002, 'logins exhausted', 'content', 'login_range_exhausted'],
  [3_003, 3_003, 'login of another server', 'content'],
  [3_004, 3_004, 'login exists', 'exists'],
  [3_005, 3_005, 'own account', 'content'],
  [3_006, 3_006, 'password not complex enough', 'content', 'password_rejected'],
  [3_007, 3_007, 'user limit of the license', 'content', 'account_limit_reached'],
  [4_001, 4_009, 'payment refused', 'payment'],
  [10_006, 10_006, 'request rejected', 'payment'],
  [10_018, 10_018, 'market closed', 'payment'],
  [10_019, 10_019, 'not enough money', 'payment'],
];

function findRetcode(retcode: number): CodeRow {
  const found = RETCODES.find(([from, to]) => from <= retcode && retcode <= to);
  return found ?? [retcode, retcode, 'unlisted', 'unknown_code'];
}

export function codeKind(retcode: number): AnswerKind {
  return findRetcode(retcode)[3];
}

const RESERVED: Violation = {
  pointer: '#/login',
  rule: 'reserved',
  detail: 'is reserved on another trading server',
};

/** The failure that a return code other than "done" means for a command that opens an account. */
export function openingFailure(retcode: number, loginGiven = false): PlatformFailure {
  const reason = `retcode_${retcode}`;
  const [, , , kind, refusal] = findRetcode(retcode);
  const proof = commandProof('open', kind);
  if (kind === 'exists') return new PlatformFailure('login_taken', { reason, proof });
  if (refusal !== undefined) return new PlatformFailure(refusal, { reason, proof });
  if (retcode !== RETCODE_LOGIN_PROHIBITED) return actingFailure('open', retcode);
  if (loginGiven) return new PlatformFailure('validation_failed', { reason, proof: 'content', errors: [RESERVED] });
  // The connection's range belongs to another server, or lies outside this server's ranges: an operator's mistake.
  return new PlatformFailure('platform_refused', { reason: 'login_outside_server_ranges', proof: 'content' });
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
  if (provenBy(step, kind) === 'unknown') return new PlatformFailure('account_outcome_unknown', options);
  return new PlatformFailure('platform_unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, ...options });
}

/** Whether a code shows that the server has read the body of the command: servers answer 3 to a body of an unknown type. */
export function showsBodyRead({ retcode }: WebApiAnswer): boolean {
  const kinds: AnswerKind[] = ['done', 'exists', 'content'];
  return kinds.includes(codeKind(retcode)) && retcode !== RETCODE_INVALID_PARAMETERS;
}

const RETRY_AFTER_SECONDS = 10;

/** The failure that a return code other than "done" means for a command that changes nothing. */
export function commandFailure(retcode: number): PlatformFailure {
  const reason = `retcode_${retcode}`;
  if (provenBy('look', codeKind(retcode)) !== 'unanswered') return new PlatformFailure('platform_refused', { reason });
  const retryAfterSeconds = retcode === RETCODE_TOO_FREQUENT ? 5 : RETRY_AFTER_SECONDS;
  return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds });
}
