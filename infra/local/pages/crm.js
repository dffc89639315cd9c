import { html } from 'htm/preact';
import { Ago, CopyButton, Section, shellCommand } from './parts.js';

/** @import { CrmState, FaultsState } from '../outbox-page.ts' */
/** @import { FirstCall } from '../first-calls.ts' */

/** The number of events that are shown. */
const FEW = 10;

/**
 * The CRM's clients, the deliveries of the webhook, and the events that the CRM accepted. Only the stand-in can be made
 * to fail.
 *
 * @param {{ crm: CrmState; call: FirstCall | undefined; faults: FaultsState[string] | undefined }} props
 */
export function Crm({ crm: { clients, deliveries, received, events }, call, faults }) {
  const about =
    faults === undefined
      ? 'Your receiver (CRM_WEBHOOK) gets the signed events. The service writes the clients that its answers name.'
      : 'Receives signed events of the service, and creates a client for each confirmed registration.';
  return html`
    <${Section} id="crm" title="CRM" about=${about} action=${faults && html`<${Outage} isOn=${faults.waiting.length > 0} />`}>
      ${clients.length > 0 && html`<${Clients} clients=${clients} call=${call} />`}
      ${
        deliveries.length > 0
          ? html`<${Deliveries} deliveries=${deliveries.slice(0, FEW)} received=${received} events=${events} />`
          : html`<p><small>No events yet.</small></p>`
      }
    <//>
  `;
}

/** The number of calls that fail, unless the CRM is repaired before. */
const OUTAGE_CALLS = 1_000;

/** A button that makes the CRM refuse everything, or accept again what waits. @param {{ isOn: boolean }} props */
function Outage({ isOn }) {
  const set = (/** @type {object} */ body) =>
    fetch('/_local/faults/crm', { method: 'PUT', body: JSON.stringify(body) }).catch(() => {});
  const fail = () => set({ kind: 'refused', times: OUTAGE_CALLS });
  const repair = async () => {
    await set({ times: 0 });
    await fetch('/_local/deliveries', { method: 'POST' }).catch(() => {});
  };
  if (!isOn) return html`<button type="button" class="secondary outline" onClick=${fail}>Make it fail</button>`;
  return html`<button type="button" class="outline" onClick=${repair}>Repair it, and deliver now</button>`;
}

/** @param {{ clients: CrmState['clients']; call: FirstCall | undefined }} props */
function Clients({ clients, call }) {
  const command = (/** @type {string} */ id) =>
    call && shellCommand({ ...call, path: call.path.replace(/(?<=\/users\/)[^/]+/, id) });
  return html`
    <h3 id="clients-title">New clients</h3>
    <ul class="panel" aria-labelledby="clients-title">
      ${clients.map(
        ({ id, name, email }) => html`
          <li key=${id}>
            <div class="row"><strong class="mono">${id}</strong><bdi class="grow">${name}</bdi></div>
            <small><bdi>${email}</bdi></small>
            ${call && html`<${CopyButton} text=${command(id)}>Copy a call that opens an account<//>`}
          </li>
        `,
      )}
    </ul>
  `;
}

/** @param {Pick<CrmState, 'deliveries' | 'received' | 'events'>} props */
function Deliveries({ deliveries, received, events }) {
  /** The event that the CRM accepted. If it has accepted none yet: the event of the bus. */
  const eventData = (/** @type {string} */ id) =>
    received.find((message) => message.id === id)?.data ?? events.find(({ detail }) => detail.id === id)?.detail;
  return html`
    <h3 id="deliveries-title">Deliveries</h3>
    <ul class="panel" aria-labelledby="deliveries-title">
      ${deliveries.map((delivery) => {
        const { id, type, at, state } = delivery;
        const data = JSON.stringify(eventData(id), null, 2);
        return html`
          <li key=${id}>
            <details aria-label=${type}>
              <summary>
                <strong class="mono">${type}</strong> <small><${Ago} at=${at} /></small>${' '}
                <small class=${state === 'delivered' ? 'good' : 'alert'}>${outcome(delivery)}</small>
              </summary>
              <pre tabindex="0" aria-label="Data of ${type}">${data}</pre>
            </details>
          </li>
        `;
      })}
    </ul>
  `;
}

/** @param {CrmState['deliveries'][number]} delivery */
function outcome({ state, deliveries, next_at }) {
  const times = deliveries === 1 ? 'once' : `${deliveries} times`;
  if (state === 'delivered') return deliveries === 1 ? 'delivered' : `delivered, tried ${times}`;
  if (state === 'undelivered') return 'not delivered: npm run ops -- redeliver --local';
  const clock = next_at && new Date(next_at).toLocaleTimeString();
  return clock && deliveries > 0 ? `failed ${times}, next try ${clock}` : 'on its way';
}

/** @param {CrmState} before @param {CrmState} now */
export function crmNews(before, now) {
  return now.total > before.total ? `Event ${now.events[0]?.type}` : undefined;
}
