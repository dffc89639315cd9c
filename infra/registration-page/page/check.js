// SPDX-License-Identifier: 0BSD

/** @import { FieldError, Form, FieldSchema } from './types.ts' */
/** @typedef {Record<string, unknown>} Values */

/**
 * Checks what a person typed against the JSON Schema of the form, before anything is sent. It is never stricter than the
 * API, which reads phones and texts as people write them and checks more.
 */

/** The JSON Pointer of these keys, as a URI fragment. @param {(string | number)[]} keys */
export function pointerOf(...keys) {
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
      const members = /** @type {Values} */ (value ?? {});
      return phone.filter((one) => isEmpty(members[one])).map((one) => error([name, one], 'required'));
    }
    if (name === 'repeat_password' && !isEmpty(value)) {
      const same = normal(value) === normal(values.password);
      return same ? [] : [error([name], 'password_mismatch')];
    }
    if (schema.items?.properties?.doc) return checkDocuments(form, [name], schema, value);
    return check([name], schema, value, form.required.includes(name));
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
  if (schema.type === 'number') return typeof value === 'number' ? [] : [error(keys, 'format')];
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
    return check([...keys, name], isPhone ? rest : member, value[name], schema.required?.includes(name) ?? false);
  });
}

/** @param {(string | number)[]} keys @param {FieldSchema} schema @param {string} text */
function checkText(keys, { minLength = 0, maxLength, pattern, format }, text) {
  const length = [...(format === 'password' ? text.normalize('NFC') : text)].length;
  if (length < minLength || (maxLength !== undefined && length > maxLength)) {
    return [error(keys, 'length', boundsOf(minLength, maxLength))];
  }
  if (format === 'date' && !isDate(text)) return [error(keys, 'date')];
  if (pattern !== undefined && !new RegExp(pattern, 'u').test(text)) return [error(keys, 'format')];
  return [];
}

/** @param {number} least @param {number | undefined} most */
function boundsOf(least, most) {
  if (most === undefined) return `≥ ${least}`;
  if (least === most) return String(most);
  return least > 1 ? `${least}–${most}` : `≤ ${most}`;
}

/** @param {string} text */
function isDate(text) {
  const date = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/**
 * A chosen file: the members of the request, and those that only the page knows. @typedef {{ id: string; name: string;
 * doc: string; type?: string; bytes?: number }} Chosen
 */

/**
 * Checks the documents of one field. All fields together have a limit too.
 *
 * @param {Form} form @param {string[]} keys @param {FieldSchema} schema @param {unknown} value
 */
function checkDocuments(form, keys, schema, value) {
  const [name = ''] = keys;
  const files = /** @type {Chosen[]} */ (value ?? []);
  if (files.length === 0) return form.required.includes(name) ? [error(keys, 'required')] : [];
  if (files.length > (schema.maxItems ?? Number.POSITIVE_INFINITY)) {
    return [error(keys, 'too_many_values', `≤ ${schema.maxItems}`)];
  }
  const { maxDocumentBytes } = form.uiSchema['ui:options'];
  const doc = /** @type {{ 'ui:options'?: { accept?: string } } | undefined} */ (form.uiSchema[name]?.items?.doc);
  const accept = doc?.['ui:options']?.accept?.split(',') ?? [];
  return files.flatMap(({ type = '', bytes = 0 }, index) => {
    if (bytes > maxDocumentBytes) return [error([...keys, index, 'doc'], 'file_size', megabytes(maxDocumentBytes))];
    return isAccepted(type, accept) ? [] : [error([...keys, index, 'doc'], 'media_type')];
  });
}

/**
 * The errors of all documents together. @param {Form} form @param {Values} values @returns {FieldError[]}
 */
export function checkAllDocuments(form, values) {
  const { maxDocuments, maxDocumentsBytes } = form.uiSchema['ui:options'];
  const names = Object.keys(form.properties).filter((name) => form.properties[name]?.items?.properties?.doc);
  const files = names.flatMap((name) => /** @type {Chosen[]} */ (values[name] ?? []).map((file) => ({ name, file })));
  const last = files.at(-1)?.name ?? '';
  const bytes = files.reduce((sum, { file }) => sum + (file.bytes ?? 0), 0);
  if (files.length > maxDocuments) return [error([last], 'too_many_values', `≤ ${maxDocuments}`)];
  return bytes > maxDocumentsBytes ? [error([last], 'file_size', megabytes(maxDocumentsBytes))] : [];
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
function megabytes(bytes) {
  return `≤ ${bytes / 1024 / 1024} MB`;
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
  return { pointer: pointerOf(...keys), rule, bounds };
}
