import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PROBLEM_NOTES } from '../../../infra/openapi/problems.ts';
import {
  BUSY_STATES,
  initialContext,
  MESSAGE_SECONDS,
  nextContext,
  PROBLEM_ENDS,
  requestEnd,
  TRANSITIONS,
} from '../../../infra/registration-page/page/machine.js';
import { readAnswer } from '../../../infra/registration-page/page/post.js';
import type { Event, MachineContext, RequestEnd, State } from '../../../infra/registration-page/page/types.ts';
import { PROBLEMS, type ProblemType } from '../../../lib/problem.ts';

const NOW = 1_000_000;
const STATES = Object.keys(TRANSITIONS) as State[];
const EVENTS = Object.keys(TRANSITIONS.form) as Event[];
const PAIRS = STATES.flatMap((state) => EVENTS.map((event) => [state, event] as const));
const PRESSES: readonly Event[] = ['register', 'confirm', 'again'];
const ENDS = [...new Set(Object.values(PROBLEM_ENDS)), 'accepted', 'silent', 'unreadable'] as Event[];
/** The ends that say what to do by the page that they lead to. */
const SILENT_ENDS: readonly Event[] = ['accepted', 'already_registered'];

function memoryIn(state: State, more: Partial<MachineContext> = {}): MachineContext {
  return { ...initialContext('key'), state, ids: state === 'form' || state === 'sending' ? [] : ['id-1'], ...more };
}
function follow(memory: MachineContext, event: Event, more: object = {}): MachineContext {
  return nextContext(memory, event, { now: NOW, newKey: () => 'new', ...more });
}

describe.each(PAIRS)('the page in the state %s, at %s', (state, event) => {
  const memory = memoryIn(state);
  const result = follow(memory, event, { seconds: 77, id: event === 'accepted' ? 'id-2' : undefined });

  it('sends nothing twice, and waits for no answer for ever', () => {
    if (BUSY_STATES.includes(state) && PRESSES.includes(event)) expect(result).toBe(memory);
    if (BUSY_STATES.includes(state) && (ENDS.includes(event) || event === 'reload'))
      expect(BUSY_STATES).not.toContain(result.state);
    if (!BUSY_STATES.includes(state) && !PRESSES.includes(event)) expect(BUSY_STATES).not.toContain(result.state);
  });

  it('tells the person what to do at every answer, and always offers a way to enter a sent code', () => {
    if (BUSY_STATES.includes(state) && ENDS.includes(event))
      expect(result.says !== undefined || SILENT_ENDS.includes(event)).toBe(true);
    if (memory.ids.length > 0 && !['client', 'done'].includes(result.state) && !['client', 'done'].includes(state)) {
      const reached = result.state === 'form' ? follow(result, 'enter_code') : result;
      expect(['code', 'resending', 'confirming']).toContain(reached.state);
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

  it('waits for the seconds of a 429, and a minute after a message', () => {
    const waits = Object.values(result.waits).filter((until) => until > 0);
    if (BUSY_STATES.includes(state) && event === 'too_many') expect(new Set(waits)).toEqual(new Set([NOW + 77_000]));
    else if (event === 'accepted' && (state === 'sending' || state === 'resending'))
      expect(new Set(waits)).toEqual(new Set([NOW + MESSAGE_SECONDS * 1_000]));
    else expect(waits).toEqual([]);
  });
});

describe('the registrations that a code is tried with', () => {
  it('are the newest five, the newest first, each once', () => {
    let memory = memoryIn('code', { ids: [] });
    for (const id of ['a', 'b', 'c', 'd', 'b', 'e', 'f'])
      memory = follow({ ...memory, state: 'resending' }, 'accepted', { id });
    expect(memory.ids).toEqual(['f', 'e', 'b', 'd', 'c']);
  });

  it('end with the registration', () => {
    for (const event of ['accepted', 'already_registered'] as const)
      expect(follow(memoryIn('confirming'), event).ids).toEqual([]);
  });
});

describe('the parts of a long form', () => {
  it('follow each other, and an error shows its own', () => {
    expect(follow(memoryIn('form'), 'next').part).toBe(1);
    expect(follow(memoryIn('form', { part: 1 }), 'back').part).toBe(0);
    expect(follow(memoryIn('sending', { part: 1 }), 'invalid', { part: 0 }).part).toBe(0);
    expect(follow(memoryIn('sending', { part: 1 }), 'silent').part).toBe(1);
    expect(follow(memoryIn('form', { part: 1 }), 'reload').part).toBe(0);
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

  it('end in the form once another address may be typed', () => {
    const memory = follow(memoryIn('resending'), 'accepted');
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

  const header =
    (headers: Record<string, string> = {}) =>
    (name: string) =>
      headers[name] ?? null;

  it.each<[status: number, body: string, end: RequestEnd]>([
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
    expect(readAnswer(status, body, header()).end).toBe(end);
  });

  it('places its errors at fields, also those of a header, a type of its own, and a rule of a later version', () => {
    const errors = [
      { pointer: '#/name', rule: 'length', detail: 'English' },
      { pointer: '#/email', rule: 'of_a_later_version', detail: 'English' },
      { header: 'captcha-token', rule: 'required', detail: 'English' },
    ];
    expect(readAnswer(400, JSON.stringify({ type: 'validation_failed', errors }), header()).errors).toEqual([
      { pointer: '#/name', rule: 'length' },
      { pointer: '#/email', rule: 'format' },
      { pointer: '#captcha', rule: 'required' },
    ]);
    expect(readAnswer(400, '{"type":"referrer_not_found"}', header()).errors).toEqual([
      { pointer: '#/referrer_id', rule: 'no_referrer' },
    ]);
    const answer = { type: 'otp_type_unavailable', available: ['email'] };
    expect(readAnswer(400, JSON.stringify(answer), header())).toMatchObject({
      errors: [{ pointer: '#/otp_type', rule: 'no_channel' }],
      available: ['email'],
    });
  });

  it.each([
    ['12', 12],
    ['1.5', 2],
    ['-5', undefined],
    ['0', undefined],
    ['100000000000000000000', 86_400],
    ['Wed, 21 Oct 2026 07:28:00 GMT', undefined],
    [undefined, undefined],
  ])('with Retry-After %s makes the person wait for %s seconds', (given, seconds) => {
    const headers = header(given === undefined ? {} : { 'retry-after': given });
    expect(readAnswer(429, '', headers).seconds).toBe(seconds);
  });

  it('of any program ends in a state that can go on', () => {
    const member = fc.constantFrom('type', 'errors', 'available', 'pointer', 'rule', 'header', 'toString');
    const type = fc.constantFrom(...Object.keys(PROBLEM_ENDS));
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        fc.constantFrom(null, 1, true, ''),
        type,
        fc.array(tie('tree'), { maxLength: 3 }),
        fc.dictionary(member, tie('tree'), { maxKeys: 4 }),
      ),
    }));
    const status = fc.constantFrom(0, 200, 204, 302, 400, 403, 409, 429, 500, 502, 504);
    const body = fc.oneof(
      fc.string(),
      tree.map((value) => JSON.stringify(value)),
    );
    fc.assert(
      fc.property(status, body, fc.string(), (code, text, value) => {
        const outcome = readAnswer(code, text, () => value);
        for (const state of BUSY_STATES) {
          const after = follow(memoryIn(state), outcome.end, outcome);
          expect(BUSY_STATES).not.toContain(after.state);
          expect(Math.max(...Object.values(after.waits))).toBeLessThanOrEqual(NOW + 86_400_000);
        }
        expect(outcome.errors.every(({ pointer }) => typeof pointer === 'string')).toBe(true);
      }),
    );
  });
});
