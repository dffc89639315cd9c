import type { NumberType } from 'libphonenumber-js/max';
import * as v from 'valibot';
import { once } from '../once.ts';
import { type Channel, isPhoneChannel, type PhoneChannel } from './otp-types.ts';
import { boundedText, closedObject, documented, normalizedString, violationMessage } from './primitives.ts';
import { TEXT_READINGS } from './typed-text.ts';

/** A phone number with its plus and no spaces, as +447400123456. */
export type E164 = `+${string}`;

const MAX_DIAL_CODE = 8;
/** A dial code, with or without `+`, also one with an area, as +1684. */
const DIAL_CODE = /^\+?[1-9][0-9]{0,6}$/;
const MAX_NUMBER = 40;
/** A number as it is read. No letters: no words or extensions. */
const NUMBER = /^\+?[0-9]+$/;

const NO_DIAL_CODE = violationMessage('format', 'must be a dial code such as 44 or +44');

/** A dial code and a number. `readPhone` says whether they make a number. */
export const PhoneSchema = closedObject({
  country_code: documented(
    v.pipe(normalizedString(4 * MAX_DIAL_CODE, NO_DIAL_CODE, TEXT_READINGS.dialCode), v.regex(DIAL_CODE, NO_DIAL_CODE)),
    'The dial code, with or without `+`.',
    '44',
  ),
  number: documented(
    boundedText(1, MAX_NUMBER, 'number'),
    'The number, as people write it: with a national trunk zero, spaces, dashes, or its dial code.',
    '07400 123456',
  ),
});

/** A number by the numbering plans of the world. */
export interface ParsedPhone {
  e164: E164;
  /** ISO 3166-1 alpha-2. A dial code such as +1 has several countries, an international network has none. */
  country: string | undefined;
  /** The number's kind, such as `MOBILE` or `PREMIUM_RATE`. Undefined: the plan does not say. */
  type: NumberType;
  /** False: the number has a possible length, and no numbering plan knows it. */
  valid: boolean;
}

/** The plans are large, so the first use loads them. */
const numberingPlans = once(() => import('./phone-numbers.ts'));

/**
 * Reads a dial code and a number, which may repeat the dial code. The first valid reading counts, or the first of a
 * possible length. In place of a fixed line a mobile number counts, if the number can be read as one.
 * @param channel of the message that the number gets; undefined: none
 * @returns undefined if no reading has a possible length
 */
export async function readPhone(
  countryCode: string,
  number: string,
  channel?: PhoneChannel,
): Promise<ParsedPhone | undefined> {
  const [code, typed] = [TEXT_READINGS.dialCode(countryCode), TEXT_READINGS.number(number)];
  if (!DIAL_CODE.test(code) || typed.length > MAX_NUMBER || !NUMBER.test(typed)) return undefined;
  const { parsePhoneNumberFromString } = await numberingPlans();
  const dialCode = code.replace('+', '');
  const readings = readingsOf(dialCode, typed, channel).flatMap((reading): ParsedPhone[] => {
    const parsed = parsePhoneNumberFromString(reading, { extract: false });
    if (parsed?.isPossible() !== true || parsed.ext !== undefined) return [];
    if (!parsed.number.startsWith(`+${dialCode}`)) return [];
    const { country } = parsed;
    return [{ e164: `+${parsed.number.slice(1)}`, country, type: parsed.getType(), valid: parsed.isValid() }];
  });
  const valid = readings.filter((reading) => reading.valid);
  const [likeliest = readings[0]] = valid;
  // A number of a costly kind is never read as another one.
  if (likeliest?.type !== 'FIXED_LINE') return likeliest;
  return valid.find((reading) => canReceiveMessages(reading, channel ?? 'sms')) ?? likeliest;
}

/** The international numbers that people may mean, the likeliest first. */
function readingsOf(dialCode: string, typed: string, channel: PhoneChannel | undefined): string[] {
  const digits = typed.replace('+', '');
  if (typed.startsWith('+')) return withLocalReadings(dialCode, digits.slice(dialCode.length), typed, channel);
  const national = withLocalReadings(dialCode, digits, `+${dialCode}${digits}`, channel);
  const [, repeated] = new RegExp(`^(?:00)?${dialCode}(\\d+)$`).exec(digits) ?? [];
  if (repeated === undefined) return national;
  const international = withLocalReadings(dialCode, repeated, `+${dialCode}${repeated}`, channel);
  return digits.startsWith('00') ? [...international, ...national] : [...national, ...international];
}

/**
 * Adds readings with the former prefixes of mobile numbers: Mexico dropped a `1`, and Argentina's have a `9` from
 * abroad.
 */
function withLocalReadings(
  dialCode: string,
  digits: string,
  international: string,
  channel: PhoneChannel | undefined,
): string[] {
  if (dialCode === '52') return [international, `+52${digits.replace(/^1/, '')}`];
  return dialCode === '54' && channel !== undefined
    ? [international, `+549${digits.replace(/^0/, '')}`]
    : [international];
}

type Phone = { country_code?: string; number?: string };

/** The phones that were read. Each is read once, because this is the slowest rule. */
const phonesSeen = new WeakMap<Phone, ReturnType<typeof readPhone>>();

/** Reads a phone of a request; several rules may ask for it. @param channel as the request names it */
export function readRequestPhone(phone: Phone, channel: Channel): ReturnType<typeof readPhone> {
  const receiving = isPhoneChannel(channel) ? channel : undefined;
  const found = phonesSeen.get(phone) ?? readPhone(phone.country_code ?? '', phone.number ?? '', receiving);
  phonesSeen.set(phone, found);
  return found;
}

/** Parses a dial code and a number; undefined if they are not a valid number. */
export async function parsePhone(countryCode: string, number: string): Promise<ParsedPhone | undefined> {
  const parsed = await readPhone(countryCode, number);
  return parsed?.valid === true ? parsed : undefined;
}

const CARRIED: ReadonlySet<NumberType> = new Set(['MOBILE', 'FIXED_LINE_OR_MOBILE']);

/**
 * Whether a message may go to this number: a mobile number, for a call also a fixed line. All other kinds cost many
 * times as much, and toll fraud uses them.
 */
export function canReceiveMessages(
  { country, type }: Pick<ParsedPhone, 'country' | 'type'>,
  channel: PhoneChannel,
): boolean {
  // The plans of international networks, such as satellites, call their numbers mobile too.
  if (country === undefined) return false;
  return CARRIED.has(type) || (channel === 'call' && type === 'FIXED_LINE');
}
