// SPDX-License-Identifier: 0BSD

/** @import { Act, Details, Event, FieldSentence, MachineContext, PageProblem, RequestEnd, ViolationRule, State, Step } from './types.ts' */

/** The page as a table: each state, each event, and the next step. Nothing in this file knows the browser. */

/** The seconds between two codes: one recipient gets one message a minute. */
export const MESSAGE_SECONDS = 60;
/** The pause after a 429 that names none, in seconds. */
const PAUSE_SECONDS = 10;
/** The newest registrations that a code is tried with: a code is valid for ten minutes. */
const MAX_REGISTRATIONS = 5;

/** A state that nothing moves: a button pressed twice sends nothing. @param {State} to @returns {Record<Act, Step>} */
const busy = (to) => ({
  register: { to },
  next: { to },
  confirm: { to },
  again: { to },
  again_forgotten: { to },
  incomplete: { to },
  back: { to },
  enter_code: { to },
  typed: { to },
  reload: { to },
});

/**
 * The steps of a state without a request: each answer belongs to an earlier request. @param {State} to @returns
 * {Record<RequestEnd, Step>}
 */
const late = (to) => ({
  accepted: { to },
  invalid: { to },
  form_gone: { to },
  code_refused: { to },
  already_registered: { to },
  captcha_failed: { to },
  in_progress: { to },
  key_reused: { to },
  too_large: { to },
  too_many: { to },
  failed: { to },
  undelivered: { to },
  silent: { to },
  unreadable: { to },
});

/**
 * The ends of a registration. What must be corrected leads to the form; anything else leads back. @param {'form' |
 * 'code'} back @returns {Record<RequestEnd, Step>}
 */
const registering = (back) => ({
  accepted: { to: 'code', key: 'new', waits: ['register', 'again'] },
  invalid: { to: 'form', says: 'correct' },
  form_gone: { to: 'form', says: 'form_gone' },
  too_large: { to: 'form', says: 'too_large' },
  undelivered: { to: 'form', says: 'undelivered' },
  code_refused: { to: 'form', says: 'failed' },
  already_registered: { to: 'form', says: 'failed' },
  captcha_failed: { to: back, says: 'captcha_failed' },
  in_progress: { to: back, says: 'in_progress' },
  key_reused: { to: back, says: 'key_reused', key: 'new' },
  too_many: { to: back, says: 'too_many', waits: ['register', 'again'] },
  failed: { to: back, says: 'failed' },
  silent: { to: back, says: 'silent' },
  unreadable: { to: back, says: 'unreadable' },
});

/** @type {Record<State, Record<Event, Step>>} */
export const TRANSITIONS = {
  form: {
    ...late('form'),
    register: { to: 'sending' },
    next: { to: 'form', part: 'next' },
    confirm: { to: 'form' },
    again: { to: 'form' },
    again_forgotten: { to: 'form' },
    incomplete: { to: 'form', says: 'correct' },
    back: { to: 'form', part: 'before' },
    enter_code: { to: 'code' },
    typed: { to: 'form', key: 'new', ends: 'register' },
    reload: { to: 'form', key: 'new', part: 'first' },
  },
  sending: {
    ...busy('sending'),
    ...registering('form'),
    // What is typed now is in the next request.
    typed: { to: 'sending', key: 'new' },
    // The code may come, but the page has not heard its registration.
    reload: { to: 'form', key: 'new', part: 'first', says: 'interrupted' },
  },
  code: {
    ...late('code'),
    register: { to: 'code' },
    next: { to: 'code' },
    confirm: { to: 'confirming' },
    again: { to: 'resending' },
    again_forgotten: { to: 'form', part: 'first', says: 'type_again' },
    incomplete: { to: 'code', says: 'correct' },
    back: { to: 'form' },
    enter_code: { to: 'code' },
    typed: { to: 'code' },
    reload: { to: 'code', key: 'new' },
  },
  resending: {
    ...busy('resending'),
    ...registering('code'),
    reload: { to: 'code', key: 'new' },
  },
  confirming: {
    ...busy('confirming'),
    reload: { to: 'code', key: 'new' },
    accepted: { to: 'done' },
    invalid: { to: 'code', says: 'correct' },
    form_gone: { to: 'code', says: 'failed' },
    code_refused: { to: 'code', says: 'code_refused' },
    already_registered: { to: 'client' },
    captcha_failed: { to: 'code', says: 'failed' },
    in_progress: { to: 'code', says: 'in_progress' },
    key_reused: { to: 'code', says: 'failed' },
    too_large: { to: 'code', says: 'failed' },
    too_many: { to: 'code', says: 'too_many', waits: ['confirm'] },
    failed: { to: 'code', says: 'failed' },
    undelivered: { to: 'code', says: 'failed' },
    silent: { to: 'code', says: 'silent' },
    unreadable: { to: 'code', says: 'unreadable' },
  },
  client: {
    ...busy('client'),
    ...late('client'),
    back: { to: 'form', part: 'first' },
    reload: { to: 'form', key: 'new', part: 'first' },
  },
  done: { ...busy('done'), ...late('done'), reload: { to: 'form', key: 'new', part: 'first' } },
};

/** The states in which a request is on its way. @type {readonly State[]} */
export const BUSY_STATES = ['sending', 'resending', 'confirming'];

/** A page that was just opened. @param {string} key @returns {MachineContext} */
export function initialContext(key) {
  return {
    state: 'form',
    part: 0,
    says: undefined,
    errors: [],
    key,
    ids: [],
    waits: { register: 0, again: 0, confirm: 0 },
    seconds: 0,
  };
}

/**
 * The page's context after an event.
 *
 * @param {MachineContext} memory @param {Event} event @param {Details} details @returns {MachineContext}
 */
export function nextContext(memory, event, { now, newKey, errors = [], part, seconds, pointer, id }) {
  if (event === 'enter_code' && memory.ids.length === 0) return memory;
  if (isWaiting(memory, event, now)) return memory;
  const step = TRANSITIONS[memory.state][event];
  if (event === 'typed') {
    // Typing in a field removes the errors of this field, and nothing else that the page said.
    const left = memory.errors.filter((error) => pointer === undefined || !isAtOrBelow(error.pointer, pointer));
    return {
      ...memory,
      errors: left,
      says: memory.says === 'correct' && left.length === 0 ? undefined : memory.says,
      key: step.key === 'new' ? newKey() : memory.key,
      waits: step.ends === undefined ? memory.waits : { ...memory.waits, [step.ends]: 0 },
    };
  }
  const isSame = step.to === memory.state && step.says === undefined && step.part === undefined;
  if (isSame && event !== 'reload') return memory;
  const pause = event === 'accepted' ? MESSAGE_SECONDS : (seconds ?? PAUSE_SECONDS);
  const until = Object.fromEntries((step.waits ?? []).map((button) => [button, now + pause * 1_000]));
  const parts = { first: 0, next: memory.part + 1, before: Math.max(0, memory.part - 1) };
  return {
    ...memory,
    state: step.to,
    part: step.part === undefined ? (part ?? memory.part) : parts[step.part],
    says: step.says,
    errors: step.says === undefined ? [] : errors,
    key: step.key === 'new' ? newKey() : memory.key,
    ids: step.to === 'done' || step.to === 'client' ? [] : withId(memory.ids, id),
    waits: { ...memory.waits, ...until },
    seconds: event === 'too_many' ? pause : memory.seconds,
  };
}

/** The registrations, the newest first. A repeated answer names the same. @param {readonly string[]} ids @param {string} [id] */
function withId(ids, id) {
  return id === undefined ? ids : [id, ...ids.filter((one) => one !== id)].slice(0, MAX_REGISTRATIONS);
}

/** Whether a pointer is this place or below it. @param {string} pointer @param {string} place */
export function isAtOrBelow(pointer, place) {
  return pointer === place || pointer.startsWith(`${place}/`);
}

/** Whether this event is a button that waits. @param {MachineContext} memory @param {Event} event @param {number} now */
function isWaiting({ waits }, event, now) {
  return (event === 'register' || event === 'again' || event === 'confirm') && waits[event] > now;
}

/**
 * How a request ends with each type of problem that the page gets. An `invalid` problem without `errors` has a place in
 * `post.js`.
 *
 * @satisfies {Record<PageProblem, RequestEnd>}
 */
export const PROBLEM_ENDS = /** @type {const} */ ({
  malformed_json: 'failed',
  validation_failed: 'invalid',
  form_not_found: 'form_gone',
  referrer_not_found: 'invalid',
  otp_type_unavailable: 'invalid',
  code_not_accepted: 'code_refused',
  already_registered: 'already_registered',
  captcha_failed: 'captcha_failed',
  front_required: 'unreadable',
  request_in_progress: 'in_progress',
  payload_too_large: 'too_large',
  unsupported_media_type: 'failed',
  idempotency_key_reused: 'key_reused',
  too_many_requests: 'too_many',
  internal_error: 'failed',
  otp_delivery_failed: 'undelivered',
});

/**
 * How a request ends with this response. A type of a later version counts by its status.
 *
 * @param {number} status 0: no answer arrived @param {unknown} type of the problem; undefined: the body is no problem
 * @returns {RequestEnd}
 */
export function requestEnd(status, type) {
  if (status === 0) return 'silent';
  if (status === 204) return 'accepted';
  const known = typeof type === 'string' && Object.hasOwn(PROBLEM_ENDS, type);
  if (known) return PROBLEM_ENDS[/** @type {PageProblem} */ (type)];
  if (status === 429) return 'too_many';
  if (status === 413) return 'too_large';
  if (status >= 500) return 'failed';
  return 'unreadable';
}

/** The sentence for each rule that a field breaks. @type {Record<ViolationRule, FieldSentence>} */
export const RULE_SENTENCES = {
  required: 'required',
  type: 'format',
  unknown_field: 'format',
  one_of: 'choose',
  format: 'format',
  characters: 'characters',
  length: 'length',
  minimum: 'too_small',
  maximum: 'too_large_number',
  number: 'number',
  integer: 'format',
  password_mismatch: 'password_mismatch',
  common: 'common',
  complexity: 'common',
  phone: 'phone',
  number_type: 'number_type',
  country_not_served: 'country_not_served',
  date: 'date',
  country: 'country',
  language: 'format',
  must_be_true: 'must_be_true',
  base64: 'media_type',
  media_type: 'media_type',
  too_many: 'too_many_values',
  nesting: 'format',
  size: 'file_size',
  not_supported: 'format',
  not_offered: 'choose',
  reserved: 'choose',
};

/** The sentence for a rule, also for one of a later version. @param {string} rule @returns {FieldSentence} */
export function ruleSentence(rule) {
  return Object.hasOwn(RULE_SENTENCES, rule) ? RULE_SENTENCES[/** @type {ViolationRule} */ (rule)] : 'format';
}
