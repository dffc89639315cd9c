import type * as v from 'valibot';
import { DatabaseFailure, type Item, type Table } from '../aws/dynamodb.ts';
import { type Form, FormSchema } from '../validators/form.ts';
import type { E164 } from '../validators/phone.ts';
import {
  type AccountType,
  AccountTypeSchema,
  type Client,
  ClientSchema,
  type Connection,
  ConnectionSchema,
  readRecord,
} from './crm-records.ts';

/** Where a record or a pointer stands in the table of CRM records; the operators' command writes by these names. */
export const crmKey = {
  form: (id: string) => `form#${id}`,
  client: (id: string) => `client#${id}`,
  accountType: (id: string) => `account_type#${id}`,
  connection: (id: string) => `connection#${id}`,
  /** Pointers to a client (`client_id`): by e-mail address in its look-up form, by E.164 number, by referral code. */
  email: (emailKey: string) => `email#${emailKey}`,
  phone: (e164: string) => `phone#${e164}`,
  referral: (code: string) => `referral#${code}`,
};

/** A client for whom an account is opened; the phone number as its item has it beside the record. */
export interface AccountClient extends Omit<Client, 'phone'> {
  phone?: E164;
}

/** What the service reads of the CRM; every method is one round trip. */
export interface Directory {
  /** What a registration names. */
  forRegistration(
    ids: { formId: string; referralCode?: string | undefined },
    signal: AbortSignal,
  ): Promise<{ form: Form | undefined; referrerId: string | undefined }>;
  /** Which of these addresses are a client's. The e-mail address in its look-up form, the phone number in E.164. */
  isClient(
    addresses: { emailKey: string; phone?: string | undefined },
    signal: AbortSignal,
  ): Promise<{ email: boolean; phone: boolean }>;
  /** What the opening of an account names. */
  forAccount(
    ids: {
      userId: string;
      connectionId: string;
      accountTypeId?: string | undefined;
      rebateUserId?: string | undefined;
    },
    signal: AbortSignal,
  ): Promise<{
    client: AccountClient | undefined;
    connection: Connection | undefined;
    accountType: AccountType | undefined;
    rebateUser: AccountClient | undefined;
  }>;
}

/** @throws DatabaseFailure also when a record in the table breaks its own rules */
export function directoryIn(table: Table): Directory {
  async function read(keys: (string | undefined)[], signal: AbortSignal): Promise<Map<string, Item>> {
    const wanted = [...new Set(keys.filter((key) => key !== undefined))];
    const items = await table.getMany(
      wanted.map((pk) => ({ pk })),
      signal,
    );
    return new Map(items.map((item) => [String(item.pk), item]));
  }

  return {
    async forRegistration({ formId, referralCode }, signal) {
      const referral = referralCode === undefined ? undefined : crmKey.referral(referralCode);
      const items = await read([crmKey.form(formId), referral], signal);
      const clientId = referral === undefined ? undefined : items.get(referral)?.client_id;
      return {
        form: record(FormSchema, items.get(crmKey.form(formId))),
        referrerId: typeof clientId === 'string' ? clientId : undefined,
      };
    },

    async isClient({ emailKey, phone }, signal) {
      const items = await read([crmKey.email(emailKey), phone === undefined ? undefined : crmKey.phone(phone)], signal);
      return {
        email: items.has(crmKey.email(emailKey)),
        phone: phone !== undefined && items.has(crmKey.phone(phone)),
      };
    },

    async forAccount({ userId, connectionId, accountTypeId, rebateUserId }, signal) {
      const keys = {
        client: crmKey.client(userId),
        connection: crmKey.connection(connectionId),
        accountType: accountTypeId === undefined ? undefined : crmKey.accountType(accountTypeId),
        rebateUser: rebateUserId === undefined ? undefined : crmKey.client(rebateUserId),
      };
      const items = await read(Object.values(keys), signal);
      return {
        client: accountClient(items.get(keys.client)),
        connection: record(ConnectionSchema, items.get(keys.connection)),
        accountType: record(AccountTypeSchema, items.get(keys.accountType ?? '')),
        rebateUser: accountClient(items.get(keys.rebateUser ?? '')),
      };
    },
  };
}

/** The number in E.164 stands in the item, so that no account waits for the numbering plans of the world. */
function accountClient(item: Item | undefined): AccountClient | undefined {
  const client = record(ClientSchema, item);
  if (client === undefined) return undefined;
  const { phone: _, ...rest } = client;
  const e164 = item?.e164;
  return typeof e164 === 'string' ? { ...rest, phone: e164 as E164 } : rest;
}

function record<S extends v.GenericSchema>(schema: S, item: Item | undefined): v.InferOutput<S> | undefined {
  if (item === undefined) return undefined;
  const read = readRecord(schema, item.record);
  if (read === undefined) throw new DatabaseFailure('CrmRecordMalformed');
  return read;
}
