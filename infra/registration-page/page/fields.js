// SPDX-License-Identifier: 0BSD
import { acceptedTypes, FIRST_DATE, isDocument, isEmpty, LAST_DATE, megabytes } from './check.js';
import { html, linkedText, plainText } from './html.js';
import { isAtOrBelow } from './machine.js';
import { countryNames, fill, localizedText, phoneFormat } from './words.js';

/** @import { Channel, FieldError, Form, Label, FieldSchema, PageText, UiSchema, Words } from './types.ts' */
/** @import { ChosenFile } from './check.js' */
/**
 * @typedef {object} Shared
 * @property {Form} form
 * @property {Words} words
 * @property {string} language
 * @property {readonly FieldError[]} errors
 * @property {readonly string[]} channels
 * @property {readonly string[]} countries that lists show first
 */
/**
 * @typedef {object} FieldProps
 * @property {string} name of the field, or of a member
 * @property {FieldSchema} schema
 * @property {UiSchema} ui
 * @property {string} pointer
 * @property {boolean} required
 * @property {boolean} [fixed] a field of every form, whose label the page translates
 * @property {string} [title]
 * @property {((text: string) => string)} [format] what was typed, as it is usually written
 * @property {string} [placeholder]
 * @property {unknown} value
 * @property {(value: any) => void} onChange
 * @property {Shared} shared
 */
/** @typedef {{ currentTarget: HTMLInputElement; inputType?: string }} InputEvent */

/** The widgets that are a type of input. */
const TYPES = ['date', 'email', 'password'];
/** The members of fields, whose labels the page translates. */
const MEMBERS = ['country_code', 'number', 'country', 'state', 'city', 'id', 'name'];
/** Fields of letters and digits that no script turns around, and no keyboard corrects. */
const CODES = ['referrer_id', 'code', 'id'];
/** The value of a control with something in it that the browser cannot read, such as a date without its year. */
const UNREADABLE = '?';

/** A field of the form, from its JSON Schema and its `uiSchema`. @param {FieldProps} props */
export function Field(props) {
  const { schema, ui } = props;
  if (schema.type === 'object') return html`<${Members} ...${props} />`;
  if (isDocument(schema)) return html`<${Documents} ...${props} />`;
  if (schema.items?.properties) return html`<${List} ...${props} />`;
  if (schema.items?.enum) return html`<${Choices} ...${props} options=${schema.items.enum} isMultiple />`;
  if (ui['ui:widget'] === 'radio' && schema.enum) return html`<${Choices} ...${props} options=${schema.enum} />`;
  return html`<${Frame} ...${props} isInline=${schema.type === 'boolean'}><${Input} ...${props} /><//>`;
}

/** @param {FieldProps} props */
function fieldLabel({ name, schema, ui, fixed, title, shared: { words, language } }) {
  if (title !== undefined) return title;
  if (fixed && Object.hasOwn(words.labels, name)) return words.labels[/** @type {Label} */ (name)];
  return localizedText(ui['ui:texts']?.label ?? schema.title ?? name, language);
}

/** What a person should know before an error, in the order of importance. @param {FieldProps} props */
function fieldHints({ name, schema, ui, fixed, shared: { form, words, language } }) {
  const { texts } = words;
  const { help } = ui['ui:texts'] ?? {};
  const { version } = ui['ui:options'] ?? {};
  const { maxDocumentBytes, maxDocumentsBytes } = form.uiSchema['ui:options'];
  const types = acceptedTypes(ui).map((type) => type.replace('/*', '').replace(/^.*\//, '').toUpperCase());
  const sizes = { size: megabytes(maxDocumentBytes), all: megabytes(maxDocumentsBytes) };
  return [
    help && localizedText(help, language),
    version && texts.version.replace('{version}', version),
    fixed && name === 'password' && fill(texts.password_rules, { n: String(schema.minLength) }),
    isDocument(schema) && [types.join(', '), fill(texts.documents, sizes)].filter(Boolean).join('. '),
  ].filter((hint) => typeof hint === 'string' && hint !== '');
}

/** A control with its label, its hints and its errors. @param {FieldProps & Partial<Record<string, unknown>>} props */
function Frame(props) {
  const { required, pointer, shared, children, isGroup, isInline } = props;
  const { words, errors } = shared;
  const shown = new Map(fieldErrors(errors, pointer).map(({ rule, bounds }) => [rule && words.fields[rule], bounds]));
  shown.delete(undefined);
  const sentences = [...shown].map(
    ([sentence, bounds]) => html`${sentence}${bounds && html` <bdi dir="ltr">(${bounds})</bdi>`}${' '}`,
  );
  const error =
    sentences.length > 0 &&
    html`<p class="error" id="${pointer}-error"><span aria-hidden="true">⚠ </span>${sentences}</p>`;
  const hints = fieldHints(props).map((hint) => html`<span>${linkedText(/** @type {string} */ (hint))}</span>`);
  const hint = hints.length > 0 && html`<p class="hint" id="${pointer}-hint">${hints}</p>`;
  const label = html`${linkedText(fieldLabel(props))}${required || html` <small>(${words.texts.optional})</small>`}`;
  if (isGroup) {
    return html`
      <fieldset ...${controlState(props)} tabindex="-1"><legend>${label}</legend>${hint}${children}${error}</fieldset>
    `;
  }
  const title = html`<label for=${pointer}>${label}</label>`;
  return html`
    <div class=${isInline ? 'inline' : ''}>${isInline ? [children, title, hint] : [title, hint, children]}${error}</div>
  `;
}

/**
 * A control. The browser holds its content, and `onInput` reads it: rendering never replaces it.
 *
 * @param {FieldProps} props
 */
function Input(props) {
  const { name, schema, ui, value, required, onChange, shared, format = (text) => text, placeholder } = props;
  const { type } = schema;
  const { texts } = shared.words;
  const read = (/** @type {HTMLInputElement} */ { value, checked, validity }) => {
    if (type === 'boolean') return checked;
    if (type === 'array') return value.split('\n').filter((line) => line !== '');
    return validity.badInput ? UNREADABLE : value;
  };
  const onInput = (/** @type {InputEvent} */ { currentTarget: input, inputType = '' }) => {
    const isAtEnd = inputType.startsWith('insert') && input.selectionEnd === input.value.length;
    if (isAtEnd && format(input.value) !== input.value) input.value = format(input.value);
    if (!isKnown(read(input), value)) onChange(read(input));
  };
  const widget = TYPES.find((name) => name === ui['ui:widget']) ?? ui['ui:options']?.inputType ?? 'text';
  const isCode = CODES.includes(name) || /email|tel/.test(widget) || ui['ui:inputmode'] !== undefined;
  const attributes = {
    ...controlState(props),
    'aria-required': required ? 'true' : undefined,
    autocomplete: ui['ui:autocomplete'],
    inputmode: ui['ui:inputmode'],
    ...((isCode || widget === 'password') && { autocapitalize: 'none', autocorrect: 'off', spellcheck: 'false' }),
    ...(isCode && { dir: 'ltr' }),
    onInput,
  };
  const text = { ...attributes, defaultValue: Array.isArray(value) ? value.join('\n') : (value ?? '') };
  if (type === 'boolean') return html`<input type="checkbox" ...${attributes} defaultChecked=${value === true} />`;
  if (type === 'array') return html`<textarea ...${text} placeholder=${texts.one_a_line}></textarea>`;
  if (ui['ui:widget'] === 'textarea') return html`<textarea ...${text}></textarea>`;
  const options = listOptions(props);
  if (options !== undefined) {
    const choices = options.map(
      ([option, name]) => html`<option value=${option} selected=${option === value}>${name}</option>`,
    );
    return html`<select ...${attributes}><option value="">${texts.choose_one}</option>${choices}</select>`;
  }
  if (widget === 'date') return html`<input type="date" min=${FIRST_DATE} max=${LAST_DATE} ...${text} />`;
  if (widget !== 'password') return html`<input type=${widget} placeholder=${placeholder} ...${text} />`;
  const show = `${texts.show_password}: ${fieldLabel(props)}`;
  return html`
    <span class="password"><input type="password" ...${text} />
    <button type="button" class="second" aria-label=${show} aria-pressed="false" onClick=${showPassword}>
      ${texts.show_password}
    </button></span>
  `;
}

/** @param {{ currentTarget: HTMLButtonElement }} event */
function showPassword({ currentTarget: button }) {
  const input = /** @type {HTMLInputElement} */ (button.parentElement?.querySelector('input'));
  input.type = input.type === 'password' ? 'text' : 'password';
  button.setAttribute('aria-pressed', String(input.type === 'text'));
}

/** The options of a list with their names; undefined: the field is no list. @param {FieldProps} props @returns {[option: string, name: string][] | undefined} */
function listOptions({ name, schema, ui, shared: { form, language, countries } }) {
  const { phones } = form.uiSchema['ui:options'];
  if (name === 'country_code') {
    const dialCodes = countryNames(Object.keys(phones), countries, language);
    return dialCodes.map(([code, country]) => [code, `${country} (${phones[code]?.split(' ')[0]})`]);
  }
  if (ui['ui:options']?.countries) return countryNames(schema.enum ?? Object.keys(phones), countries, language);
  return schema.enum?.map((option) => [option, plainText(optionName(ui, option, language))]);
}

/** @param {UiSchema} ui @param {string} option @param {string} language */
function optionName(ui, option, language) {
  const names = ui['ui:texts']?.options ?? {};
  return localizedText(Object.hasOwn(names, option) ? /** @type {PageText} */ (names[option]) : option, language);
}

/** Files. A second choice adds to the first, and each can be taken out. @param {FieldProps} props */
function Documents(props) {
  const { ui, value, onChange, shared } = props;
  const chosen = /** @type {ChosenFile[]} */ (value ?? []);
  const add = (/** @type {{ currentTarget: HTMLInputElement }} */ { currentTarget: input }) => {
    const files = [...(input.files ?? [])];
    onChange([...chosen, ...files.map((file) => ({ name: file.name, type: file.type, bytes: file.size, file }))]);
    input.value = '';
  };
  const { remove } = shared.words.texts;
  const list = chosen.map((one) => {
    const takeOut = () => onChange(chosen.filter((other) => other !== one));
    const label = `${remove}: ${one.name}`;
    return html`
      <li><bdi>${one.name}</bdi> <small><bdi>${megabytes(one.bytes)}</bdi></small>
      <button type="button" class="second small" aria-label=${label} onClick=${takeOut}>${remove}</button></li>
    `;
  });
  const accept = acceptedTypes(ui).join(',') || undefined;
  return html`
    <${Frame} ...${props}>
      <input type="file" multiple accept=${accept} ...${controlState(props)} onChange=${add} />
      ${list.length > 0 && html`<ul class="files">${list}</ul>`}
    <//>
  `;
}

/** Radio buttons, or checkboxes. @param {FieldProps & { options: string[]; isMultiple?: boolean }} props */
function Choices(props) {
  const { name, fixed, ui, value, onChange, options, isMultiple, pointer, shared } = props;
  const isChannel = fixed && name === 'otp_type';
  const chosen = /** @type {string[]} */ (isMultiple ? (value ?? []) : [value]);
  const choices = options.map((option) => {
    if (isChannel && !shared.channels.includes(option)) return null;
    const onInput = (/** @type {InputEvent} */ { currentTarget: { checked } }) => {
      const now = isMultiple ? options.filter((one) => (one === option ? checked : chosen.includes(one))) : option;
      if ((isMultiple || checked) && !isKnown(now, value)) onChange(now);
    };
    const shown = isChannel
      ? shared.words.channels[/** @type {Channel} */ (option)]
      : linkedText(optionName(ui, option, shared.language));
    const attributes = { name: pointer, value: option, defaultChecked: chosen.includes(option), onInput };
    return html`<label class="option"><input type=${isMultiple ? 'checkbox' : 'radio'} ...${attributes} /> ${shown}</label>`;
  });
  return html`<${Frame} ...${props} isGroup>${choices}<//>`;
}

/** An object: all of its members or none. @param {FieldProps} props */
function Members(props) {
  const { name: field, schema, ui, value, onChange, pointer, required, shared } = props;
  const members = Object.entries(schema.properties ?? {});
  const current = /** @type {Record<string, unknown>} */ (value ?? {});
  const example = shared.form.uiSchema['ui:options'].phones[String(current.country_code)];
  const fields = members.map(([name, member]) => {
    const change = (/** @type {unknown} */ now) => onChange({ ...current, [name]: now });
    const needed = schema.required === undefined ? required || field === 'phone' : schema.required.includes(name);
    const phone = schema.properties?.country_code && name === 'number' ? phoneFormat(example) : {};
    return html`
      <${Field} name=${name} schema=${member} ui=${ui[name] ?? {}} pointer="${pointer}/${name}" required=${needed}
        fixed=${MEMBERS.includes(name)} value=${current[name]} onChange=${change} shared=${shared} ...${phone} />
    `;
  });
  const places = members.map(([name]) => `${pointer}/${name}`);
  return html`<${Group} ...${props} places=${places}><div class="members">${fields}</div><//>`;
}

/** Any number of objects. @param {FieldProps} props */
function List(props) {
  const { schema, ui, value, onChange, pointer, shared } = props;
  const { add, remove } = shared.words.texts;
  const list = /** @type {unknown[]} */ (value ?? []);
  const items = list.map((item, index) => {
    const change = (/** @type {unknown} */ now) => onChange(list.map((one, at) => (at === index ? now : one)));
    return html`
      <${Members} name=${String(index)} title="${fieldLabel(props)} ${index + 1}" schema=${schema.items} ui=${ui.items ?? {}}
        pointer="${pointer}/${index}" required value=${item} onChange=${change} shared=${shared} />
    `;
  });
  const button = (/** @type {string} */ name, /** @type {unknown[]} */ after) =>
    html`<button type="button" class="second small" onClick=${() => onChange(after)}>${name}</button>`;
  return html`
    <${Group} ...${props} places=${list.map((_, index) => `${pointer}/${index}`)}>
      ${items}${button(add, [...list, {}])} ${list.length > 0 && button(remove, list.slice(0, -1))}
    <//>
  `;
}

/** Fields in a frame, which shows the errors that have no field of their own. @param {FieldProps & { places: string[]; children?: unknown }} props */
function Group({ places, ...props }) {
  const errors = props.shared.errors.filter(({ pointer }) => !places.some((place) => isAtOrBelow(pointer, place)));
  return html`<${Frame} ...${props} shared=${{ ...props.shared, errors }} isGroup />`;
}

/** Whether a control has the value that is known. An untouched one is empty, or not ticked. @param {unknown} now @param {unknown} value */
function isKnown(now, value) {
  return JSON.stringify(now) === JSON.stringify(value) || (isEmpty(value) && (isEmpty(now) || now === false));
}

/** The attributes that connect a control with its label, its hints and its errors. @param {FieldProps} props */
function controlState(props) {
  const { pointer, shared } = props;
  const errors = fieldErrors(shared.errors, pointer);
  const described = [
    fieldHints(props).length > 0 && `${pointer}-hint`,
    errors.some(({ rule }) => rule !== undefined) && `${pointer}-error`,
  ].filter(Boolean);
  return {
    id: pointer,
    'aria-invalid': errors.length > 0 ? 'true' : undefined,
    'aria-describedby': described.join(' ') || undefined,
  };
}

/** @param {readonly FieldError[]} errors @param {string} place */
function fieldErrors(errors, place) {
  return errors.filter(({ pointer }) => isAtOrBelow(pointer, place));
}
