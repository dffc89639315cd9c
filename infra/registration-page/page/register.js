// SPDX-License-Identifier: 0BSD
import { checkAllDocuments, checkForm, isEmpty, pointerOf } from './check.js';
import { html } from './html.js';
import { BUSY_STATES, initialContext, nextContext } from './machine.js';
import { CAPTCHA_POINTER, post } from './post.js';
import { render } from './vendor/preact.js';
import { VERSION } from './version.js';
import { headingOf, View } from './view.js';
import { fill, loadWords } from './words.js';

/** @import { Config, Details, Event, FieldError, MachineContext } from './types.ts' */
/** @typedef {Record<string, unknown>} Values */

/** Requests of fewer bytes are sent at once: no progress is shown. */
const LARGE_BYTES = 200_000;
/** The fields that a reload does not keep: the person types them again. */
const SECRETS = /password$/;

/**
 * Shows the registration in an element, and drives it.
 *
 * @param {HTMLElement} element @param {Config} config
 * @returns {Promise<{ language: string; direction: 'ltr' | 'rtl' }>} what the element is written in
 */
export async function start(element, config) {
  const tags = config.language === undefined ? navigator.languages : [config.language];
  const { language, words } = await loadWords(tags);
  const direction = words.direction ?? 'ltr';
  element.classList.add('registration');
  Object.assign(element, { lang: language, dir: direction });
  element.dataset.version = VERSION;
  new Registration(element, config, language, words).open();
  return { language, direction };
}

class Registration {
  #token = /** @type {string | undefined} */ (undefined);
  #resetCaptcha = () => {};
  #code = { code: '', password: '' };
  #turn = 0;
  #progress = /** @type {number | undefined} */ (undefined);
  #announced = '';
  #isCounting = false;
  #channels = /** @type {readonly string[]} */ ([]);
  /** The registration that the codes belong to, as it was sent. */
  #registered = /** @type {Values} */ ({});
  /** The registration that waits for its answer. Text that is typed meanwhile belongs to the next one. */
  #sending = /** @type {Values} */ ({});

  /** @param {HTMLElement} element @param {Config} config @param {string} language @param {import('./types.ts').Words} words */
  constructor(element, config, language, words) {
    this.element = element;
    this.config = config;
    this.language = language;
    this.words = words;
    // The page does not read the storage of another version.
    this.storage = `registration ${VERSION} ${config.form.properties.form_id?.default}`;
    this.#channels = config.channels ?? Object.keys(words.channels);
    /** @type {MachineContext} */
    this.memory = initialContext(newKey());
    /** @type {Values} */
    this.values = startValues(config);
    this.acts = {
      change: this.change.bind(this),
      changeCode: this.changeCode.bind(this),
      press: this.press.bind(this),
      showCaptcha: this.showCaptcha.bind(this),
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
    this.render();
    setInterval(() => this.tick(), 1_000);
  }

  /** @param {string} name @param {unknown} value */
  change(name, value) {
    this.values = { ...this.values, [name]: value };
    this.move('typed', { pointer: pointerOf(name) });
  }

  /** @param {'code' | 'password'} name @param {string} value */
  changeCode(name, value) {
    this.#code = { ...this.#code, [name]: value };
    this.move('typed', { pointer: pointerOf(name) });
  }

  /** @param {'register' | 'confirm' | 'again' | 'back' | 'enter_code'} event */
  press(event) {
    if (BUSY_STATES.includes(this.memory.state)) return;
    if (event === 'again' && this.#isForgotten()) return this.move('again_forgotten');
    const waits = event === 'register' || event === 'again' || event === 'confirm';
    if (waits && this.memory.waits[event] > Date.now()) return;
    const errors = this.#errorsBefore(event);
    if (errors.length > 0) return this.move('incomplete', { errors });
    this.move(event);
    if (event === 'confirm') void this.#confirm();
    else if (event === 'register' || event === 'again')
      void this.#register(event === 'register' ? this.values : this.#registered);
  }

  /** The errors that keep a request from being sent. @param {string} event @returns {FieldError[]} */
  #errorsBefore(event) {
    /** @type {FieldError[]} */
    const captcha =
      this.config.captcha && this.#token === undefined ? [{ pointer: CAPTCHA_POINTER, rule: 'required' }] : [];
    if (event === 'again') return captcha;
    if (event === 'register') {
      const values = trimmed(this.config, this.values);
      return [...checkForm(this.config.form, values), ...checkAllDocuments(this.config.form, values), ...captcha];
    }
    if (event !== 'confirm') return [];
    /** @type {FieldError[]} */
    const errors = [];
    // Six digits of any script, and what people type between them.
    if ((this.#code.code.match(/\p{Nd}/gu) ?? []).length !== 6) errors.push({ pointer: '#/code', rule: 'six_digits' });
    if (this.#isForgotten() && this.#code.password === '') errors.push({ pointer: '#/password', rule: 'required' });
    return errors;
  }

  /** @param {Values} values as the person has typed them, or as they were sent before */
  async #register(values) {
    const { key, state } = this.memory;
    this.#sending = values;
    this.#keep();
    const body = await bodyOf(this.config, values, this.language).catch(() => undefined);
    // A file that was chosen cannot be read any more.
    if (body === undefined) return this.move('invalid');
    const headers = {
      'idempotency-key': key,
      ...(this.#token !== undefined && { 'captcha-token': this.#token }),
    };
    const outcome = await this.#post('request', body, headers);
    if (this.config.captcha) this.#resetCaptcha();
    if (['accepted', 'failed', 'silent', 'unreadable', 'in_progress'].includes(outcome.end)) this.#registered = values;
    if (outcome.available !== undefined) this.#channels = outcome.available;
    const isAnother = state === 'resending';
    if (!isAnother) this.#code = { code: '', password: '' };
    this.move(outcome.end, outcome, isAnother && outcome.end === 'accepted' ? this.words.texts.sent : '');
  }

  async #confirm() {
    const { otp_type = 'email', email, phone, password = this.#code.password } = trimmed(this.config, this.#registered);
    const address = otp_type === 'email' ? { email } : { phone };
    const outcome = await this.#post('confirm', { otp_type, ...address, password, code: this.#code.code }, {});
    // The API does not say which of the two is wrong.
    const wrong = this.#isForgotten() ? ['#/code', '#/password'] : ['#/code'];
    const errors = outcome.end === 'code_refused' ? wrong.map((pointer) => ({ pointer })) : outcome.errors;
    this.move(outcome.end, { ...outcome, errors });
  }

  /** @param {'request' | 'confirm'} operation @param {object} body @param {Record<string, string>} headers */
  async #post(operation, body, headers) {
    const url = `${this.config.api}/public/v1/account/register/${operation}`;
    const text = JSON.stringify(body);
    const show = (/** @type {number | undefined} */ share) => {
      this.#progress = text.length > LARGE_BYTES ? share : undefined;
      this.render();
    };
    show(0);
    const outcome = await post(url, text, headers, show);
    this.#progress = undefined;
    return outcome;
  }

  /** @param {Event} event @param {Partial<Details>} [details] @param {string} [announced] */
  move(event, details = {}, announced = '') {
    const before = this.memory;
    this.memory = nextContext(before, event, { now: Date.now(), newKey, ...details });
    this.#announced = fill(announced, { address: this.#address() });
    const { state: to, says } = this.memory;
    if (event !== 'typed' && this.memory !== before) {
      this.#turn += 1;
      this.config.onStep?.({ from: before.state, event, to, says });
    }
    this.#keep();
    this.render();
    if (event !== 'typed' && this.memory !== before) this.#focus(before, event);
  }

  /** A reload keeps the step and the fields, without secrets and files. */
  #keep() {
    // The request may arrive, even if the page is reloaded before the answer.
    const registered = this.memory.state === 'sending' ? this.#sending : this.#registered;
    if (this.memory.state === 'done') return storage()?.removeItem(this.storage);
    const safe = (/** @type {Values} */ values) =>
      Object.fromEntries(Object.entries(values).filter(([name]) => !SECRETS.test(name) && !isFile(this.config, name)));
    const kept = { memory: this.memory, values: safe(this.values), registered: safe(registered) };
    storage()?.setItem(this.storage, JSON.stringify(kept));
  }

  #isForgotten() {
    return this.#registered.password === undefined;
  }

  #address() {
    const { otp_type = 'email', email, phone } = this.#registered;
    if (otp_type === 'email') return String(email ?? '');
    const { country_code = '', number = '' } = /** @type {Record<string, string>} */ (phone ?? {});
    return `+${country_code.replace(/^\+/, '')} ${number}`;
  }

  /** @param {MachineContext} before @param {Event} event */
  #focus(before, event) {
    const { state, says } = this.memory;
    if (BUSY_STATES.includes(state)) return;
    const invalid = ':is(input, select, textarea)[aria-invalid], [aria-invalid] input, fieldset[aria-invalid]';
    const place = says === undefined ? (state === 'code' ? '[id="#/code"]' : 'h1') : `${invalid}, [role="alert"]`;
    const isSame = event === 'accepted' && before.state === 'resending';
    const found = [...this.element.querySelectorAll(place)];
    const first = found.find((one) => one.matches(invalid)) ?? found[0];
    if (!isSame && (says !== undefined || event !== 'reload')) /** @type {HTMLElement | undefined} */ (first)?.focus();
  }

  /** Shows the captcha once its place is there. @param {HTMLElement | null} place */
  async showCaptcha(place) {
    if (place === null || place.dataset.shown !== undefined) return;
    place.dataset.shown = '';
    const onToken = (/** @type {string | undefined} */ token) => {
      this.#token = token;
    };
    onToken(undefined);
    this.#resetCaptcha = (await this.config.captcha?.(place, onToken, this.language)) ?? (() => {});
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
    const { config, words, language, memory, values } = this;
    const page = {
      ...{ config, words, language, memory, values },
      turn: this.#turn,
      address: this.#address(),
      code: this.#code,
      isForgotten: this.#isForgotten(),
      channels: this.#channels,
      progress: this.#progress,
      announced: this.#announced,
      now: Date.now(),
    };
    const heading = headingOf(page);
    const error = memory.says === undefined ? heading : `${words.texts.error}: ${heading}`;
    document.title = config.brand === undefined ? error : `${error} – ${config.brand}`;
    render(html`<${View} page=${page} acts=${this.acts} />`, this.element);
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

/** The values of an untouched form, with those of the page's link. @param {Config} config @returns {Values} */
function startValues({ form, fromLink = {} }) {
  const values = Object.fromEntries(
    Object.entries(form.properties).map(([name, schema]) => [name, schema.default ?? untouched(form, name)]),
  );
  const link = new URLSearchParams(location.search);
  for (const [name, parameter] of Object.entries(fromLink)) {
    const given = link.get(parameter);
    if (given !== null && form.properties[name]?.type === 'string') values[name] = given;
  }
  return values;
}

/** A box that must be answered, not ticked, is answered with no. @param {Config['form']} form @param {string} name */
function untouched(form, name) {
  const schema = form.properties[name];
  return schema?.type === 'boolean' && schema.const !== true && form.required.includes(name) ? false : undefined;
}

/** @param {Config} config @param {string} name */
function isFile({ form }, name) {
  return form.properties[name]?.items?.properties?.doc !== undefined;
}

/** The values without white space around texts of one line. @param {Config} config @param {Values} values @returns {Values} */
function trimmed({ form }, values) {
  const isLine = (/** @type {string} */ name) =>
    !SECRETS.test(name) && form.uiSchema[name]?.['ui:widget'] !== 'textarea';
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === 'string' && isLine(name) ? value.trim() : value,
  ]);
  return Object.fromEntries(entries);
}

/** The body of a request: without empty fields, and with the content of its files. @param {Config} config @param {Values} values @param {string} language */
async function bodyOf(config, values, language) {
  const entries = Object.entries(trimmed(config, values)).filter(([, value]) => !isEmpty(value));
  const filled = entries.map(async ([name, value]) => {
    if (!isFile(config, name)) return [name, value];
    const files = /** @type {{ id: string; name: string; file: File }[]} */ (value);
    return [name, await Promise.all(files.map(async ({ id, name, file }) => ({ id, name, doc: await base64(file) })))];
  });
  return { ...Object.fromEntries(await Promise.all(filled)), language: navigator.language || language };
}

/** @param {File} file @returns {Promise<string>} */
function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^[^,]*,/, ''));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
