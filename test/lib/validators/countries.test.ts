import * as v from 'valibot';
import { expect, test } from 'vitest';
import { CountrySchema } from '../../../lib/validators/countries.ts';

test('A country is one of the 249 codes of ISO 3166-1 alpha-2, or Kosovo, in any case', () => {
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  expect(codes.filter((code) => v.is(CountrySchema, code))).toHaveLength(250);
  expect(codes.filter((code) => v.is(CountrySchema, code.toLowerCase()))).toHaveLength(250);
  for (const code of ['GB', 'US', 'DE', 'TW', 'AX', 'SS', 'XK']) expect(v.is(CountrySchema, code)).toBe(true);
  expect(v.parse(CountrySchema, 'gB')).toBe('GB');
});

test.each(['UK', 'EU', 'AC', 'TA', 'ZZ', 'GBR', 'ﬁ', 'ß', '', 'G', '44', 'constructor', '__proto__', null, 7])(
  'A country is not %j',
  (code) => {
    expect(v.is(CountrySchema, code)).toBe(false);
  },
);
