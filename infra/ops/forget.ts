import { DeleteObjectCommand, S3Client } from '@aws-sdk/client-s3';
import * as v from 'valibot';
import type { Item } from '../../lib/aws/dynamodb.ts';
import { deliveryKey } from '../../lib/records/registrations.ts';
import { emailKey } from '../../lib/validators/email.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { CommandError, countOf, wrongUsage } from './command.ts';
import { itemKey } from './crm-items.ts';
import type { TableItems } from './crm-table.ts';
import { findClientIds, type Person, parsePerson } from './person.ts';
import { removeRecords } from './table-records.ts';
import { openTable, type Target } from './target.ts';
import type { Terminal } from './terminal.ts';

/** `client`: the id of a client, in place of an address. */
type ForgetOptions = { client?: string; dryRun?: boolean };

/** The person whose data is deleted: the addresses, and the client who has proven them, if there is one. */
interface Forgotten {
  addresses: readonly Person[];
  clientId?: string | undefined;
}

/**
 * Deletes the data about a person: registrations, documents and the client's record. If another person only typed one
 * of the addresses, only the address is removed there: that person may be a stranger.
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
  const typedClients = await findTyped(target, addresses);
  if (!dryRun) {
    // The documents are deleted first: the registrations hold their keys.
    await deleteDocuments(target, found.documents);
    for (const pk of [...found.registrations, ...found.lists, ...found.deliveries]) await registrations.delete({ pk });
    for (const { pk, members } of found.typed) await registrations.update({ pk }, removal(members));
    for (const { pk, members } of typedClients) await target.table.update(pk, removal(members));
  }
  const things = `${countOf(found.registrations.length, 'registration')}, ${countOf(found.documents.length, 'document')}`;
  terminal.print(`${things} ${dryRun ? 'would be deleted' : 'deleted'}.`);
  const others = `${countOf(found.typed.length, 'other registration')} and ${countOf(typedClients.length, 'client record')}`;
  terminal.print(`An address that was only typed ${dryRun ? 'would be' : 'is'} removed from ${others}.`);
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
 * Finds a person: a client with all addresses that no other client has proven.
 * @throws CommandError if several clients have proven the address: an operator decides which of them is meant
 */
async function findPerson(
  target: Target,
  { typed = '', client }: { typed?: string | undefined; client?: string | undefined },
  terminal: Terminal,
): Promise<Forgotten> {
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

/** An item that loses members. */
interface Typed {
  pk: string;
  members: readonly string[];
}

interface Found {
  /** Keys of items. */
  registrations: string[];
  lists: string[];
  /** The keys of the notes of deliveries; some may not exist. */
  deliveries: string[];
  /** Keys of objects. */
  documents: string[];
  /** Registrations of other recipients in which the address was only typed. */
  typed: Typed[];
}

const DocumentsSchema = v.fallback(v.array(v.object({ key: v.string() })), []);

async function findRegistrations(table: TableItems, addresses: readonly Person[]): Promise<Found> {
  const found: Found = { registrations: [], lists: [], deliveries: [], documents: [], typed: [] };
  const wanted = new Set<unknown>(addresses.map(({ address }) => address));
  const lists = new Set(addresses.flatMap(({ address }) => OTP_TYPES.map((channel) => `${channel}#${address}`)));
  for await (const page of table.pages()) {
    for (const item of page) {
      const pk = String(item.pk);
      if (lists.has(pk)) found.lists.push(pk);
      else if (wanted.has(item.address)) {
        found.registrations.push(pk);
        if (typeof item.registration_id === 'string') found.deliveries.push(deliveryKey(item.registration_id).pk);
        found.documents.push(...v.parse(DocumentsSchema, item.documents).map(({ key }) => key));
      } else {
        const members = typedMembers(item, wanted);
        if (members.length > 0) found.typed.push({ pk, members });
      }
    }
  }
  return found;
}

function typedMembers({ email_key, phone }: Item, wanted: ReadonlySet<unknown>): string[] {
  return [
    ...(wanted.has(email_key) ? ['email', 'email_key'] : []),
    ...(wanted.has(phone) ? ['phone', 'phone_valid'] : []),
  ];
}

/** The clients whose records have one of the addresses as typed only. */
async function findTyped({ table }: Target, addresses: readonly Person[]): Promise<Typed[]> {
  const wanted = new Set(addresses.map(({ address }) => address));
  const found: Typed[] = [];
  const pages = table.pages({
    FilterExpression: 'contains(#record.unproven, :email) OR contains(#record.unproven, :phone)',
    ExpressionAttributeNames: { '#record': 'record' },
    ExpressionAttributeValues: { ':email': 'email', ':phone': 'phone' },
  });
  for await (const page of pages) {
    for (const { pk, record, e164 = '', proven_email, proven_phone } of page) {
      const { email = '' } = v.parse(TypedEmailSchema, record);
      const members = [
        ...(proven_email === undefined && wanted.has(emailKey(email)) ? ['record.email'] : []),
        ...(proven_phone === undefined && wanted.has(e164) ? ['record.phone', 'e164'] : []),
      ];
      if (members.length > 0) found.push({ pk, members });
    }
  }
  return found;
}

const TypedEmailSchema = v.fallback(v.object({ email: v.optional(v.string()) }), {});

/** Builds an update that removes members, such as `record.email`, from an item that still exists. */
function removal(members: readonly string[]) {
  const parts = members.flatMap((member) => member.split('.'));
  return {
    update: `REMOVE ${members.map((member) => member.replaceAll(/\w+/g, '#$&')).join(', ')}`,
    names: Object.fromEntries(parts.map((part) => [`#${part}`, part])),
    condition: 'attribute_exists(pk)',
  };
}

async function deleteDocuments(target: Target, keys: readonly string[]): Promise<void> {
  const s3 = new S3Client(target.clientOf('S3'));
  const Bucket = await target.resource('DocumentsBucket');
  for (const Key of keys) await s3.send(new DeleteObjectCommand({ Bucket, Key }));
  s3.destroy();
}
