import { readFile, writeFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { addRecords, readTable, removeRecords } from './change.ts';
import { CommandError, counted, indented, printableLine, type Terminal, wrong } from './command.ts';
import { parseCrmFile } from './crm-file.ts';
import { CRM_KINDS, type CrmKind, type CrmRecords } from './crm-items.ts';
import { CrmFileError } from './record-errors.ts';
import type { Target } from './target.ts';

interface ChangeOptions {
  dryRun?: boolean;
}

/** Adds and changes the records of a CRM file. */
export async function importFile(target: Target, file: string, options: ChangeOptions, terminal: Terminal) {
  const records = await naming(file, async () => parseCrmFile(await read(file, terminal)));
  const { dryRun = false } = options;
  await addRecords({ target, dryRun, terminal }, records, (kind, index) => `${kind}[${index}]`);
}

/** Writes all records as a CRM file. */
export async function exportFile(target: Target, file: string | undefined, terminal: Terminal) {
  const records = await readTable(target, terminal);
  const text = `${JSON.stringify(records, null, 2)}\n`;
  if (file === undefined) return terminal.print(text);
  // It contains personal data: only the operator may read it.
  await writeFile(file, text, { mode: 0o600 });
  const count = CRM_KINDS.reduce((sum, kind) => sum + records[kind].length, 0);
  terminal.report(`${counted(count, 'record')} written to ${file}.\n`);
}

/** Shows the records of a kind. */
export async function list(target: Target, word: string, terminal: Terminal) {
  const kind = parseKind(word);
  terminal.print(table(listRows(await readTable(target, terminal))[kind]));
}

/** Deletes records. */
export async function remove(
  target: Target,
  [word, ids]: [kind: string, ids: string[]],
  { dryRun = false }: ChangeOptions,
  terminal: Terminal,
) {
  await removeRecords({ target, dryRun, terminal }, parseKind(word), ids);
}

async function read(file: string, { input }: Terminal): Promise<string> {
  return file === '-' ? await readAll(input) : await readFile(file, 'utf8');
}

async function naming<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CrmFileError)) throw error;
    const name = file === '-' ? 'The standard input' : file;
    throw new CommandError(
      `${name} has ${counted(error.errors.length, 'error')}; nothing was written:\n${indented(error)}`,
    );
  }
}

function parseKind(word: string): CrmKind {
  const name = word.replace('-', '_');
  const kind = CRM_KINDS.find((known) => known === name || known === `${name}s`);
  if (kind === undefined) throw wrong('KIND is forms, clients, account-types or connections.');
  return kind;
}

/** The columns of each record in a list, after a line of headings. */
function listRows(records: CrmRecords): Record<CrmKind, string[][]> {
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
