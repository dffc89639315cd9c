import { printableLine } from './command.ts';
import type { CrmKind, CrmRecords } from './crm-items.ts';

/** The columns of each record in a list, after a line of headings. */
export function listRows(records: CrmRecords): Record<CrmKind, string[][]> {
  return {
    forms: [
      ['ID', 'NAME', 'FIELDS'],
      ...records.forms.map(({ id, name = '', fields }) => [id, name, String(fields.length)]),
    ],
    clients: [
      ['ID', 'NAME', 'E-MAIL', 'PHONE', 'COUNTRY', 'LANGUAGE', 'REFERRAL CODE'],
      ...records.clients.map(({ id, name, email, phone, country = '', language = '', referral_code = '' }) => [
        ...[id, name, email, phone === undefined ? '' : `+${phone.country_code.replace('+', '')} ${phone.number}`],
        ...[country, language, referral_code],
      ]),
    ],
    account_types: [
      ['ID', 'NAME', 'PLATFORM', 'DEPOSIT'],
      ...records.account_types.map(({ id, name = '', platform, deposit = '' }) => [
        id,
        name,
        platform,
        String(deposit),
      ]),
    ],
    connections: [
      ['ID', 'NAME', 'PLATFORM', 'PROTOCOL', 'SERVER', 'ACCOUNTS', 'GROUPS', 'SECRET'],
      ...records.connections.map(({ id, name = '', platform, protocol, host, port, demo, groups, secret }) => [
        ...[id, name, platform, protocol, `${host}:${port}`, demo ? 'demo' : 'live'],
        ...[groups === undefined ? 'any' : String(Object.keys(groups).length), secret],
      ]),
    ],
  };
}

/** Rows in columns; the first row has the headings. */
export function table(unsafeRows: string[][]): string {
  const rows = unsafeRows.map((row) => row.map(printableLine));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}
