import { element } from './dom.js';

/** @import { ShownMessage } from '../live-state.ts' */

/**
 * How the words of a message are read: their direction and language.
 *
 * @param {ShownMessage} message
 */
export function written({ language }) {
  return { dir: 'auto', lang: language };
}

/**
 * A mail as it is read, in a frame that runs nothing, folded to its beginning; and as plain text.
 *
 * @param {ShownMessage} message
 */
export function mail(message) {
  const subject = element('p', { ...written(message), class: 'subject' }, message.subject ?? '');
  const plain = element('pre', { ...written(message), class: 'plain' }, message.text);
  if (!message.html) return [subject, plain];

  const paper = paperOf(message);
  plain.hidden = true;
  const choice = choiceOf(message, (text) => {
    paper.hidden = text;
    plain.hidden = !text;
  });
  return [element('div', { class: 'subject-line' }, subject, choice), paper, plain];
}

/**
 * The mail in its frame, with the button that unfolds it.
 *
 * @param {ShownMessage} message
 */
function paperOf(message) {
  const frame = element('iframe', {
    sandbox: 'allow-same-origin',
    loading: 'lazy',
    title: `The mail to ${message.to}`,
    src: `/_local/outbox/${encodeURIComponent(message.id)}/mail`,
  });
  const unfold = element(
    'button',
    { type: 'button', class: 'unfold', 'aria-expanded': 'false' },
    'Show the whole mail',
  );
  const paper = element('div', { class: 'paper', 'data-folded': 'true' }, frame, unfold);
  /** @param {boolean} folded */
  const fold = (folded) => {
    paper.dataset.folded = String(folded);
    unfold.setAttribute('aria-expanded', String(!folded));
    unfold.textContent = folded ? 'Show the whole mail' : 'Show less';
  };
  unfold.addEventListener('click', () => fold(paper.dataset.folded !== 'true'));
  frame.addEventListener('load', () => {
    const page = frame.contentDocument?.documentElement;
    if (page === undefined) return;
    new ResizeObserver(() => {
      const height = Math.ceil(page.getBoundingClientRect().height);
      frame.style.setProperty('height', `${height}px`);
      paper.dataset.short = String(height <= paper.clientHeight);
    }).observe(page);
    // A link reached by keyboard must not stand in the part that is folded away.
    page.addEventListener('focusin', () => fold(false));
  });
  return paper;
}

/**
 * Whether the mail is shown as it is read or as text.
 *
 * @param {ShownMessage} message
 * @param {(text: boolean) => void} show
 */
function choiceOf({ id }, show) {
  const asMail = element('button', { type: 'button', 'aria-pressed': 'true' }, 'Mail');
  const asText = element('button', { type: 'button', 'aria-pressed': 'false' }, 'Text');
  /** @param {boolean} text */
  const showAs = (text) => {
    show(text);
    asMail.setAttribute('aria-pressed', String(!text));
    asText.setAttribute('aria-pressed', String(text));
  };
  asMail.addEventListener('click', () => showAs(false));
  asText.addEventListener('click', () => showAs(true));
  return element(
    'div',
    { class: 'choice', role: 'group', 'aria-label': 'Show as', 'aria-describedby': `message-${id}` },
    asMail,
    asText,
  );
}
