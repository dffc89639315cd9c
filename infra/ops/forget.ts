import { DeleteObjectCommand, S3Client } from '@aws-sdk/client-s3';
import * as v from 'valibot';
import { CommandError, countOf, wrongUsage } from './command.ts';
import { itemKey } from './crm-items.ts';
import type { TableItems } from './crm-table.ts';
import { findClientIds, type Person, parsePerson } from './person.ts';
import { removeRecords } from './table-records.ts';
import { openTable, type Target } from './target.ts';
import type { Terminal } from './terminal.ts';

/** `client`: the id of a client, in place of an address. */
type ForgetOptions = { client?: string; dryRun?: boolean };

/**
 * Deletes the data about a person: the registrations whose codes went to the person's addresses, their documents, and
 * the client's record. Records in which somebody typed one of the addresses stay: they are about whoever typed it.
 */
export async function forgetPerson(
  target: Target,
  typed: string | undefined,
  { client, dryRun = false }: ForgetOptions,
  terminal: Terminal,
): Promise<void> {
  if ((typed === undefined) === (client === undefined)) throw wrongUsage('Name an address, or --client ID.');
  const { addresses, clientId } = await findPerson(target, { typed, client }, terminal);
  const registrations = await openTable(target, 'Registrations');
  const found = await findRegistrations(registrations, addresses);
  if (!dryRun) {
    // The documents are deleted first: the registrations hold their keys.
    await deleteDocuments(target, found.documents);
    for (const pk of found.registrations) await registrations.delete({ pk });
  }
  const count = found.registrations.filter((pk) => pk.startsWith('registration#')).length;
  const things = `${countOf(count, 'registration')}, ${countOf(found.documents.length, 'document')}`;
  terminal.print(`${things} ${dryRun ? 'would be deleted' : 'deleted'}.`);
  if (clientId === undefined) terminal.print('No client has proven this address.');
  else await removeRecords({ target, dryRun, terminal }, 'clients', [clientId]);
  terminal.print(NOT_TOUCHED);
}

const NOT_TOUCHED = [
  'Not deleted: accounts on trading servers and their records (by client id, without an address), backups of the tables',
  '(35 days), the suppression list of SES, counters of limits (under keyed names, at most 24 hours), and what your own',
  'CRM keeps. infra/docs/operating.md says how to delete each.',
];

/**
 * Finds a person: a client with all addresses that no other client has proven, or an address that no client has proven.
 * @throws CommandError if several clients have proven the address: an operator decides which of them is meant
 */
async function findPerson(
  target: Target,
  { typed = '', client }: { typed?: string | undefined; client?: string | undefined },
  terminal: Terminal,
): Promise<{ addresses: readonly Person[]; clientId?: string }> {
  let clientId = client;
  if (clientId === undefined) {
    const person = await parsePerson(typed);
    const ids = await findClientIds(target, person);
    if (ids.length > 1) {
      const names = ids.join(', ');
      throw new CommandError(
        `Several clients have proven this address: ${names}. Nothing was deleted: name one with --client.`,
      );
    }
    [clientId] = ids;
    if (clientId === undefined) return { addresses: [person] };
  }
  const addresses: Person[] = [];
  for (const proven of await provenAddresses(target, clientId)) {
    const others = (await findClientIds(target, proven)).filter((id) => id !== clientId);
    if (others.length === 0) addresses.push(proven);
    else terminal.print(`The data about ${proven.address} is kept: ${others.join(', ')} has proven it too.`);
  }
  return { addresses, clientId };
}

async function provenAddresses({ table, name }: Target, clientId: string): Promise<Person[]> {
  const item = await table.read(itemKey('clients', clientId));
  if (item === undefined) throw new CommandError(`There is no client ${clientId} in ${name}.`);
  const proven = [item.proven_email, item.proven_phone].filter((one) => one !== undefined);
  return Promise.all(proven.map(parsePerson));
}

const DocumentsSchema = v.fallback(v.array(v.object({ key: v.string() })), []);

/** The registrations whose codes went to these addresses: the keys of their items, and of their documents' objects. */
async function findRegistrations(table: TableItems, addresses: readonly Person[]) {
  const found = { registrations: [] as string[], documents: [] as string[] };
  const wanted = new Set<unknown>(addresses.map(({ address }) => address));
  for await (const page of table.pages()) {
    for (const { pk, documents } of page.filter(({ address }) => wanted.has(address))) {
      found.registrations.push(String(pk));
      found.documents.push(...v.parse(DocumentsSchema, documents).map(({ key }) => key));
    }
  }
  return found;
}

async function deleteDocuments(target: Target, keys: readonly string[]): Promise<void> {
  const s3 = new S3Client(target.clientOf('S3'));
  const Bucket = await target.resource('DocumentsBucket');
  for (const Key of keys) await s3.send(new DeleteObjectCommand({ Bucket, Key }));
  s3.destroy();
}
