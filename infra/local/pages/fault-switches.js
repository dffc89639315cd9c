import { announce, byId, element, icon, showCount } from './dom.js';

/** @import { FaultsEvent } from '../live-state.ts' */
/** @typedef {FaultsEvent[string]} TargetFaults */
/** @typedef {TargetFaults['waiting'][number]} Fault */
/** @typedef {Fault['kind']} FaultKind */

/** The embedded services, with what they do; every other target is a trading server.
 *
 * @type {Record<string, string>}
 */
const SERVICES = {
  ses: 'sends e-mails',
  sns: 'sends SMS and pop-ups',
  voice: 'makes calls',
  whatsapp: 'sends WhatsApp messages',
  dynamodb: 'the database',
  s3: 'keeps documents',
  secrets: 'keeps secrets',
  events: 'tells the CRM what happened',
  captcha: 'checks captchas',
};

/** @type {Record<FaultKind, { name: string; means: string }>} */
const KINDS = {
  throttled: { name: 'throttled', means: 'It says that there are too many calls.' },
  refused: { name: 'refused', means: 'It refuses: not permitted.' },
  down: { name: 'down', means: 'No connection can be made.' },
  slow: { name: 'slow', means: 'It waits before it answers as ever.' },
  reply_lost: { name: 'reply lost', means: 'It does what was asked; the answer never comes.' },
  late: { name: 'late', means: 'The connection ends at once; what was asked is done later all the same.' },
  repeated: { name: 'repeated', means: 'It does what was asked, and the same once more when the caller is long gone.' },
  partial: { name: 'not taken', means: 'It answers well, but says of an event that it was not taken.' },
  session_dropped: { name: 'session dropped', means: 'The connection is closed before the command is worked on.' },
  retcode: { name: 'return code', means: 'It answers with this code of the platform.' },
  silence: { name: 'silence', means: 'It takes the command and says nothing.' },
  garbage: { name: 'garbage', means: 'It answers something that is no answer.' },
};

/** Those that wait for some time before they strike. */
const WAITING = ['slow', 'late', 'repeated'];

/** @type {Map<string, (faults: TargetFaults) => void>} by target */
const targets = new Map();

/** Prepares the button that clears. */
export function startFaults() {
  byId('clear-faults').addEventListener('click', async () => {
    await fetch('/_local/faults', { method: 'DELETE' });
    announce('All faults were cleared');
    byId('faults').focus();
  });
}

/** @param {FaultsEvent} event */
export function showFaults(event) {
  const names = Object.keys(event);
  if (names.join(' ') !== [...targets.keys()].join(' ')) {
    targets.clear();
    const rows = Object.entries(event).map(([name, faults]) => ({ name, row: targetRow(name, faults) }));
    const rowsWhere = (/** @type {(name: string) => boolean} */ rule) =>
      rows.filter(({ name }) => rule(name)).map(({ row }) => row);
    byId('service-faults').replaceChildren(...rowsWhere((name) => Object.hasOwn(SERVICES, name)));
    byId('platform-faults').replaceChildren(...rowsWhere((name) => !Object.hasOwn(SERVICES, name)));
  }
  for (const [name, faults] of Object.entries(event)) targets.get(name)?.(faults);
  const active = Object.values(event).filter(({ waiting }) => waiting.length > 0).length;
  showCount('faults-count', active);
  byId('clear-faults').hidden = active === 0;
}

/**
 * A target with its switch, and what the switch sets. A fault that its calls have used up switches itself off.
 *
 * @param {string} name
 * @param {TargetFaults} faults
 */
function targetRow(name, { kinds }) {
  const { form, read, write } = faultForm(name, kinds);
  const wrong = element('p', { class: 'wrong', role: 'alert' });
  const toggle = element('input', { type: 'checkbox', role: 'switch', 'aria-label': `Make ${name} fail` });
  const status = element('span', { class: 'status' });
  const disclosure = disclosureOf(name, status, form);
  /** @type {Fault | undefined} */
  let fault;
  let known = 0;

  const showFault = () => {
    toggle.checked = fault !== undefined;
    status.textContent = fault === undefined ? (SERVICES[name] ?? 'works') : wordsFor(fault);
    status.dataset.active = String(fault !== undefined);
  };
  /**
   * Answers and the stream come in any order: what is older than what is known tells nothing.
   *
   * @param {TargetFaults} state
   */
  const take = ({ version, waiting: [now] }) => {
    if (version <= known) return;
    known = version;
    // Set elsewhere: the fields follow. They stay as they are while calls use the fault up.
    if (now !== undefined && now.kind !== fault?.kind) write(now);
    fault = now;
    showFault();
  };
  /** @param {object} wanted */
  const send = async (wanted) => {
    wrong.textContent = '';
    const state = await setFault(name, wanted);
    if (typeof state === 'string') wrong.textContent = state;
    else take(state);
    showFault();
  };
  const put = async () => {
    if (form.reportValidity()) {
      await send(read());
    } else if (fault === undefined) {
      showFault();
    } else {
      // The fault that is on stays as it is: the fields show it, so that nobody takes it for changed or off.
      wrong.textContent = 'This was not taken: the value stays as it was.';
      write(fault);
    }
  };
  /** @param {boolean} open */
  const unfold = (open) => {
    form.hidden = !open;
    disclosure.setAttribute('aria-expanded', String(open));
  };

  disclosure.addEventListener('click', () => unfold(form.hidden === true));
  toggle.addEventListener('change', async () => {
    if (toggle.checked) {
      unfold(true);
      await put();
    } else {
      await send({ times: 0 });
    }
  });
  form.addEventListener('change', async () => {
    if (toggle.checked) await put();
  });
  targets.set(name, take);
  return element('li', { class: 'target' }, element('div', { class: 'target-head' }, disclosure, toggle), form, wrong);
}

/**
 * The button that shows and hides what the switch sets.
 *
 * @param {string} name
 * @param {HTMLElement} status
 * @param {HTMLElement} form
 */
function disclosureOf(name, status, form) {
  return element(
    'button',
    { type: 'button', class: 'disclosure', 'aria-expanded': 'false', 'aria-controls': form.id },
    icon('chevron'),
    element('span', { class: 'target-name' }, name),
    ' ',
    status,
  );
}

/**
 * @param {string} name of a target
 * @param {object} wanted
 * @returns {Promise<TargetFaults | string>} what is set then, or why it is not
 */
async function setFault(name, wanted) {
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'PUT', headers, body: JSON.stringify(wanted) };
  try {
    const answer = await fetch(`/_local/faults/${encodeURIComponent(name)}`, request);
    return answer.ok ? await answer.json() : 'The service did not take this fault.';
  } catch {
    return 'The service cannot be reached.';
  }
}

/**
 * What kind of fault, for how many calls and after how many.
 *
 * @param {string} name
 * @param {readonly FaultKind[]} kinds
 */
function faultForm(name, kinds) {
  const kind = element(
    'select',
    { name: 'kind' },
    ...kinds.map((value) => element('option', { value }, KINDS[value].name)),
  );
  const means = element('p', { class: 'means' });
  const times = numberField('times', 'Times', 1, 1, 1_000_000);
  const after = numberField('after', 'Skip first', 0, 0, 1_000_000);
  const ms = numberField('ms', 'Milliseconds', 2_000, 0, 600_000);
  const code = numberField('code', 'Return code', 3_006, 0, 99_999);
  const form = element(
    'form',
    { id: `fault-${name}`, class: 'fault-form', hidden: true, 'aria-label': `Fault of ${name}` },
    element('label', { class: 'field' }, element('span', {}, 'Fault'), kind),
    times.label,
    after.label,
    ms.label,
    code.label,
    means,
  );
  const showFields = () => {
    const chosen = /** @type {FaultKind} */ (kind.value);
    means.textContent = KINDS[chosen].means;
    ms.show(WAITING.includes(chosen));
    code.show(chosen === 'retcode');
  };
  form.addEventListener('input', showFields);
  form.addEventListener('submit', (event) => event.preventDefault());
  showFields();
  return {
    form,
    read: () => ({
      kind: kind.value,
      times: times.input.valueAsNumber,
      after: after.input.valueAsNumber,
      ...(WAITING.includes(kind.value) ? { ms: ms.input.valueAsNumber } : {}),
      ...(kind.value === 'retcode' ? { code: code.input.valueAsNumber } : {}),
    }),
    /** @param {Fault} fault */
    write(fault) {
      kind.value = fault.kind;
      times.input.valueAsNumber = fault.times;
      after.input.valueAsNumber = fault.after ?? 0;
      if (fault.ms !== undefined) ms.input.valueAsNumber = fault.ms;
      if (fault.code !== undefined) code.input.valueAsNumber = fault.code;
      showFields();
    },
  };
}

/** @param {Fault} fault */
function wordsFor({ kind, step, times, after = 0, ms, code }) {
  const detail = ms !== undefined ? ` ${ms} ms` : kind === 'retcode' ? ` ${code}` : '';
  const often = times === 1 ? 'once' : `${times.toLocaleString('en')} times`;
  const when = after > 0 ? `after ${callsOf(after)} ${often}` : times === 1 ? 'next call' : `next ${callsOf(times)}`;
  const where = step === undefined ? '' : ` at ${step === 'tls' ? 'TLS' : step}`;
  return `${KINDS[kind].name}${detail}${where}, ${when}`;
}

/** @param {number} count */
function callsOf(count) {
  return count === 1 ? '1 call' : `${count.toLocaleString('en')} calls`;
}

/**
 * @param {string} name
 * @param {string} words
 * @param {number} value
 * @param {number} min
 * @param {number} max
 */
function numberField(name, words, value, min, max) {
  const input = element('input', {
    type: 'number',
    name,
    value,
    min,
    max,
    step: 1,
    required: true,
    inputmode: 'numeric',
  });
  const label = element('label', { class: 'field' }, element('span', {}, words), input);
  return {
    label,
    input,
    /** A field that does not apply is out of the form, also for its validity.
     *
     * @param {boolean} applies
     */
    show(applies) {
      label.hidden = !applies;
      input.disabled = !applies;
    },
  };
}
