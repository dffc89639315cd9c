import type { Violation } from '../../validators/primitives.ts';
import { PlatformFailure } from '../platform.ts';
import type { Answer } from './exchange.ts';

/** The result of `WNEWACCOUNT`: the new login, or the failure. The deciding line is enough, with or without `end`. */
export function readOpening({ lines, ended, closed }: Answer): number | PlatformFailure {
  const [first, ...rest] = lines;
  if (first === 'OK') {
    for (const line of rest) {
      const login = Number(/^LOGIN=(\d{1,10})$/.exec(line)?.[1] ?? 0);
      if (login > 0) return login;
    }
  }
  if (first === 'ERROR' && rest[0] !== undefined) return refusal(rest[0]) ?? outcomeUnknown('unknown_error');
  if (first === 'ERROR' && ended) return outcomeUnknown('error_without_reason');
  return outcomeUnknown(lines.length > 0 ? 'answer_not_understood' : silence(closed));
}

/** The result of `WCHKACCOUNT`. `silent`: the server does not support the command. */
export function readExistence({ lines: [first, reason = ''] }: Answer): 'exists' | 'absent' | 'silent' {
  if (first === 'OK' || first === 'Disable') return 'exists';
  return first === 'ERROR' && NO_SUCH_LOGIN.test(reason) ? 'absent' : 'silent';
}

/** The result of `WCHECKPASS`. `silent`: no answer, or one that is not about the password. */
export function readPassword({ lines: [first, reason = ''] }: Answer): 'right' | 'wrong' | 'silent' {
  if (first === 'OK') return 'right';
  return first === 'ERROR' && WRONG_PASSWORD.test(reason) ? 'wrong' : 'silent';
}

/**
 * Checks the answer to a command that creates nothing and may be sent again.
 * @throws PlatformFailure if there is no valid answer, or for an `ERROR` about the service or the server
 */
export function requireAnswer({ lines: [first, reason], closed }: Answer): void {
  if (first === undefined) throw unavailable(silence(closed));
  if (first === 'OK' || first === 'Disable') return;
  if (first !== 'ERROR' || reason === undefined) throw unavailable('answer_not_understood');
  // The gateway has lost the server. A command that opens an account may have been executed before.
  if (/^MT is disconnected$/i.test(reason)) throw unavailable('platform_disconnected');
  const failure = refusal(reason);
  if (failure !== undefined && ABOUT_US.includes(failure.reason)) throw failure;
}

/** About the login itself, unlike `command not found`. */
const NO_SUCH_LOGIN = /^(user check failed|invalid login|(user|login|account) (not found|(does )?not exist))$/i;
const WRONG_PASSWORD = /^(password is wrong|(wrong|invalid) password)$/i;
/** The server tried to open the account and failed, usually because the login exists. */
export const CREATE_FAILED = 'account_create_failed';
/** Reasons about the service or the server, not about the command. */
const ABOUT_US = ['miss_master', 'invalid_master', 'illegal_ip', 'blocked'];
/** Refusals that an operator must fix. */
const REFUSED = [
  ...['account create failed', 'invalid data', 'invalid name', 'invalid cmd'],
  ...['miss master', 'miss name', 'miss password', 'miss investor', 'invalid master', 'illegal ip'],
];
const LEVERAGE: Violation = {
  pointer: '#/leverage',
  rule: 'not_offered',
  detail: 'is not accepted by the trading platform',
};

/** @returns undefined for an undocumented text: the outcome is unknown. The text itself is dropped */
function refusal(text: string): PlatformFailure | undefined {
  const wait = /^IP is blocked\. Please wait (\d{1,6})/i.exec(text);
  if (wait !== null) return unavailable('blocked', Math.max(1, Number(wait[1])));
  const known = text.toLowerCase();
  switch (known) {
    case 'simple password':
    case 'invalid password':
      return new PlatformFailure('password_rejected', { reason: 'simple_password' });
    case 'invalid group':
      return new PlatformFailure('group_not_found', { reason: 'invalid_group' });
    case 'invalid leverage':
      return new PlatformFailure('validation_failed', { reason: 'invalid_leverage', errors: [LEVERAGE] });
    default:
      if (!REFUSED.includes(known)) return undefined;
      return new PlatformFailure('platform_refused', { reason: known.replaceAll(' ', '_') });
  }
}

/** The connection was open, but no valid answer came. */
export function hasNoResponse(error: unknown): boolean {
  return error instanceof PlatformFailure && NO_ANSWER.includes(error.reason);
}

const NO_ANSWER = ['closed_without_answer', 'no_answer', 'answer_not_understood'];

function silence(closed: boolean): string {
  return closed ? 'closed_without_answer' : 'no_answer';
}

function outcomeUnknown(reason: string): PlatformFailure {
  return new PlatformFailure('account_outcome_unknown', { reason });
}

export function unavailable(reason: string, retryAfterSeconds = 10): PlatformFailure {
  return new PlatformFailure('platform_unavailable', { reason, retryAfterSeconds });
}
