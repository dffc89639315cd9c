import { html } from 'htm/preact';
import { useRef, useState } from 'preact/hooks';
import { announce, findElement, Section } from './parts.js';

/** @import { FaultsState } from '../outbox-page.ts' */
/** @typedef {FaultsState[string]} TargetFaults */
/** @typedef {TargetFaults['waiting'][number]} Fault */
/** @typedef {Fault['kind']} FaultKind */

/** @type {Record<FaultKind, string>} */
const MEANINGS = {
  throttled: 'It answers that there are too many calls.',
  refused: 'It answers that the call is not permitted.',
  refused_recipient: 'It refuses this recipient alone.',
  refused_message: 'It refuses this message alone.',
  down: 'No connection can be made.',
  slow: 'It waits, then works as usual.',
  reply_lost: 'It executes the call; the reply never arrives.',
  late: 'The connection ends at once; the call is executed later.',
  repeated: 'It executes the call, and again later, as after a late duplicate.',
  partial: 'It answers with success, but reports one event as failed.',
  session_dropped: 'The connection closes before the command is executed.',
  retcode: 'It answers with this return code of the platform.',
  executed_retcode: 'It executes the command, and answers with this return code.',
  executed_twice: 'A gateway repeats the command; the second answer arrives.',
  login_ignored: 'It opens the account with another login.',
  silence: 'It receives the command and never replies.',
  garbage: 'It sends a reply that makes no sense.',
  gone: 'It answers that its address is gone (410).',
};

/**
 * The number fields; those with `kinds` apply to these kinds only.
 *
 * @type {{ name: string; label: string; value: number; min: number; max: number; kinds?: FaultKind[] }[]}
 */
const NUMBERS = [
  { name: 'times', label: 'Times', value: 1, min: 1, max: 1_000_000 },
  { name: 'after', label: 'Skip first', value: 0, min: 0, max: 1_000_000 },
  { name: 'ms', label: 'Milliseconds', value: 2_000, min: 0, max: 600_000, kinds: ['slow', 'late', 'repeated'] },
  { name: 'code', label: 'Return code', value: 3_006, min: 0, max: 99_999, kinds: ['retcode', 'executed_retcode'] },
];

/** @param {{ faults: FaultsState }} props */
export function Faults({ faults }) {
  const targets = Object.entries(faults);
  const groups = Object.groupBy(targets, ([, { about }]) => (about ? 'Services' : 'Trading servers'));
  const clear = async () => {
    await fetch('/_local/faults', { method: 'DELETE' });
    announce('All faults were cleared');
    findElement('faults').focus();
  };
  const button = html`<button type="button" class="secondary outline" onClick=${clear}>Clear all</button>`;
  const action = targets.some(([, { waiting }]) => waiting.length > 0) && button;
  const about = 'Make the next calls fail, and see what the API answers.';
  return html`
    <${Section} id="faults" title="Faults" about=${about} action=${action}>
      ${Object.entries(groups).map(
        ([title, some]) => html`
          <h3>${title}</h3>
          <ul class="panel" aria-label=${title}>
            ${some.map(([name, state]) => html`<${Target} key=${name} name=${name} ...${state} />`)}
          </ul>
        `,
      )}
    <//>
  `;
}

/**
 * A target with its switch, and the fields that the switch sets. The switch goes off when calls have used up the fault.
 *
 * @param {{ name: string } & TargetFaults} props
 */
function Target({ name, about = 'works', kinds, waiting: [fault] }) {
  const [kind, setKind] = useState(kinds[0] ?? 'down');
  const [problem, setProblem] = useState('');
  const details = useRef(/** @type {HTMLDetailsElement | null} */ (null));
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const isOn = fault !== undefined;

  // The stream brings the new state. After a failure the switch is rendered unchanged.
  const onToggle = async (/** @type {{ currentTarget: HTMLInputElement }} */ { currentTarget: input }) => {
    if (details.current !== null) details.current.open = true;
    if (input.checked && !form.current?.reportValidity()) {
      input.checked = false;
      return;
    }
    const numbers = [...new FormData(form.current ?? undefined)].filter(([name]) => name !== 'kind');
    const chosen = { kind, ...Object.fromEntries(numbers.map(([name, value]) => [name, Number(value)])) };
    const request = { method: 'PUT', body: JSON.stringify(input.checked ? chosen : { times: 0 }) };
    const answer = await fetch(`/_local/faults/${name}`, request).catch(() => undefined);
    setProblem(answer?.ok ? '' : 'The service did not set this fault.');
  };
  const onKind = (/** @type {{ currentTarget: { value: string } }} */ { currentTarget }) =>
    setKind(/** @type {FaultKind} */ (currentTarget.value));
  const numbers = NUMBERS.filter((field) => field.kinds?.includes(kind) ?? true);
  return html`
    <li class="target">
      <details ref=${details} aria-label=${name}>
        <summary>
          <strong class="mono">${name}</strong>${' '}
          <small class=${isOn ? 'alert' : ''}>${fault ? describe(fault) : about}</small>
        </summary>
        <form ref=${form} aria-label="Fault of ${name}" onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
          <div class="fields" hidden=${isOn}>
            <label>
              Fault
              <select name="kind" value=${kind} onChange=${onKind}>
                ${kinds.map((one) => html`<option value=${one}>${kindName(one)}</option>`)}
              </select>
            </label>
            ${numbers.map(
              ({ name, label, value, min, max }) => html`
                <label key=${name}>
                  ${label}
                  <input type="number" name=${name} defaultValue=${value} min=${min} max=${max} required />
                </label>
              `,
            )}
          </div>
          <small>${MEANINGS[fault?.kind ?? kind]}</small>
        </form>
      </details>
      <input type="checkbox" role="switch" aria-label="Make ${name} fail" checked=${isOn} onChange=${onToggle} />
      <small class="alert" role="alert">${problem}</small>
    </li>
  `;
}

/** @param {FaultKind} kind */
function kindName(kind) {
  return kind.replace('retcode', 'return code').replaceAll('_', ' ');
}

/** @param {Fault} fault */
function describe({ kind, times, after = 0, ms, code }) {
  const detail = ms === undefined ? (code ?? '') : `${ms} ms`;
  const how = `${kindName(kind)} ${detail}`.trim();
  return `${how}, ${times === 1 ? 'once' : `${times} times`}${after === 0 ? '' : `, skips first ${after}`}`;
}
