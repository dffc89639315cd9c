import { html } from 'htm/preact';

/**
 * Renders a field of a form from its JSON Schema and its `uiSchema`, with the service's errors. The service alone
 * validates.
 *
 * @typedef {{ title?: string; description?: string; type?: string | string[]; enum?: string[]; default?: string }}
 * Plain
 * @typedef {Plain & { items?: Schema; properties?: Record<string, Schema>; required?: string[] }} Schema
 * @typedef {{ 'ui:options'?: { accept?: string; inputType?: string }; [member: string]: unknown }} UiMembers
 * @typedef {UiMembers & { 'ui:widget'?: string; 'ui:enumNames'?: string[]; items?: Ui }} Ui
 * @typedef {{ pointer?: string; parameter?: string; header?: string; detail: string }} FieldError
 * @typedef {{ schema: Schema; ui: Ui; value: unknown; onChange: (value: unknown) => void }} Value
 * @typedef {Value & { pointer: string; required: boolean; errors: FieldError[] }} FieldProps
 * @typedef {{ currentTarget: HTMLInputElement }} InputEvent
 */

/** The widgets that are a type of input. */
const TYPES = ['date', 'email', 'password'];

/** @param {FieldProps} props */
export function Field(props) {
  const { schema, ui } = props;
  if (schema.type === 'object') return html`<${Members} ...${props} />`;
  if (schema.items?.properties?.doc) return html`<${Frame} ...${props}><${Documents} ...${props} /><//>`;
  if (schema.items?.properties) return html`<${List} ...${props} />`;
  if (schema.items?.enum) return html`<${Choices} ...${props} options=${schema.items.enum} isMultiple />`;
  if (ui['ui:widget'] === 'radio' && schema.enum) return html`<${Choices} ...${props} options=${schema.enum} />`;
  return html`<${Frame} ...${props} isInline=${schema.type === 'boolean'}><${Input} ...${props} /><//>`;
}

/** A control with its label and its errors. @param {FieldProps & Partial<Record<string, unknown>>} props */
function Frame({ schema, required, pointer, errors, children, isGroup, isInline }) {
  const details = errors.filter((error) => matchesPlace(error, pointer)).map(({ detail }) => detail);
  const shown = details.length > 0 && html`<small class="alert" id="${pointer}-error">${details.join('; ')}</small>`;
  const title = html`
    ${schema.title}${required || html` <small>optional</small>`}
    ${schema.description && html` <small>${schema.description}</small>`}
  `;
  if (isGroup) {
    return html`<fieldset ...${state(pointer, errors)}><legend>${title}</legend>${children}${shown}</fieldset>`;
  }
  const label = html`<label for=${pointer}>${title}</label>`;
  return html`<div>${isInline ? [children, label] : [label, children]}${shown}</div>`;
}

/** @param {FieldProps} props */
function Input({ schema: { type, enum: options }, ui, value, onChange, pointer, errors }) {
  const convert = (/** @type {HTMLInputElement} */ { value, checked }) => {
    if (type === 'boolean') return checked;
    if (type === 'array') return value.split('\n').filter((line) => line !== '');
    return type === 'number' && value !== '' ? Number(value) : value;
  };
  const attributes = {
    ...state(pointer, errors),
    autocomplete: ui['ui:autocomplete'],
    inputmode: ui['ui:inputmode'],
    onInput: (/** @type {InputEvent} */ { currentTarget }) => onChange(convert(currentTarget)),
    // The browser holds the input: rendering must not replace it.
    defaultValue: Array.isArray(value) ? value.join('\n') : (value ?? ''),
  };
  if (type === 'boolean') return html`<input type="checkbox" ...${attributes} checked=${value === true} />`;
  if (type === 'array') return html`<textarea ...${attributes} placeholder="One value a line"></textarea>`;
  if (ui['ui:widget'] === 'textarea') return html`<textarea ...${attributes}></textarea>`;
  if (options) {
    const names = ui['ui:enumNames'] ?? options;
    const choices = options.map((option, index) => html`<option value=${option}>${names[index]}</option>`);
    return html`<select ...${attributes} value=${value ?? ''}><option value="">Please choose</option>${choices}</select>`;
  }
  const widget = TYPES.find((name) => name === ui['ui:widget']) ?? ui['ui:options']?.inputType ?? 'text';
  return html`<input type=${type === 'number' ? type : widget} step="any" ...${attributes} />`;
}

/** Files, which the request carries as base64. @param {FieldProps} props */
function Documents({ ui, onChange, pointer, errors }) {
  const { accept } = /** @type {Ui | undefined} */ (ui.items?.doc)?.['ui:options'] ?? {};
  const read = async (/** @type {InputEvent} */ { currentTarget }) => {
    const documents = [...(currentTarget.files ?? [])].map(async (file, index) => {
      const doc = new Uint8Array(await file.arrayBuffer()).toBase64();
      return { id: String(index + 1), name: file.name, doc };
    });
    onChange(await Promise.all(documents));
  };
  return html`<input type="file" multiple accept=${accept} ...${state(pointer, errors)} onChange=${read} />`;
}

/** Radio buttons, or checkboxes. @param {FieldProps & { options: string[]; isMultiple?: boolean }} props */
function Choices(props) {
  const { ui, value, onChange, options, isMultiple, pointer } = props;
  const chosen = /** @type {string[]} */ (isMultiple ? (value ?? []) : [value]);
  const names = ui['ui:enumNames'] ?? options;
  const choose = (/** @type {string} */ option) => () =>
    onChange(isMultiple ? options.filter((one) => chosen.includes(one) !== (one === option)) : option);
  const choices = options.map((option, index) => {
    const attributes = { name: pointer, checked: chosen.includes(option), onChange: choose(option) };
    return html`<label><input type=${isMultiple ? 'checkbox' : 'radio'} ...${attributes} /> ${names[index]}</label>`;
  });
  return html`<${Frame} ...${props} isGroup>${choices}<//>`;
}

/** An object: all of its members or none. Those left empty are sent as empty texts. @param {FieldProps} props */
function Members(props) {
  const { schema, ui, value, onChange, pointer, errors } = props;
  const members = Object.entries(schema.properties ?? {});
  const empty = Object.fromEntries(members.map(([name]) => [name, '']));
  const current = /** @type {Record<string, unknown>} */ ({ ...empty, .../** @type {object} */ (value) });
  const own = errors.filter((error) => !members.some(([name]) => matchesPlace(error, `${pointer}/${name}`)));
  const fields = members.map(([name, member]) => {
    const change = (/** @type {unknown} */ now) => onChange({ ...current, [name]: now });
    const isRequired = schema.required === undefined || schema.required.includes(name);
    return html`
      <${Field} schema=${member} ui=${ui[name] ?? {}} pointer="${pointer}/${name}" required=${isRequired}
        value=${current[name]} onChange=${change} errors=${errors} />
    `;
  });
  return html`<${Frame} ...${props} errors=${own} isGroup><div class="members">${fields}</div><//>`;
}

/** Any number of objects. @param {FieldProps} props */
function List(props) {
  const { schema, ui, value, onChange, pointer, errors } = props;
  const list = /** @type {unknown[]} */ (value ?? []);
  const own = errors.filter((error) => !list.some((_, index) => matchesPlace(error, `${pointer}/${index}`)));
  const items = list.map((item, index) => {
    const change = (/** @type {unknown} */ now) => onChange(list.with(index, now));
    const itemSchema = { ...schema.items, title: `${schema.title} ${index + 1}` };
    return html`
      <${Members} schema=${itemSchema} ui=${ui.items ?? {}} pointer="${pointer}/${index}" required
        value=${item} onChange=${change} errors=${errors} />
    `;
  });
  const button = (/** @type {string} */ name, /** @type {unknown[]} */ next) =>
    html`<button type="button" class="secondary outline" onClick=${() => onChange(next)}>${name}</button>`;
  return html`
    <${Frame} ...${props} errors=${own} isGroup>
      ${items}${button('Add', [...list, {}])} ${list.length > 0 && button('Remove the last', list.slice(0, -1))}
    <//>
  `;
}

/**
 * The attributes that connect a control with its label and its errors. @param {string} pointer @param {FieldError[]}
 * errors
 */
function state(pointer, errors) {
  const isInvalid = errors.some((error) => matchesPlace(error, pointer));
  return { id: pointer, ...(isInvalid && { 'aria-invalid': 'true', 'aria-describedby': `${pointer}-error` }) };
}

/** Whether an error is at this pointer or below it. @param {FieldError} error @param {string} place */
export function matchesPlace({ pointer }, place) {
  return pointer === place || pointer?.startsWith(`${place}/`) === true;
}
