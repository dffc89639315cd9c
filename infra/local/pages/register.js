import { html, render } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { Field, matchesPlace } from './fields.js';
import { findElement, Top } from './parts.js';

/** @import { FieldError, FieldProps, Schema, Ui } from './fields.js' */
/** @import { FirstCalls } from '../first-calls.ts' */
/** @typedef {Record<string, Ui> & { 'ui:order': string[] }} UiSchema */
/** @typedef {{ title: string; properties: Record<string, Schema>; required: string[]; uiSchema: UiSchema }} Form */
/** @typedef {{ status?: number; title: string; detail?: string; errors?: FieldError[] }} Problem */
/** @typedef {() => Promise<Problem | undefined>} Send */

/**
 * A registration page as a broker's site has one. It calls the API alone, except for the form and the captcha. A real
 * page gets its form from `npm run crm -- form ID`, and shows the widget of its captcha's provider instead of our
 * checkbox:
 *
 *     <script src="https://challenges.cloudflare.com/turnstile/v0/api.js" defer></script>
 *     <div class="cf-turnstile" data-sitekey="…" data-callback="onToken"></div>
 *
 * hCaptcha and reCAPTCHA are the same with other names. A token is valid once: each request needs a new one.
 */

const CAPTCHA = { pointer: '#captcha', schema: { title: 'I am a person', type: 'boolean' }, ui: {}, required: true };
const CODE = { pointer: '#/code', schema: { title: 'Code' }, required: true };

/** @param {{ form: Form; hasCaptcha: boolean }} props */
function Registration({ form, hasCaptcha }) {
  const defaults = Object.entries(form.properties).map(([name, schema]) => [name, schema.default]);
  const [values, setValues] = useState(/** @type {Record<string, unknown>} */ (Object.fromEntries(defaults)));
  const [isPerson, setPerson] = useState(false);
  const [code, setCode] = useState('');
  const [step, setStep] = useState('register');
  const { otp_type, email, phone, password } = values;

  if (step === 'done') {
    return html`<h1>You are registered</h1><p>The CRM created a <a href="/_local#crm">new client</a>.</p>`;
  }
  if (step === 'confirm') {
    const body = { otp_type, ...(otp_type === 'email' ? { email } : { phone }), password, code };
    const field = { ...CODE, ui: { 'ui:autocomplete': 'one-time-code' }, value: code, onChange: setCode };
    return html`
      <${Step} key=${step} title="We have sent you a code" button="Confirm" fields=${[field]}
        send=${() => post('confirm', body)} next=${() => setStep('done')}>
        <p>The message is in the <a href="/_local">outbox</a>.</p>
      <//>
      <button type="button" class="secondary outline" onClick=${() => setStep('register')}>Back</button>
    `;
  }
  const send = async () => {
    const token = isPerson ? await captchaToken() : undefined;
    setPerson(false);
    // The key belongs to one click: a repeat after a lost answer sends no second code.
    const headers = { 'idempotency-key': crypto.randomUUID(), ...(token && { 'captcha-token': token }) };
    return post('request', { ...values, language: navigator.language }, headers);
  };
  const names = form.uiSchema['ui:order'].filter((name) => form.uiSchema[name]?.['ui:widget'] !== 'hidden');
  const fields = names.map((name) => ({
    pointer: `#/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`,
    schema: form.properties[name],
    ui: form.uiSchema[name] ?? {},
    required: [...form.required, 'otp_type', otp_type === 'email' ? '' : 'phone'].includes(name),
    value: values[name],
    onChange: (/** @type {unknown} */ value) => setValues((before) => ({ ...before, [name]: value })),
  }));
  const captcha = hasCaptcha ? [{ ...CAPTCHA, value: isPerson, onChange: setPerson }] : [];
  return html`
    <${Step} key=${step} title="Open an account with Example Broker" button="Register" fields=${[...fields, ...captcha]}
      send=${send} next=${() => setStep('confirm')} />
  `;
}

/**
 * A form that sends a request, and shows each error of the answer at its field. Errors of no field are listed on top.
 *
 * @param {{ title: string; button: string; fields: FieldProps[]; send: Send; next: () => void; children: unknown }}
 * props
 */
function Step({ title, button, fields, send, next, children }) {
  const [problem, setProblem] = useState(/** @type {Problem | undefined} */ (undefined));
  const [isBusy, setBusy] = useState(false);
  const { errors = [] } = problem ?? {};
  const others = errors.filter((error) => !fields.some(({ pointer }) => matchesPlace(error, pointer)));
  useEffect(() => {
    const invalid = document.querySelector('[aria-invalid]:is(input, select, textarea), [aria-invalid] input');
    /** @type {HTMLElement | null} */ (invalid ?? document.querySelector('[role="alert"], h1'))?.focus();
  }, [problem]);
  const submit = async (/** @type {Event} */ event) => {
    event.preventDefault();
    setBusy(true);
    const failure = await send();
    setBusy(false);
    setProblem(failure);
    if (failure === undefined) next();
  };
  const alert = html`
    <article class="alert" role="alert" tabindex="-1">
      <strong>${problem?.title}</strong> ${problem?.detail} ${problem?.status && `(HTTP ${problem.status})`}
      ${others.map(({ pointer, parameter, header, detail }) => html`<br />${pointer ?? parameter ?? header} ${detail}`)}
    </article>
  `;
  return html`
    <h1 tabindex="-1">${title}</h1>
    ${children}
    <form noValidate onSubmit=${submit}>
      ${problem && alert}
      ${fields.map((field) => html`<${Field} key=${field.pointer} ...${field} errors=${errors} />`)}
      <button type="submit" aria-busy=${isBusy}>${button}</button>
    </form>
  `;
}

/**
 * Returns why it failed. @param {'request' | 'confirm'} operation @param {object} body @param {HeadersInit} [headers]
 */
async function post(operation, body, headers) {
  const answer = await fetch(`/public/v1/account/register/${operation}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }).catch(() => undefined);
  if (answer?.ok) return undefined;
  if (answer === undefined) return { title: 'The service cannot be reached.' };
  const { title = 'The gateway refused the request.', detail, errors = [] } = await answer.json();
  const isCaptchaError = (/** @type {FieldError} */ error) =>
    error.header === 'captcha-token' ? { ...error, pointer: CAPTCHA.pointer } : error;
  return { status: answer.status, title, detail, errors: errors.map(isCaptchaError) };
}

/** The token that a captcha widget would give. @returns {Promise<string>} */
async function captchaToken() {
  return (await (await fetch('/_local/captcha', { method: 'POST' })).json()).token;
}

/** @param {string} path */
async function get(path) {
  return (await fetch(`/_local/${path}`)).json();
}

/** @type {[{ id: string; name?: string }[], FirstCalls, { needed: boolean }]} */
const [forms, { registration }, { needed }] = await Promise.all([get('forms'), get('calls'), get('captcha')]);
const id = new URLSearchParams(location.search).get('form') ?? registration?.body.form_id ?? forms[0]?.id;
/** @type {Form | Problem} */
const form = await get(`forms/${encodeURIComponent(String(id))}`);
const choose = (/** @type {{ currentTarget: HTMLSelectElement }} */ { currentTarget }) =>
  location.assign(`?form=${encodeURIComponent(currentTarget.value)}`);
const options = forms.map(({ id, name }) => html`<option value=${id}>${id}${name && `: ${name}`}</option>`);
const page = html`
  <${Top}><p>Registration page</p><//>
  <main>
    <label>Form of this page <select value=${id} onChange=${choose}>${options}</select></label>
    ${'properties' in form ? html`<${Registration} form=${form} hasCaptcha=${needed} />` : html`<h1>${form.title}</h1>`}
  </main>
`;
render(page, findElement('page'));
