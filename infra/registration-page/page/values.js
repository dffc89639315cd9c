// SPDX-License-Identifier: 0BSD
import { isDocument, isEmpty } from './check.js';

/** @import { Config, FieldSchema, Form, UiSchema } from './types.ts' */
/** @import { Values } from './check.js' */

/** The fields that are sent as they were typed, and that no reload keeps. */
const SECRET = /password$/;

/**
 * The values of an untouched form. The parameters of the page's link fill in fields, and leave the address bar.
 *
 * @param {Config} config @param {string} country of the person, as the browser knows it @returns {Values}
 */
export function startValues({ form, channels, fromLink = {} }, country) {
  const values = Object.fromEntries(
    Object.entries(form.properties).map(([name, schema]) => [name, schema.default ?? untouched(form, name, country)]),
  );
  if (channels?.every((channel) => channel !== values.otp_type)) values.otp_type = channels[0];
  const link = new URL(location.href);
  for (const [name, parameter] of Object.entries(fromLink)) {
    const given = link.searchParams.get(parameter);
    if (given === null) continue;
    if (form.properties[name]?.type === 'string') values[name] = given;
    link.searchParams.delete(parameter);
  }
  if (link.href !== location.href) history.replaceState(history.state, '', link);
  return values;
}

/** @param {Form} form @param {string} name @param {string} country */
function untouched(form, name, country) {
  const schema = form.properties[name];
  if (schema?.properties?.country_code) return { country_code: country };
  // A box that must be answered, not ticked, is answered with no.
  return schema?.type === 'boolean' && schema.const !== true && form.required.includes(name) ? false : undefined;
}

/** The values that a reload keeps: no secrets, and no files. @param {Form} form @param {Values} values */
export function keptValues(form, values) {
  const kept = Object.entries(values).filter(([name]) => !SECRET.test(name) && !isDocument(form.properties[name]));
  return Object.fromEntries(kept);
}

/**
 * The values as a request has them, from what a person typed: without empty fields. @param {Form} form @param {Values}
 * values @param {string} language
 * @returns {Values}
 */
export function requestValues(form, values, language) {
  const entries = Object.entries(values).map(([name, value]) => {
    const [schema, ui] = [form.properties[name] ?? {}, form.uiSchema[name] ?? {}];
    return [name, SECRET.test(name) ? value : requestValue(form, schema, ui, value, language)];
  });
  return Object.fromEntries(entries.filter(([, value]) => !isEmpty(value)));
}

/** @param {Form} form @param {FieldSchema} schema @param {UiSchema} ui @param {unknown} value @param {string} language */
function requestValue(form, schema, ui, value, language) {
  if (schema.properties?.country_code) {
    const { country_code = '', number = '' } = /** @type {Record<string, string>} */ (value ?? {});
    // The country is preselected: without a number it says nothing.
    if (number.trim() === '') return undefined;
    return { country_code: dialCode(form, country_code, number), number: number.trim() };
  }
  if (typeof value !== 'string') return value;
  const text = ui['ui:widget'] === 'textarea' ? value : value.trim();
  if (text === '' || ui['ui:inputmode'] !== 'decimal') return text;
  return schema.type === 'number' ? exactNumber(Number(plainNumber(text, language))) : plainNumber(text, language);
}

/** The dial code, such as `+44`: that of the number, if it has one, else that of the country. @param {Form} form @param {string} country @param {string} number */
export function dialCode(form, country, number) {
  const { phones } = form.uiSchema['ui:options'];
  const digits = number.replaceAll(/[^\d+]/g, '');
  const examples = [
    ...Object.values(phones).filter((phone) => digits.startsWith(phone.split(' ')[0] ?? '')),
    phones[country],
  ];
  return examples[0]?.split(' ')[0] ?? country;
}

/**
 * A number as people type it, with digits of any script: `1,5` is `1.5`. What may also mean thousands, such as `1.500`
 * in German, stays as it is, and is no number.
 *
 * @param {string} text @param {string} language
 */
export function plainNumber(text, language) {
  const typed = text
    .normalize('NFKC')
    .replace(/\p{Nd}/gu, asciiDigit)
    .replace(/^[−–]/, '-');
  const [, whole, separator, fraction] = /^([+-]?\d*)([.,٫])(\d+)$/.exec(typed) ?? [];
  if (whole === undefined || fraction === undefined) return typed;
  const point = new Intl.NumberFormat(language).formatToParts(0.5).find(({ type }) => type === 'decimal')?.value;
  const isAmbiguous = fraction.length === 3 && separator !== point && separator !== '٫' && Number(whole) !== 0;
  return isAmbiguous ? `${typed}?` : `${whole}.${fraction}`;
}

/** In each script the digits follow each other: the zero's code is a multiple of 16, or 6 more. @param {string} digit */
function asciiDigit(digit) {
  const code = digit.codePointAt(0) ?? 0;
  const row = code - (code % 16);
  return String(/\p{Nd}/u.test(String.fromCodePoint(row)) ? code - row : code - row - 6);
}

/** Not a number if JavaScript would round it. @param {number} number */
function exactNumber(number) {
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? Number.NaN : number;
}
