// SPDX-License-Identifier: 0BSD
import { html } from './html.js';
import { isAtOrBelow } from './machine.js';
import { titleIn } from './words.js';

/** @import { Channel, FieldError, Label, FieldSchema, UiSchema, Words } from './types.ts' */
/** @typedef {{ words: Words; language: string; errors: readonly FieldError[]; channels: readonly string[] }} Shared */
/**
 * @typedef {object} FieldProps
 * @property {string} name of the field, or of a member
 * @property {FieldSchema} schema
 * @property {UiSchema} ui
 * @property {string} pointer
 * @property {boolean} required
 * @property {boolean} [fixed] a field of every form, whose label the page translates
 * @property {string} [title]
 * @property {string} [note]
 * @property {unknown} value
 * @property {(value: any) => void} onChange
 * @property {Shared} shared
 */

/** The widgets that are a type of input. */
const TYPES = ['date', 'email', 'password'];
/** The members of fields, whose labels the page translates. */
const MEMBERS = ['country_code', 'number', 'country', 'state', 'city', 'id', 'name'];

/** A field of the form, from its JSON Schema and its `uiSchema`. @param {FieldProps} props */
export function Field(props) {
  const { schema, ui } = props;
  if (schema.type === 'object') return html`<${Members} ...${props} />`;
  if (schema.items?.properties?.doc) return html`<${Frame} ...${props}><${Documents} ...${props} /><//>`;
  if (schema.items?.properties) return html`<${List} ...${props} />`;
  if (schema.items?.enum) return html`<${Choices} ...${props} options=${schema.items.enum} isMultiple />`;
  if (ui['ui:widget'] === 'radio' && schema.enum) return html`<${Choices} ...${props} options=${schema.enum} />`;
  return html`<${Frame} ...${props} isInline=${schema.type === 'boolean'}><${Input} ...${props} /><//>`;
}

/** @param {FieldProps} props */
function labelOf({ name, schema, ui, fixed, title, shared: { words, language } }) {
  if (title !== undefined) return title;
  if (fixed && Object.hasOwn(words.labels, name)) return words.labels[/** @type {Label} */ (name)];
  const titles = ui['ui:titles'];
  return titles === undefined ? (schema.title ?? name) : titleIn(titles, language);
}

/** A control with its label and its errors. @param {FieldProps & Partial<Record<string, unknown>>} props */
function Frame(props) {
  const { ui, required, pointer, note, shared, children, isGroup, isInline } = props;
  const { words, errors } = shared;
  const fieldErrors = errorsAt(errors, pointer);
  const text = fieldErrors.flatMap(({ rule, bounds }) =>
    rule === undefined ? [] : [words.fields[rule] + (bounds === undefined ? '' : ` (${bounds})`)],
  );
  const shown =
    text.length > 0 &&
    html`<p class="error" id="${pointer}-error"><span aria-hidden="true">⚠ </span>${[...new Set(text)].join(' ')}</p>`;
  const { version } = ui['ui:options'] ?? {};
  const about = [note, version && words.texts.version.replace('{version}', version)].filter(Boolean).join(' ');
  const title = html`
    ${labelOf(props)}${required || html` <small>(${words.texts.optional})</small>`}${about && html` <small>${about}</small>`}
  `;
  if (isGroup) {
    return html`
      <fieldset ...${stateOf(pointer, errors)} tabindex="-1"><legend>${title}</legend>${children}${shown}</fieldset>
    `;
  }
  const label = html`<label for=${pointer}>${title}</label>`;
  return html`<div class=${isInline ? 'inline' : ''}>${isInline ? [children, label] : [label, children]}${shown}</div>`;
}

/** @param {FieldProps} props */
function Input({ name, schema, ui, value, required, onChange, pointer, shared }) {
  const { type } = schema;
  const convert = (/** @type {HTMLInputElement} */ { value, checked }) => {
    if (type === 'boolean') return checked;
    if (type === 'array') return value.split('\n').filter((line) => line !== '');
    return type === 'number' && value !== '' ? Number(value) : value;
  };
  const attributes = {
    ...stateOf(pointer, shared.errors),
    'aria-required': required ? 'true' : undefined,
    autocomplete: ui['ui:autocomplete'],
    inputmode: ui['ui:inputmode'],
    placeholder: name === 'country_code' ? '+44' : undefined,
    onInput: (/** @type {{ currentTarget: HTMLInputElement }} */ { currentTarget }) => onChange(convert(currentTarget)),
    // The browser holds the input: rendering must not replace it.
    defaultValue: Array.isArray(value) ? value.join('\n') : (value ?? ''),
  };
  if (type === 'boolean') return html`<input type="checkbox" ...${attributes} defaultChecked=${value === true} />`;
  if (type === 'array')
    return html`<textarea ...${attributes} placeholder=${shared.words.texts.one_a_line}></textarea>`;
  if (ui['ui:widget'] === 'textarea') return html`<textarea ...${attributes}></textarea>`;
  if (schema.enum) {
    const choices = namesOf(schema.enum, ui, shared.language).map(
      ([option, name]) => html`<option value=${option}>${name}</option>`,
    );
    const { choose_one: none } = shared.words.texts;
    return html`<select ...${attributes} value=${value ?? ''}><option value="">${none}</option>${choices}</select>`;
  }
  const widget = TYPES.find((name) => name === ui['ui:widget']) ?? ui['ui:options']?.inputType ?? 'text';
  return html`<input type=${type === 'number' ? type : widget} step="any" ...${attributes} />`;
}

/** The options with their names; countries in the person's language. @param {string[]} options @param {UiSchema} ui @param {string} language */
function namesOf(options, ui, language) {
  if (ui['ui:options']?.countries !== true) return options.map((option) => [option, option]);
  const names = new Intl.DisplayNames(language, { type: 'region' });
  const named = options.map((option) => /** @type {const} */ ([option, names.of(option) ?? option]));
  return named.sort(([, one], [, other]) => one.localeCompare(other, language));
}

/**
 * Files, which the request carries as base64. `type` and `bytes` are for the page alone.
 *
 * @param {FieldProps} props
 */
function Documents({ ui, onChange, pointer, shared }) {
  const { accept } = /** @type {UiSchema | undefined} */ (ui.items?.doc)?.['ui:options'] ?? {};
  const read = async (/** @type {{ currentTarget: HTMLInputElement }} */ { currentTarget }) => {
    const files = [...(currentTarget.files ?? [])];
    onChange(
      files.map(({ name, type, size: bytes }, index) => ({
        id: String(index + 1),
        name,
        type,
        bytes,
        file: files[index],
      })),
    );
  };
  return html`<input type="file" multiple accept=${accept} ...${stateOf(pointer, shared.errors)} onChange=${read} />`;
}

/** Radio buttons, or checkboxes. @param {FieldProps & { options: string[]; isMultiple?: boolean }} props */
function Choices(props) {
  const { name, fixed, ui, value, onChange, options, isMultiple, pointer, shared } = props;
  const chosen = /** @type {string[]} */ (isMultiple ? (value ?? []) : [value]);
  const choose = (/** @type {string} */ option) => () =>
    onChange(isMultiple ? options.filter((one) => chosen.includes(one) !== (one === option)) : option);
  const offered = fixed && name === 'otp_type' ? options.filter((one) => shared.channels.includes(one)) : options;
  const choices = namesOf(offered, ui, shared.language).map(([option = '', text]) => {
    const attributes = { name: pointer, value: option, checked: chosen.includes(option), onChange: choose(option) };
    const shown = fixed && name === 'otp_type' ? shared.words.channels[/** @type {Channel} */ (option)] : text;
    return html`<label class="option"><input type=${isMultiple ? 'checkbox' : 'radio'} ...${attributes} /> ${shown}</label>`;
  });
  return html`<${Frame} ...${props} isGroup>${choices}<//>`;
}

/** An object: all of its members or none. @param {FieldProps} props */
function Members(props) {
  const { name: field, schema, ui, value, onChange, pointer, required, shared } = props;
  const members = Object.entries(schema.properties ?? {});
  const current = /** @type {Record<string, unknown>} */ (value ?? {});
  const places = members.map(([name]) => `${pointer}/${name}`);
  const groupErrors = shared.errors.filter(({ pointer: at }) => !places.some((place) => isAtOrBelow(at, place)));
  const fields = members.map(([name, member]) => {
    const change = (/** @type {unknown} */ now) => onChange({ ...current, [name]: now });
    const needed = schema.required === undefined ? required || field === 'phone' : schema.required.includes(name);
    return html`
      <${Field} name=${name} schema=${member} ui=${ui[name] ?? {}} pointer="${pointer}/${name}" required=${needed}
        fixed=${MEMBERS.includes(name)} value=${current[name]} onChange=${change} shared=${shared} />
    `;
  });
  const parts = html`<div class="members">${fields}</div>`;
  return html`<${Frame} ...${props} shared=${{ ...shared, errors: groupErrors }} isGroup>${parts}<//>`;
}

/** Any number of objects. @param {FieldProps} props */
function List(props) {
  const { schema, ui, value, onChange, pointer, shared } = props;
  const { add, remove } = shared.words.texts;
  const list = /** @type {unknown[]} */ (value ?? []);
  const groupErrors = shared.errors.filter(
    ({ pointer: at }) => !list.some((_, index) => isAtOrBelow(at, `${pointer}/${index}`)),
  );
  const items = list.map((item, index) => {
    const change = (/** @type {unknown} */ now) => onChange(list.map((one, at) => (at === index ? now : one)));
    return html`
      <${Members} name=${String(index)} title="${labelOf(props)} ${index + 1}" schema=${schema.items} ui=${ui.items ?? {}}
        pointer="${pointer}/${index}" required value=${item} onChange=${change} shared=${shared} />
    `;
  });
  const button = (/** @type {string} */ name, /** @type {unknown[]} */ after) =>
    html`<button type="button" class="second small" onClick=${() => onChange(after)}>${name}</button>`;
  return html`
    <${Frame} ...${props} shared=${{ ...shared, errors: groupErrors }} isGroup>
      ${items}${button(add, [...list, {}])} ${list.length > 0 && button(remove, list.slice(0, -1))}
    <//>
  `;
}

/**
 * The attributes that connect a control with its label and its errors.
 *
 * @param {string} pointer @param {readonly FieldError[]} errors
 */
function stateOf(pointer, errors) {
  const fieldErrors = errorsAt(errors, pointer);
  return {
    id: pointer,
    'aria-invalid': fieldErrors.length > 0 ? 'true' : undefined,
    'aria-describedby': fieldErrors.some(({ rule }) => rule !== undefined) ? `${pointer}-error` : undefined,
  };
}

/** @param {readonly FieldError[]} errors @param {string} place */
function errorsAt(errors, place) {
  return errors.filter(({ pointer }) => isAtOrBelow(pointer, place));
}
