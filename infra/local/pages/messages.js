import { announce, arrange, byId, copyButton, element, icon, showCount } from './dom.js';
import { mail, written } from './mail.js';

/** @import { OutboxEvent, ShownMessage } from '../live-state.ts' */
/** @typedef {ShownMessage['kind']} Kind */

/** @type {Record<Kind, { one: string; many: string }>} */
const KINDS = {
  email: { one: 'E-mail', many: 'E-mails' },
  sms: { one: 'SMS', many: 'SMS' },
  call: { one: 'Call', many: 'Calls' },
  whatsapp: { one: 'WhatsApp', many: 'WhatsApp' },
  popup: { one: 'Pop-up', many: 'Pop-ups' },
};
const KIND_NAMES = /** @type {Kind[]} */ (Object.keys(KINDS));
/** As many of each kind are kept on the page, as the service sends at the start. */
const SHOWN_PER_KIND = 50;
const LANGUAGE_NAMES = new Intl.DisplayNames(['en'], { type: 'language' });

/** @type {Map<string, { message: ShownMessage; card: HTMLElement }>} by id, oldest first */
const shown = new Map();
/** @type {Kind | 'all'} */
let chosen = 'all';
/** @type {OutboxEvent['counts']} */
let counts = { email: 0, sms: 0, call: 0, whatsapp: 0, popup: 0 };

/** Prepares the filter and the button that clears. */
export function startMessages() {
  const filter = byId('filter');
  filter.append(...['all', ...KIND_NAMES].map(filterChoice));
  filter.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLInputElement)) return;
    chosen = /** @type {Kind | 'all'} */ (target.value);
    show();
  });
  byId('clear-messages').addEventListener('click', async () => {
    await fetch('/_local/outbox', { method: 'DELETE' });
    announce('All messages were cleared');
    byId('messages').focus();
  });
  setInterval(showTimes, 10_000);
}

/** @param {OutboxEvent} event */
export function showMessages(event) {
  const before = new Map(shown);
  if (event.reset) shown.clear();
  for (const message of event.messages) {
    // After a lost connection everything comes again: what stands here already stays as it is, open or closed.
    const known = before.get(message.id);
    const same = known !== undefined && known.message.at === message.at && known.message.to === message.to;
    shown.set(message.id, same ? known : { message, card: card(message) });
  }
  for (const kind of KIND_NAMES) {
    const ofKind = [...shown].filter(([, { message }]) => message.kind === kind);
    for (const [id] of ofKind.slice(0, Math.max(0, ofKind.length - SHOWN_PER_KIND))) shown.delete(id);
  }
  counts = event.counts;
  show();
  if (!event.reset) announceNew(event.messages);
}

/** How many messages there are in all. */
export function messageCount() {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function show() {
  const total = messageCount();
  for (const kind of /** @type {const} */ (['all', ...KIND_NAMES])) {
    const count = kind === 'all' ? total : counts[kind];
    showCount(`count-${kind}`, count);
  }
  showCount('messages-count', total);
  byId('no-messages').hidden = total > 0;
  byId('filter').hidden = total === 0;
  byId('clear-messages').hidden = total === 0;

  const newestFirst = [...shown.values()].reverse();
  arrange(
    byId('cards'),
    newestFirst.map(({ card }) => card),
  );
  for (const { message, card } of newestFirst) card.hidden = chosen !== 'all' && message.kind !== chosen;

  const none = byId('none-of-kind');
  none.hidden = total === 0 || chosen === 'all' || counts[chosen] > 0;
  none.textContent =
    chosen === 'all' ? '' : `No ${KINDS[chosen].one === 'SMS' ? 'SMS' : wordFor(chosen)} was sent yet.`;
  const visible = newestFirst.filter(({ card }) => !card.hidden).length;
  const all = chosen === 'all' ? total : counts[chosen];
  const older = byId('older');
  older.hidden = visible === all;
  older.textContent = `The newest ${visible} of ${all.toLocaleString('en')}. All of them: curl -s ${location.origin}/_local/outbox`;
  showTimes();
}

/** @param {Kind} kind */
function wordFor(kind) {
  return kind === 'whatsapp' ? 'WhatsApp message' : KINDS[kind].one.toLowerCase();
}

/** @param {ShownMessage[]} messages */
function announceNew(messages) {
  const [message] = messages;
  if (message === undefined) return;
  if (messages.length > 1) announce(`${messages.length} new messages`);
  else announce(`${titleOf(message)}${message.code === undefined ? '' : `. Code ${spelled(message.code)}`}`);
}

/** @param {string} value */
function filterChoice(value) {
  const kind = KIND_NAMES.find((name) => name === value);
  return element(
    'label',
    {},
    element('input', { type: 'radio', name: 'kind', value, checked: kind === undefined }),
    element(
      'span',
      { class: 'pill' },
      kind === undefined ? undefined : element('span', { class: 'dot', 'data-kind': kind }),
      kind === undefined ? 'All' : KINDS[kind].many,
      ' ',
      element('span', { class: 'count', id: `count-${value}`, hidden: true }),
    ),
  );
}

/** @param {ShownMessage} message */
function titleOf({ kind, to }) {
  return `${KINDS[kind].one} to ${kind === 'popup' ? 'client ' : ''}${to}`;
}

/** @param {string} code */
function spelled(code) {
  return [...code].join(' ');
}

/** @param {ShownMessage} message */
function card(message) {
  const { id, kind, to, at, language, code } = message;
  const titleId = `message-${id}`;
  const before = `${KINDS[kind].one} to ${kind === 'popup' ? 'client ' : ''}`;
  return element(
    'li',
    { class: 'card', 'data-kind': kind },
    element(
      'article',
      { 'aria-labelledby': titleId },
      element(
        'header',
        { class: 'card-head' },
        element('span', { class: 'badge' }, icon(kind)),
        element(
          'div',
          { class: 'who' },
          element('h3', { id: titleId }, element('span', { class: 'unseen' }, before), element('bdi', {}, to)),
          element(
            'p',
            { class: 'meta' },
            element('span', {}, KINDS[kind].one),
            language === undefined ? undefined : element('span', {}, languageName(language)),
            element('time', { datetime: at, title: new Date(at).toLocaleString() }),
          ),
        ),
        code === undefined
          ? undefined
          : element(
              'div',
              { class: 'code' },
              element('span', { class: 'digits', 'aria-hidden': 'true' }, code),
              element('span', { class: 'unseen' }, `Code ${spelled(code)}`),
              copyButton('Copy code', () => code, { 'aria-describedby': titleId }),
            ),
      ),
      ...content(message),
    ),
  );
}

/**
 * @param {ShownMessage} message
 * @returns {Node[]}
 */
function content(message) {
  const { kind, subject, text } = message;
  switch (kind) {
    case 'email':
      return mail(message);
    case 'sms':
      return [element('div', { class: 'phone' }, element('p', { ...written(message), class: 'bubble' }, text))];
    case 'whatsapp':
      // The words are those of the template, which the stand-in knows in English.
      return [element('div', { class: 'phone chat' }, element('p', { dir: 'auto', class: 'bubble' }, text))];
    case 'call':
      return [
        element(
          'figure',
          { class: 'spoken' },
          element('figcaption', {}, 'What is spoken'),
          element('blockquote', written(message), text),
        ),
      ];
    case 'popup':
      return [
        element(
          'div',
          { ...written(message), class: 'toast' },
          subject === undefined ? undefined : element('p', { class: 'toast-title' }, subject),
          element('p', {}, text),
        ),
      ];
  }
}

/** @param {string} tag BCP 47 */
function languageName(tag) {
  try {
    return LANGUAGE_NAMES.of(tag) ?? tag;
  } catch {
    return tag;
  }
}

export function showTimes() {
  const now = Date.now();
  for (const time of document.querySelectorAll('time')) {
    const at = new Date(time.dateTime);
    const seconds = Math.round((now - at.getTime()) / 1_000);
    time.textContent = ago(seconds) ?? at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  }
}

/** @param {number} seconds */
function ago(seconds) {
  if (seconds < 10) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds / 10) * 10} s ago`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`;
  return undefined;
}
