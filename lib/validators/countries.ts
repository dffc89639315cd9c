import names from 'countries-list/minimal/countries.en.min.json' with { type: 'json' };
import * as v from 'valibot';
import { violationMessage } from './primitives.ts';

/**
 * Codes of the list that the standard only reserves: Ascension, and Tristan da Cunha. Kosovo's code stays: it is
 * user-assigned, and in use.
 */
const NOT_ISO = new Set(['AC', 'TA']);
/** ISO 3166-1 alpha-2, and `XK`. */
export const COUNTRY_CODES: ReadonlySet<string> = new Set(Object.keys(names).filter((code) => !NOT_ISO.has(code)));

/** The word in `phone.countries` with which numbers of every country get messages. */
export const ALL_COUNTRIES = 'all';

/** Whether phone numbers belong to this code: those of the standard, and a few more places. */
export function hasPhoneNumbers(code: string): boolean {
  return Object.hasOwn(names, code);
}

/**
 * The English name of a country, in ASCII but for few; undefined for another code. `Intl.DisplayNames` would cost a cold
 * start 29 ms and 8 MB.
 */
export function countryName(code: string): string | undefined {
  return (names as Readonly<Record<string, string>>)[code];
}

const NO_COUNTRY = violationMessage('country', 'must be an ISO 3166-1 alpha-2 code such as GB');

/** An ISO 3166-1 alpha-2 code in any case, which is read in capitals. */
export const CountrySchema = v.pipe(
  v.string(),
  // `ß` becomes `SS` in capitals, which is South Sudan.
  v.regex(/^[A-Za-z]{2}$/, NO_COUNTRY),
  v.toUpperCase(),
  v.check((code) => COUNTRY_CODES.has(code), NO_COUNTRY),
);
