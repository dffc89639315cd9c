import { readFile, writeFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { addRecords, readTable, removeRecords } from './change.ts';
import { CommandError, counted, indented, type Terminal, wrong } from './command.ts';
import { parseCrmFile, parseCrmRecord } from './crm-file.ts';
import { CRM_KINDS, type CrmKind } from './crm-items.ts';
import { listRows, table } from './listing.ts';
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
export async function list(target: Target, word: string, { json }: { json?: boolean }, terminal: Terminal) {
  const kind = parseKind(word);
  const records = await readTable(target, terminal);
  terminal.print(json === true ? `${JSON.stringify(records[kind], null, 2)}\n` : table(listRows(records)[kind]));
}

/** Adds or changes one record. */
export async function put(
  target: Target,
  [word, file]: [kind: string, file: string],
  { dryRun = false }: ChangeOptions,
  terminal: Terminal,
) {
  const kind = parseKind(word);
  const records = await naming(file, async () => parseCrmRecord(kind, await read(file, terminal)));
  await addRecords({ target, dryRun, terminal }, records, () => 'the record');
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
