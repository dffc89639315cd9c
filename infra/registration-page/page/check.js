// SPDX-License-Identifier: 0BSD

/** @import { FieldError, Form, FieldSchema, UiSchema } from './types.ts' */
/** @typedef {Record<string, unknown>} Values */
/** A file that a person has chosen. @typedef {{ name: string; type: string; bytes: number; file?: File }} ChosenFile */

export const FIRST_DATE = '1900-01-01';
export const LAST_DATE = '2100-12-31';

/**
 * Checks what a person typed against the JSON Schema of the form, before anything is sent. It is never stricter than the
 * API, which reads phones and texts as people write them and checks more.
 */

/** The JSON Pointer of these keys, as a URI fragment. @param {(string | number)[]} keys */
export function fieldPointer(...keys) {
  const escaped = keys.map((key) => encodeURIComponent(String(key).replaceAll('~', '~0').replaceAll('/', '~1')));
  return ['#', ...escaped].join('/');
}

/**
 * All errors of the form at once. @param {Form} form @param {Values} values as the request has them
 * @returns {FieldError[]}
 */
export function checkForm(form, values) {
  const phone = values.otp_type !== undefined && values.otp_type !== 'email' ? ['country_code', 'number'] : [];
  const order = form.uiSchema['ui:order'];
  return order.flatMap((name) => {
    const [schema, value] = [form.properties[name], values[name]];
    if (schema === undefined) return [];
    if (name === 'phone' && phone.length > 0) {
      // The country is preselected.
      const members = /** @type {Values} */ (value ?? { country_code: true });
      return phone.filter((one) => isEmpty(members[one])).map((one) => error([name, one], 'required'));
    }
    if (name === 'repeat_password' && !isEmpty(value)) {
      const same = normal(value) === normal(values.password);
      return same ? [] : [error([name], 'password_mismatch')];
    }
    if (isDocument(schema)) return checkDocuments(form, [name], schema, value);
    const errors = check([name], schema, value, form.required.includes(name));
    const isNumber = form.uiSchema[name]?.['ui:inputmode'] === 'decimal';
    return isNumber ? errors.map((one) => (one.rule === 'format' ? { ...one, rule: 'number' } : one)) : errors;
  });
}

/** @param {(string | number)[]} keys @param {FieldSchema} schema @param {unknown} value @param {boolean} required @returns {FieldError[]} */
function check(keys, schema, value, required) {
  if (schema.const === true)
    return value === true || (!required && value !== true) ? [] : [error(keys, 'must_be_true')];
  if (isEmpty(value)) return required ? [error(keys, 'required')] : [];
  if (Array.isArray(value)) {
    const { maxItems, items } = schema;
    if (maxItems !== undefined && value.length > maxItems) return [error(keys, 'too_many_values', `≤ ${maxItems}`)];
    return value.flatMap((one, index) => (items ? check([...keys, index], items, one, false) : []));
  }
  if (schema.properties) return checkMembers(keys, schema, /** @type {Values} */ (value));
  if (schema.type === 'number') return Number.isFinite(value) ? [] : [error(keys, 'number')];
  if (typeof value !== 'string') return [];
  if (schema.enum !== undefined) return schema.enum.includes(value) ? [] : [error(keys, 'choose')];
  return checkText(keys, schema, value);
}

/** @param {(string | number)[]} keys @param {FieldSchema} schema @param {Values} value */
function checkMembers(keys, schema, value) {
  // The schema's pattern of a dial code describes the stored form. The API reads more.
  const isPhone = schema.properties?.country_code !== undefined;
  if (isPhone && isEmpty(value.number) && schema.required === undefined) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, member]) => {
    const { pattern: _, ...rest } = member;
    return check([...keys, name], isPhone ? rest : member, value[name], schema.required?.includes(name) ?? isPhone);
  });
}

/** @param {(string | number)[]} keys @param {FieldSchema} schema @param {string} text */
function checkText(keys, { minLength = 0, maxLength, pattern, format }, text) {
  const length = [...(format === 'password' ? text.normalize('NFC') : text)].length;
  if (length < minLength) return [error(keys, 'too_short', `≥ ${minLength}`)];
  if (maxLength !== undefined && length > maxLength) return [error(keys, 'too_long', `≤ ${maxLength}`)];
  if (format === 'date' && !isDate(text)) return [error(keys, 'date')];
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text)) return [error(keys, 'format')];
  return [];
}

/** Whether a text is a date of the calendar that a form can mean: the year 85 is none. @param {string} text */
function isDate(text) {
  const date = new Date(`${text}T00:00:00Z`);
  const isOfCalendar = !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
  return /^\d{4}-\d\d-\d\d$/.test(text) && isOfCalendar && text >= FIRST_DATE && text <= LAST_DATE;
}

/**
 * Checks the documents of one field. All fields together have a limit too.
 *
 * @param {Form} form @param {string[]} keys @param {FieldSchema} schema @param {unknown} value
 */
function checkDocuments(form, keys, schema, value) {
  const [name = ''] = keys;
  const files = /** @type {ChosenFile[]} */ (value ?? []);
  if (files.length === 0) return form.required.includes(name) ? [error(keys, 'required')] : [];
  if (files.length > (schema.maxItems ?? Number.POSITIVE_INFINITY)) {
    return [error(keys, 'too_many_values', `≤ ${schema.maxItems}`)];
  }
  const { maxDocumentBytes } = form.uiSchema['ui:options'];
  const accept = acceptedTypes(form.uiSchema[name]);
  return files.flatMap(({ type, bytes }, index) => {
    if (bytes > maxDocumentBytes && !isPicture(type))
      return [error([...keys, index, 'doc'], 'file_size', `≤ ${megabytes(maxDocumentBytes)}`)];
    return isAccepted(type, accept) ? [] : [error([...keys, index, 'doc'], 'media_type')];
  });
}

/**
 * The errors of all documents together. @param {Form} form @param {Values} values @returns {FieldError[]}
 */
export function checkAllDocuments(form, values) {
  const { maxDocuments, maxDocumentsBytes } = form.uiSchema['ui:options'];
  const names = Object.keys(values).filter((name) => isDocument(form.properties[name]));
  const files = names.flatMap((name) =>
    /** @type {ChosenFile[]} */ (values[name] ?? []).map((file) => ({ name, file })),
  );
  const last = files.at(-1)?.name ?? '';
  // Pictures are made smaller before they are sent.
  const bytes = files.reduce((sum, { file }) => sum + (isPicture(file.type) ? 0 : file.bytes), 0);
  if (files.length > maxDocuments) return [error([last], 'too_many_values', `≤ ${maxDocuments}`)];
  return bytes > maxDocumentsBytes ? [error([last], 'file_size', `≤ ${megabytes(maxDocumentsBytes)}`)] : [];
}

/** Whether a field is a list of files. @param {FieldSchema | undefined} schema */
export function isDocument(schema) {
  return schema?.items?.properties?.doc !== undefined;
}

/** The media types that a field accepts; none: any. @param {UiSchema | undefined} ui @returns {string[]} */
export function acceptedTypes(ui) {
  const doc = /** @type {UiSchema | undefined} */ (ui?.items?.doc);
  return doc?.['ui:options']?.accept?.split(',') ?? [];
}

/** Whether a browser may be able to make a file of this type smaller. @param {string} type */
export function isPicture(type) {
  return /^image\/(?!svg)/.test(type);
}

/**
 * Whether a field accepts a file. Browsers may not know the type of a file: the API looks into it. @param {string} type
 * @param {string[]} accept
 */
function isAccepted(type, accept) {
  if (type === '' || accept.length === 0) return true;
  const family = type.replace(/^image\/hei[cf](-sequence)?$/, 'image/heic');
  return accept.some((one) => {
    const wanted = one.trim().replace(/^image\/hei[cf]$/, 'image/heic');
    return wanted.endsWith('/*') ? family.startsWith(wanted.slice(0, -1)) : wanted === family;
  });
}

/** @param {number} bytes */
export function megabytes(bytes) {
  return `${Math.ceil((bytes / 1024 / 1024) * 10) / 10} MB`;
}

/** Whether a field was left empty, as the API sees it. @param {unknown} value @returns {boolean} */
export function isEmpty(value) {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'object' && Object.values(value).every(isEmpty);
}

/** @param {unknown} text */
function normal(text) {
  return typeof text === 'string' ? text.normalize('NFC') : text;
}

/** @param {(string | number)[]} keys @param {FieldError['rule']} rule @param {string} [bounds] @returns {FieldError} */
function error(keys, rule, bounds) {
  return { pointer: fieldPointer(...keys), rule, bounds };
}
