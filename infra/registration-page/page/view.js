// SPDX-License-Identifier: 0BSD
import { pointerOf } from './check.js';
import { Field } from './fields.js';
import { html } from './html.js';
import { BUSY_STATES, isAtOrBelow } from './machine.js';
import { CAPTCHA_POINTER } from './post.js';
import { duration, fill, minutesAndSeconds } from './words.js';

/** @import { Button, Config, MachineContext, Words } from './types.ts' */
/** @import { FieldProps } from './fields.js' */
/**
 * What is shown, and what a person can do.
 *
 * @typedef {object} Page
 * @property {Config} config
 * @property {Words} words
 * @property {string} language
 * @property {MachineContext} memory
 * @property {number} turn counts events, so that the same sentence is announced again
 * @property {Record<string, unknown>} values
 * @property {string} address that the last code went to
 * @property {{ code: string; password: string }} code as it was typed
 * @property {boolean} isForgotten whether the password of the registration must be typed again
 * @property {readonly string[]} channels
 * @property {number | undefined} progress of a large request that is on its way, 0 to 1
 * @property {string} announced
 * @property {number} now
 */
/**
 * @typedef {object} Acts
 * @property {(name: string, value: unknown) => void} change
 * @property {(name: 'code' | 'password', value: string) => void} changeCode
 * @property {(event: 'register' | 'confirm' | 'again' | 'back' | 'enter_code') => void} press
 * @property {(element: HTMLElement | null) => void} showCaptcha
 */

const CODE_MINUTES = '10';

/** The heading of the step. @param {Page} page */
export function headingOf({ memory: { state }, words: { texts } }) {
  if (state === 'done') return texts.done;
  return state === 'form' || state === 'sending' ? texts.open_account : texts.enter_code;
}

/** @param {{ page: Page; acts: Acts }} props */
export function View({ page, acts }) {
  const { memory, announced } = page;
  const steps = { form: Form, sending: Form, code: Code, resending: Code, confirming: Code, done: Done };
  return html`
    <h1 tabindex="-1">${headingOf(page)}</h1>
    <${steps[memory.state]} page=${page} acts=${acts} />
    <p class="unseen" role="status">${announced}</p>
  `;
}

/** @param {{ page: Page; acts: Acts }} props */
function Form({ page, acts }) {
  const { config, memory, values, channels } = page;
  const { form } = config;
  const isShown = (/** @type {string} */ name) =>
    form.uiSchema[name]?.['ui:widget'] !== 'hidden' && (name !== 'otp_type' || channels.length > 1);
  const names = form.uiSchema['ui:order'].filter(isShown);
  const fields = names.map((name) => {
    const required =
      form.required.includes(name) || name === 'otp_type' || (name === 'phone' && values.otp_type !== 'email');
    const change = (/** @type {unknown} */ value) => acts.change(name, value);
    return html`
      <${Field} key=${name} name=${name} pointer=${pointerOf(name)} schema=${form.properties[name]} ui=${form.uiSchema[name] ?? {}}
        required=${required} fixed=${isFixed(name)} value=${values[name]} onChange=${change} shared=${sharedOf(page)} />
    `;
  });
  return html`
    <form noValidate onSubmit=${pressing(acts, 'register')}>
      <${Alert} page=${page} fields=${names.map((name) => pointerOf(name))} />
      ${memory.hasCode && html`<${SentBefore} page=${page} acts=${acts} />`}
      ${fields}
      <${CaptchaPlace} page=${page} acts=${acts} />
      <${Submit} page=${page} name="register" />
    </form>
  `;
}

/** @param {{ page: Page; acts: Acts }} props */
function SentBefore({ page: { words, memory, address }, acts }) {
  const sentence = memory.sent > 0 ? words.texts.sent : words.texts.perhaps_sent;
  return html`
    <p class="note">
      ${addressed(sentence, address)}${' '}
      <button type="button" class="second small" onClick=${() => acts.press('enter_code')}>${words.texts.enter_code}</button>
    </p>
  `;
}

/** @param {{ page: Page; acts: Acts }} props */
function Code({ page, acts }) {
  const { words, memory, address, code: typed, isForgotten } = page;
  const { texts } = words;
  const shared = sharedOf(page);
  /** @type {Pick<FieldProps, 'required' | 'fixed' | 'shared'>} */
  const common = { required: true, fixed: true, shared };
  // Text with digits: people paste and type spaces, which the API ignores.
  const code = html`
    <${Field} name="code" pointer="#/code" schema=${{ type: 'string' }} value=${typed.code} ...${common}
      ui=${{ 'ui:autocomplete': 'one-time-code', 'ui:inputmode': 'numeric' }}
      onChange=${(/** @type {string} */ text) => acts.changeCode('code', text)} />
  `;
  const password = html`
    <${Field} name="password" pointer="#/password" schema=${{ type: 'string' }} value=${typed.password} ...${common} note=${texts.password_again}
      ui=${{ 'ui:widget': 'password', 'ui:autocomplete': 'current-password' }}
      onChange=${(/** @type {string} */ text) => acts.changeCode('password', text)} />
  `;
  const sentence = memory.sent > 0 ? texts.sent : texts.perhaps_sent;
  return html`
    <p>${addressed(sentence, address)} ${fill(texts.code_valid, { n: CODE_MINUTES })}</p>
    <form noValidate onSubmit=${pressing(acts, 'confirm')}>
      <${Alert} page=${page} fields=${['#/code', '#/password', CAPTCHA_POINTER]} />
      ${code}${isForgotten && password}
      <${Submit} page=${page} name="confirm" />
    </form>
    <form noValidate onSubmit=${pressing(acts, 'again')}>
      ${isForgotten || html`<${CaptchaPlace} page=${page} acts=${acts} />`}
      <${Submit} page=${page} name="again" isSecond />
    </form>
    <button type="button" class="second" onClick=${() => acts.press('back')}>${texts.back}</button>
  `;
}

/** @param {{ page: Page }} props */
function Done({ page: { config, words } }) {
  const { afterwards } = config;
  return html`
    <p>${words.texts.done_text}</p>
    ${afterwards && html`<p><a class="button" href=${afterwards}>${words.texts.continue}</a></p>`}
  `;
}

/**
 * Tells the person what happened. Errors of fields that the page does not show are part of it. @param {{ page: Page;
 * fields: string[] }} props
 */
function Alert({ page, fields }) {
  const { words, language, memory, turn, isForgotten } = page;
  const { says, errors, seconds } = memory;
  if (says === undefined) return null;
  const { sentences } = words;
  const sentence = says === 'code_refused' && isForgotten ? sentences.code_or_password : sentences[says];
  const others = errors.filter(
    ({ pointer }) => ![...fields, CAPTCHA_POINTER].some((place) => isAtOrBelow(pointer, place)),
  );
  return html`
    <div class="alert" role="alert" tabindex="-1" key=${turn}>
      <p>${fill(sentence, { time: duration(seconds, language) })}</p>
      ${others.map(({ pointer, rule }) => html`<p><bdi>${pointer}</bdi> ${rule && words.fields[rule]}</p>`)}
    </div>
  `;
}

/** A button that sends, waits and shows progress. @param {{ page: Page; name: Button; isSecond?: boolean }} props */
function Submit({ page: { words, memory, progress, now }, name, isSecond }) {
  const { texts } = words;
  const seconds = Math.max(0, Math.ceil((memory.waits[name] - now) / 1_000));
  const isBusy = BUSY_STATES.includes(memory.state);
  const mine = { register: 'sending', again: 'resending', confirm: 'confirming' }[name] === memory.state;
  const label = mine ? texts.sending : texts[name];
  const bar =
    mine && progress !== undefined && html`<progress value=${progress} aria-label=${texts.sending}></progress>`;
  return html`
    ${bar}
    <button type="submit" class=${isSecond ? 'second' : ''} aria-disabled=${isBusy || seconds > 0 ? 'true' : 'false'}>
      ${label}${seconds > 0 && html` <span class="clock">(${minutesAndSeconds(seconds)})</span>`}
    </button>
  `;
}

/** @param {{ page: Page; acts: Acts }} props */
function CaptchaPlace({ page: { config, memory, words }, acts }) {
  if (config.captcha === undefined) return null;
  const isMissing = memory.errors.some(({ pointer }) => pointer === CAPTCHA_POINTER);
  return html`
    <div>
      <div class="captcha" ref=${acts.showCaptcha}></div>
      ${isMissing && html`<p class="error">${words.sentences.captcha_failed}</p>`}
    </div>
  `;
}

/** @param {Acts} acts @param {'register' | 'confirm' | 'again'} event */
function pressing(acts, event) {
  return (/** @type {Event} */ submitted) => {
    submitted.preventDefault();
    acts.press(event);
  };
}

/** A sentence with an address, whose direction is its own. @param {string} sentence @param {string} address */
function addressed(sentence, address) {
  const [before, after] = sentence.split('{address}');
  return html`${before}<bdi class="address">${address}</bdi>${after}`;
}

/** @param {Page} page */
function sharedOf({ words, language, memory: { errors }, channels }) {
  return { words, language, errors, channels };
}

const FIXED = ['name', 'email', 'phone', 'otp_type', 'password', 'repeat_password', 'referrer_id'];

/** Whether every form has the field: the page translates its label. @param {string} name */
function isFixed(name) {
  return FIXED.includes(name);
}
