import * as v from 'valibot';
import type { Violation } from '../../validators/primitives.ts';
import { PlatformFailure } from '../platform.ts';

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
  const result = v.safeParse(AnswerSchema, text);
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

export const NOT_FOUND = 13;
export const NO_PERMISSION = 8;
export const WRONG_PASSWORD = 3006;

const UNAVAILABLE = new Set([5, 6, 10, 11, 15, 1018]);
const TOO_FREQUENT = 12;
const UNDECIDED = new Set([2, 7, 9, 14, 16, 17]);
/** Codes of the configuration, of authentication and of users: each says that the command was not carried out. */
const REFUSALS = { from: 1_000, to: 3_999 };

const RESERVED: Violation = {
  pointer: '#/login',
  rule: 'reserved',
  detail: 'is reserved on another trading server',
};

/**
 * The failure that a return code other than "done" means for a command that opens an account or pays. After an
 * undocumented code the outcome is unknown.
 */
export function openingFailure(retcode: number, loginGiven = false): PlatformFailure {
  const reason = `retcode_${retcode}`;
  if (UNDECIDED.has(retcode)) return new PlatformFailure('account_outcome_unknown', { reason });
  if (retcode === 3002) return new PlatformFailure('login_range_exhausted', { reason });
  if (retcode === WRONG_PASSWORD) return new PlatformFailure('password_rejected', { reason });
  if (retcode === 3007) return new PlatformFailure('account_limit_reached', { reason });
  if (retcode === 3004) return new PlatformFailure('login_taken', { reason });
  if (retcode === 3003 && loginGiven) {
    return new PlatformFailure('validation_failed', { reason, errors: [RESERVED] });
  }
  // The connection's range belongs to another server, or lies outside this one's ranges: an operator's mistake.
  if (retcode === 3003) return new PlatformFailure('platform_refused', { reason: 'login_outside_server_ranges' });
  const known = retcode <= 15 || (retcode >= REFUSALS.from && retcode <= REFUSALS.to);
  return known ? commandFailure(retcode) : new PlatformFailure('account_outcome_unknown', { reason });
}

/** The failure that a return code other than "done" means for other commands. */
export function commandFailure(retcode: number): PlatformFailure {
  const reason = `retcode_${retcode}`;
  if (retcode === TOO_FREQUENT) {
    return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 5 });
  }
  if (UNAVAILABLE.has(retcode) || UNDECIDED.has(retcode)) {
    return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds: 10 });
  }
  return new PlatformFailure('platform_refused', { reason });
}
