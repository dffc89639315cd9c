import * as v from 'valibot';
import { CountrySchema } from './countries.ts';
import { EmailSchema } from './email.ts';
import { closedObject, IdSchema, line, NumberSchema, pathTo, rule } from './primitives.ts';

/** The field types that a registration form may have (specification, 2.2). */
export const CUSTOM_FIELD_TYPES = [
  'text',
  'textarea',
  'description',
  'number',
  'number_string',
  'boolean',
  'radio',
  'select',
  'dynamicSelect',
  'multiselect',
  'checkbox',
  'date',
  'document',
  'phone',
  'email',
  'country',
  'nation',
  'location',
  'participants',
  'leads',
] as const;

/** The fixed fields of a registration request, which no form can have among its own. */
export const FIXED_FIELDS = [
  'email',
  'type',
  'name',
  'phone',
  'otp_type',
  'password',
  'repeat_password',
  'form_id',
  'referrer_id',
  'language',
] as const;

const RESERVED_KEYS: ReadonlySet<string> = new Set([...FIXED_FIELDS, '__proto__']);

const word = line(1, 255);

const FormFieldSchema = closedObject({
  /** The random key under which the value stands at the root of the request. */
  key: v.pipe(
    word,
    v.check((key) => !RESERVED_KEYS.has(key), rule('format', 'must not be the name of a fixed field')),
  ),
  type: v.picklist(CUSTOM_FIELD_TYPES),
  label: v.optional(v.string()),
  required: v.optional(v.boolean()),
  /** Of radio, select, multiselect and checkbox: the values that may be chosen; absent: any. */
  options: v.optional(v.array(v.string())),
  /** Of document: the media types accepted; absent: any. */
  accept: v.optional(
    v.array(
      v.pipe(
        v.string(),
        v.regex(/^[\w.+-]+\/[\w.+*-]+$/, rule('media_type', 'must be a media type such as image/png')),
      ),
    ),
  ),
});
export type FormField = v.InferOutput<typeof FormFieldSchema>;

function checkKeysAreUnique({ dataset, addIssue }: v.RawCheckContext<FormField[]>): void {
  if (!dataset.typed) return;
  const seen = new Set<string>();
  for (const [index, { key }] of dataset.value.entries()) {
    if (seen.has(key))
      addIssue({ message: rule('format', 'must differ from the keys before'), path: pathTo(index, 'key') });
    seen.add(key);
  }
}

export const FormSchema = closedObject({
  id: IdSchema,
  name: v.optional(v.string()),
  fields: v.pipe(v.array(FormFieldSchema), v.rawCheck(checkKeysAreUnique)),
});
export type Form = v.InferOutput<typeof FormSchema>;

export const ClientSchema = closedObject({
  id: IdSchema,
  email: EmailSchema,
  name: word,
  phone: v.optional(closedObject({ country_code: word, number: word })),
  /** ISO 3166-1 alpha-2. */
  country: v.optional(CountrySchema),
  language: v.optional(word),
  referral_code: v.optional(IdSchema),
});
export type Client = v.InferOutput<typeof ClientSchema>;

export const AccountTypeSchema = closedObject({
  id: IdSchema,
  name: v.optional(v.string()),
  platform: v.picklist(['tp5', 'tp4']),
  /** What a demo account of this type is funded with, in units of its currency. */
  deposit: v.optional(
    v.pipe(
      NumberSchema,
      v.minValue(0, rule('minimum', 'must be at least 0')),
      v.maxValue(100_000_000, rule('maximum', 'must be at most 100000000')),
    ),
  ),
});
export type AccountType = v.InferOutput<typeof AccountTypeSchema>;

const connectionEntries = {
  id: word,
  /** For people. */
  name: v.optional(v.string()),
  /** A host name or address; `local` stands for a simulated server of the local service. */
  host: word,
  port: v.pipe(
    NumberSchema,
    v.integer(rule('integer', 'must be an integer')),
    v.minValue(1, rule('minimum', 'must be at least 1')),
    v.maxValue(65_535, rule('maximum', 'must be at most 65535')),
  ),
  demo: v.boolean(),
  /** The name of a Secrets Manager secret. */
  secret: word,
};
const groupNames = v.optional(v.array(word));
const codePage = v.optional(word, 'windows-1252');

const WebApiConnectionSchema = closedObject({
  ...connectionEntries,
  platform: v.literal('tp5'),
  protocol: v.literal('web-api'),
  groups: groupNames,
  /** PEM: the authority, or the server's own certificate, to trust. */
  ca: v.optional(v.string()),
  /** SHA-256 of the server's certificate (DER), hexadecimal, colons allowed: trusted whatever its issuer. */
  fingerprint: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^([0-9a-fA-F]{2}:?){32}$/, rule('format', 'must be a SHA-256 fingerprint in hexadecimal')),
    ),
  ),
});
const WebRegistrationConnectionSchema = closedObject({
  ...connectionEntries,
  platform: v.literal('tp4'),
  protocol: v.literal('web-registration'),
  /** Group name to its 1-based index in the plug-in's list; this protocol knows no names. */
  groups: v.record(
    word,
    v.pipe(
      NumberSchema,
      v.integer(rule('integer', 'must be an integer')),
      v.minValue(1, rule('minimum', 'must be at least 1')),
    ),
  ),
  code_page: codePage,
});
const InterfaceGatewayConnectionSchema = closedObject({
  ...connectionEntries,
  platform: v.literal('tp4'),
  protocol: v.literal('interface-gateway'),
  groups: groupNames,
  code_page: codePage,
});
export const ConnectionSchema = v.variant('protocol', [
  WebApiConnectionSchema,
  WebRegistrationConnectionSchema,
  InterfaceGatewayConnectionSchema,
]);
export type WebApiConnection = v.InferOutput<typeof WebApiConnectionSchema>;
export type TextProtocolConnection =
  | v.InferOutput<typeof WebRegistrationConnectionSchema>
  | v.InferOutput<typeof InterfaceGatewayConnectionSchema>;
export type Connection = v.InferOutput<typeof ConnectionSchema>;

/** The secret of a `web-api` connection: the manager's login and its API password. */
export const WebApiSecretSchema = v.object({ login: v.pipe(v.number(), v.integer()), password: v.string() });
/** The secret of a text-protocol connection. */
export const TextProtocolSecretSchema = v.object({ master: v.string() });
