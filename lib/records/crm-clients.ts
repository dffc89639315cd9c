import * as v from 'valibot';
import { type Table, tryWrite } from '../aws/dynamodb.ts';
import { emailKey } from '../validators/email.ts';
import { readPhone } from '../validators/phone.ts';
import { type AddressKind, type Client, crmKey, StoredClientSchema } from './crm-records.ts';

/** The item of a client. Every writer derives its other attributes from the record. */
interface ClientItem {
  pk: string;
  record: Client;
  /** The phone number, proven or not. */
  e164?: string;
  /** The email address in its look-up form, and the phone number: the indexes by which the client is found. */
  proven_email?: string;
  proven_phone?: string;
  referral_code?: string;
}

/** The item that holds a client's record. */
export async function clientItem(record: Client): Promise<ClientItem> {
  const { email, phone, referral_code, unproven = [] } = record;
  const e164 = phone && (await readPhone(phone.country_code, phone.number))?.e164;
  return {
    pk: crmKey.client(record.id),
    record,
    ...(e164 === undefined ? {} : { e164 }),
    ...(email === undefined || unproven.includes('email') ? {} : { proven_email: emailKey(email) }),
    ...(e164 === undefined || unproven.includes('phone') ? {} : { proven_phone: e164 }),
    ...(referral_code === undefined ? {} : { referral_code }),
  };
}

/** The outcome of writing a client's record. `refused`: the id is another client's, and nothing was written. */
type Added = 'written' | 'known' | 'refused';

export type CrmClients = ReturnType<typeof dynamoCrmClients>;

/** The clients among the CRM records. */
export function dynamoCrmClients(table: Table) {
  return {
    /**
     * Writes a new client, who is found by the verified address alone. An existing client keeps the record. If that
     * record has this address as only typed, the address is proven from now on. A repeat has no effect.
     * @throws AwsFailure
     */
    async add(client: Omit<Client, 'unproven'>, verified: AddressKind, signal: AbortSignal): Promise<Added> {
      const unproven = (['email', 'phone'] as const).filter((kind) => kind !== verified && client[kind] !== undefined);
      const item = await clientItem({ ...client, ...(unproven.length === 0 ? {} : { unproven }) });
      const put = table.put({ ...item }, signal, { condition: 'attribute_not_exists(pk)' });
      if ((await tryWrite(put.then(() => true))) === true) return 'written';
      const index = `proven_${verified}` as const;
      const address = item[index];
      const known = await table.get({ pk: item.pk }, signal);
      const record = v.safeParse(StoredClientSchema, known?.record);
      if (known === undefined || !record.success || address === undefined) return 'refused';
      if (known[index] === address) return 'known';
      const { [index]: typed } = await clientItem({ ...record.output, unproven: [] });
      if (typed !== address || record.output.unproven === undefined) return 'refused';
      const expression = {
        update: 'SET #index = :address, #record.unproven = :rest',
        condition: `attribute_not_exists(#index) AND ${verified === 'email' ? '#record.email' : 'e164'} = :typed`,
        names: { '#index': index, '#record': 'record' },
        values: {
          ':address': address,
          // The address as it is stored: parsing changes its spelling.
          ':typed': verified === 'email' ? (known.record as Client).email : address,
          ':rest': record.output.unproven.filter((kind) => kind !== verified),
        },
      };
      return (await tryWrite(table.update({ pk: item.pk }, expression, signal))) === undefined ? 'refused' : 'known';
    },
  };
}
