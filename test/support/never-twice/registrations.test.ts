import { describe, expect, it } from 'vitest';
import type { AccountAnswer } from '../account-calls.ts';
import { checkRegistration, checkRegistrationEnd, hasOnePlace, type Registration } from './registrations.ts';

function anIntent(more: Partial<Registration> = {}): Registration {
  return {
    name: 'registration 1',
    key: 'key-1',
    scope: ['registration', 'crm', 'key-1'],
    returns: true,
    email: 'quill@p1.example',
    source: '10.0.0.1',
    answers: [],
    words: [],
    running: 0,
    befallen: false,
    begunAt: 0,
    uses: 1,
    ...more,
  };
}

const answer = (status: number, type?: string): AccountAnswer => ({ status, headers: {}, body: { type } });
const SENT = answer(204);
const LIMITED = answer(429, 'too_many_requests');

describe('the check of a registration', () => {
  it('finds a second message, except after the key was free again', () => {
    const twice = { messages: 2, isUndisturbed: false };
    expect(() => checkRegistration(twice, anIntent(), undefined)).toThrow('2 messages');
    expect(() => checkRegistrationEnd(twice, anIntent())).toThrow('2 messages');
    checkRegistration(twice, anIntent({ uses: 2 }), SENT);
  });

  it('finds 204 without a message and without a fault', () => {
    expect(() => checkRegistration({ messages: 0, isUndisturbed: true }, anIntent(), SENT)).toThrow(
      'without a message',
    );
    const answered = anIntent({ answers: [SENT] });
    expect(() => checkRegistrationEnd({ messages: 0, isUndisturbed: true }, answered)).toThrow('without a message');
    checkRegistration({ messages: 0, isUndisturbed: false }, anIntent(), SENT);
  });

  it('finds 502 with a message, and answers that the contract does not have', () => {
    const failed = answer(502, 'otp_delivery_failed');
    expect(() => checkRegistration({ messages: 1, isUndisturbed: false }, anIntent(), failed)).toThrow('502');
    expect(() => checkRegistration({ messages: 0, isUndisturbed: false }, anIntent(), answer(418, 'tea'))).toThrow(
      '418',
    );
  });

  it('finds a limit that is reached by repeats alone', () => {
    const none = { messages: 0, isUndisturbed: false };
    expect(() => checkRegistration(none, anIntent(), LIMITED)).toThrow('limit');
    checkRegistration(none, anIntent({ words: ['500 internal_error'] }), LIMITED);
  });

  it('counts the source once, except if an attempt failed or was killed before', () => {
    expect(hasOnePlace(anIntent({ words: ['409 request_in_progress', '204'] }))).toBe(true);
    expect(hasOnePlace(anIntent({ words: ['204'], befallen: true }))).toBe(false);
    expect(hasOnePlace(anIntent({ words: ['502 otp_delivery_failed', '204'] }))).toBe(false);
    expect(hasOnePlace(anIntent({ words: ['204'], uses: 2 }))).toBe(false);
    expect(hasOnePlace(anIntent({ words: ['204'], key: undefined }))).toBe(false);
  });
});
