import type { AccountAnswer } from '../account-calls.ts';
import type { Tried } from './rounds.ts';

/** A request for a registration. */
export interface Registration extends Tried {
  email: string;
  /** The address that it comes from. */
  source: string;
  /** Every answer. */
  words: string[];
}

/** The observable result of one request. */
export interface RegistrationSight {
  /** How many were sent to its address. */
  messages: number;
  /** Nothing befell it, and the mail service did not fail. */
  isUndisturbed: boolean;
}

const ANSWERS = new Set([
  '204',
  '409 request_in_progress',
  '429 too_many_requests',
  '500 internal_error',
  '502 otp_delivery_failed',
]);

export function wordOfRegistration({ status, body }: AccountAnswer): string {
  return status === 204 ? '204' : `${status} ${body.type}`;
}

/** After each try: one message at most for each use of the key. @throws Error */
export function checkRegistration(
  sight: RegistrationSight,
  intent: Registration,
  answer: AccountAnswer | undefined,
): void {
  const wrong = (what: string) => new Error(`${intent.name}: ${what}`);
  checkMessages(sight, intent);
  if (answer === undefined) return;
  const word = wordOfRegistration(answer);
  if (!ANSWERS.has(word)) throw wrong(`the contract has no answer ${word}`);
  const hasFailed = intent.words.some((one) => one.startsWith('5'));
  // A try that failed, was killed or is paused may have used up a count.
  const isCounted = hasFailed || intent.befallen || intent.running > 0;
  if (answer.status === 429 && !isCounted && intent.uses === 1) throw wrong('a limit is reached by its own repeats');
  intent.words.push(word);
  if (
    word === '502 otp_delivery_failed' &&
    intent.running === 0 &&
    sight.messages > Math.max(intent.answers.length, intent.uses - 1)
  ) {
    throw wrong('502, but there is a message');
  }
  if (answer.status !== 204) return;
  if (sight.messages === 0 && sight.isUndisturbed) throw wrong('204 without a message');
  if (intent.answers.length < intent.uses) intent.answers.push(answer);
}

/**
 * Whether all of it can have taken one place of its source only. A try that failed has used up one for itself, also a
 * try that was killed before it said so.
 */
export function hasOnePlace({ key, uses, words, befallen }: Registration, mayHaveFailed: boolean): boolean {
  if (key === undefined || uses !== 1 || (befallen && mayHaveFailed)) return false;
  return words.every((word) => word === '204' || word.startsWith('409'));
}

/** When all is over. @throws Error */
export function checkRegistrationEnd(sight: RegistrationSight, intent: Registration): void {
  checkMessages(sight, intent);
  if (sight.messages === 0 && sight.isUndisturbed && intent.answers.length > 0) {
    throw new Error(`${intent.name}: 204 without a message`);
  }
}

/** Without a key it is sent once. */
function checkMessages({ messages }: RegistrationSight, { name, uses }: Registration): void {
  if (messages > uses) throw new Error(`${name}: ${messages} messages`);
}
