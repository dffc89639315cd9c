import codes from 'countries-list/minimal/countries.2to3.min.json' with { type: 'json' };
import * as v from 'valibot';
import { rule } from './primitives.ts';

/** In the list, but not of the standard: Ascension and Tristan da Cunha are reserved only, Kosovo's code is user-assigned. */
const NOT_ISO = new Set(['AC', 'TA', 'XK']);
const ISO_3166_1 = new Set(Object.keys(codes).filter((code) => !NOT_ISO.has(code)));

/** The codes of the standard, in alphabetical order. */
export const COUNTRY_CODES: readonly string[] = [...ISO_3166_1].sort();

/** True of a code that numbers of phones are of: those of the standard, and the places beside it. */
export function hasPhoneNumbers(code: string): boolean {
  return Object.hasOwn(codes, code);
}

/** An ISO 3166-1 alpha-2 code, in capitals. */
export const CountrySchema = v.pipe(
  v.string(),
  v.check((code) => ISO_3166_1.has(code), rule('country', 'must be an ISO 3166-1 alpha-2 code such as GB')),
  v.metadata({ pattern: '^[A-Z]{2}$' }),
);
