import * as v from 'valibot';
import type { Violation } from '../../validators/primitives.ts';
import { PlatformFailure, type PlatformFailureKind, type PlatformFailureOptions } from '../platform.ts';

/** An answer of the Web API; numbers are strings, but JSON numbers are accepted. */
export interface WebApiAnswer {
  retcode: number;
  answer?: unknown;
  login?: unknown;
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

/** @returns undefined for anything that is not an answer of the Web API */
export function parseAnswer(text: string): (WebApiAnswer & Record<string, unknown>) | undefined {
  // Servers leave control characters in strings as they are. Between values they are white space.
  const result = v.safeParse(AnswerSchema, text.replace(/^\ufeff/, '').replace(/[\x00-\x1f]/g, ' '));
  return result.success ? result.output : undefined;
}

export function isDone({ retcode }: WebApiAnswer): boolean {
  return retcode === 0 || retcode === 1;
}

/** Parses a member of an answer; @throws PlatformFailure `platform_unavailable` if it is malformed */
export function parseMember<const S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (!result.success) throw new PlatformFailure('platform_unavailable', { reason: 'malformed_answer' });
  return result.output;
}

export const INVALID_PARAMETERS = 3;
export const NOT_FOUND = 13;
export const NO_PERMISSION = 8;
export const WRONG_PASSWORD = 3006;

/** Codes about the server's state. Servers answer executed commands with them. */
const STATE = new Set([4, 5, 6, 10, 11, 12, 15, 1_000]);
const TOO_FREQUENT = 12;
const RETRY_AFTER_SECONDS = 10;
const BUSY_AT_LOGIN = 1_018;
/** The server itself does not know the outcome: network, timeout, common error, partial, canceled, duplicate. */
const LOST = new Set([2, 7, 9, 14, 16, 17]);
/** The failed authentications. */
const AUTHENTICATION = { from: 1_001, to: 1_034 };
/** Refusals of an account. */
const USERS = { from: 3_001, to: 3_007 };
/** Refusals of a payment. */
const PAYMENTS = { from: 4_001, to: 4_009 };
const PAYMENT_CODES = new Set([10_006, 10_018, 10_019]);

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
  // The connection's range belongs to another server, or lies outside this one's ranges: an operator's mistake.
  if (retcode === 3_003) return refused('platform_refused', { reason: 'login_outside_server_ranges' });
  return actingFailure(retcode, isContent(retcode));
}

/** The failure that a return code other than "done" means for a payment. */
export function paymentFailure(retcode: number): PlatformFailure {
  return actingFailure(retcode, isContent(retcode) || isIn(PAYMENTS, retcode) || PAYMENT_CODES.has(retcode));
}

/**
 * Only codes about the command's content or our rights prove that nothing was done. A code that no list has counts as one
 * about the server's state.
 */
function actingFailure(retcode: number, isAboutContent: boolean): PlatformFailure {
  const { kind, options } = commandFailure(retcode);
  if (isAboutContent) return new PlatformFailure(kind, { ...options, proof: 'content' });
  if (retcode === NO_PERMISSION || isIn(AUTHENTICATION, retcode)) {
    return new PlatformFailure(kind, { ...options, proof: 'rights' });
  }
  if (LOST.has(retcode)) return new PlatformFailure('account_outcome_unknown', options);
  return new PlatformFailure('platform_unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, ...options });
}

/** Whether a code shows that the server has read the body of the command. */
export function showsBodyRead(answer: WebApiAnswer): boolean {
  return isDone(answer) || isIn(USERS, answer.retcode);
}

function isContent(retcode: number): boolean {
  return retcode === INVALID_PARAMETERS || retcode === NOT_FOUND || isIn(USERS, retcode);
}

function isIn({ from, to }: { from: number; to: number }, retcode: number): boolean {
  return from <= retcode && retcode <= to;
}

/** The failure that a return code other than "done" means for a command that changes nothing. */
export function commandFailure(retcode: number): PlatformFailure {
  const reason = `retcode_${retcode}`;
  if (STATE.has(retcode) || LOST.has(retcode) || retcode === BUSY_AT_LOGIN) {
    const retryAfterSeconds = retcode === TOO_FREQUENT ? 5 : RETRY_AFTER_SECONDS;
    return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds });
  }
  return new PlatformFailure('platform_refused', { reason });
}
