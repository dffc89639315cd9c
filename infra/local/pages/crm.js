import { html } from 'htm/preact';
import { Ago, CopyButton, Section, shellCommand } from './parts.js';

/** @import { CrmState } from '../live-state.ts' */
/** @import { FirstCall } from '../first-calls.ts' */

/** This many events are shown. */
const FEW = 10;

/**
 * The CRM's clients, then the events that it received. A list of webhook deliveries belongs between them.
 *
 * @param {{ crm: CrmState; call: FirstCall | undefined }} props
 */
export function Crm({ crm: { total, clients, events }, call }) {
  const about = 'Receives the events of the service, and creates a client for each confirmed registration.';
  return html`
    <${Section} id="crm" title="CRM" about=${about}>
      ${clients.length > 0 && html`<${Clients} clients=${clients} call=${call} />`}
      ${total > 0 ? html`<${Events} events=${events.slice(0, FEW)} />` : html`<p><small>No events yet.</small></p>`}
    <//>
  `;
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

/** @param {{ events: CrmState['events'] }} props */
function Events({ events }) {
  return html`
    <h3 id="events-title">Events</h3>
    <ul class="panel" aria-labelledby="events-title">
      ${events.map(
        ({ id, type, at, detail }) => html`
          <li key=${id}>
            <details aria-label=${type}>
              <summary><strong class="mono">${type}</strong> <small><${Ago} at=${at} /></small></summary>
              <pre tabindex="0" aria-label="Detail of ${type}">${JSON.stringify(detail, null, 2)}</pre>
            </details>
          </li>
        `,
      )}
    </ul>
  `;
}

/** @param {CrmState} before @param {CrmState} now */
export function crmNews(before, now) {
  return now.total > before.total ? `Event ${now.events[0]?.type}` : undefined;
}
