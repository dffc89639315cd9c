// SPDX-License-Identifier: 0BSD
import { checkAllDocuments, checkForm, fieldPointer, isDocument } from './check.js';
import { encodeDocuments } from './documents.js';
import { html } from './html.js';
import { BUSY_STATES, initialContext, isAtOrBelow, nextContext } from './machine.js';
import { CAPTCHA_POINTER, post } from './post.js';
import { dialCode, keptValues, requestValues, startValues } from './values.js';
import { render } from './vendor/preact.js';
import { stepHeading, View } from './view.js';
import { browserCountries, fill, loadWords } from './words.js';

/** @import { Config, Details, Event, FieldError, MachineContext } from './types.ts' */
/** @import { Outcome } from './post.js' */
/** @import { Values } from './check.js' */
/** @import { Press } from './view.js' */

/** Requests of fewer bytes are sent at once: no progress is shown. */
const LARGE_BYTES = 200_000;
/** A form with documents and more fields than these has a part for the documents. */
const LONG_FORM = 10;
const STYLES = new URL('./register.css', import.meta.url).href;

/**
 * Shows the registration in an element, and drives it. It is in a shadow root, so that the styles of the surrounding
 * page end there.
 *
 * @param {HTMLElement} element @param {Config} config
 * @param {(heading: string) => void} [onHeading] hears the heading of each step, for the title of a page
 * @returns {Promise<{ language: string; direction: 'ltr' | 'rtl' }>} what the element is written in
 */
export async function start(element, config, onHeading = () => {}) {
  const tags = config.language === undefined ? navigator.languages : [config.language];
  const { tag, language, words } = await loadWords(tags);
  const direction = words.direction ?? 'ltr';
  const place = document.createElement('div');
  place.className = 'registration';
  if (config.theme !== undefined) place.dataset.theme = config.theme;
  for (const one of [element, place]) Object.assign(one, { lang: language, dir: direction });
  const styles = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: STYLES });
  const loaded = new Promise((resolve) => {
    styles.onload = resolve;
    styles.onerror = resolve;
  });
  element.attachShadow({ mode: 'open' }).append(styles, place);
  await loaded;
  const registration = new Registration(
    place,
    { ...config, language: config.language ?? tag },
    language,
    words,
    onHeading,
  );
  registration.open();
  if (config.captcha) {
    const widget = Object.assign(document.createElement('div'), { slot: 'captcha' });
    element.append(widget);
    void registration.showCaptcha(widget);
  }
  return { language, direction };
}

class Registration {
  #token = /** @type {string | undefined} */ (undefined);
  #resetCaptcha = () => {};
  #code = '';
  /** The code that was last sent without the button. */
  #sentByItself = '';
  #isReading = false;
  #turn = 0;
  #progress = /** @type {number | undefined} */ (undefined);
  #announced = '';
  #isCounting = false;
  #channels = /** @type {readonly string[]} */ ([]);
  /** The registration that the codes belong to, as it was typed. */
  #registered = /** @type {Values} */ ({});
  /** The registration that waits for its answer. Text that is typed meanwhile belongs to the next one. */
  #sending = /** @type {Values} */ ({});

  /** @param {HTMLElement} place @param {Config} config @param {string} language @param {import('./types.ts').Words} words @param {(heading: string) => void} onHeading */
  constructor(place, config, language, words, onHeading) {
    this.place = place;
    this.config = config;
    this.language = language;
    this.words = words;
    this.onHeading = onHeading;
    // The number changes with what is stored.
    this.storage = `registration 2 ${config.form.properties.form_id?.default}`;
    this.#channels = config.channels ?? Object.keys(words.channels);
    /** @type {MachineContext} */
    this.memory = initialContext(newKey());
    const here = browserCountries(navigator.languages);
    this.countries = [...(config.countries ?? []), ...here];
    /** @type {Values} */
    this.values = startValues(config, here[0] ?? config.countries?.[0] ?? '');
    this.acts = {
      change: this.change.bind(this),
      changeCode: this.changeCode.bind(this),
      press: this.press.bind(this),
    };
  }

  open() {
    const kept = storage()?.getItem(this.storage);
    if (kept) {
      const { memory, values, registered } = JSON.parse(kept);
      this.memory = memory;
      this.values = { ...this.values, ...values };
      this.#registered = registered;
      this.move('reload');
    }
    this.#keep();
    this.render();
    setInterval(() => this.tick(), 1_000);
    addEventListener('popstate', ({ state }) => this.#follow(state?.registration ?? 0));
  }

  /** @param {string} name @param {unknown} value */
  change(name, value) {
    this.values = { ...this.values, [name]: value };
    this.move('typed', { pointer: fieldPointer(name) });
  }

  /** @param {string} code */
  changeCode(code) {
    this.#code = code;
    this.move('typed', { pointer: '#/code' });
    if (this.#isReading || codeDigits(code).length !== 6 || code === this.#sentByItself) return;
    this.#sentByItself = code;
    this.press('confirm');
  }

  /** @param {Press} event */
  press(event) {
    if (BUSY_STATES.includes(this.memory.state)) return;
    this.#readControls();
    if (event === 'again' && this.#isForgotten()) return this.move('again_forgotten');
    const waits = event === 'register' || event === 'again' || event === 'confirm';
    if (waits && this.memory.waits[event] > Date.now()) return;
    const errors = this.#errorsBefore(event);
    if (errors.length > 0) return this.move('incomplete', { errors, part: this.#firstPart(errors) });
    this.move(event);
    if (event === 'confirm') void this.#confirm();
    else if (event === 'register' || event === 'again')
      void this.#register(event === 'register' ? this.values : this.#registered);
  }

  /** Password managers, browsers and scripts fill in controls without an event. */
  #readControls() {
    this.#isReading = true;
    for (const control of this.place.querySelectorAll('input, select, textarea')) {
      control.dispatchEvent(new Event('input'));
    }
    this.#isReading = false;
  }

  /** The errors that keep a request from being sent, or a part from being left. @param {Press} event @returns {FieldError[]} */
  #errorsBefore(event) {
    const { form } = this.config;
    if (event === 'confirm')
      return codeDigits(this.#code).length === 6 ? [] : [{ pointer: '#/code', rule: 'six_digits' }];
    /** @type {FieldError[]} */
    const captcha =
      this.config.captcha && this.#token === undefined ? [{ pointer: CAPTCHA_POINTER, rule: 'required' }] : [];
    if (event === 'again') return captcha;
    if (event !== 'register' && event !== 'next') return [];
    const values = requestValues(form, this.values, this.language);
    const errors = [...checkForm(form, values), ...checkAllDocuments(form, values), ...captcha];
    return event === 'register' ? errors : errors.filter((error) => this.#firstPart([error]) === this.memory.part);
  }

  /** @param {Values} values as the person has typed them, now or before */
  async #register(values) {
    const { config, language } = this;
    const { key, state } = this.memory;
    this.#sending = values;
    this.#keep();
    const show = (/** @type {number} */ share) => this.#show(share / 2);
    const { documents, errors } = await encodeDocuments(config.form, values, show);
    if (errors.length > 0) return this.move('invalid', { errors, part: this.#firstPart(errors) });
    const body = { ...requestValues(config.form, values, language), ...documents, language: config.language };
    const headers = { 'idempotency-key': key, ...(this.#token !== undefined && { 'captcha-token': this.#token }) };
    const outcome = this.#placed(await this.#post('request', body, headers));
    if (config.captcha) this.#resetCaptcha();
    if (outcome.end === 'accepted') this.#registered = values;
    if (outcome.available !== undefined) this.#channels = outcome.available;
    const isAnother = state === 'resending';
    if (!isAnother) this.#code = '';
    this.move(outcome.end, outcome, isAnother && outcome.end === 'accepted' ? this.words.texts.sent : '');
  }

  /** Tries the code with each registration: whichever message has arrived, its code is right. */
  async #confirm() {
    for (const id of this.memory.ids) {
      const outcome = await this.#post('confirm', { registration_id: id, code: this.#code }, {});
      if (outcome.end !== 'code_refused') return this.move(outcome.end, outcome);
    }
    this.move('code_refused', { errors: [{ pointer: '#/code' }] });
  }

  /** An answer with the part of its first error. The person sees no error of a field that the page does not have. @param {Outcome} outcome @returns {Outcome & { part?: number | undefined }} */
  #placed(outcome) {
    if (outcome.end === 'accepted' && outcome.id === undefined) {
      console.info('What is before the API must expose the header registration-id to scripts of this origin.');
      return { ...outcome, end: 'unreadable' };
    }
    const errors = outcome.errors.filter((error) => this.#firstPart([error]) !== undefined);
    const isOther = outcome.end === 'invalid' && errors.length === 0;
    return { ...outcome, errors, part: this.#firstPart(errors), ...(isOther && { end: 'form_gone' }) };
  }

  /** @param {'request' | 'confirm'} operation @param {object} body @param {Record<string, string>} headers */
  async #post(operation, body, headers) {
    const url = `${this.config.api}/public/v1/account/register/${operation}`;
    const text = JSON.stringify(body);
    const isLarge = text.length > LARGE_BYTES;
    this.#progress = isLarge ? this.#progress : undefined;
    const outcome = await post(url, text, headers, (share) => isLarge && this.#show(0.5 + share / 2));
    this.#progress = undefined;
    return outcome;
  }

  /** @param {number} share of the work that is done, 0 to 1 */
  #show(share) {
    this.#progress = share;
    this.render();
  }

  /** @param {Event} event @param {Partial<Details>} [details] @param {string} [announced] */
  move(event, details = {}, announced = '') {
    const before = this.memory;
    this.memory = nextContext(before, event, { now: Date.now(), newKey, ...details });
    const { state: to, says } = this.memory;
    const isMoved = event !== 'typed' && this.memory !== before;
    const isBusy = BUSY_STATES.includes(to);
    this.#announced = isBusy ? this.words.texts.sending : fill(announced, { address: this.#address() });
    if (!isBusy) this.#progress = undefined;
    if (isMoved) {
      this.#turn += 1;
      this.config.onStep?.({ from: before.state, event, to, says });
      this.#rememberStep();
    }
    this.#keep();
    this.render();
    if (isMoved) this.#focus(before, event);
  }

  /** A reload keeps the step and the fields, without secrets and files. */
  #keep() {
    const { memory, config, values } = this;
    if (memory.state === 'done' || memory.state === 'client') return storage()?.removeItem(this.storage);
    const kept = {
      memory,
      values: keptValues(config.form, values),
      registered: keptValues(config.form, memory.state === 'sending' ? this.#sending : this.#registered),
    };
    storage()?.setItem(this.storage, JSON.stringify(kept));
  }

  /** The steps that the browser's buttons go to: the parts of the form, then the code. Others have none. */
  #step() {
    const { state, part } = this.memory;
    return state === 'form' ? part : state === 'code' ? this.#parts().length : undefined;
  }

  /** A new step is an entry of the browser's history. */
  #rememberStep() {
    const [step, shown] = [this.#step(), history.state?.registration ?? 0];
    if (step === undefined || step === shown) return;
    const entry = { ...history.state, registration: step };
    if (step > shown) history.pushState(entry, '');
    else history.replaceState(entry, '');
  }

  /** Follows the browser's buttons. @param {number} wanted */
  #follow(wanted) {
    const step = this.#step();
    if (step === undefined || step === wanted) return;
    if (wanted < step) this.press('back');
    else this.press(step < this.#parts().length - 1 ? 'next' : 'enter_code');
  }

  /** The names of the fields that are shown, in the parts of the form. */
  #parts() {
    const { form } = this.config;
    const names = form.uiSchema['ui:order'].filter(
      (name) => form.uiSchema[name]?.['ui:widget'] !== 'hidden' && (name !== 'otp_type' || this.#channels.length > 1),
    );
    const documents = names.filter((name) => isDocument(form.properties[name]));
    if (documents.length === 0 || names.length <= LONG_FORM) return [names];
    return [names.filter((name) => !documents.includes(name)), documents];
  }

  /** The part of the form with the first of these errors; undefined: none has it. @param {readonly FieldError[]} errors */
  #firstPart(errors) {
    const parts = this.#parts();
    const places = errors.map(({ pointer }) => {
      if (pointer === CAPTCHA_POINTER) return parts.length - 1;
      return parts.findIndex((names) => names.some((name) => isAtOrBelow(pointer, fieldPointer(name))));
    });
    return places.filter((place) => place !== -1).sort()[0];
  }

  #isForgotten() {
    return this.#registered.password === undefined;
  }

  #address() {
    const { otp_type = 'email', email, phone } = this.#registered;
    if (otp_type === 'email') return String(email ?? '');
    const { country_code = '', number = '' } = /** @type {Record<string, string>} */ (phone ?? {});
    return number.trim().startsWith('+') ? number : `${dialCode(this.config.form, country_code, number)} ${number}`;
  }

  /** @param {MachineContext} before @param {Event} event */
  #focus(before, event) {
    const { state, says } = this.memory;
    if (BUSY_STATES.includes(state)) return;
    const invalid = ':is(input, select, textarea)[aria-invalid], [aria-invalid] input, fieldset[aria-invalid]';
    const place = says === undefined ? (state === 'code' ? '[id="#/code"]' : '.heading') : `${invalid}, [role="alert"]`;
    const isSame = event === 'accepted' && before.state === 'resending';
    const found = [...this.place.querySelectorAll(place)];
    const first = found.find((one) => one.matches(invalid)) ?? found[0];
    if (!isSame && (says !== undefined || event !== 'reload')) /** @type {HTMLElement | undefined} */ (first)?.focus();
  }

  /** @param {HTMLElement} widget */
  async showCaptcha(widget) {
    const onToken = (/** @type {string | undefined} */ token) => {
      this.#token = token;
    };
    this.#resetCaptcha = (await this.config.captcha?.(widget, onToken, this.language)) ?? (() => {});
  }

  /** Counts the seconds of the buttons, and announces the end of the wait for another code. */
  tick() {
    if (!this.#isCounting) return;
    const { again } = this.memory.waits;
    if (this.memory.state === 'code' && again <= Date.now()) this.#announced = this.words.texts.again_ready;
    this.render();
  }

  render() {
    // The end of a wait is shown too, also after the machine has slept.
    this.#isCounting = Object.values(this.memory.waits).some((until) => until > Date.now());
    const { config, words, language, memory, values, countries } = this;
    const page = {
      config,
      words,
      language,
      memory,
      values,
      countries,
      turn: this.#turn,
      parts: this.#parts(),
      address: this.#address(),
      code: this.#code,
      isForgotten: this.#isForgotten(),
      channels: this.#channels,
      progress: this.#progress,
      announced: this.#announced,
      now: Date.now(),
    };
    const heading = stepHeading(page);
    this.onHeading(memory.says === undefined ? heading : `${words.texts.error}: ${heading}`);
    render(html`<${View} page=${page} acts=${this.acts} />`, this.place);
  }
}

/** The storage that a reload finds again. A browser that refuses to store anything has none. */
function storage() {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

/** An `Idempotency-Key`. */
function newKey() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The digits of any script. @param {string} text */
function codeDigits(text) {
  return text.match(/\p{Nd}/gu) ?? [];
}
