import { describe, expect, it } from 'vitest';
import { ANSWER_KINDS, type AnswerKind, commandProof, provenBy, statusKind } from '../../../lib/platform/proof.ts';

/** Answers in which the server itself says that it refuses the command's content, or does not serve us. */
const REFUSALS: readonly AnswerKind[] = [
  ...(['exists', 'content', 'absent', 'no_right', 'not_us', 'busy_at_login'] as const),
  ...(['no_command', 'status_denied'] as const),
];

describe.each(ANSWER_KINDS)('The answer %s', (kind) => {
  it('shows that a command was not executed only if the server refuses its content, or does not serve us', () => {
    const proves = (step: 'open' | 'deposit') =>
      commandProof(step, kind) !== 'nothing' || provenBy(step, kind) === 'exists';
    expect(proves('open')).toBe(REFUSALS.includes(kind));
    expect(proves('deposit')).toBe(REFUSALS.includes(kind) || kind === 'payment');
  });

  it('shows whose an account is only if the server says so', () => {
    expect(provenBy('look', kind) === 'exists').toBe(kind === 'done');
    expect(provenBy('look', kind) === 'absent').toBe(kind === 'absent');
  });
});

it.each(['silence', 'closed', 'page', 'status_outage', 'server_state', 'server_unsure', 'unknown_text'] as const)(
  'After %s every question must be asked again',
  (kind) => {
    expect(provenBy('look', kind)).toBe('unanswered');
  },
);

it('Only 401 and 403 of all HTTP statuses show that a command was not executed', () => {
  const all = Array.from({ length: 500 }, (_, index) => index + 100).filter((status) => status !== 200);
  expect(all.filter((status) => commandProof('open', statusKind(status)) !== 'nothing')).toEqual([401, 403]);
});
