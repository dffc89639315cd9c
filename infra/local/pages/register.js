import { html, render } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { Field, matchesPlace } from './fields.js';
import { announce, findElement, Top } from './parts.js';

/** @import { FieldError, FieldProps, Schema, Ui } from './fields.js' */
/** @import { FirstCalls } from '../first-calls.ts' */
/** @typedef {Record<string, Ui> & { 'ui:order': string[] }} UiSchema */
/** @typedef {{ title: string; properties: Record<string, Schema>; required: string[]; uiSchema: UiSchema }} Form */
/** @typedef {{ status?: number; title: string; detail?: string; errors?: FieldError[]; retryAfter?: number }} Problem */
/** @typedef {() => Promise<Problem | undefined>} Send */
/** @typedef {Record<string, unknown>} Values */
/** @typedef {{ values: Values; isWhole: boolean; asksPassword: boolean; step: string; sent: number; waitUntil: number }} Progress */

/**
 * A registration page as a broker's site has one, with the dialogue of infra/docs/registration-page.md. It calls the API alone, except for the form and the captcha. A real
 * page gets its form from `npm run crm -- form ID`, and shows the widget of its captcha's provider instead of our
 * checkbox:
 *
 *     <script src="https://challenges.cloudflare.com/turnstile/v0/api.js" defer></script>
 *     <div class="cf-turnstile" data-sitekey="…" data-callback="onToken"></div>
 *
 * hCaptcha and reCAPTCHA are the same with other names. A token is valid once: each request needs a new one.
 */

const CAPTCHA = { pointer: '#captcha', schema: { title: 'I am a person', type: 'boolean' }, ui: {}, required: true };
/** A text field with digits: people paste and type spaces, which the API ignores. */
const CODE = {
  pointer: '#/code',
  schema: { title: 'Code' },
  ui: { 'ui:autocomplete': 'one-time-code', 'ui:inputmode': 'numeric' },
  required: true,
};
const PASSWORD = {
  pointer: '#/password',
  schema: { title: 'Password', description: 'Again, because this page was loaded again.' },
  ui: { 'ui:widget': 'password', 'ui:autocomplete': 'current-password' },
  required: true,
};

/** The seconds until the next code, after the first, the second, …: the default of the setting `limits.resendSeconds`. */
const WAITS = [60, 120, 300, 900];

/** @param {{ form: Form; hasCaptcha: boolean }} props */
function Registration({ form, hasCaptcha }) {
  const [progress, setProgress] = useState(() => restore(form));
  const [isPerson, setPerson] = useState(false);
  const [code, setCode] = useState('');
  const { values, isWhole, asksPassword, step, sent, waitUntil } = progress;
  const change = (/** @type {Partial<Progress>} */ changed) => setProgress((before) => ({ ...before, ...changed }));
  const changeValue = (/** @type {string} */ name, /** @type {unknown} */ value) =>
    setProgress((before) => ({ ...before, values: { ...before.values, [name]: value } }));
  useEffect(() => keep(form, progress), [progress]);
  const { otp_type, email, phone, password, repeat_password = password } = values;
  const captcha = hasCaptcha ? [{ ...CAPTCHA, value: isPerson, onChange: setPerson }] : [];
  const send = async () => {
    const token = isPerson ? await captchaToken() : undefined;
    setPerson(false);
    // The key belongs to one click: a repeat after a lost answer sends no second code.
    const headers = { 'idempotency-key': crypto.randomUUID(), ...(token && { 'captcha-token': token }) };
    const problem = await post('request', { ...values, repeat_password, language: navigator.language }, headers);
    const seconds = problem === undefined ? (WAITS[sent] ?? WAITS.at(-1) ?? 0) : (problem.retryAfter ?? 0);
    change({ waitUntil: Date.now() + seconds * 1_000, sent: problem === undefined ? sent + 1 : sent });
    return problem;
  };

  if (step === 'done') {
    return html`<h1>You are registered</h1><p>The CRM created a <a href="/_local#crm">new client</a>.</p>`;
  }
  if (step === 'confirm') {
    const address = otp_type === 'email' ? { email } : { phone };
    const again = {
      ...PASSWORD,
      value: password,
      onChange: (/** @type {unknown} */ typed) => changeValue('password', typed),
    };
    const fields = [{ ...CODE, value: code, onChange: setCode }, ...(asksPassword ? [again] : [])];
    return html`
      <${Step} key=${step} title="We have sent you a code" button="Confirm" fields=${fields}
        send=${() => post('confirm', { otp_type, ...address, password, code })} next=${() => change({ step: 'done' })}>
        <p>To ${describeAddress(values)}. The message is in the <a href="/_local">outbox</a>.</p>
      <//>
      ${isWhole && html`<${SendAgain} fields=${captcha} send=${send} sent=${sent} waitUntil=${waitUntil} />`}
      <button type="button" class="secondary outline" onClick=${() => change({ step: 'register' })}>Back</button>
    `;
  }
  const names = form.uiSchema['ui:order'].filter((name) => form.uiSchema[name]?.['ui:widget'] !== 'hidden');
  const fields = names.map((name) => ({
    pointer: `#/${encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))}`,
    schema: form.properties[name],
    ui: form.uiSchema[name] ?? {},
    required: [...form.required, 'otp_type', otp_type === 'email' ? '' : 'phone'].includes(name),
    value: values[name],
    onChange: (/** @type {unknown} */ value) => changeValue(name, value),
  }));
  return html`
    <${Step} key=${step} title="Open an account with Example Broker" button="Register" fields=${[...fields, ...captcha]}
      send=${send} next=${() => change({ step: 'confirm', isWhole: true, asksPassword: false })} />
  `;
}

/**
 * What a person has done on this page. A reload keeps it, without secrets and files: they are typed or chosen again.
 *
 * @param {Form} form @returns {Progress}
 */
function restore(form) {
  const kept = sessionStorage.getItem(storageKey(form));
  if (kept !== null) return JSON.parse(kept);
  const values = Object.fromEntries(Object.entries(form.properties).map(([name, schema]) => [name, schema.default]));
  return { values, isWhole: true, asksPassword: false, step: 'register', sent: 0, waitUntil: 0 };
}

/** @param {Form} form @param {Progress} progress */
function keep(form, { values, ...progress }) {
  if (progress.step === 'done') return sessionStorage.removeItem(storageKey(form));
  const isFile = (/** @type {string} */ name) => form.properties[name]?.items?.properties?.doc !== undefined;
  const safe = Object.entries(values).filter(([name]) => !/password$/.test(name) && !isFile(name));
  const isWhole = progress.isWhole && !Object.keys(values).some((name) => isFile(name) && values[name] !== undefined);
  const kept = { ...progress, isWhole, asksPassword: true, values: Object.fromEntries(safe) };
  sessionStorage.setItem(storageKey(form), JSON.stringify(kept));
}

/** @param {Form} form */
function storageKey({ properties }) {
  return `registration ${properties.form_id?.default}`;
}

/** @param {Values} values */
function describeAddress({ otp_type, email, phone }) {
  if (otp_type === 'email') return email;
  const { country_code = '', number = '' } = /** @type {Record<string, string>} */ (phone ?? {});
  return `+${country_code.replace(/^\+/, '')} ${number}`;
}

/**
 * Asks for another code. The earlier ones stay valid, each for ten minutes. The button waits as long as the API would
 * refuse another message.
 *
 * @param {{ fields: FieldProps[]; send: Send; sent: number; waitUntil: number }} props
 */
function SendAgain({ fields, send, sent, waitUntil }) {
  const [now, setNow] = useState(Date.now());
  const seconds = Math.max(0, Math.ceil((waitUntil - now) / 1_000));
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [waitUntil]);
  useEffect(() => {
    if (seconds === 0) announce('You can ask for another code.');
  }, [seconds === 0]);
  const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
  return html`
    <${Step} button=${seconds === 0 ? 'Send another code' : `Send another code in ${clock}`} isWaiting=${seconds > 0}
      fields=${fields} send=${send} next=${() => announce('We have sent another code.')}>
      ${sent > 1 && html`<p>We have sent ${sent} codes. Each is valid for ten minutes.</p>`}
    <//>
  `;
}

/**
 * A form that sends a request, and shows each error of the answer at its field. Errors of no field are listed on top.
 *
 * @typedef {{ title?: string; button: string; isWaiting?: boolean; children: unknown }} StepTexts
 * @param {StepTexts & { fields: FieldProps[]; send: Send; next: () => void }} props
 */
function Step({ title, button, isWaiting = false, fields, send, next, children }) {
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
    ${title && html`<h1 tabindex="-1">${title}</h1>`}
    ${children}
    <form noValidate onSubmit=${submit}>
      ${problem && alert}
      ${fields.map((field) => html`<${Field} key=${field.pointer} ...${field} errors=${errors} />`)}
      <button type="submit" class=${title ? '' : 'secondary outline'} disabled=${isWaiting} aria-busy=${isBusy}>
        ${button}
      </button>
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
  const retryAfter = Number(answer.headers.get('retry-after') ?? 0);
  const isCaptchaError = (/** @type {FieldError} */ error) =>
    error.header === 'captcha-token' ? { ...error, pointer: CAPTCHA.pointer } : error;
  return { status: answer.status, title, detail, errors: errors.map(isCaptchaError), retryAfter };
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
