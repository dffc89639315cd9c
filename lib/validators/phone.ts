import type { NumberType } from 'libphonenumber-js/max';
import * as v from 'valibot';
import { once } from '../once.ts';
import type { PhoneChannel } from './otp-types.ts';
import { closedObject, described, rule, text } from './primitives.ts';

/** A phone number with its plus and no spaces, as +447400123456. */
export type E164 = `+${string}`;

/** A dial code, with or without `+`, also one with an area, as +1-684. */
const DIAL_CODE = /^\+?[1-9][0-9 -]{0,6}$/;
/** Digits (European and Arabic ones), a plus, and common separators. No letters: no words or extensions. */
const NUMBER = /^\s*\+?[\d\uff10-\uff19\u0660-\u0669\u06f0-\u06f9\s()./\u2010-\u2015-]+$/;

/** A dial code and a number. `parsePhone` says whether the number is valid. */
export const PhoneSchema = closedObject({
  country_code: described(
    v.pipe(v.string(), v.regex(DIAL_CODE, rule('format', 'must be a dial code such as 44 or +44'))),
    'The dial code, with or without `+`.',
    '44',
  ),
  number: described(text(1, 40), 'The number; a national trunk zero, spaces and dashes are fine.', '07400 123456'),
});

/** A number by the numbering plans of the world. */
export interface ParsedPhone {
  e164: E164;
  /** ISO 3166-1 alpha-2. A dial code such as +1 has several countries, an international network has none. */
  country: string | undefined;
  /** Such as `MOBILE` or `PREMIUM_RATE`; undefined if the plan does not say. */
  type: NumberType;
}

/** Large, so loaded on first use. */
const numberingPlans = once(() => import('./phone-numbers.ts'));

/**
 * Parses a dial code and a number; undefined if they are not a valid number. A national trunk zero is accepted, and a
 * number that repeats its dial code after a plus.
 */
export async function parsePhone(countryCode: string, number: string): Promise<ParsedPhone | undefined> {
  const dialCode = countryCode.replace(/[^0-9]/g, '');
  if (!DIAL_CODE.test(countryCode) || number.length > 40 || !NUMBER.test(number)) return undefined;
  const { parsePhoneNumberFromString } = await numberingPlans();
  const international = number.trim().startsWith('+') ? number : `+${dialCode}${number}`;
  const parsed = parsePhoneNumberFromString(international, { extract: false });
  if (parsed?.isValid() !== true || parsed.ext !== undefined) return undefined;
  if (!parsed.number.startsWith(`+${dialCode}`)) return undefined;
  return { e164: `+${parsed.number.slice(1)}`, country: parsed.country, type: parsed.getType() };
}

type Phone = { country_code?: string; number?: string };

/** Each phone is parsed once: this is the slowest rule. */
const phonesSeen = new WeakMap<Phone, ReturnType<typeof parsePhone>>();

/** Parses a phone of a request; several rules may ask for it. */
export function parsedPhone(phone: Phone): ReturnType<typeof parsePhone> {
  const found = phonesSeen.get(phone) ?? parsePhone(phone.country_code ?? '', phone.number ?? '');
  phonesSeen.set(phone, found);
  return found;
}

const CARRIED: ReadonlySet<NumberType> = new Set(['MOBILE', 'FIXED_LINE_OR_MOBILE']);

/**
 * Whether a message may go to this number: a mobile number, for a call also a fixed line. All other kinds cost many
 * times as much, and toll fraud uses them.
 */
export function isPersonal({ country, type }: ParsedPhone, channel: PhoneChannel): boolean {
  // The plans of international networks, such as satellites, call their numbers mobile too.
  if (country === undefined) return false;
  return CARRIED.has(type) || (channel === 'call' && type === 'FIXED_LINE');
}
