import { describe, expect, it } from 'vitest';
import { PROBLEM_NOTES } from '../../../infra/openapi/problems.ts';
import {
  BUSY_STATES,
  initialContext,
  nextContext,
  PROBLEM_ENDS,
  RESEND_SECONDS,
  requestEnd,
  TRANSITIONS,
} from '../../../infra/registration-page/page/machine.js';
import { outcomeOf } from '../../../infra/registration-page/page/post.js';
import type { Event, MachineContext, State } from '../../../infra/registration-page/page/types.ts';
import { PROBLEMS, type ProblemType } from '../../../lib/problem.ts';

const NOW = 1_000_000;
const STATES = Object.keys(TRANSITIONS) as State[];
const EVENTS = Object.keys(TRANSITIONS.form) as Event[];
const PAIRS = STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const));
const PRESSES: readonly Event[] = ['register', 'confirm', 'again'];
const ENDS = [...new Set(Object.values(PROBLEM_ENDS)), 'accepted', 'silent', 'unreadable'] as Event[];
/** The answers after which a code may have left. */
const UNCERTAIN: readonly Event[] = ['in_progress', 'failed', 'silent', 'unreadable'];

function memoryIn(state: State, more: Partial<MachineContext> = {}): MachineContext {
  return { ...initialContext('key'), state, hasCode: state !== 'form' && state !== 'sending', ...more };
}
function follow(memory: MachineContext, event: Event, more: object = {}): MachineContext {
  return nextContext(memory, event, { now: NOW, newKey: () => 'new', ...more });
}

describe.each(PAIRS)('the page in the state %s, at %s', (state, event) => {
  const memory = memoryIn(state);
  const result = follow(memory, event, { seconds: 77 });

  it('goes on as the table says', () => {
    const isClosed = event === 'enter_code' && !memory.hasCode;
    expect(result.state).toBe(isClosed ? state : TRANSITIONS[state][event].to);
  });

  it('sends nothing twice, and waits for no answer for ever', () => {
    if (BUSY_STATES.includes(state) && PRESSES.includes(event)) expect(result).toBe(memory);
    if (BUSY_STATES.includes(state) && (ENDS.includes(event) || event === 'reload'))
      expect(BUSY_STATES).not.toContain(result.state);
    if (!BUSY_STATES.includes(state) && !PRESSES.includes(event)) expect(BUSY_STATES).not.toContain(result.state);
  });

  it('tells the person the outcome of every answer but a success, and always offers a way to enter a sent code', () => {
    if (BUSY_STATES.includes(state) && ENDS.includes(event))
      expect(result.says === undefined).toBe(event === 'accepted');
    const mayBeSent = state === 'sending' && (UNCERTAIN.includes(event) || event === 'accepted' || event === 'reload');
    if (mayBeSent) expect(result.hasCode).toBe(true);
    if (memory.hasCode && result.state !== 'done' && state !== 'done') {
      const [reached] = [result.state === 'form' ? follow(result, 'enter_code') : result];
      expect(['code', 'resending', 'confirming']).toContain(reached?.state);
    }
  });

  it('keeps the key of a filled-in form until something is typed, a code was sent, or the key is used up', () => {
    const renews = {
      typed: ['form', 'sending'],
      reload: STATES,
      accepted: ['sending', 'resending'],
      key_reused: ['sending', 'resending'],
    } as Partial<Record<Event, readonly State[]>>;
    expect(result.key).toBe(renews[event]?.includes(state) ? 'new' : 'key');
  });

  it('waits for the seconds of a 429, and after a message for those of the limit', () => {
    const waits = Object.values(result.waits).filter((until) => until > 0);
    if (BUSY_STATES.includes(state) && event === 'too_many') expect(new Set(waits)).toEqual(new Set([NOW + 77_000]));
    else if (event === 'accepted' && (state === 'sending' || state === 'resending'))
      expect(new Set(waits)).toEqual(new Set([NOW + 60_000]));
    else expect(waits).toEqual([]);
  });
});

describe('text that a person types', () => {
  it('removes the errors of its field alone, and with the last error the sentence "correct the marked fields"', () => {
    const errors = [
      { pointer: '#/phone/number', rule: 'phone' as const },
      { pointer: '#/phones', rule: 'required' as const },
    ];
    const one = follow(memoryIn('form', { says: 'correct', errors }), 'typed', { pointer: '#/phone' });
    expect(one).toMatchObject({ says: 'correct', errors: [errors[1]] });
    expect(follow(one, 'typed', { pointer: '#/phones' })).toMatchObject({ says: undefined, errors: [] });
    expect(follow(memoryIn('form', { says: 'silent' }), 'typed', { pointer: '#/name' }).says).toBe('silent');
  });
});

describe('the waiting times of buttons', () => {
  it.each(PRESSES)('make %s do nothing until they end', (event) => {
    const state = event === 'register' ? 'form' : 'code';
    const waits = { register: 0, again: 0, confirm: 0, [event]: NOW + 1 };
    expect(follow(memoryIn(state, { waits }), event).state).toBe(state);
    expect(follow(memoryIn(state, { waits: { ...waits, [event]: NOW } }), event).state).not.toBe(state);
  });

  it('are the default of the limit, and end in the form once another address may be typed', () => {
    expect(RESEND_SECONDS[0]).toBe(60);
    let memory = memoryIn('sending');
    for (const seconds of [...RESEND_SECONDS, RESEND_SECONDS.at(-1) ?? 0]) {
      memory = follow({ ...memory, state: 'resending' }, 'accepted');
      expect(memory.waits.again).toBe(NOW + seconds * 1_000);
    }
    expect(follow({ ...memory, state: 'form' }, 'typed').waits).toMatchObject({
      register: 0,
      again: memory.waits.again,
    });
  });

  it('have a default length if a 429 names no seconds', () => {
    expect(follow(memoryIn('sending'), 'too_many')).toMatchObject({ seconds: 10, says: 'too_many' });
  });
});

describe('an answer', () => {
  it('ends the request by its type, for exactly the types of the operations that a page calls', () => {
    const types = (Object.keys(PROBLEMS) as ProblemType[]).filter((type) =>
      PROBLEM_NOTES[type].operations.some((one) => /Registration/.test(one)),
    );
    expect(PROBLEM_ENDS).toEqual(
      Object.fromEntries(types.map((type) => [type, requestEnd(PROBLEMS[type].status, type)])),
    );
  });

  it.each([
    [0, '', 'silent'],
    [204, '', 'accepted'],
    [200, '<html>', 'unreadable'],
    [403, '<html>Forbidden</html>', 'unreadable'],
    [404, '{"message":"Not Found"}', 'unreadable'],
    [413, '{"message":"Request Too Long"}', 'too_large'],
    [429, '{"message":"Too Many Requests"}', 'too_many'],
    [400, '{"type":"of_a_later_version"}', 'unreadable'],
    [500, 'null', 'failed'],
    [502, '<html>', 'failed'],
    [503, '{"message":"Service Unavailable"}', 'failed'],
    [403, '{"type":"constructor"}', 'unreadable'],
  ])('of status %i with the body %s is %s', (status, body, end) => {
    expect(outcomeOf(status, body, null).end).toBe(end);
  });

  it('places its errors at fields, also those of a header, a type of its own, and a rule of a later version', () => {
    const errors = [
      { pointer: '#/name', rule: 'length', detail: 'English' },
      { pointer: '#/email', rule: 'of_a_later_version', detail: 'English' },
      { header: 'captcha-token', rule: 'required', detail: 'English' },
    ];
    expect(outcomeOf(400, JSON.stringify({ type: 'validation_failed', errors }), '12')).toMatchObject({
      seconds: 12,
      errors: [
        { pointer: '#/name', rule: 'length' },
        { pointer: '#/email', rule: 'format' },
        { pointer: '#captcha', rule: 'required' },
      ],
    });
    expect(outcomeOf(400, '{"type":"referrer_not_found"}', null).errors).toEqual([
      { pointer: '#/referrer_id', rule: 'no_referrer' },
    ]);
    const answer = { type: 'otp_type_unavailable', available: ['email'] };
    expect(outcomeOf(400, JSON.stringify(answer), null)).toMatchObject({
      errors: [{ pointer: '#/otp_type', rule: 'no_channel' }],
      available: ['email'],
    });
  });
});
