import type { Violation } from '../../validators/primitives.ts';
import { PlatformFailure, type PlatformFailureKind, type Proof } from '../platform.ts';
import { type AnswerKind, commandProof, provenBy } from '../proof.ts';
import type { ServerReply } from './exchange.ts';

/** The server tried to open the account and failed, usually because the login exists. */
export const ACCOUNT_CREATE_FAILED = 'account_create_failed';

type TextRow = readonly [
  text: RegExp,
  /** What the text means as an answer to a command that opens an account, and to a question. */
  opening: AnswerKind,
  question: AnswerKind,
  /** What the caller hears. */
  refusal: PlatformFailureKind,
  /** The code for the log. */
  reason: string,
];

/**
 * The texts after `ERROR`, in any case, without a full stop. A row is one text; some gateways say it in several ways. Only
 * a text about the command itself shows that a gateway lacks it.
 */
const TEXTS: readonly TextRow[] = [
  [/^simple password$/, 'content', 'unknown_text', 'password_rejected', 'simple_password'],
  [/^invalid password$/, 'content', 'unknown_text', 'password_rejected', 'simple_password'],
  [/^invalid group$/, 'content', 'unknown_text', 'group_not_found', 'invalid_group'],
  [/^invalid leverage$/, 'content', 'unknown_text', 'validation_failed', 'invalid_leverage'],
  [/^account create failed$/, 'content', 'unknown_text', 'platform_refused', ACCOUNT_CREATE_FAILED],
  [/^invalid data$/, 'content', 'unknown_text', 'platform_refused', 'invalid_data'],
  [/^invalid name$/, 'content', 'unknown_text', 'platform_refused', 'invalid_name'],
  [/^miss name$/, 'content', 'unknown_text', 'platform_refused', 'miss_name'],
  [/^miss password$/, 'content', 'unknown_text', 'platform_refused', 'miss_password'],
  [/^miss investor$/, 'content', 'unknown_text', 'platform_refused', 'miss_investor'],
  [/^miss master$/, 'not_us', 'not_us', 'platform_refused', 'miss_master'],
  [/^invalid master$/, 'not_us', 'not_us', 'platform_refused', 'invalid_master'],
  [/^illegal ip$/, 'not_us', 'not_us', 'platform_refused', 'illegal_ip'],
  // The gateway has lost its connection to the server. A command may have been executed before.
  [/^mt is disconnected$/, 'server_state', 'server_state', 'platform_unavailable', 'platform_disconnected'],
  [/^no connection$/, 'server_state', 'server_state', 'platform_unavailable', 'platform_disconnected'],
  [/^common error$/, 'server_state', 'server_state', 'platform_unavailable', 'platform_disconnected'],
  // The flood guard counts by visitor, and each operation is a visitor of its own (`visitorAddress`): the guard has seen
  // this operation, so its command was repeated on the way, and may have been executed before.
  [/^ip is blocked/, 'server_state', 'server_state', 'platform_unavailable', 'blocked'],
  [/^invalid cmd$/, 'no_command', 'no_command', 'platform_refused', 'invalid_cmd'],
  [/\b(command|cmd|w?chkaccount)\b/, 'unknown_text', 'no_command', 'account_outcome_unknown', 'unknown_error'],
  [/^user check failed$/, 'unknown_text', 'absent', 'account_outcome_unknown', 'unknown_error'],
  [/^invalid login$/, 'unknown_text', 'absent', 'account_outcome_unknown', 'unknown_error'],
  [/^(user|login|account) not found$/, 'unknown_text', 'absent', 'account_outcome_unknown', 'unknown_error'],
  [/^(user|login|account) (does )?not exist$/, 'unknown_text', 'absent', 'account_outcome_unknown', 'unknown_error'],
  [/./, 'unknown_text', 'unknown_text', 'account_outcome_unknown', 'unknown_error'],
];

function findText(text: string): TextRow | undefined {
  const plain = text.toLowerCase().replace(/[.!\s]+$/, '');
  return TEXTS.find(([pattern]) => pattern.test(plain));
}

/** The result of `WNEWACCOUNT`: the new login, or the failure. The deciding line is enough, with or without `end`. */
export function readOpening({ lines, ended, closed }: ServerReply): number | PlatformFailure {
  const [first, ...rest] = lines;
  if (first === 'OK') {
    for (const line of rest) {
      const login = Number(/^login\s*=\s*(\d{1,10})\.?$/i.exec(line)?.[1] ?? 0);
      if (login > 0) return login;
    }
  }
  if (first === 'ERROR' && rest[0] !== undefined) return openingRefusal(rest[0]);
  if (first === 'ERROR' && ended) return outcomeUnknown('error_without_reason');
  return outcomeUnknown(lines.length > 0 ? 'answer_not_understood' : silence(closed));
}

const LEVERAGE: Violation = {
  pointer: '#/leverage',
  rule: 'not_offered',
  detail: 'is not accepted by the trading platform',
};

/** The failure that a text means. The text itself is dropped. */
function openingRefusal(text: string): PlatformFailure {
  const [, kind = 'unknown_text', , refusal, reason] = findText(text) ?? [];
  if (refusal === undefined || reason === undefined) return outcomeUnknown('error_without_reason');
  if (refusal === 'platform_unavailable')
    return unavailableFailure(reason, commandProof('open', kind), waitSeconds(text));
  const errors = refusal === 'validation_failed' ? { errors: [LEVERAGE] } : {};
  return new PlatformFailure(refusal, { reason, proof: commandProof('open', kind), ...errors });
}

/** The seconds after which the flood guard lets a visitor pass. */
function waitSeconds(text: string): number | undefined {
  const wait = /please wait (\d{1,6})/i.exec(text)?.[1];
  return wait === undefined ? undefined : Math.max(1, Number(wait));
}

/** What an answer to a question says. @throws PlatformFailure if the service must ask again, or is refused */
export function readExistence({ lines: [first, text], closed }: ServerReply): 'exists' | 'absent' | 'lacks' {
  // `DISABLE`: the account exists, and may not trade.
  if (first === 'OK' || first === 'DISABLE') return 'exists';
  if (first === undefined) throw unavailableFailure(silence(closed));
  if (first !== 'ERROR' || text === undefined) throw unavailableFailure('answer_not_understood');
  const [, , kind = 'unknown_text', , reason = 'unknown_error'] = findText(text) ?? [];
  const proven = provenBy('look', kind);
  if (proven === 'refused')
    throw new PlatformFailure('platform_refused', { reason, proof: commandProof('open', kind) });
  if (proven === 'unanswered') throw unavailableFailure(reason);
  return proven;
}

/** The server refuses our master password; the plug-in then says `invalid data`. In both cases nothing was executed. */
export function isMasterRefused(outcome: unknown): outcome is PlatformFailure {
  return outcome instanceof PlatformFailure && ['invalid_master', 'invalid_data'].includes(outcome.reason);
}

/** The server has refused this service. */
export function isServiceRefused(error: unknown): boolean {
  return error instanceof PlatformFailure && error.kind === 'platform_refused' && error.proof === 'not_served';
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
