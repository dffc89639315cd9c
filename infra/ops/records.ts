import { createReadStream } from 'node:fs';
import { mkdtemp, open, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { CommandError, countOf, indentedErrors, printableLine, type Terminal, wrongUsage } from './command.ts';
import { checkCrmFile, locateRecords } from './crm-file.ts';
import {
  addRecord,
  CRM_KINDS,
  CrmFileError,
  type CrmKind,
  ErrorList,
  emptyCrmRecords,
  type LocatedRecord,
} from './crm-items.ts';
import type { ByteSource } from './crm-json.ts';
import type { LocatedConnection } from './record-rules.ts';
import {
  connectionErrors,
  parseCrmItems,
  readRecords,
  removeRecords,
  reportProgress,
  summarizeChanges,
  warnOfConnections,
  writeRecords,
} from './table-records.ts';
import type { Target } from './target.ts';
import { UnreadableItems } from './unreadable.ts';

interface ChangeOptions {
  dryRun?: boolean;
}

/**
 * Adds and changes the records of a CRM file. The file is read twice: first all of it is checked, then it is written
 * part by part.
 */
export async function importFile(target: Target, file: string, { dryRun = false }: ChangeOptions, terminal: Terminal) {
  const where = { target, dryRun, terminal };
  await withSource(file, terminal.input, async (source, assertUnchanged) => {
    let connections: readonly LocatedConnection[] = [];
    const check = checkCrmFile(source, {
      connections: async (read) => {
        connections = read;
        return connectionErrors(where, read);
      },
    });
    await naming(file, check);
    await warnOfConnections(where, connections);
    summarizeChanges(where, await writeRecords(where, checkedRecords(source, assertUnchanged)));
  });
}

/** The records of a file that was checked before. A record that changed after the check is not written. */
async function* checkedRecords(source: ByteSource, assertUnchanged: () => Promise<void>) {
  for await (const records of locateRecords(source, new ErrorList())) {
    await assertUnchanged();
    yield records;
  }
}

/** Writes all records as a CRM file, while it reads them. */
export async function exportFile(target: Target, file: string | undefined, terminal: Terminal) {
  const unreadable = new UnreadableItems(terminal);
  if (file === undefined) {
    for await (const { text } of exportParts(target, terminal, unreadable)) await terminal.printPage(text);
    return unreadable.finish('the others are written');
  }
  // The file contains personal data: only the operator may read it.
  const handle = await open(file, 'w', 0o600);
  try {
    let total = 0;
    for await (const { text, count } of exportParts(target, terminal, unreadable)) {
      await handle.write(text);
      total += count;
    }
    terminal.report(`${countOf(total, 'record')} written to ${file}.\n`);
  } finally {
    await handle.close();
  }
  unreadable.finish('the others are written');
}

/**
 * The text of a CRM file, part by part: clients first, as the table returns them, then the other kinds, which are few.
 */
async function* exportParts(
  target: Target,
  terminal: Terminal,
  unreadable: UnreadableItems,
): AsyncGenerator<{ text: string; count: number }> {
  const others = emptyCrmRecords();
  const done = reportProgress(terminal, 'items read');
  let separator = '';
  yield { text: '{\n  "clients": [', count: 0 };
  for await (const page of target.table.pages()) {
    const records = parseCrmItems(target, page, unreadable.name);
    const clients = records.filter(({ kind }) => kind === 'clients');
    for (const one of records) if (one.kind !== 'clients') addRecord(others, one);
    const lines = clients.map(({ record }) => `${separator}\n    ${JSON.stringify(record)}`);
    yield { text: clients.length === 0 ? '' : lines.join(','), count: clients.length };
    if (clients.length > 0) separator = ',';
    done(page.length);
  }
  yield { text: '\n  ]', count: 0 };
  for (const kind of CRM_KINDS) {
    const records = others[kind];
    const lines = records.map((record) => `\n    ${JSON.stringify(record)}`);
    if (kind !== 'clients') yield { text: `,\n  "${kind}": [${lines.join(',')}\n  ]`, count: records.length };
  }
  yield { text: '\n}\n', count: 0 };
}

/** Shows the records of a kind, while it reads them; clients in no order. The first page decides the columns' width. */
export async function listRecords(target: Target, word: string, terminal: Terminal) {
  const kind = parseKind(word);
  const done = reportProgress(terminal, 'records read');
  const print = tablePrinter(terminal, HEADINGS[kind]);
  const unreadable = new UnreadableItems(terminal);
  for await (const page of readRecords(target, kind, unreadable.name)) {
    await print(page.map(listRow));
    done(page.length);
  }
  unreadable.finish('the others are listed');
}

/** Deletes records. */
export async function deleteRecords(
  target: Target,
  [word, ids]: [kind: string, ids: string[]],
  { dryRun = false }: ChangeOptions,
  terminal: Terminal,
) {
  await removeRecords({ target, dryRun, terminal }, parseKind(word), ids);
}

/** Opens a file that can be read twice. The standard input and a pipe are copied to a temporary file. */
async function withSource(
  file: string,
  input: Terminal['input'],
  work: (source: ByteSource, assertUnchanged: () => Promise<void>) => Promise<void>,
) {
  if (file !== '-' && (await stat(file)).isFile()) {
    const state = async () => {
      const { ino, size, mtimeMs } = await stat(file);
      return [ino, size, mtimeMs].join();
    };
    const first = await state();
    return work(
      () => createReadStream(file),
      async () => {
        if ((await state()) !== first)
          throw new CommandError(`${file} was changed during the import. Import it again.`);
      },
    );
  }
  const folder = await mkdtemp(join(tmpdir(), 'crm-import-'));
  const copy = await open(join(folder, 'copy.json'), 'wx+', 0o600);
  // The copy contains personal data. It has no name any more, so it ends with the command, however that ends.
  await rm(folder, { recursive: true });
  try {
    await copy.writeFile(file === '-' ? Readable.from(input) : createReadStream(file));
    await work(
      () => copy.createReadStream({ start: 0, autoClose: false }),
      async () => {},
    );
  } finally {
    await copy.close();
  }
}

async function naming(file: string, work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof CrmFileError)) throw error;
    const name = file === '-' ? 'The standard input' : file;
    throw new CommandError(
      `${name} has ${countOf(error.count, 'error')}; nothing was written:\n${indentedErrors(error)}`,
    );
  }
}

function parseKind(word: string): CrmKind {
  const name = word.replace('-', '_');
  const kind = CRM_KINDS.find((known) => known === name || known === `${name}s`);
  if (kind === undefined) throw wrongUsage('KIND is forms, clients, account-types or connections.');
  return kind;
}

const HEADINGS: Readonly<Record<CrmKind, readonly string[]>> = {
  forms: ['ID', 'NAME', 'FIELDS'],
  clients: ['ID', 'NAME', 'E-MAIL', 'PHONE', 'UNPROVEN', 'COUNTRY', 'LANGUAGE', 'REFERRAL CODE'],
  account_types: ['ID', 'NAME', 'PLATFORM', 'DEPOSIT'],
  connections: ['ID', 'NAME', 'PLATFORM', 'PROTOCOL', 'SERVER', 'ACCOUNTS', 'GROUPS', 'SECRET'],
};

function listRow({ kind, record }: LocatedRecord): string[] {
  const { id, name = '' } = record;
  if (kind === 'forms') return [id, name, String(record.fields.length)];
  if (kind === 'account_types') return [id, name, record.platform, String(record.deposit ?? '')];
  if (kind === 'clients') {
    const { email = '', phone, unproven = [], country = '', language = '', referral_code = '' } = record;
    const number = phone === undefined ? '' : `+${phone.country_code.replace('+', '')} ${phone.number}`;
    return [id, name, email, number, unproven.join(', '), country, language, referral_code];
  }
  const { platform, protocol, host, port, demo, groups, secret } = record;
  const count = groups === undefined ? 'any' : String(Object.keys(groups).length);
  return [id, name, platform, protocol, `${host}:${port}`, demo ? 'demo' : 'live', count, secret];
}

/** Prints rows in columns, a page at a time. The headings and the first page decide the columns' width. */
export function tablePrinter({ printPage }: Pick<Terminal, 'printPage'>, headings: readonly string[]) {
  let widths: number[] | undefined;
  return async (page: readonly (readonly string[])[]): Promise<void> => {
    const rows = page.map(cells);
    if (widths === undefined) {
      rows.unshift([...headings]);
      widths = columnWidths(rows);
    }
    await printPage(formatRows(rows, widths));
  };
}

/** Two spaces end a column, so no cell may contain two spaces in a row. */
function cells(row: readonly string[]): string[] {
  return row.map((text) => printableLine(text).replaceAll(/\s+/gu, ' ').trim());
}

function columnWidths(rows: readonly string[][]): number[] {
  return (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
}

function formatRows(rows: readonly string[][], widths: readonly number[]): string {
  const line = (row: string[]) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return rows.map((row) => `${line(row).trimEnd()}\n`).join('');
}
