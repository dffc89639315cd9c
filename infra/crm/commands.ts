import { readFile, writeFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import { isDeepStrictEqual } from 'node:util';
import * as v from 'valibot';
import { secretReader } from '../../lib/aws/secrets.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import { PlatformFailure, type PlatformFailureKind } from '../../lib/platform/platform.ts';
import { ConnectionSchema } from '../../lib/records/crm-records.ts';
import {
  CRM_KINDS,
  CrmFileError,
  type CrmItem,
  type CrmKind,
  type CrmRecord,
  type CrmRecords,
  duplicateFaults,
  fromItems,
  itemKey,
  localHostFaults,
  noRecords,
  parseCrmFile,
  parseCrmRecord,
  place,
  toItems,
} from './crm-file.ts';
import type { CrmTable, CrmWrite } from './crm-table.ts';

/** How long one trading server may take to log us in, in milliseconds. */
const CHECK_MS = 20_000;

/** What the command reads and writes beside the database. */
export interface CrmStreams {
  input: AsyncIterable<Uint8Array | string>;
  /** Results. */
  print(text: string): void;
  /** Progress, warnings and errors. */
  tell(text: string): void;
}

/** Said to the operator in a line or a few, without a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** A table, and how its account's services are reached. */
export interface Target {
  table: CrmTable;
  /** For messages. */
  name: string;
  client: ClientConfig;
}
interface ClientConfig {
  region?: string;
  endpoint?: string;
  credentials?: { accessKeyId: string; secretAccessKey: string };
}

export interface Options {
  dryRun: boolean;
  json: boolean;
}

/** Called wrongly: says where to read on. */
export function wrong(message: string): CommandError {
  return new CommandError(`${message}\nnpm run crm -- --help shows how it is called.`, 2);
}

/** What each command takes, and does. */
export const COMMANDS: {
  name: string;
  takes: string;
  least: number;
  most: number;
  run(target: Target, operands: string[], options: Options, streams: CrmStreams): Promise<void>;
}[] = [
  { name: 'import', takes: 'one FILE', least: 1, most: 1, run: importFile },
  { name: 'export', takes: 'at most one FILE', least: 0, most: 1, run: exportFile },
  { name: 'list', takes: 'one KIND', least: 1, most: 1, run: list },
  { name: 'put', takes: 'a KIND and a FILE', least: 2, most: 2, run: put },
  { name: 'delete', takes: 'a KIND and one ID or more', least: 2, most: 1_000, run: remove },
  { name: 'check', takes: 'one CONNECTION_ID or more', least: 1, most: 1_000, run: check },
];

async function importFile(target: Target, [file = '']: string[], options: Options, streams: CrmStreams): Promise<void> {
  const records = await naming(file, async () => parseCrmFile(await read(file, streams)));
  await change(target, { add: records, named: (kind, index) => `${kind}[${index}]` }, options, streams);
}

async function exportFile(target: Target, [file]: string[], _: Options, streams: CrmStreams): Promise<void> {
  const { records } = await readTable(target, streams);
  const text = `${JSON.stringify(records, null, 2)}\n`;
  if (file === undefined) {
    streams.print(text);
    return;
  }
  // It holds what the clients told of themselves: for the operator's eyes only.
  await writeFile(file, text, { mode: 0o600 });
  streams.tell(
    `${counted(
      CRM_KINDS.reduce((sum, kind) => sum + records[kind].length, 0),
      'record',
    )} written to ${file}.\n`,
  );
}

async function list(target: Target, [word = '']: string[], { json }: Options, streams: CrmStreams): Promise<void> {
  const kind = kindOf(word);
  const { records } = await readTable(target, streams);
  if (json) {
    streams.print(`${JSON.stringify(records[kind], null, 2)}\n`);
    return;
  }
  streams.print(table(rowsOf(records)[kind]));
}

async function put(
  target: Target,
  [word = '', file = '']: string[],
  options: Options,
  streams: CrmStreams,
): Promise<void> {
  const kind = kindOf(word);
  const records = await naming(file, async () => parseCrmRecord(kind, await read(file, streams)));
  await change(target, { add: records, named: () => 'the record' }, options, streams);
}

async function remove(
  target: Target,
  [word = '', ...ids]: string[],
  options: Options,
  streams: CrmStreams,
): Promise<void> {
  const kind = kindOf(word);
  await change(target, { add: noRecords(), remove: { kind, ids }, named: () => '' }, options, streams);
}

async function check(target: Target, ids: string[], _: Options, streams: CrmStreams): Promise<void> {
  const platforms = platformConnections({ readSecret: secretReader(target.client) });
  let failed = 0;
  for (const id of ids) {
    const item = await target.table.read(itemKey('connections', id));
    if (item === undefined) throw new CommandError(`There is no connection ${id} in ${target.name}.`);
    const connection = v.safeParse(ConnectionSchema, item.record);
    if (!connection.success) throw new CommandError(`The record of the connection ${id} is damaged. Put it anew.`);
    const began = Date.now();
    const signal = AbortSignal.timeout(CHECK_MS);
    try {
      const platform = await platforms(connection.output, signal);
      await platform.check(signal).finally(() => platform.close().catch(() => {}));
      streams.print(`${id}: connected and logged in (${Date.now() - began} ms)\n`);
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      failed += 1;
      streams.print(`${id}: ${error.kind} (${error.options.reason})${CHECK_HINTS[error.kind] ?? ''}\n`);
    }
  }
  if (failed > 0) throw new CommandError(`${counted(failed, 'connection')} of ${ids.length} cannot be used.`);
}

const CHECK_HINTS: Partial<Record<PlatformFailureKind, string>> = {
  platform_refused: ': the server answers, and refuses the secret, the certificate, or this address',
  platform_unavailable: ': the server or the secret cannot be reached from here',
};

interface Change {
  add: CrmRecords;
  remove?: { kind: CrmKind; ids: string[] };
  /** Names a record of `add` in a fault. */
  named(kind: CrmKind, index: number): string;
}

/** Adds, changes and deletes records, and the pointers by which clients are found. */
async function change(
  target: Target,
  { add, remove, named }: Change,
  options: Options,
  streams: CrmStreams,
): Promise<void> {
  const { items, records: current, damaged } = await readTable(target, streams);
  const gone = new Set((remove?.ids ?? []).map((id) => itemKey(remove?.kind ?? 'clients', id)));
  const known = new Set(items.map(({ pk }) => pk));
  const missing = (remove?.ids ?? []).filter((id) => !known.has(itemKey(remove?.kind ?? 'clients', id)));
  if (missing.length > 0)
    throw new CommandError(`${target.name} holds no ${remove?.kind} of this id: ${missing.join(', ')}`);

  const added = place(add, named);
  const replaced = new Set(added.map(({ kind, record }) => itemKey(kind, record.id)));
  const kept = place(current, (kind, _, id) => `the table's ${kind}[${JSON.stringify(id)}]`).filter(
    ({ kind, record }) => {
      const key = itemKey(kind, record.id);
      return !replaced.has(key) && !gone.has(key);
    },
  );
  const faults = [...localHostFaults(added), ...duplicateFaults([...kept, ...added])];
  if (faults.length > 0) throw new CrmFileError(faults);

  const wanted = noRecords();
  for (const { kind, record } of [...kept, ...added]) (wanted[kind] as CrmRecord[]).push(record);
  const plan = planWrites(items, await toItems(wanted), gone, damaged);
  const changes = plan.flat().filter((write) => !isPointer('put' in write ? write.put.pk : write.delete)).length;
  if (options.dryRun) {
    streams.print(difference(items, plan));
    streams.print(`${counted(changes, 'record')} would change in ${target.name}; nothing was written.\n`);
    return;
  }
  await write(target.table, plan, streams);
  streams.print(`${counted(changes, 'record')} changed in ${target.name}.\n`);
}

/** What has to be written so that the table holds the wanted items; each list is whole before the next begins. */
function planWrites(
  current: readonly CrmItem[],
  wanted: readonly CrmItem[],
  gone: ReadonlySet<string>,
  damaged: ReadonlySet<string>,
): CrmWrite[][] {
  const now = new Map(current.map((item) => [item.pk, item]));
  const then = new Set(wanted.map(({ pk }) => pk));
  const puts = wanted.filter((item) => !isDeepStrictEqual(now.get(item.pk), item));
  // The pointers of a client whose record cannot be read stay: its record may still be mended.
  const stale = current.filter(
    ({ pk, client_id }) => isPointer(pk) && !then.has(pk) && !damaged.has(itemKey('clients', client_id ?? '')),
  );
  // At no time does a pointer lead to a client that is not there.
  return [
    puts.filter(({ pk }) => !isPointer(pk)).map((item) => ({ put: item })),
    puts.filter(({ pk }) => isPointer(pk)).map((item) => ({ put: item })),
    stale.map(({ pk }) => ({ delete: pk })),
    [...gone].map((pk) => ({ delete: pk })),
  ];
}

function isPointer(key: string): boolean {
  return !CRM_KINDS.some((kind) => key.startsWith(itemKey(kind, '')));
}

async function write(table: CrmTable, plan: readonly CrmWrite[][], { tell }: CrmStreams): Promise<void> {
  const all = plan.reduce((sum, writes) => sum + writes.length, 0);
  let written = 0;
  let told = 0;
  for (const writes of plan) {
    await table.write(writes, (count) => {
      written += count;
      if (written - told < Math.max(500, all / 20)) return;
      told = written;
      tell(`${written} of ${counted(all, 'item')} written\n`);
    });
  }
}

/** The change of each record, member by member. */
function difference(current: readonly CrmItem[], plan: readonly CrmWrite[][]): string {
  const now = new Map(current.map((item) => [item.pk, item]));
  const lines: string[] = [];
  for (const write of plan.flat()) {
    if ('delete' in write) {
      if (!isPointer(write.delete)) lines.push(`- ${write.delete}`);
      continue;
    }
    const { pk, record } = write.put;
    if (isPointer(pk)) continue;
    const before = now.get(pk)?.record;
    lines.push(`${before === undefined ? '+' : '~'} ${pk}`);
    if (before === undefined) continue;
    const [old, next] = [before, record] as [Record<string, unknown>, Record<string, unknown>];
    for (const member of new Set([...Object.keys(old), ...Object.keys(next)])) {
      if (!isDeepStrictEqual(old[member], next[member])) {
        lines.push(`    ${member}: ${short(old[member])} → ${short(next[member])}`);
      }
    }
  }
  return lines.map((line) => `${line}\n`).join('');
}

function short(value: unknown): string {
  const text = value === undefined ? 'none' : JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 99)}…` : text;
}

async function readTable(
  { table, name }: Target,
  { tell }: CrmStreams,
): Promise<{ items: CrmItem[]; records: CrmRecords; damaged: Set<string> }> {
  const items = await table.readAll();
  const { records, faults } = fromItems(items);
  for (const { path, rule } of faults) tell(`Damaged in ${name}, and passed over: ${path}: ${rule}\n`);
  const readable = new Set(CRM_KINDS.flatMap((kind) => records[kind].map(({ id }) => itemKey(kind, id))));
  const damaged = new Set(items.map(({ pk }) => pk).filter((pk) => !isPointer(pk) && !readable.has(pk)));
  return { items, records, damaged };
}

async function read(file: string, { input }: CrmStreams): Promise<string> {
  return file === '-' ? await readAll(input) : await readFile(file, 'utf8');
}

/** Says of which file the faults are. */
async function naming<T>(file: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof CrmFileError)) throw error;
    const name = file === '-' ? 'The standard input' : file;
    throw new CommandError(
      `${name} has ${counted(error.faults.length, 'fault')}; nothing was written:\n${indented(error)}`,
    );
  }
}

export function indented(error: CrmFileError): string {
  return error.message.replace(/^/gm, '  ');
}

function kindOf(word: string): CrmKind {
  const name = word.replace('-', '_');
  const kind = CRM_KINDS.find((known) => known === name || known === `${name}s`);
  if (kind === undefined) throw wrong('KIND is forms, clients, account-types or connections.');
  return kind;
}

/** What a list shows of each record, after a line of headings. */
function rowsOf(records: CrmRecords): Record<CrmKind, string[][]> {
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

function table(rows: string[][]): string {
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

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
