import type { Connection } from '../records/crm-records.ts';
import { countryName } from '../validators/countries.ts';

/** Names that trading servers know otherwise. */
const OTHER_NAMES: Readonly<Record<string, string>> = { MO: 'Macau', TR: 'Turkey' };

/** A country as the server knows countries: its English name, unless the connection says that it wants codes. */
export function countryText(code: string, { country_format = 'name' }: Pick<Connection, 'country_format'>): string {
  if (country_format === 'code' || !/^[A-Z]{2}$/.test(code)) return code;
  return OTHER_NAMES[code] ?? countryName(code) ?? code;
}
