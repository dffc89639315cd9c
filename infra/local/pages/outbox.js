import { setAccountCall, shellCall, showCrm } from './crm.js';
import { byId, copyButton, element } from './dom.js';
import { showFaults, startFaults } from './fault-switches.js';
import { messageCount, showMessages, showTimes, startMessages } from './messages.js';
import { showAccounts } from './servers.js';

/** @import { LiveEvents } from '../live-state.ts' */
/** @import { FirstCall } from '../first-calls.ts' */

/** The page at /_local. The service says over one stream of events what is new; actions go to its JSON routes. */

const RETRY_MS = 1_000;
const VIEWS = ['messages', 'servers', 'crm', 'faults'];

/** @type {{ [Name in keyof LiveEvents]: (data: LiveEvents[Name]) => void }} */
const HANDLERS = {
  calls({ registration, account }) {
    showCall('registration-call', registration);
    showCall('account-call', account);
    setAccountCall(account);
  },
  outbox(event) {
    const before = messageCount();
    showMessages(event);
    if (document.hidden && messageCount() > before) document.title = '● Outbox';
  },
  accounts: showAccounts,
  faults: showFaults,
  crm(event) {
    showCrm(event);
    showTimes();
  },
};

startMessages();
startFaults();
startViews();
connect();

/** Listens to the service, for ever: it may be stopped and started again while the page is open. */
function connect() {
  const events = new EventSource('/_local/live');
  events.addEventListener('open', () => showLive('live', 'Live'));
  events.addEventListener('error', () => {
    showLive('lost', 'Connection lost, trying again…');
    // The browser tries again by itself, except after an answer that is no stream.
    if (events.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
  });
  for (const [name, handle] of Object.entries(HANDLERS)) {
    events.addEventListener(name, ({ data }) => handle(JSON.parse(data)));
  }
  // A page that the browser only keeps for going back must not hold its connection.
  window.addEventListener('pagehide', () => events.close(), { once: true });
  window.addEventListener('pageshow', ({ persisted }) => persisted && connect(), { once: true });
}

/**
 * @param {'live' | 'lost'} state
 * @param {string} words
 */
function showLive(state, words) {
  const live = byId('live');
  live.dataset.state = state;
  live.textContent = words;
}

/** On a narrow screen one part of the page is shown at a time; on a wide one the links lead to the parts. */
function startViews() {
  const show = () => {
    const view = VIEWS.find((name) => `#${name}` === location.hash);
    document.body.dataset.view = view ?? 'messages';
    for (const link of document.querySelectorAll('.views a')) {
      if (link.getAttribute('href') === `#${document.body.dataset.view}`) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
    if (view !== undefined) byId(view).focus();
  };
  window.addEventListener('hashchange', show);
  show();
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) document.title = 'Outbox';
  });
}

/**
 * A call as a line for the shell, with a button that copies it.
 *
 * @param {string} id
 * @param {FirstCall | undefined} call
 */
function showCall(id, call) {
  const place = byId(id);
  place.hidden = call === undefined;
  if (call === undefined) return;
  const line = shellCall(call);
  place.replaceChildren(
    element('pre', { tabindex: 0, 'aria-label': 'The call for a terminal' }, element('code', {}, line)),
    copyButton('Copy', () => line, { 'aria-label': 'Copy the call' }),
  );
}
