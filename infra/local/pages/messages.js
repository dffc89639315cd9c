import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { Ago, announce, CallToCopy, CopyButton, Count, findElement, Section } from './parts.js';

/** @import { OutboxState, ShownMessage } from '../outbox-page.ts' */
/** @import { FirstCall } from '../first-calls.ts' */
/** @typedef {ShownMessage['kind']} Kind */

/** @type {Partial<Record<Kind, { one: string; many: string; color: string }>>} */
const LOOKS = {
  email: { one: 'Email', many: 'Emails', color: 'light-dark(#0b5cad, #78b7f7)' },
  sms: { one: 'SMS', many: 'SMS', color: 'light-dark(#5b45b0, #b3a2f5)' },
  call: { one: 'Call', many: 'Calls', color: 'light-dark(#9a4d06, #f0ab62)' },
  whatsapp: { one: 'WhatsApp', many: 'WhatsApp', color: 'light-dark(#13703f, #62c48f)' },
  popup: { one: 'Pop-up', many: 'Pop-ups', color: 'light-dark(#a82a5b, #f290b4)' },
};

/** The look of a kind. A kind without a look of its own looks like a text with its name. @param {Kind} kind */
function lookOf(kind) {
  const look = LOOKS[kind];
  if (look !== undefined) return { ...look, icon: kind };
  const name = `${kind}`.replace(/^./, (letter) => letter.toUpperCase());
  return { one: name, many: name, color: 'currentcolor', icon: 'sms' };
}
/** The height to which a longer mail is folded, in pixels. */
const FOLDED_PX = 384;
const LANGUAGE_NAMES = new Intl.DisplayNames(['en'], { type: 'language' });

/** @param {{ outbox: OutboxState; call: FirstCall | undefined }} props */
export function Messages({ outbox: { messages, counts }, call }) {
  const [chosen, setChosen] = useState(/** @type {Kind | undefined} */ (undefined));
  const kinds = /** @type {Kind[]} */ (Object.keys(counts));
  const sentCount = kinds.reduce((sum, kind) => sum + counts[kind], 0);
  const total = chosen === undefined ? sentCount : counts[chosen];
  const isHidden = (/** @type {Kind} */ kind) => chosen !== undefined && kind !== chosen;
  const shown = messages.filter(({ kind }) => !isHidden(kind)).length;
  const clear = async () => {
    await fetch('/_local/outbox', { method: 'DELETE' });
    announce('All messages were deleted');
    findElement('messages').focus();
  };
  const choice = (/** @type {Kind | undefined} */ kind) => html`
    <label style=${{ '--kind': kind ? lookOf(kind).color : 'currentcolor' }}>
      <input type="radio" name="kind" value=${kind ?? 'all'} checked=${kind === chosen} onChange=${() => setChosen(kind)} />
      <span>${kind ? lookOf(kind).many : 'All'}<//><${Count} of=${kind ? counts[kind] : sentCount} />
    </label>
  `;
  const card = (/** @type {ShownMessage} */ message) =>
    html`<${Card} key="${message.id} ${message.at}" message=${message} hidden=${isHidden(message.kind)} />`;
  const button = html`<button type="button" class="secondary outline" onClick=${clear}>Clear</button>`;
  return html`
    <${Section} id="messages" title="Messages" action=${sentCount > 0 && button}>
      ${sentCount === 0 && html`<${Empty} call=${call} />`}
      <fieldset class="filter" hidden=${sentCount === 0}>
        <legend class="unseen">Show messages of this kind</legend>
        ${choice(undefined)}${kinds.map(choice)}
      </fieldset>
      ${total === 0 && sentCount > 0 && html`<p><small>No message of this kind was sent yet.</small></p>`}
      ${messages.map(card)}
      ${shown < total && html`<p><small>The newest ${shown} of ${total}. All: GET /_local/outbox</small></p>`}
    <//>
  `;
}

/** @param {{ call: FirstCall | undefined }} props */
function Empty({ call }) {
  return html`
    <article>
      <h3>Nothing was sent yet</h3>
      <p>
        Register a person on the <a href="/_local/register">registration page</a> or from a terminal. The message with the
        one-time password appears here at once. The <a href="/_local/docs">API reference</a> describes every request.
      </p>
      ${call && html`<${CallToCopy} call=${call} />`}
    </article>
  `;
}

/** @param {{ message: ShownMessage; hidden: boolean }} props */
function Card({ message, hidden }) {
  const { id, kind, to, at, language, code } = message;
  const shownCode =
    code &&
    html`
      <strong class="mono digits" aria-hidden="true">${code}</strong><span class="unseen">Code ${spelled(code)}</span>
      <${CopyButton} text=${code} aria-describedby="message-${id}">Copy code<//>
    `;
  return html`
    <article style=${{ '--kind': lookOf(kind).color }} aria-labelledby="message-${id}" hidden=${hidden}>
      <div class="row">
        <svg class="icon" aria-hidden="true"><use href="/_local/pages/icons.svg#${lookOf(kind).icon}" /></svg>
        <div class="grow">
          <h3 id="message-${id}"><span class="unseen">${titlePrefix(message)}</span><bdi>${to}</bdi></h3>
          <small>${lookOf(kind).one}${language && ` · ${languageName(language)}`} · <${Ago} at=${at} /></small>
        </div>
        ${shownCode}
      </div>
      <${Content} message=${message} />
    </article>
  `;
}

/** @param {{ message: ShownMessage }} props */
function Content({ message }) {
  const { kind, subject, text, language } = message;
  if (kind === 'email') return html`<${Mail} message=${message} />`;
  if (kind === 'call') {
    return html`
      <figure>
        <figcaption>What is spoken</figcaption>
        <blockquote dir="auto" lang=${language}>${text}</blockquote>
      </figure>
    `;
  }
  // The WhatsApp stand-in has the template's text only in English.
  const lang = kind === 'whatsapp' ? undefined : language;
  return html`<p class="bubble" dir="auto" lang=${lang}>${subject && html`<strong>${subject}</strong><br />`}${text}</p>`;
}

/** @param {ShownMessage} message */
const titlePrefix = ({ kind }) => `${lookOf(kind).one} to ${kind === 'popup' ? 'client ' : ''}`;

/** @param {string} code */
const spelled = (code) => [...code].join(' ');

/** @param {string} tag BCP 47 */
function languageName(tag) {
  try {
    return LANGUAGE_NAMES.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

/** @param {OutboxState} before @param {OutboxState} now */
export function messageNews(before, now) {
  const known = new Set(before.messages.map(({ id }) => id));
  const [message, ...more] = now.messages.filter(({ id }) => !known.has(id));
  if (message === undefined) return undefined;
  if (more.length > 0) return `${more.length + 1} new messages`;
  return `${titlePrefix(message)}${message.to}${message.code === undefined ? '' : `. Code ${spelled(message.code)}`}`;
}

/** A mail as a mail program shows it, or as plain text. @param {{ message: ShownMessage }} props */
function Mail({ message }) {
  const { id, subject, text, language, html: hasHtml } = message;
  const [asText, setAsText] = useState(!hasHtml);
  const choice = (/** @type {string} */ name, /** @type {boolean} */ isText) => {
    const attributes = { 'aria-pressed': asText === isText, onClick: () => setAsText(isText) };
    return html`
      <button type="button" class="secondary ${asText === isText ? '' : 'outline'}" ...${attributes}>${name}</button>
    `;
  };
  const choices = html`
    <div role="group" aria-label="Show as" aria-describedby="message-${id}">
      ${choice('Mail', false)}${choice('Text', true)}
    </div>
  `;
  return html`
    <div class="row">
      <strong class="grow" dir="auto" lang=${language}>${subject}</strong>
      ${hasHtml && choices}
    </div>
    ${hasHtml && html`<${Paper} message=${message} hidden=${asText} />`}
    <pre class="plain" dir="auto" lang=${language} hidden=${!asText}>${text}</pre>
  `;
}

/**
 * The mail in a frame that runs nothing: its beginning, or all of it. @param {{ message: ShownMessage; hidden: boolean
 * }} props
 */
function Paper({ message: { id, to }, hidden }) {
  const [height, setHeight] = useState(FOLDED_PX);
  const [isFolded, setFolded] = useState(true);
  const onLoad = (/** @type {{ currentTarget: HTMLIFrameElement }} */ { currentTarget }) => {
    const page = currentTarget.contentDocument?.documentElement;
    if (page === undefined) return;
    new ResizeObserver(() => setHeight(Math.ceil(page.getBoundingClientRect().height))).observe(page);
    // A link that gets the focus must be visible.
    page.addEventListener('focusin', () => setFolded(false));
  };
  const frame = {
    src: `/_local/outbox/${id}/mail`,
    title: `The mail to ${to}`,
    style: { height: `${height}px` },
    onLoad,
  };
  const button = { hidden: hidden || height <= FOLDED_PX, onClick: () => setFolded(!isFolded) };
  return html`
    <div class="paper" hidden=${hidden} style=${{ height: `${isFolded ? Math.min(height, FOLDED_PX) : height}px` }}>
      <iframe sandbox="allow-same-origin" loading="lazy" ...${frame}></iframe>
    </div>
    <button type="button" class="secondary outline" aria-expanded=${!isFolded} ...${button}>
      ${isFolded ? 'Show the whole mail' : 'Show less'}
    </button>
  `;
}
