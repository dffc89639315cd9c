import { announce, byId, copyButton, element, showCount } from './dom.js';

/** @import { CrmEvent } from '../live-state.ts' */
/** @import { FirstCall } from '../first-calls.ts' */
/** @typedef {CrmEvent['events'][number]} BusEvent */
/** @typedef {CrmEvent['clients'][number]} Client */

/** As many events stand there at most. */
const FEW = 10;
/** @type {FirstCall | undefined} a call that opens an account for some client */
let accountCall;
/** @type {CrmEvent | undefined} */
let known;

/** @param {FirstCall | undefined} call */
export function setAccountCall(call) {
  accountCall = call;
  if (known !== undefined) show(known);
}

/** @param {CrmEvent} event */
export function showCrm(event) {
  const [newest] = event.events;
  if (known !== undefined && newest !== undefined && event.total > known.total) announce(`Event ${newest.type}`);
  known = event;
  show(event);
}

/** @param {CrmEvent} event */
function show({ total, events, clients }) {
  showCount('crm-count', total);
  byId('no-events').hidden = total > 0;
  byId('clients-title').hidden = clients.length === 0;
  byId('client-list').hidden = clients.length === 0;
  byId('client-list').replaceChildren(...clients.map(clientRow));
  byId('event-list').hidden = total === 0;
  byId('event-list').replaceChildren(...events.slice(0, FEW).map(eventRow));
}

/** @param {Client} client */
function clientRow({ id, name, email }) {
  const path = accountCall?.path.replace(/(?<=\/users\/)[^/]+/, id);
  return element(
    'li',
    { class: 'client' },
    element(
      'p',
      { class: 'account-main' },
      element('span', { class: 'login' }, id),
      element('bdi', { class: 'name' }, name),
    ),
    element('p', { class: 'account-details' }, element('span', {}, element('bdi', {}, email))),
    path === undefined
      ? undefined
      : copyButton('Copy a call that opens an account', () => shellCall({ path, body: accountCall?.body ?? {} })),
  );
}

/** @param {BusEvent} event */
function eventRow({ type, at, detail }) {
  return element(
    'li',
    { class: 'event' },
    element(
      'details',
      { 'aria-label': type },
      element('summary', {}, element('span', { class: 'event-type' }, type), element('time', { datetime: at })),
      element('pre', { tabindex: 0, 'aria-label': `What ${type} tells` }, JSON.stringify(detail, null, 2)),
    ),
  );
}

/**
 * A call as a line for the shell.
 *
 * @param {FirstCall} call
 */
export function shellCall({ path, body }) {
  const json = JSON.stringify(body, null, 2).replaceAll('\n', '\n  ').replaceAll("'", "'\\''");
  return `curl -i ${location.origin}${path} \\\n  -H 'content-type: application/json' \\\n  -d '${json}'`;
}
