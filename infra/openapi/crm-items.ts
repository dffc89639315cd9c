import * as v from 'valibot';
import { accountTypeSchema, clientSchema, connectionSchema, PHONE_NUMBER } from '../../lib/records/crm-records.ts';
import { formSchema } from '../../lib/validators/form.ts';
import { closedObject, IdSchema } from '../../lib/validators/primitives.ts';
import { type JsonObject, jsonSchema, schemaDocument } from './json.ts';

/** `infra/crm-items.json`: the JSON Schema of each item of the table of CRM records, for a CRM that writes them itself. */
export function crmItemsDocument(): JsonObject {
  const kinds = Object.entries(ITEMS).map(([name, item]) => [name, { title: name, ...jsonSchema(item) }] as const);
  return schemaDocument(
    'Items of the table of CRM records',
    'One item for each record. The attributes next to `record` follow from it. An item that breaks these rules counts as absent: the service logs it as `CrmItemMalformed`, and `npm run doctor` lists it.',
    Object.fromEntries(kinds),
  );
}

const ID = '[\\x21-\\x7e]{8}';
const CLIENT_ID = '[\\x21\\x22\\x24\\x26-\\x2e\\x30-\\x3e\\x40-\\x5b\\x5d-\\x7e]{8}';

function item([prefix, id]: [string, string], description: string, members: v.ObjectEntries) {
  const key = v.pipe(
    v.string(),
    v.regex(new RegExp(`^${prefix}#${id}$`)),
    v.description(`\`${prefix}#\` and the id of the record.`),
  );
  return v.pipe(v.strictObject({ pk: key, ...members }), v.description(description));
}

/** An item of a kind that the index `kind` lists. */
function listed(kind: string, id: string, description: string, schema: v.GenericSchema) {
  return item([kind, id], description, { kind: v.literal(kind), record: record(schema) });
}

function record(schema: v.GenericSchema) {
  return v.pipe(schema, v.description('infra/docs/trading-servers.md describes its members.'));
}

function attribute(schema: v.GenericSchema, description: string) {
  return v.optional(v.pipe(schema, v.description(description)));
}

const phone = v.pipe(v.string(), v.regex(PHONE_NUMBER));
const email = v.pipe(v.string(), v.regex(/^[^@\sA-Z]+@[^@\sA-Z]+$/));

const ITEMS: Readonly<Record<string, v.GenericSchema>> = {
  form: listed('form', ID, 'A registration form.', formSchema(closedObject)),
  client: item(['client', CLIENT_ID], 'A client.', {
    record: record(clientSchema(closedObject)),
    e164: attribute(
      phone,
      'The phone number as a plus and digits (E.164, if a numbering plan knows it), proven or not; trading servers get it.',
    ),
    proven_email: attribute(
      email,
      'The email address in lower case, its domain in punycode. Absent if the record has none, or names `email` in `unproven`.',
    ),
    proven_phone: attribute(
      phone,
      'The phone number in E.164. Absent if the record has none, or names `phone` in `unproven`.',
    ),
    referral_code: attribute(IdSchema, 'The referral code of the record.'),
  }),
  account_type: listed('account_type', ID, 'A type of account.', accountTypeSchema(closedObject)),
  connection: listed('connection', '.{1,255}', 'A trading server.', connectionSchema(closedObject)),
};
