import { byId, element } from './dom.js';

/** @import { FirstCalls } from '../first-calls.ts' */
/** @typedef {{ title: string; errors?: { pointer?: string; header?: string; detail: string }[] }} Problem */

/**
 * A registration page as a broker's site has one: it calls the API alone, but for the captcha. There a real page has the
 * provider's widget in place of our box, and a script of the provider gives it the token:
 *
 *     <script src="https://challenges.cloudflare.com/turnstile/v0/api.js" defer></script>
 *     <div class="cf-turnstile" data-sitekey="…" data-callback="tokenOf"></div>
 *
 * hCaptcha and reCAPTCHA have the same with other names. A token is taken once: each request needs a new one.
 */

const REGISTER = '/public/v1/account/register/request';
const CONFIRM = '/public/v1/account/register/confirm';
const form = /** @type {HTMLFormElement} */ (byId('register'));
const codeForm = /** @type {HTMLFormElement} */ (byId('confirm'));
/** @type {object} whose code is waited for */
let waiting = {};

form.addEventListener('change', showPhone);
form.addEventListener('submit', async (event) => {
  event.preventDefault();
  const token = await captchaToken();
  const wanted = await registration();
  const answer = await post(REGISTER, wanted, {
    // Of this click alone: repeated after a lost answer, it sends no second code.
    'idempotency-key': crypto.randomUUID(),
    ...(token === undefined ? {} : { 'captcha-token': token }),
  });
  uncheck();
  if (answer.status !== 204) return showProblem(answer.status, await answer.json());
  const { otp_type, email, phone, password } = wanted;
  waiting = { otp_type, ...(phone === undefined ? { email } : { phone }), password };
  showOutcome('We have sent you a code', 'Here it stands in the ', element('a', { href: '/_local' }, 'outbox'), '.');
  codeForm.hidden = false;
  codeForm.reset();
});
codeForm.addEventListener('submit', async (event) => {
  event.preventDefault();
  const answer = await post(CONFIRM, { ...waiting, code: new FormData(codeForm).get('code') });
  if (answer.status !== 204) return showProblem(answer.status, await answer.json());
  codeForm.hidden = true;
  showOutcome(
    'You are registered',
    'The CRM hears of it: see the ',
    element('a', { href: '/_local#crm' }, 'new client'),
    '.',
  );
});
showPhone();
showCaptcha();

/**
 * @param {string} path
 * @param {object} body
 * @param {Record<string, string>} [headers]
 */
function post(path, body, headers = {}) {
  const type = { 'content-type': 'application/json' };
  return fetch(path, { method: 'POST', headers: { ...type, ...headers }, body: JSON.stringify(body) });
}

/** What the form holds, as the API takes it. */
async function registration() {
  const { name, email, otp_type, country_code, number, password } = /** @type {Record<string, string>} */ (
    Object.fromEntries(new FormData(form))
  );
  return {
    type: 'trader',
    name,
    email,
    otp_type,
    phone: otp_type === 'email' ? undefined : { country_code, number },
    password,
    repeat_password: password,
    form_id: await formId(),
    language: navigator.language,
  };
}

/** A form among the records of this service that asks for nothing more; a real page knows its own. */
async function formId() {
  const answer = await fetch('/_local/calls');
  const { registration } = /** @type {FirstCalls} */ (await answer.json());
  return registration?.body.form_id ?? 'FORM0002';
}

/**
 * What the widget of a captcha gives the page.
 *
 * @returns {Promise<string | undefined>} undefined where none is asked for, or the box is not checked
 */
async function captchaToken() {
  if (!new FormData(form).has('person')) return undefined;
  const answer = await fetch('/_local/captcha', { method: 'POST' });
  return answer.ok ? (await answer.json()).token : undefined;
}

async function showCaptcha() {
  const answer = await fetch('/_local/captcha');
  byId('captcha').hidden = !(await answer.json()).needed;
}

/** As a widget does: its token is used up. */
function uncheck() {
  /** @type {HTMLInputElement} */ (form.elements.namedItem('person')).checked = false;
}

function showPhone() {
  const byPhone = new FormData(form).get('otp_type') !== 'email';
  byId('phone').hidden = !byPhone;
  for (const input of byId('phone').querySelectorAll('input')) input.required = byPhone;
}

/**
 * @param {string} title
 * @param {...(Node | string)} words
 */
function showOutcome(title, ...words) {
  byId('outcome').replaceChildren(element('h2', {}, title), element('p', {}, ...words));
}

/**
 * @param {number} status
 * @param {Problem} problem
 */
function showProblem(status, { title, errors = [] }) {
  const faults = errors.map(({ pointer, header, detail }) =>
    element('li', {}, `${pointer?.slice(2) ?? header ?? 'request'} ${detail}`),
  );
  showOutcome(title, `The service answered ${status}.`);
  byId('outcome').append(element('ul', {}, ...faults));
}
