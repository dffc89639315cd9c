import type { Violation } from '../../validators/primitives.ts';
import { PlatformFailure, type PlatformFailureKind, type Proof } from '../platform.ts';
import { type AnswerKind, commandProof, provenBy } from '../proof.ts';
import type { ServerReply } from './exchange.ts';

/** The result of `WNEWACCOUNT`: the new login, or the failure. The deciding line is enough, with or without `end`. */
export function readOpening({ lines, ended, closed }: ServerReply): number | PlatformFailure {
  const [first, ...rest] = lines;
  if (first === 'OK') {
    for (const line of rest) {
      const login = Number(/^login\s*=\s*(\d{1,10})\.?$/i.exec(line)?.[1] ?? 0);
      if (login > 0) return login;
    }
  }
  if (first === 'ERROR' && rest[0] !== undefined) return refusal(rest[0]) ?? outcomeUnknown('unknown_error');
  if (first === 'ERROR' && ended) return outcomeUnknown('error_without_reason');
  return outcomeUnknown(lines.length > 0 ? 'answer_not_understood' : silence(closed));
}

/** The result of `WCHKACCOUNT`. `lacks`: the server answers that it has no such command. */
export function readExistence(answer: ServerReply): 'exists' | 'absent' | 'lacks' {
  // The account exists, and may not trade.
  if (answer.lines[0] === 'DISABLE') return 'exists';
  const proven = provenBy('look', answerKind(answer));
  return proven === 'exists' || proven === 'absent' ? proven : 'lacks';
}

/** The result of a question for a password. `lacks`: the server answers that it has no such command. */
export function readPassword(answer: ServerReply): 'accepted' | 'refused' | 'lacks' {
  const proven = provenBy('password', answerKind(answer));
  return proven === 'accepted' || proven === 'refused' ? proven : 'lacks';
}

/** The kind of an answer to a question in which `answerFailure` found no failure. */
function answerKind({ lines: [first, reason = ''] }: ServerReply): AnswerKind {
  if (first === 'OK') return 'done';
  if (NO_SUCH_LOGIN.test(plain(reason))) return 'absent';
  return WRONG_PASSWORD.test(plain(reason)) ? 'wrong_password' : 'no_command';
}

/**
 * The failure of a command that creates nothing and may be sent again: no valid answer, or an `ERROR` about the service or
 * the server. Undefined: the answer is about the command.
 */
export function answerFailure({ lines: [first, reason], closed }: ServerReply): PlatformFailure | undefined {
  if (first === undefined) return unavailableFailure(silence(closed));
  if (first === 'OK' || first === 'DISABLE') return undefined;
  if (first !== 'ERROR' || reason === undefined) return unavailableFailure('answer_not_understood');
  if (DISCONNECTED.test(plain(reason))) return unavailableFailure(LOST_SERVER);
  const failure = refusal(reason);
  return failure !== undefined && [...ABOUT_US, BLOCKED].includes(failure.reason) ? failure : undefined;
}

/** The server refuses our master password; the plug-in then says `invalid data`. In both cases nothing was executed. */
export function isMasterRefused(outcome: unknown): outcome is PlatformFailure {
  return outcome instanceof PlatformFailure && ['invalid_master', 'invalid_data'].includes(outcome.reason);
}

/** About the login itself, unlike `command not found`. */
const NO_SUCH_LOGIN = /^(user check failed|invalid login|(user|login|account) (not found|(does )?not exist))$/;
const WRONG_PASSWORD = /^(password is wrong|(wrong|invalid) password)$/;
/** The gateway has lost its connection to the server. A command may have been executed before. */
const DISCONNECTED = /^(mt is disconnected|no connection|common error)$/;
const LOST_SERVER = 'platform_disconnected';
/**
 * The flood guard, which counts by visitor. Each operation is a visitor of its own (`visitorAddress`), so the guard has seen
 * this operation: its command was repeated on the way, and may have been executed before.
 */
const BLOCKED = 'blocked';
/** The server tried to open the account and failed, usually because the login exists. */
export const ACCOUNT_CREATE_FAILED = 'account_create_failed';
/** The reasons by which the gateway refuses this service itself, whatever the account. */
const ABOUT_US = ['miss_master', 'invalid_master', 'illegal_ip'];
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

/**
 * The failure that a text of the gateway means. The text itself is dropped.
 * @returns undefined for an undocumented text: the outcome is unknown
 */
function refusal(text: string): PlatformFailure | undefined {
  const wait = /^IP is blocked\. Please wait (\d{1,6})/i.exec(text);
  if (wait !== null)
    return unavailableFailure(BLOCKED, commandProof('open', 'server_state'), Math.max(1, Number(wait[1])));
  const refused = (kind: PlatformFailureKind, reason: string, errors?: Violation[]) => {
    const proof = commandProof('open', ABOUT_US.includes(reason) ? 'not_us' : 'content');
    return new PlatformFailure(kind, { reason, proof, ...(errors && { errors }) });
  };
  const known = plain(text);
  if (DISCONNECTED.test(known)) return unavailableFailure(LOST_SERVER, commandProof('open', 'server_state'));
  switch (known) {
    case 'simple password':
    case 'invalid password':
      return refused('password_rejected', 'simple_password');
    case 'invalid group':
      return refused('group_not_found', 'invalid_group');
    case 'invalid leverage':
      return refused('validation_failed', 'invalid_leverage', [LEVERAGE]);
    default:
      if (!REFUSED.includes(known)) return undefined;
      return refused('platform_refused', known.replaceAll(' ', '_'));
  }
}

/** A reason without case and full stop. */
function plain(reason: string): string {
  return reason.toLowerCase().replace(/[.!\s]+$/, '');
}

/** The server has refused this service. */
export function isServiceRefused(error: unknown): boolean {
  return error instanceof PlatformFailure && ABOUT_US.includes(error.reason);
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

export function unavailableFailure(reason: string, proof: Proof = 'nothing', retryAfterSeconds = 10): PlatformFailure {
  return new PlatformFailure('platform_unavailable', { reason, proof, retryAfterSeconds });
}
