import * as v from 'valibot';
import { EmailSchema, emailKey } from '../../lib/validators/email.ts';
import { readPhone } from '../../lib/validators/phone.ts';
import { wrongUsage } from './command.ts';
import { itemKey } from './crm-items.ts';
import type { Target } from './target.ts';

/** A person, identified by one address. */
export interface Person {
  /** The address as registrations store it: an email in its look-up form, or a number in E.164. */
  address: string;
  isEmail: boolean;
}

/** @throws CommandError for a text that is neither an email address nor a phone number */
export async function parsePerson(typed: string): Promise<Person> {
  const email = v.safeParse(EmailSchema, typed);
  if (email.success) return { address: emailKey(email.output), isEmail: true };
  const [, dialCode = ''] = /^\+(\d)/.exec(typed) ?? [];
  const phone = await readPhone(dialCode, typed);
  if (phone === undefined) throw wrongUsage('Name an email address, or a phone number such as +447400123456.');
  return { address: phone.e164, isEmail: false };
}

/** The ids of the clients who have proven this address. */
export async function findClientIds({ table }: Target, { address, isEmail }: Person): Promise<string[]> {
  const keys = await table.find(isEmail ? 'proven_email' : 'proven_phone', address);
  return keys.map((key) => key.slice(itemKey('clients', '').length));
}
