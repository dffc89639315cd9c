import { DeleteObjectCommand, S3Client } from '@aws-sdk/client-s3';
import * as v from 'valibot';
import type { Item } from '../../lib/aws/dynamodb.ts';
import { limitCounters } from '../../lib/limits/counters.ts';
import { DEFAULT_LIMITS } from '../../lib/validators/deployment.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { logicalId } from '../tables.ts';
import { removeRecords } from './change.ts';
import { counted, type Terminal } from './command.ts';
import { type TableItems, tableItems } from './crm-table.ts';
import { findClientIds, listRecipients, type Person, parsePerson, readPepper } from './person.ts';
import type { Target } from './target.ts';

/** `client`: also the record of the client who has this address. */
type ForgetOptions = { client?: boolean; dryRun?: boolean };

/** Deletes the data about a person: registrations, documents, counters, and on request the client record. */
export async function forget(target: Target, typed: string, options: ForgetOptions, terminal: Terminal): Promise<void> {
  const { resource } = target;
  const person = await parsePerson(typed);
  const registrations = tableItems(await resource(logicalId('Registrations')), ['pk'], target.clientOf('DYNAMODB'));
  const found = await findRegistrations(registrations, person);
  const counters = await recipientKeys(target, person);
  const limits = tableItems(await resource(logicalId('Limits')), ['pk'], target.clientOf('DYNAMODB'));
  const existing = await limits.get(counters.map((pk) => ({ pk })));
  if (options.dryRun !== true) {
    // The documents first: the registrations hold their keys.
    const s3 = new S3Client(target.clientOf('S3'));
    const Bucket = await resource('DocumentsBucket');
    for (const Key of found.documents) await s3.send(new DeleteObjectCommand({ Bucket, Key }));
    s3.destroy();
    for (const pk of [...found.registrations, ...found.pointers]) await registrations.delete({ pk });
    for (const { pk } of existing) await limits.delete({ pk });
  }
  terminal.print(summary(found, existing.length, options.dryRun === true));
  for (const other of found.others) terminal.print(`The registrations also name ${other}: forget it too.\n`);
  await forgetClient(target, person, options, terminal);
  terminal.print(NOT_TOUCHED);
}

const NOT_TOUCHED =
  'Not deleted: accounts on trading servers and their records (by client id, without an address), backups of the tables\n' +
  '(35 days), the suppression list of SES, and what your own CRM keeps. infra/docs/data.md says how to delete each.\n';

interface Found {
  /** Keys of items. */
  registrations: string[];
  pointers: string[];
  /** Keys of objects. */
  documents: string[];
  /** Other addresses that the registrations name. */
  others: Set<string>;
}

const DocumentsSchema = v.fallback(v.array(v.object({ key: v.string() })), []);

async function findRegistrations(table: TableItems, { address, isEmail }: Person): Promise<Found> {
  const found: Found = { registrations: [], pointers: [], documents: [], others: new Set() };
  const pointers = new Set(OTP_TYPES.map((channel) => `${channel}#${address}`));
  const isTheirs = (item: Item) => item.address === address || item[isEmail ? 'email_key' : 'phone'] === address;
  for await (const page of table.pages()) {
    for (const item of page) {
      const pk = String(item.pk);
      if (pointers.has(pk)) found.pointers.push(pk);
      else if (isTheirs(item)) {
        found.registrations.push(pk);
        found.documents.push(...v.parse(DocumentsSchema, item.documents).map(({ key }) => key));
        for (const other of [item.email_key, item.phone])
          if (typeof other === 'string' && other !== address) found.others.add(other);
      }
    }
  }
  return found;
}

async function recipientKeys(target: Target, person: Person): Promise<string[]> {
  const pepper = await readPepper(target);
  const counters = limitCounters(DEFAULT_LIMITS);
  const all = await Promise.all(listRecipients(person).map((recipient) => counters.message(pepper, recipient)));
  return all.flatMap(({ recipient }) => recipient.map(({ pk }) => pk));
}

function summary({ registrations, documents }: Found, counters: number, dryRun: boolean): string {
  const things = [
    counted(registrations.length, 'registration'),
    counted(documents.length, 'document'),
    counted(counters, 'counter'),
  ];
  return `${things.join(', ')} ${dryRun ? 'would be deleted' : 'deleted'}.\n`;
}

async function forgetClient(target: Target, person: Person, options: ForgetOptions, terminal: Terminal) {
  const ids = await findClientIds(target, person);
  if (ids.length === 0) return terminal.print('No client has this address.\n');
  if (options.client !== true) {
    for (const id of ids)
      terminal.print(`The client ${id} has this address and is kept; --client deletes the record too.\n`);
    return;
  }
  const { dryRun = false } = options;
  await removeRecords({ target, dryRun, terminal }, 'clients', ids);
}
