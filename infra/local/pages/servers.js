import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { CallToCopy, Section } from './parts.js';

/** @import { AccountsState } from '../outbox-page.ts' */
/** @import { FirstCall } from '../first-calls.ts' */
/** @typedef {AccountsState[string]} ServerAccounts */
/** @typedef {ServerAccounts['newest'][number]} Account */

/** The number of accounts of a server that are shown at first. */
const FEW = 3;
const MONEY = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** @param {{ accounts: AccountsState; call: FirstCall | undefined }} props */
export function Servers({ accounts, call }) {
  const servers = Object.entries(accounts);
  const about = 'Simulated here, with their real protocols. Each account appears when it is opened.';
  return html`
    <${Section} id="servers" title="Trading servers" about=${about}>
      <ul class="panel">${servers.map(([id, server]) => html`<${Server} key=${id} id=${id} ...${server} />`)}</ul>
      ${
        call &&
        servers.every(([, { total }]) => total === 0) &&
        html`<article><h3>Open the first account</h3><${CallToCopy} call=${call} /></article>`
      }
    <//>
  `;
}

/** @param {{ id: string } & ServerAccounts} props */
function Server({ id, total, newest }) {
  const [showsAll, setShowsAll] = useState(false);
  const count = total === 0 ? 'no accounts' : `${total.toLocaleString('en')} ${total === 1 ? 'account' : 'accounts'}`;
  const more = newest.length < total ? `the newest ${newest.length}` : `all ${total}`;
  return html`
    <li>
      <div class="row"><h3 class="mono">${id}</h3><small>${count}</small></div>
      <ul aria-label="Accounts on ${id}" hidden=${total === 0}>
        ${newest.slice(0, showsAll ? undefined : FEW).map((account) => html`<${Row} key=${account.login} ...${account} />`)}
      </ul>
      ${
        newest.length > FEW &&
        html`
          <button type="button" class="secondary outline" aria-expanded=${showsAll} onClick=${() => setShowsAll(!showsAll)}>
            Show ${showsAll ? `the newest ${FEW}` : more}
          </button>
        `
      }
    </li>
  `;
}

/** @param {Account} account */
function Row({ login, group, leverage, name, email, readonly, balance, comment }) {
  return html`
    <li class="account">
      <div class="row">
        <strong class="mono">${login}</strong><bdi class="grow">${name}</bdi>
        <span><span class="unseen">balance </span>${MONEY.format(balance)}</span>
      </div>
      <small>
        <bdi>${group}</bdi> · <span class="unseen">leverage </span>1:${leverage}${email && html` · <bdi>${email}</bdi>`}
        ${readonly && html`<span class="alert"> · trading disabled</span>`}
      </small>
      ${comment && html`<small class="mono"><span class="unseen">comment </span><bdi>${comment}</bdi></small>`}
    </li>
  `;
}

/** @param {AccountsState} before @param {AccountsState} now */
export function serverNews(before, now) {
  const [id, server] = Object.entries(now).find(([id, { total }]) => total > (before[id]?.total ?? 0)) ?? [];
  return server && `Account ${server.newest[0]?.login} was opened on ${id}`;
}
