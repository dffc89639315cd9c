// SPDX-License-Identifier: 0BSD
import { fieldPointer } from './check.js';
import { Field } from './fields.js';
import { html, linkedText } from './html.js';
import { BUSY_STATES } from './machine.js';
import { CAPTCHA_POINTER } from './post.js';
import { duration, fill, localizedText, minutesAndSeconds } from './words.js';

/** @import { Button, Config, MachineContext, Words } from './types.ts' */
/** @import { Shared } from './fields.js' */
/**
 * What is shown, and what a person can do.
 *
 * @typedef {object} Page
 * @property {Config} config
 * @property {Words} words
 * @property {string} language
 * @property {MachineContext} memory
 * @property {number} turn counts events, so that the same sentence is announced again
 * @property {readonly (readonly string[])[]} parts the names of the fields of each part of the form
 * @property {readonly string[]} countries that lists show first
 * @property {Record<string, unknown>} values
 * @property {string} address that the last code went to
 * @property {string} code as it was typed
 * @property {boolean} isForgotten whether another code needs the form again
 * @property {readonly string[]} channels
 * @property {number | undefined} progress of a large request that is on its way, 0 to 1
 * @property {string} announced
 * @property {number} now
 */
/** @typedef {'register' | 'next' | 'confirm' | 'again' | 'back' | 'enter_code'} Press */
/**
 * @typedef {object} Acts
 * @property {(name: string, value: unknown) => void} change
 * @property {(code: string) => void} changeCode
 * @property {(event: Press) => void} press
 */

const CODE_MINUTES = '10';

/** The heading of the step. @param {Page} page */
export function stepHeading({ memory: { state }, words: { texts } }) {
  if (state === 'done' || state === 'client') return texts[state];
  return state === 'form' || state === 'sending' ? texts.open_account : texts.enter_code;
}

/** @param {{ page: Page; acts: Acts }} props */
export function View({ page, acts }) {
  const { config, words, memory, parts, announced } = page;
  const { brand = '', logo, headingLevel = 1 } = config;
  const views = {
    form: Form,
    sending: Form,
    code: Code,
    resending: Code,
    confirming: Code,
    client: Client,
    done: Done,
  };
  const step = { form: memory.part, sending: memory.part, code: parts.length };
  const n = /** @type {Record<string, number | undefined>} */ (step)[memory.state];
  const place = { n: String((n ?? parts.length) + 1), all: String(parts.length + 1) };
  const isLong = parts.length > 1 && memory.state !== 'done' && memory.state !== 'client';
  return html`
    ${logo && html`<img class="logo" src=${logo} alt=${brand} />`}
    <${`h${headingLevel}`} class="heading" tabindex="-1" aria-describedby=${isLong ? 'step' : undefined}>${stepHeading(page)}<//>
    ${isLong && html`<p class="hint" id="step">${fill(words.texts.step, place)}</p>`}
    <${views[memory.state]} page=${page} acts=${acts} />
    <p class="unseen" role="status">${announced}</p>
  `;
}

/** @param {{ page: Page; acts: Acts }} props */
function Form({ page, acts }) {
  const { config, words, memory, parts, values } = page;
  const { form } = config;
  const fields = (parts[memory.part] ?? []).map((name) => {
    const required =
      form.required.includes(name) || name === 'otp_type' || (name === 'phone' && values.otp_type !== 'email');
    const change = (/** @type {unknown} */ value) => acts.change(name, value);
    return html`
      <${Field} key=${name} name=${name} pointer=${fieldPointer(name)} schema=${form.properties[name]} ui=${form.uiSchema[name] ?? {}}
        required=${required} fixed=${isFixed(name)} value=${values[name]} onChange=${change} shared=${sharedProps(page)} />
    `;
  });
  const isLast = memory.part === parts.length - 1;
  return html`
    <form noValidate onSubmit=${pressing(acts, isLast ? 'register' : 'next')}>
      <${Alert} page=${page} />
      ${memory.ids.length > 0 && html`<${SentBefore} page=${page} acts=${acts} />`}
      ${memory.part === 0 && html`<${LogIn} page=${page} />`}
      ${fields}
      ${isLast && html`<${CaptchaPlace} page=${page} />`}
      ${isLast ? html`<${Submit} page=${page} name="register" />` : html`<button type="submit">${words.texts.continue}</button>`}
    </form>
    ${memory.part > 0 && html`<${BackButton} page=${page} acts=${acts} />`}
  `;
}

/** @param {{ page: Page }} props */
function LogIn({ page: { config, words } }) {
  const { already_client, log_in } = words.texts;
  return config.login && html`<p>${already_client} <a href=${config.login}>${log_in}</a></p>`;
}

/** @param {{ page: Page; acts: Acts }} props */
function SentBefore({ page: { words, address }, acts }) {
  return html`
    <p class="note">
      ${addressed(words.texts.sent, address)}${' '}
      <button type="button" class="second small" onClick=${() => acts.press('enter_code')}>${words.texts.enter_code}</button>
    </p>
  `;
}

/** @param {{ page: Page; acts: Acts }} props */
function BackButton({ page: { words }, acts }) {
  return html`<button type="button" class="second" onClick=${() => acts.press('back')}>${words.texts.back}</button>`;
}

/** @param {{ page: Page; acts: Acts }} props */
function Code({ page, acts }) {
  const { words, address, code, isForgotten } = page;
  const { texts } = words;
  // Text with digits: people paste and type spaces, which the API ignores.
  const field = html`
    <${Field} name="code" pointer="#/code" schema=${{ type: 'string' }} value=${code} required fixed shared=${sharedProps(page)}
      ui=${{ 'ui:autocomplete': 'one-time-code', 'ui:inputmode': 'numeric' }} onChange=${acts.changeCode} />
  `;
  return html`
    <p>${addressed(texts.sent, address)} ${fill(texts.code_valid, { n: CODE_MINUTES })}</p>
    <form noValidate onSubmit=${pressing(acts, 'confirm')}>
      <${Alert} page=${page} />
      ${field}
      <${Submit} page=${page} name="confirm" />
    </form>
    <form noValidate onSubmit=${pressing(acts, 'again')}>
      ${isForgotten || html`<${CaptchaPlace} page=${page} />`}
      <${Submit} page=${page} name="again" isSecond />
    </form>
    <${BackButton} page=${page} acts=${acts} />
  `;
}

/** The address belongs to a client, who need not register. @param {{ page: Page; acts: Acts }} props */
function Client({ page, acts }) {
  const { config, words } = page;
  return html`
    <p>${words.texts.client_text}</p>
    ${config.login && html`<p><a class="button" href=${config.login}>${words.texts.log_in}</a></p>`}
    <${BackButton} page=${page} acts=${acts} />
  `;
}

/** @param {{ page: Page }} props */
function Done({ page: { config, words, language } }) {
  const { afterwards, next = words.texts.done_text } = config;
  return html`
    <p>${linkedText(localizedText(next, language))}</p>
    ${afterwards && html`<p><a class="button" href=${afterwards}>${words.texts.continue}</a></p>`}
  `;
}

/** Tells the person what happened. @param {{ page: Page }} props */
function Alert({ page: { words, language, memory, turn } }) {
  const { says, seconds } = memory;
  if (says === undefined) return null;
  return html`
    <div class="alert" role="alert" tabindex="-1" key=${turn}>
      <p>${fill(words.sentences[says], { time: duration(seconds, language) })}</p>
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

/** The captcha is outside of the shadow root: providers look for it in the document. @param {{ page: Page }} props */
function CaptchaPlace({ page: { config, memory, words } }) {
  if (config.captcha === undefined) return null;
  const isMissing = memory.errors.some(({ pointer }) => pointer === CAPTCHA_POINTER);
  return html`
    <div>
      <slot name="captcha"></slot>
      ${isMissing && html`<p class="error">${words.sentences.captcha_failed}</p>`}
    </div>
  `;
}

/** @param {Acts} acts @param {Press} event */
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

/** @param {Page} page @returns {Shared} */
function sharedProps({ config: { form }, words, language, memory: { errors }, channels, countries }) {
  return { form, words, language, errors, channels, countries };
}

const FIXED = ['name', 'email', 'phone', 'otp_type', 'password', 'repeat_password', 'referrer_id'];

/** Whether every form has the field: the page translates its label. @param {string} name */
function isFixed(name) {
  return FIXED.includes(name);
}
