import type { Table } from '../aws/dynamodb.ts';
import type { Telemetry } from '../telemetry.ts';
import { type Form, FormSchema } from '../validators/form.ts';
import { crmKey, parsePointer, parseRecord, readItems } from './crm-table.ts';

export type RegistrationDirectory = ReturnType<typeof dynamoRegistrationDirectory>;

/** The CRM records of a registration. Every method is one round trip. A malformed item counts as absent. */
export function dynamoRegistrationDirectory(table: Table) {
  return {
    /** Reads the records that a registration names. */
    async readRegistrationRecords(
      { formId, referralCode }: { formId: string; referralCode?: string | undefined },
      telemetry: Telemetry,
      signal: AbortSignal,
    ): Promise<{ form: Form | undefined; referrerId: string | undefined }> {
      const referral = referralCode === undefined ? undefined : crmKey.referral(referralCode);
      const items = await readItems(table, [crmKey.form(formId), referral], signal);
      return {
        form: parseRecord(FormSchema, items, crmKey.form(formId), telemetry),
        referrerId: parsePointer(items, referral, telemetry)[0],
      };
    },

    /** Which of these addresses are a client's. The email address in its look-up form, the phone number in E.164. */
    async isClient(
      { emailKey, phone }: { emailKey: string; phone?: string | undefined },
      telemetry: Telemetry,
      signal: AbortSignal,
    ) {
      const keys = { email: crmKey.email(emailKey), phone: phone === undefined ? undefined : crmKey.phone(phone) };
      const items = await readItems(table, Object.values(keys), signal);
      return {
        email: parsePointer(items, keys.email, telemetry).length > 0,
        phone: parsePointer(items, keys.phone, telemetry).length > 0,
      };
    },
  };
}
