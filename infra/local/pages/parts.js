import { html } from 'htm/preact';
import { useState } from 'preact/hooks';

/** @import { ComponentChildren } from 'preact' */
/** @import { FirstCall } from '../first-calls.ts' */

/** The shared components of the pages. All text is rendered as text nodes. */

const PAGES = { '/_local': 'Outbox', '/_local/register': 'Registration page', '/_local/docs': 'API reference' };
const COPIED_MS = 2_000;

/** The bar at the top of each page. It links to the other pages. @param {{ children: ComponentChildren }} props */
export function Top({ children }) {
  const others = Object.entries(PAGES).filter(([path]) => path !== location.pathname.replace(/\/$/, ''));
  return html`
    <header class="top">
      <img src="/_local/pages/icon.svg" alt="" width="28" height="28" />
      ${children}
      <nav aria-label="Other pages">${others.map(([path, name]) => html`<a href=${path}>${name}</a>`)}</nav>
    </header>
  `;
}

/** @param {{ id: string; title: string; about?: string; action?: unknown; children: ComponentChildren }} props */
export function Section({ id, title, about, action, children }) {
  return html`
    <section id=${id} class=${id} aria-labelledby="${id}-title" tabindex="-1">
      <div class="row"><h2 id="${id}-title">${title}</h2>${action}</div>
      ${about && html`<p><small>${about}</small></p>`}
      ${children}
    </section>
  `;
}

/** A number next to a word; nothing for zero. @param {{ of: number }} props */
export function Count({ of }) {
  return of > 0 && html` <small>${of.toLocaleString('en')}</small>`;
}

/** The time since an event. @param {{ at: string }} props */
export function Ago({ at }) {
  const date = new Date(at);
  const seconds = Math.round((Date.now() - date.getTime()) / 1_000);
  const clock = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  const minutes = seconds < 3_600 ? `${Math.floor(seconds / 60)} min ago` : clock;
  const ago = seconds < 60 ? `${Math.floor(seconds / 10) * 10} s ago` : minutes;
  return html`<time datetime=${at} title=${date.toLocaleString()}>${seconds < 10 ? 'just now' : ago}</time>`;
}

/**
 * A button that copies a text, and says so.
 *
 * @param {{ text: string; children: string; [attribute: string]: unknown }} props
 */
export function CopyButton({ text, children, ...attributes }) {
  const [result, setResult] = useState('');
  const copy = async () => {
    const done = await navigator.clipboard.writeText(text).then(
      () => 'Copied',
      () => 'Not allowed',
    );
    setResult(done);
    announce(done);
    setTimeout(() => setResult(''), COPIED_MS);
  };
  return html`<button type="button" onClick=${copy} ...${attributes}>${result || children}</button>`;
}

/** A call as a command for the shell, with a button that copies it. @param {{ call: FirstCall }} props */
export function CallToCopy({ call }) {
  const command = shellCommand(call);
  return html`
    <pre tabindex="0" aria-label="The call for a terminal"><code>${command}</code></pre>
    <${CopyButton} text=${command} aria-label="Copy the call">Copy<//>
  `;
}

/** @param {FirstCall} call */
export function shellCommand({ path, body }) {
  const json = JSON.stringify(body, null, 2).replaceAll('\n', '\n  ').replaceAll("'", "'\\''");
  return `curl -i ${location.origin}${path} \\\n  -H 'content-type: application/json' \\\n  -d '${json}'`;
}

/** Announces a change to screen readers. @param {string} text */
export function announce(text) {
  findElement('announcer').textContent = text;
}

/** The element with this id. @param {string} id of an element that the page has */
export function findElement(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`The page has no #${id}.`);
  return found;
}
