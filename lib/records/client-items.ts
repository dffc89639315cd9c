import { emailKey } from '../validators/email.ts';
import { parsePhone } from '../validators/phone.ts';
import type { Client } from './crm-records.ts';
import { crmKey } from './crm-table.ts';

/** The item of a client. */
interface ClientItem {
  pk: string;
  record: Client;
  /** The phone number. */
  e164?: string;
}

/** Every writer of clients writes this item, and the pointers below. */
export async function clientItem(record: Client): Promise<ClientItem> {
  const { phone } = record;
  const e164 = phone && (await parsePhone(phone.country_code, phone.number))?.e164;
  return { pk: crmKey.client(record.id), record, ...(e164 === undefined ? {} : { e164 }) };
}

/** The keys of the pointers that lead to a client. Only a phone may lead to several. */
export function clientPointers({ email, referral_code }: Client, e164: string | undefined): string[] {
  return [
    crmKey.email(emailKey(email)),
    ...(e164 === undefined ? [] : [crmKey.phone(e164)]),
    ...(referral_code === undefined ? [] : [crmKey.referral(referral_code)]),
  ];
}
