import * as v from 'valibot';
import { AccountTypeSchema, ClientSchema, ConnectionSchema } from '../../lib/records/crm-records.ts';
import { FormSchema } from '../../lib/validators/form.ts';
import { IdSchema, word } from '../../lib/validators/primitives.ts';
import { E164 } from '../../lib/validators/setting-types.ts';
import { type JsonObject, jsonSchema, schemaDocument } from './json.ts';

/** `infra/crm-items.json`: the JSON Schema of each item of the table of CRM records, for a CRM that writes them itself. */
export function crmItemsDocument(): JsonObject {
  const kinds = Object.entries(ITEMS).map(([name, item]) => [name, { title: name, ...jsonSchema(item) }] as const);
  return schemaDocument(
    'Items of the table of CRM records',
    'Records, and the pointers by which the service finds them. Write a record before its pointers, and delete it after them. An item that breaks these rules counts as absent: the service logs it as `CrmItemMalformed`, and `npm run doctor` lists it.',
    Object.fromEntries(kinds),
  );
}

const ID = '[\\x21-\\x7e]{8}';
const PHONE = E164.source.slice(1, -1);

function item(description: string, [prefix, rest, holds]: [string, string, string], members: v.ObjectEntries) {
  const key = v.pipe(
    v.string(),
    v.regex(new RegExp(`^${prefix}#${rest}$`)),
    v.description(`\`${prefix}#\` and ${holds}.`),
  );
  return v.pipe(v.strictObject({ pk: key, ...members }), v.description(description));
}

function record(schema: v.GenericSchema) {
  return v.pipe(schema, v.description('infra/docs/integrating.md describes its members.'));
}

const clientId = v.pipe(IdSchema, v.description('Its id.'));

function idList(id: v.GenericSchema) {
  return v.pipe(v.array(id), v.minLength(1), v.description('Their ids, sorted.'));
}

const ITEMS: Readonly<Record<string, v.GenericSchema>> = {
  form: item('A registration form.', ['form', ID, 'the id of the record'], { record: record(FormSchema) }),
  client: item(
    'A client. Its pointers are `email`, and as far as the record has them `phone` and `referral`.',
    ['client', ID, 'the id of the record'],
    {
      record: record(ClientSchema),
      e164: v.optional(
        v.pipe(v.string(), v.regex(E164), v.description('The phone number in E.164; trading servers get it.')),
      ),
    },
  ),
  account_type: item('A type of account.', ['account_type', ID, 'the id of the record'], {
    record: record(AccountTypeSchema),
  }),
  connection: item(
    'A trading server. If it has `logins`, its pointer is `server`.',
    ['connection', '.{1,255}', 'the id of the record'],
    {
      record: record(ConnectionSchema),
    },
  ),
  email: item(
    'The client who has an email address.',
    ['email', '[^@\\sA-Z]+@[^@\\sA-Z]+', 'the address in lower case, its domain in punycode'],
    {
      client_id: clientId,
    },
  ),
  phone: item('The clients who have a phone number.', ['phone', PHONE, 'the number in E.164'], {
    client_ids: idList(IdSchema),
  }),
  referral: item('The client who has a referral code.', ['referral', ID, 'the code'], { client_id: clientId }),
  server: item(
    'The connections with `logins` of a host, whose ranges must not overlap.',
    ['server', '(tp5|tp4)#[^A-Z]{1,255}', 'the platform, `#` and the host in lower case'],
    {
      connection_ids: idList(word),
    },
  ),
};
