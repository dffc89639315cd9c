import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import iconv from 'iconv-lite';
import * as v from 'valibot';
import {
  type AccountType,
  AccountTypeSchema,
  type Client,
  ClientSchema,
  type Connection,
  ConnectionSchema,
  TextProtocolSecretSchema,
  WebApiSecretSchema,
} from '../../lib/records/crm-records.ts';
import { crmKey } from '../../lib/records/directory.ts';
import { emailKey } from '../../lib/validators/email.ts';
import { type Form, FormSchema } from '../../lib/validators/form.ts';
import { parsePhone } from '../../lib/validators/phone.ts';
import { isObject, LanguageSchema, toFaults } from '../../lib/validators/primitives.ts';

/** The CRM's records. Any member of a CRM file may be absent. */
export interface CrmRecords {
  forms: Form[];
  clients: Client[];
  account_types: AccountType[];
  connections: Connection[];
}
export type CrmKind = keyof CrmRecords;
export type CrmRecord = CrmRecords[CrmKind][number];

export interface CrmFile extends CrmRecords {
  /** Values of secrets by name, which only the local service reads. */
  local_secrets: Record<string, unknown>;
}

/** One fault of a CRM file: where it stands, such as `clients[3].email`, and the rule it breaks. Never a value. */
export interface CrmFault {
  path: string;
  rule: string;
}

export class CrmFileError extends Error {
  override readonly name = 'CrmFileError';
  readonly faults: readonly CrmFault[];

  constructor(faults: readonly CrmFault[]) {
    super(faults.map(({ path, rule }) => (path === '' ? rule : `${path}: ${rule}`)).join('\n'));
    this.faults = faults;
  }
}

/** The host of a connection that stands for a simulated server of the local service. */
export const LOCAL_HOST = 'local';

const KINDS = {
  forms: { schema: FormSchema, key: crmKey.form },
  clients: { schema: ClientSchema, key: crmKey.client },
  account_types: { schema: AccountTypeSchema, key: crmKey.accountType },
  connections: { schema: ConnectionSchema, key: crmKey.connection },
} as const satisfies Record<CrmKind, { schema: v.GenericSchema; key: (id: string) => string }>;
export const CRM_KINDS = Object.keys(KINDS) as CrmKind[];

/** What the database holds in one item is 400 KB; the rest is room for the item's other attributes. */
const MAX_RECORD_BYTES = 390_000;

/**
 * Reads the text of a CRM file.
 * @throws CrmFileError with every fault
 */
export async function parseCrmFile(text: string): Promise<CrmFile> {
  return checkCrmFile(parseJson(text));
}

/** Reads the text of one record, as a CRM file has it. @throws CrmFileError with every fault, paths within the record */
export async function parseCrmRecord(kind: CrmKind, text: string): Promise<CrmRecords> {
  try {
    return await checkCrmFile({ [kind]: [parseJson(text)] });
  } catch (error) {
    if (!(error instanceof CrmFileError)) throw error;
    const within = (path: string) => path.slice(path === '' ? 0 : `${kind}[0]`.length).replace(/^\./, '');
    throw new CrmFileError(error.faults.map(({ path, rule }) => ({ path: within(path), rule })));
  }
}

/** @throws CrmFileError with every fault */
async function checkCrmFile(content: unknown): Promise<CrmFile> {
  if (!isObject(content)) throw new CrmFileError([{ path: '', rule: 'must be a JSON object' }]);
  const faults: CrmFault[] = [];
  const file: CrmFile = { ...noRecords(), local_secrets: {} };
  const placed: Placed[] = [];

  for (const [name, value] of Object.entries(content)) {
    if (name === 'local_secrets') {
      if (isObject(value)) file.local_secrets = value;
      else faults.push({ path: name, rule: 'must be an object' });
    } else if (!isKind(name)) {
      faults.push({ path: member('', name), rule: 'is not known' });
    } else if (!Array.isArray(value)) {
      faults.push({ path: name, rule: 'must be an array' });
    } else {
      for (const [index, entry] of value.entries()) {
        const path = `${name}[${index}]`;
        const result = v.safeParse(KINDS[name].schema, entry);
        // The rules beyond its schema are checked too wherever a record can be read, so that all faults are listed.
        if (result.typed) placed.push({ path, kind: name, record: result.output } as Placed);
        for (const issue of result.issues ?? []) faults.push({ path: pathOf(path, issue), rule: ruleOf(issue) });
      }
    }
  }

  faults.push(...(await Promise.all(placed.map(recordFaults))).flat(), ...duplicateFaults(placed));
  if (faults.length > 0) throw new CrmFileError(faults);
  for (const one of placed) add(file, one);
  return file;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    // The parser's message quotes the file, so only the place is taken from it.
    const place = /\(line \d+ column \d+\)/.exec(error instanceof Error ? error.message : '')?.[0];
    throw new CrmFileError([{ path: '', rule: ['is not JSON', place].filter(Boolean).join(' ') }]);
  }
}

/** A record and where it stands. */
export type Placed = { [K in CrmKind]: { path: string; kind: K; record: CrmRecords[K][number] } }[CrmKind];

export function noRecords(): CrmRecords {
  return { forms: [], clients: [], account_types: [], connections: [] };
}

/** The records one by one; `path` names each in the words of the caller. */
export function place(records: CrmRecords, path: (kind: CrmKind, index: number, id: string) => string): Placed[] {
  return CRM_KINDS.flatMap((kind) =>
    records[kind].map((record, index) => ({ path: path(kind, index, record.id), kind, record }) as Placed),
  );
}

function add(records: CrmRecords, one: Placed): void {
  (records[one.kind] as CrmRecord[]).push(one.record);
}

/** What the local service asks of a CRM file beyond its shape: the secrets of the connections to real servers. */
export function localSecretFaults(file: CrmFile): CrmFault[] {
  return file.connections.flatMap((connection, index) => {
    const path = member('local_secrets', connection.secret);
    if (!Object.hasOwn(file.local_secrets, connection.secret)) {
      if (connection.host === LOCAL_HOST) return [];
      return [{ path, rule: `is missing; connections[${index}] is a real server and needs it` }];
    }
    const schema = connection.protocol === 'web-api' ? WebApiSecretSchema : TextProtocolSecretSchema;
    const result = v.safeParse(schema, file.local_secrets[connection.secret]);
    return (result.issues ?? []).map((issue) => ({ path: pathOf(path, issue), rule: ruleOf(issue) }));
  });
}

/** What an operator may not put into a deployment: a server that only the local service runs. */
export function localHostFaults(placed: Placed[]): CrmFault[] {
  return placed.flatMap(({ path, kind, record }) =>
    kind === 'connections' && record.host === LOCAL_HOST
      ? [{ path: `${path}.host`, rule: 'names a simulated server, which only `npm start` with CRM_FILE runs' }]
      : [],
  );
}

/** Ids, e-mail addresses, referral codes and field keys that stand twice. */
export function duplicateFaults(placed: Placed[]): CrmFault[] {
  const seen = new Map<string, string>();
  const faults: CrmFault[] = [];
  function once(key: string, path: string): void {
    const first = seen.get(key);
    if (first === undefined) seen.set(key, path);
    else faults.push({ path, rule: `is the same as ${first}` });
  }
  for (const { path, kind, record } of placed) {
    once(KINDS[kind].key(record.id), `${path}.id`);
    if (kind === 'clients') {
      once(crmKey.email(emailKey(record.email)), `${path}.email`);
      if (record.referral_code !== undefined) once(crmKey.referral(record.referral_code), `${path}.referral_code`);
    }
  }
  return faults;
}

/** The rules of one record that its schema does not know. */
async function recordFaults({ path, kind, record }: Placed): Promise<CrmFault[]> {
  const faults: CrmFault[] = [];
  const fault = (at: string, rule: string) => {
    faults.push({ path: `${path}${at}`, rule });
  };
  if (Buffer.byteLength(JSON.stringify(record)) > MAX_RECORD_BYTES)
    fault('', `must be at most ${MAX_RECORD_BYTES} bytes`);
  if (kind === 'clients') {
    if (record.phone !== undefined && (await phoneOf(record)) === undefined)
      fault('.phone', 'must be a valid phone number');
    if (record.language !== undefined && !v.is(LanguageSchema, record.language))
      fault('.language', 'must be a BCP 47 tag');
  }
  if (kind === 'connections') {
    if (!isHost(record.host)) fault('.host', 'must be a host name or an address, without scheme and port');
    if ('code_page' in record && !iconv.encodingExists(record.code_page))
      fault('.code_page', 'is not a known encoding');
    if ('ca' in record && record.ca !== undefined && !isCertificate(record.ca))
      fault('.ca', 'must be a PEM certificate');
  }
  return faults;
}

/** One item of the table of CRM records. */
export interface CrmItem {
  pk: string;
  record?: unknown;
  /** Of a client with a phone: its number in E.164. */
  e164?: string;
  /** Of a pointer: the client it leads to. */
  client_id?: string;
}

/** The items that hold these records, and the pointers by which clients are found. A shared phone leads to its first client. */
export async function toItems(records: CrmRecords): Promise<CrmItem[]> {
  const items = new Map<string, CrmItem>();
  for (const { kind, record } of place(records, () => '')) {
    const pk = KINDS[kind].key(record.id);
    const e164 = kind === 'clients' ? await phoneOf(record) : undefined;
    items.set(pk, { pk, record, ...(e164 === undefined ? {} : { e164 }) });
  }
  for (const client of records.clients) {
    const e164 = items.get(crmKey.client(client.id))?.e164;
    const pointers = [
      crmKey.email(emailKey(client.email)),
      ...(e164 === undefined ? [] : [crmKey.phone(e164)]),
      ...(client.referral_code === undefined ? [] : [crmKey.referral(client.referral_code)]),
    ];
    for (const pk of pointers) if (!items.has(pk)) items.set(pk, { pk, client_id: client.id });
  }
  return [...items.values()];
}

async function phoneOf({ phone }: Client): Promise<string | undefined> {
  return phone === undefined ? undefined : (await parsePhone(phone.country_code, phone.number))?.e164;
}

/** The records that stand in these items, and what is wrong with those that cannot be read; pointers are passed over. */
export function fromItems(items: readonly CrmItem[]): { records: CrmRecords; faults: CrmFault[] } {
  const records = noRecords();
  const faults: CrmFault[] = [];
  for (const { pk, record } of items.toSorted((a, b) => (a.pk < b.pk ? -1 : 1))) {
    const kind = CRM_KINDS.find((name) => pk.startsWith(KINDS[name].key('')));
    if (kind === undefined) continue;
    const result = v.safeParse(KINDS[kind].schema, record);
    if (result.success) add(records, { path: pk, kind, record: result.output } as Placed);
    for (const issue of result.issues ?? []) faults.push({ path: pathOf(pk, issue), rule: ruleOf(issue) });
  }
  return { records, faults };
}

/** The key under which a record of this kind stands in the table. */
export function itemKey(kind: CrmKind, id: string): string {
  return KINDS[kind].key(id);
}

function isKind(name: string): name is CrmKind {
  return Object.hasOwn(KINDS, name);
}

function isHost(host: string): boolean {
  return (
    isIP(host) !== 0 ||
    /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i.test(host)
  );
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}

function pathOf(base: string, issue: v.BaseIssue<unknown>): string {
  return (issue.path ?? []).reduce((path, { key }) => member(path, key), base);
}

/** The path of a member: `clients[3].email`, `local_secrets["platform/x"]`. */
function member(path: string, key: unknown): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z_]\w*$/.test(String(key))) return `${path}[${JSON.stringify(String(key))}]`;
  return path === '' ? String(key) : `${path}.${String(key)}`;
}

/** The rule in words of ours: the library's own messages quote the value. */
function ruleOf(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is not known';
  return toFaults([issue])[0]?.detail ?? 'is not valid';
}
