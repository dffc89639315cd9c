import type { Table } from '../aws/dynamodb.ts';
import type { Telemetry } from '../telemetry.ts';
import { type Form, FormSchema } from '../validators/form.ts';
import { crmKey, parsePointer, parseRecord, readItems } from './crm-table.ts';

/** The CRM records of a registration. Every method is one round trip. A malformed item counts as absent. */
export interface RegistrationDirectory {
  /** Reads the records that a registration names. */
  readRegistrationRecords(
    ids: { formId: string; referralCode?: string | undefined },
    telemetry: Telemetry,
    signal: AbortSignal,
  ): Promise<{ form: Form | undefined; referrerId: string | undefined }>;
  /** Which of these addresses are a client's. The email address in its look-up form, the phone number in E.164. */
  isClient(
    addresses: { emailKey: string; phone?: string | undefined },
    telemetry: Telemetry,
    signal: AbortSignal,
  ): Promise<{ email: boolean; phone: boolean }>;
}

export function dynamoRegistrationDirectory(table: Table): RegistrationDirectory {
  return {
    async readRegistrationRecords({ formId, referralCode }, telemetry, signal) {
      const referral = referralCode === undefined ? undefined : crmKey.referral(referralCode);
      const items = await readItems(table, [crmKey.form(formId), referral], signal);
      return {
        form: parseRecord(FormSchema, items, crmKey.form(formId), telemetry),
        referrerId: parsePointer(items, referral, telemetry)[0],
      };
    },

    async isClient({ emailKey, phone }, telemetry, signal) {
      const keys = { email: crmKey.email(emailKey), phone: phone === undefined ? undefined : crmKey.phone(phone) };
      const items = await readItems(table, Object.values(keys), signal);
      return {
        email: parsePointer(items, keys.email, telemetry).length > 0,
        phone: parsePointer(items, keys.phone, telemetry).length > 0,
      };
    },
  };
}
