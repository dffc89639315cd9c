import { html, render } from 'htm/preact';
import { Crm, crmNews } from './crm.js';
import { Faults } from './faults.js';
import { Messages, messageNews } from './messages.js';
import { announce, Count, findElement, Top } from './parts.js';
import { Servers, serverNews } from './servers.js';

/** @import { PageState } from '../outbox-page.ts' */

/** The page at /_local. A stream of events sends each part of the state that changes; actions call the JSON routes. */

const RETRY_MS = 1_000;
const AGO_MS = 10_000;

/** @type {Partial<PageState>} */
const state = {};
let connection = { isLive: false, text: 'Connecting…' };

/** The parts of the page. On a narrow screen one is shown at a time; on a wide one the links jump to them. */
function views() {
  const { outbox, accounts = {}, crm, faults = {} } = state;
  const sum = (/** @type {number[]} */ numbers) => numbers.reduce((total, number) => total + number, 0);
  return [
    { id: 'messages', name: 'Messages', count: sum(Object.values(outbox?.counts ?? {})) },
    { id: 'servers', name: 'Servers', count: sum(Object.values(accounts).map(({ total }) => total)) },
    { id: 'crm', name: 'CRM', count: crm?.total ?? 0 },
    { id: 'faults', name: 'Faults', count: Object.values(faults).filter(({ waiting }) => waiting.length > 0).length },
  ];
}

function show() {
  const { calls = {}, outbox, accounts, faults, crm } = state;
  const view = views().find(({ id }) => `#${id}` === location.hash)?.id ?? 'messages';
  document.body.dataset.view = view;
  const page = html`
    <${Top}>
      <h1>Outbox</h1>
      <small role="status"><span class=${connection.isLive ? 'good' : 'alert'}>●</span> ${connection.text}</small>
      <nav class="views" aria-label="On this page">
        ${views().map(
          ({ id, name, count }) =>
            html`<a href="#${id}" aria-current=${id === view || undefined}>${name}<${Count} of=${count} /></a>`,
        )}
      </nav>
    <//>
    <main>
      ${outbox && html`<${Messages} outbox=${outbox} call=${calls.registration} />`}
      <div class="side">
        ${accounts && html`<${Servers} accounts=${accounts} call=${calls.account} />`}
        ${crm && faults && html`<${Crm} crm=${crm} call=${calls.account} faults=${faults.crm} />`}
        ${faults && html`<${Faults} faults=${faults} />`}
      </div>
    </main>
  `;
  render(page, findElement('page'));
}

/** Listens to the service, and reconnects when it was restarted. */
function connect() {
  const events = new EventSource('/_local/live');
  events.addEventListener('open', () => {
    connection = { isLive: true, text: 'Live' };
    show();
  });
  events.addEventListener('error', () => {
    connection = { isLive: false, text: 'Connection lost, retrying…' };
    show();
    // The browser reconnects automatically, unless the answer was not a stream.
    if (events.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_MS);
  });
  for (const name of ['calls', 'outbox', 'accounts', 'faults', 'crm']) {
    events.addEventListener(name, ({ data }) => update({ [name]: JSON.parse(data) }));
  }
  // A page in the back-forward cache must not hold its connection.
  window.addEventListener('pagehide', () => events.close(), { once: true });
  window.addEventListener('pageshow', ({ persisted }) => persisted && connect(), { once: true });
}

/** @param {Partial<PageState>} changed */
function update(changed) {
  const news = describeChanges(changed);
  Object.assign(state, changed);
  show();
  if (news === undefined) return;
  announce(news);
  if (document.hidden) document.title = '● Outbox';
}

/** Describes a change for a screen reader. @param {Partial<PageState>} changed */
function describeChanges({ outbox, accounts, crm }) {
  if (outbox && state.outbox) return messageNews(state.outbox, outbox);
  if (accounts && state.accounts) return serverNews(state.accounts, accounts);
  if (crm && state.crm) return crmNews(state.crm, crm);
  return undefined;
}

window.addEventListener('hashchange', () => {
  show();
  document.getElementById(location.hash.slice(1))?.focus();
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) document.title = 'Outbox';
});
setInterval(show, AGO_MS);
show();
connect();
