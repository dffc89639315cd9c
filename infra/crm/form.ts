import * as v from 'valibot';
import { crmKey } from '../../lib/records/crm-table.ts';
import { type Form, FormSchema } from '../../lib/validators/form.ts';
import { CommandError, indented, type Terminal } from './command.ts';
import type { CrmTable } from './crm-table.ts';
import { formSchema } from './form-schema.ts';
import { CrmFileError, describeRule, issuePath } from './record-errors.ts';
import type { Target } from './target.ts';

/** Prints a form as JSON Schema. */
export async function printForm({ name, table }: Target, id: string, terminal: Terminal): Promise<void> {
  const form = await readForm(table, id);
  if (form === undefined) throw new CommandError(`There is no form with this id in ${name}.`);
  terminal.print(`${JSON.stringify(formSchema(form), null, 2)}\n`);
}

/** @throws CommandError if the record is not a form */
export async function readForm(table: Pick<CrmTable, 'read'>, id: string): Promise<Form | undefined> {
  const item = await table.read(crmKey.form(id));
  if (item === undefined) return undefined;
  const result = v.safeParse(FormSchema, item.record);
  if (result.success) return result.output;
  const faults = result.issues.map((issue) => ({ path: issuePath(item.pk, issue), rule: describeRule(issue) }));
  throw new CommandError(`The record is not a form:\n${indented(new CrmFileError(faults))}`);
}
