import { announce, byId, element, showCount } from './dom.js';

/** @import { AccountsEvent } from '../live-state.ts' */
/** @typedef {AccountsEvent[string]} ServerAccounts */
/** @typedef {ServerAccounts['newest'][number]} Account */

/** As many accounts stand under a server until all are asked for. */
const FEW = 3;
const MONEY = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** @type {Map<string, (accounts: ServerAccounts) => void>} by connection id */
const servers = new Map();
/** @type {Map<string, ServerAccounts>} */
let known = new Map();

/** @param {AccountsEvent} event */
export function showAccounts(event) {
  const ids = Object.keys(event);
  if (ids.join(' ') !== [...servers.keys()].join(' ')) {
    servers.clear();
    byId('server-list').replaceChildren(...ids.map(serverRow));
    known = new Map();
  }
  const first = known.size === 0;
  for (const [id, accounts] of Object.entries(event)) {
    const before = known.get(id);
    if (JSON.stringify(before) === JSON.stringify(accounts)) continue;
    servers.get(id)?.(accounts);
    known.set(id, accounts);
    const [newest] = accounts.newest;
    if (!first && newest !== undefined && accounts.total > (before?.total ?? 0)) {
      announce(`Account ${newest.login} was opened on ${id}`);
    }
  }
  const total = Object.values(event).reduce((sum, accounts) => sum + accounts.total, 0);
  showCount('servers-count', total);
  byId('no-accounts').hidden = total > 0 || byId('account-call').childElementCount === 0;
}

/** @param {string} id */
function serverRow(id) {
  const count = element('span', { class: 'server-count' }, 'no accounts');
  const list = element('ul', { class: 'accounts', 'aria-label': `Accounts on ${id}`, hidden: true });
  const more = element('button', { type: 'button', class: 'more', 'aria-expanded': 'false', hidden: true });
  /** @type {ServerAccounts} */
  let current = { total: 0, newest: [] };
  let all = false;
  /** @type {Set<number>} */
  let seen = new Set();
  let first = true;
  const show = () => {
    const { total, newest } = current;
    count.textContent =
      total === 0 ? 'no accounts' : `${total.toLocaleString('en')} ${total === 1 ? 'account' : 'accounts'}`;
    list.hidden = total === 0;
    list.replaceChildren(
      ...newest.slice(0, all ? newest.length : FEW).map((it) => accountRow(it, !first && !seen.has(it.login))),
    );
    first = false;
    seen = new Set(newest.map(({ login }) => login));
    more.hidden = newest.length <= FEW;
    more.setAttribute('aria-expanded', String(all));
    more.textContent = all
      ? `Show the newest ${FEW}`
      : `Show ${newest.length < total ? `the newest ${newest.length}` : `all ${total}`}`;
  };
  more.addEventListener('click', () => {
    all = !all;
    show();
  });
  servers.set(id, (accounts) => {
    current = accounts;
    show();
  });
  return element(
    'li',
    { class: 'server' },
    element('div', { class: 'server-head' }, element('h3', {}, id), count),
    list,
    more,
  );
}

/**
 * @param {Account} account
 * @param {boolean} isNew
 */
function accountRow({ login, group, leverage, name, email, readonly, balance, comment }, isNew) {
  return element(
    'li',
    { class: 'account', 'data-new': isNew },
    element(
      'p',
      { class: 'account-main' },
      element('span', { class: 'login' }, String(login)),
      element('bdi', { class: 'name' }, name),
      element('span', { class: 'balance' }, element('span', { class: 'unseen' }, 'balance '), MONEY.format(balance)),
    ),
    element(
      'p',
      { class: 'account-details' },
      element('span', {}, element('bdi', {}, group)),
      element('span', {}, element('span', { class: 'unseen' }, 'leverage '), `1:${leverage}`),
      email === '' ? undefined : element('span', {}, element('bdi', {}, email)),
      readonly ? element('span', { class: 'tag' }, 'trading disabled') : undefined,
    ),
    comment === ''
      ? undefined
      : element(
          'p',
          { class: 'comment' },
          element('span', { class: 'unseen' }, 'comment '),
          element('bdi', {}, comment),
        ),
  );
}
