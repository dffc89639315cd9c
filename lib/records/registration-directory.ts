import type { Table } from '../aws/dynamodb.ts';
import type { CrmIndex } from '../config/deployment.ts';
import { awaitAll } from '../deadline.ts';
import type { Telemetry } from '../telemetry.ts';
import { type Form, StoredFormSchema } from '../validators/form.ts';
import type { Channel } from '../validators/otp-types.ts';
import { crmKey, parseRecord } from './crm-records.ts';

export type RegistrationDirectory = ReturnType<typeof dynamoRegistrationDirectory>;

/**
 * How long a form is kept in memory, in milliseconds. Every registration needs its form, and one item has 3,000 reads a
 * second.
 */
const FORM_KEPT_MS = 30_000;

/** The CRM records of a registration. The calls of a method run in parallel. A malformed item counts as absent. */
export function dynamoRegistrationDirectory(table: Table, now: () => number = Date.now) {
  // Existing forms alone: ids can be guessed.
  const forms = new Map<string, { form: Form; until: number }>();

  async function readForm(id: string, telemetry: Telemetry, signal: AbortSignal): Promise<Form | undefined> {
    const kept = forms.get(id);
    if (kept !== undefined && kept.until > now()) return kept.form;
    const form = parseRecord(StoredFormSchema, await table.get({ pk: crmKey.form(id) }, signal), telemetry);
    if (form !== undefined) forms.set(id, { form, until: now() + FORM_KEPT_MS });
    return form;
  }

  /**
   * The first client with this value. One is enough to know that the address is a client's; the doctor lists all of
   * them.
   */
  async function findClient(index: CrmIndex, value: string | undefined, signal: AbortSignal) {
    if (value === undefined) return undefined;
    const [key] = await table.findKeys(index, value, 1, signal);
    return key?.startsWith(crmKey.client('')) ? key.slice(crmKey.client('').length) : undefined;
  }

  return {
    /** Reads the records that a registration names. A change of a form is seen within 30 seconds. */
    async readRegistrationRecords(
      { formId, referralCode }: { formId: string; referralCode?: string | undefined },
      telemetry: Telemetry,
      signal: AbortSignal,
    ): Promise<{ form: Form | undefined; referrerId: string | undefined }> {
      const [form, referrerId] = await awaitAll([
        readForm(formId, telemetry, signal),
        findClient('referral_code', referralCode, signal),
      ]);
      return { form, referrerId };
    },

    /** Whether a client has proven the address that got the code. An address that a person only typed is in no index. */
    async isClient(
      { otp_type, address }: { otp_type: Channel; address: string },
      signal: AbortSignal,
    ): Promise<boolean> {
      const index = otp_type === 'email' ? 'proven_email' : 'proven_phone';
      return (await findClient(index, address, signal)) !== undefined;
    },
  };
}
