import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { countOf, recordsRefused, wrongUsage } from './command.ts';
import { readCrmFile } from './crm-file.ts';
import { CRM_KINDS, CrmFileError, type CrmKind, type LocatedRecord } from './crm-items.ts';
import { formatTable } from './table-format.ts';
import {
  connectionErrors,
  parseCrmItems,
  readRecords,
  removeRecords,
  summarizeChanges,
  writeRecords,
} from './table-records.ts';
import type { Target } from './target.ts';
import type { Terminal } from './terminal.ts';
import { UnreadableItems } from './unreadable.ts';

interface ChangeOptions {
  dryRun?: boolean;
}

/** Adds and changes the records of a CRM file. Nothing is written if one of them is wrong; all errors are listed. */
export async function importFile(target: Target, file: string, { dryRun = false }: ChangeOptions, terminal: Terminal) {
  const where = { target, dryRun, terminal };
  // The decoder drops a byte order mark.
  const text = file === '-' ? await readAll(terminal.input) : await readAll(createReadStream(file));
  const { records, errors } = await readCrmFile(text).catch(refuse);
  const connections = records.filter((one) => one.kind === 'connections');
  const allErrors = [...errors, ...(await connectionErrors(where, connections))];
  if (allErrors.length > 0) refuse(new CrmFileError(allErrors));
  summarizeChanges(where, await writeRecords(where, records));

  function refuse(error: unknown): never {
    if (!(error instanceof CrmFileError)) throw error;
    const name = file === '-' ? 'The standard input' : file;
    throw recordsRefused(`${name} has ${countOf(error.errors.length, 'error')}; nothing was written`, error);
  }
}

/** Writes all records as a CRM file. */
export async function exportFile(target: Target, file: string | undefined, terminal: Terminal) {
  const unreadable = new UnreadableItems(terminal);
  const records: LocatedRecord[] = [];
  for await (const page of target.table.pages()) records.push(...parseCrmItems(target, page, unreadable.name));
  const kinds = CRM_KINDS.map((kind) => {
    const lines = records.filter((one) => one.kind === kind).map(({ record }) => `\n    ${JSON.stringify(record)}`);
    return `\n  "${kind}": [${lines.join()}\n  ]`;
  });
  const text = `{${kinds.join(',')}\n}`;
  if (file === undefined) terminal.print(text.split('\n'));
  else {
    // The file contains personal data: only the operator may read it, also if it was there before.
    await using handle = await open(file, 'w', 0o600);
    if ((await handle.stat()).isFile()) await handle.chmod(0o600);
    await handle.writeFile(`${text}\n`);
    terminal.report(`${countOf(records.length, 'record')} written to ${file}.`);
  }
  unreadable.finish('the others are written');
}

/** Shows the records of a kind; clients in no order. */
export async function listRecords(target: Target, word: string, terminal: Terminal) {
  const kind = parseKind(word);
  const unreadable = new UnreadableItems(terminal);
  const records = await readRecords(target, kind, unreadable.name);
  terminal.print(formatTable(HEADINGS[kind], records.map(listRow)));
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
