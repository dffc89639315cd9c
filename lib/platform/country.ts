import type { Connection } from '../records/crm-records.ts';

const NAMES = new Intl.DisplayNames('en', { type: 'region' });
/** Names that trading servers know otherwise. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  HK: 'Hong Kong',
  MM: 'Myanmar',
  MO: 'Macau',
  PS: 'Palestine',
  TR: 'Turkey',
};

/** A country as the server knows countries: its English name, unless the connection says that it wants codes. */
export function countryText(code: string, { country_format = 'name' }: Pick<Connection, 'country_format'>): string {
  if (country_format === 'code' || !/^[A-Z]{2}$/.test(code)) return code;
  return OTHER_NAMES[code] ?? NAMES.of(code) ?? code;
}
