import { html } from 'htm/preact';
import { useState } from 'preact/hooks';

/** @import { ShownMessage } from '../outbox-page.ts' */

const FOLDED_PX = 384;

/** A mail as a mail program shows it, or as plain text. @param {{ message: ShownMessage }} props */
export function Mail({ message }) {
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

/** The mail in a frame that runs nothing: its start, or all. @param {{ message: ShownMessage; hidden: boolean }} props */
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
