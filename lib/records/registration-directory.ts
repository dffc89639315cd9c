import type { Table } from '../aws/dynamodb.ts';
import { type Form, FormSchema } from '../validators/form.ts';
import { crmKey, parseRecord, readItems } from './crm-table.ts';

/** The CRM records of a registration. Every method is one round trip. */
export interface RegistrationDirectory {
  /** Reads the records that a registration names. */
  readRegistrationRecords(
    ids: { formId: string; referralCode?: string | undefined },
    signal: AbortSignal,
  ): Promise<{ form: Form | undefined; referrerId: string | undefined }>;
  /** Which of these addresses are a client's. The email address in its look-up form, the phone number in E.164. */
  isClient(
    addresses: { emailKey: string; phone?: string | undefined },
    signal: AbortSignal,
  ): Promise<{ email: boolean; phone: boolean }>;
}

/** @throws AwsFailure also if a form in the table is malformed */
export function dynamoRegistrationDirectory(table: Table): RegistrationDirectory {
  return {
    async readRegistrationRecords({ formId, referralCode }, signal) {
      const referral = referralCode === undefined ? undefined : crmKey.referral(referralCode);
      const items = await readItems(table, [crmKey.form(formId), referral], signal);
      const clientId = referral === undefined ? undefined : items.get(referral)?.client_id;
      return {
        form: parseRecord(FormSchema, items.get(crmKey.form(formId))),
        referrerId: typeof clientId === 'string' ? clientId : undefined,
      };
    },

    async isClient({ emailKey, phone }, signal) {
      const items = await readItems(
        table,
        [crmKey.email(emailKey), phone === undefined ? undefined : crmKey.phone(phone)],
        signal,
      );
      return {
        email: items.has(crmKey.email(emailKey)),
        phone: phone !== undefined && items.has(crmKey.phone(phone)),
      };
    },
  };
}
