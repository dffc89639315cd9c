import { keyOf } from './records.ts';
import { ABSENT, type Field, readAs } from './table.ts';

export const PHONE = { country_code: '44', number: '7400123456' };
/** A string that holds half of a character: UTF-8 cannot encode it, JSON's escapes can. */
export const HALF_CHARACTER = 'half \ud83d';

/** A text of this many characters, in which nothing repeats. */
export const unrepeated = (length: number, first = 0x4e00) =>
  Array.from({ length }, (_, index) => String.fromCodePoint(first + ((index * index) % 11_172))).join('');

/** A text with a character that nobody sees, by its code point. */
export const withCharacter = (code: number, before: string, after = '') =>
  `${before}${String.fromCodePoint(code)}${after}`;

/** An address of this many characters, with a local part of 64. */
export const longAddress = (length: number) => {
  const domain = `${'d'.repeat(60)}.`.repeat(4).slice(0, length - 65 - '.example'.length);
  return `${'l'.repeat(64)}@${domain.replace(/\.$/, 'd')}.example`;
};

/** An address that mail has in punycode: 191 characters next to its local part, more than typed. */
export const longInternationalAddress = (local: number) => {
  const label = 'ü'.repeat(54);
  return `${'l'.repeat(local)}@${label}.${label}.${label}.example`;
};

/** Choices with this many bytes of JSON, including their key. */
export function choicesOf(bytes: number): Record<string, string[]> {
  const key = keyOf('multiselect');
  const full = Array.from({ length: Math.floor(bytes / 10_100) }, () => 'x'.repeat(10_000));
  const rest = bytes - JSON.stringify({ [key]: [...full, ''] }).length;
  return { [key]: [...full, 'x'.repeat(rest)] };
}

/** A text file of this many bytes, as a document. */
export function textFile(bytes: number): { id: string; name: string; doc: string } {
  return { id: '1', name: 'x.txt', doc: Buffer.alloc(bytes, 'text ').toString('base64') };
}

/** A value within this many nested lists. */
export const nested = (levels: number): unknown => (levels === 0 ? 'x' : [nested(levels - 1)]);

export const BLANK_IS_ABSENT = 'decided: left empty, it counts as absent';

/** A field of the form that has every type. */
export function custom(
  type: Parameters<typeof keyOf>[0],
  field: Pick<Field, 'type' | 'values'>,
  key: string = keyOf(type),
): Field {
  const values = {
    ...field.values,
    [BLANK_IS_ABSENT]: {
      good: [readAs('', ABSENT), readAs(null, ABSENT), ...(field.values?.[BLANK_IS_ABSENT]?.good ?? [])],
    },
  };
  return { row: `2.2 ${type}`, operation: 'registration', at: key, ...field, values };
}
