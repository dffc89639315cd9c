import * as v from 'valibot';
import { type Form, FormSchema } from '../../lib/validators/form.ts';
import { checkCustomFields } from '../../lib/validators/registration.ts';

export type Field = Form['fields'][number];

export const formOf = (...fields: Field[]): Form => v.parse(FormSchema, { id: 'FORM0001', fields });

/** The rules that values break, with the place of each. */
export async function rulesOf(form: Form, values: Record<string, unknown>): Promise<string[]> {
  const outcome = await checkCustomFields(form, values);
  return outcome.ok ? [] : outcome.violations.map(({ pointer, rule }) => `${pointer} ${rule}`);
}

/** A document with this number of bytes. */
export const document = (bytes: number, id = 'a') => ({
  id,
  name: `${id}.pdf`,
  doc: Buffer.alloc(bytes, 7).toString('base64'),
});
