import { html } from 'htm/preact';
import { render } from 'preact';
import { start } from 'registration-page';
import { findElement, Top } from './parts.js';

/** @import { Captcha, Form } from '../../registration-page/page/types.ts' */

/**
 * The registration page that brokers copy, and around it what only the local service has: the choice of a form, a link
 * to the outbox, and a checkbox in place of a captcha's widget.
 */

/** @param {string} path */
async function get(path) {
  return (await fetch(`/_local/${path}`)).json();
}

/** A checkbox that gets the token that a provider's widget would return. @type {Captcha} */
const checkbox = (element, onToken) => {
  const box = Object.assign(document.createElement('input'), { type: 'checkbox' });
  const label = document.createElement('label');
  label.append(box, ' I am a person');
  element.append(label);
  box.addEventListener('change', async () => {
    const answer = box.checked ? await fetch('/_local/captcha', { method: 'POST' }) : undefined;
    onToken((await answer?.json())?.token);
  });
  return () => {
    box.checked = false;
    onToken(undefined);
  };
};

/** @type {[{ id: string; name?: string }[], { needed: boolean }]} */
const [forms, { needed }] = await Promise.all([get('forms'), get('captcha')]);
const link = new URLSearchParams(location.search);
const id = link.get('form') ?? forms[0]?.id;
/** @type {Form | { title: string }} */
const form = await get(`forms/${encodeURIComponent(String(id))}`);
const choose = (/** @type {{ currentTarget: HTMLSelectElement }} */ { currentTarget }) =>
  location.assign(`?form=${encodeURIComponent(currentTarget.value)}`);
const options = forms.map(({ id, name }) => html`<option value=${id}>${id}${name && `: ${name}`}</option>`);
const extras = html`
  <${Top}>
    <label>Form of this page <select value=${id} onChange=${choose}>${options}</select></label>
  <//>
`;
const top = Object.assign(findElement('page'), { lang: 'en', dir: 'ltr' });
render(extras, top);
const main = document.createElement('main');
document.body.append(main);
if ('properties' in form) {
  const config = {
    api: location.origin,
    form,
    fromLink: { email: 'email', referrer_id: 'ref' },
    ...(link.has('language') && { language: String(link.get('language')) }),
    ...(needed && { captcha: checkbox }),
    login: '/_local#crm',
    afterwards: '/_local#crm',
  };
  const { language, direction } = await start(main, config, (heading) => {
    document.title = `${heading} – Example Broker`;
  });
  Object.assign(document.documentElement, { lang: language, dir: direction });
} else {
  main.append(Object.assign(document.createElement('h1'), { textContent: form.title }));
}
