import type { Table } from '../aws/dynamodb.ts';
import { awaitAll } from '../deadline.ts';
import type { Telemetry } from '../telemetry.ts';
import type { CrmIndex } from '../validators/deployment.ts';
import { type Form, FormSchema } from '../validators/form.ts';
import { crmKey, parseRecord } from './crm-table.ts';

export type RegistrationDirectory = ReturnType<typeof dynamoRegistrationDirectory>;

/** The CRM records of a registration. The calls of a method run in parallel. A malformed item counts as absent. */
export function dynamoRegistrationDirectory(table: Table) {
  /** The first of the clients with this value: their look-up says that there is one, `npm run crm -- check` lists all. */
  async function findClient(index: CrmIndex, value: string | undefined, signal: AbortSignal) {
    if (value === undefined) return undefined;
    const [key] = await table.findKeys(index, value, 1, signal);
    return key?.startsWith(crmKey.client('')) ? key.slice(crmKey.client('').length) : undefined;
  }

  return {
    /** Reads the records that a registration names. */
    async readRegistrationRecords(
      { formId, referralCode }: { formId: string; referralCode?: string | undefined },
      telemetry: Telemetry,
      signal: AbortSignal,
    ): Promise<{ form: Form | undefined; referrerId: string | undefined }> {
      const [form, referrerId] = await awaitAll([
        table.get({ pk: crmKey.form(formId) }, signal),
        findClient('referral_code', referralCode, signal),
      ]);
      return { form: parseRecord(FormSchema, form, telemetry), referrerId };
    },

    /**
     * Whether a client has proven each of these addresses: the email address in its look-up form, the phone number in
     * E.164. What a person only typed has no place in these indexes.
     */
    async isClient(
      { emailKey, phone }: { emailKey?: string | undefined; phone?: string | undefined },
      signal: AbortSignal,
    ): Promise<{ email: boolean; phone: boolean }> {
      const [email, byPhone] = await awaitAll([
        findClient('proven_email', emailKey, signal),
        findClient('proven_phone', phone, signal),
      ]);
      return { email: email !== undefined, phone: byPhone !== undefined };
    },
  };
}
