import * as v from 'valibot';

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

const id8 = v.pipe(v.string(), v.regex(/^[\x21-\x7e]{8}$/, 'must be 8 visible ASCII characters'));
const word = v.pipe(
  v.string(),
  v.minLength(1, 'must not be empty'),
  v.maxLength(255, 'must be at most 255 characters'),
);

export const FormFieldSchema = v.strictObject({
  /** The random key under which the value stands at the root of the request. */
  key: word,
  type: v.picklist(CUSTOM_FIELD_TYPES),
  label: v.optional(v.string()),
  required: v.optional(v.boolean()),
  /** Of radio, select, multiselect and checkbox: the values that may be chosen; absent: any. */
  options: v.optional(v.array(v.string())),
  /** Of document: the media types accepted; absent: any. */
  accept: v.optional(v.array(v.pipe(v.string(), v.regex(/^[\w.+-]+\/[\w.+*-]+$/, 'must be a media type')))),
});
export type FormField = v.InferOutput<typeof FormFieldSchema>;

export const FormSchema = v.strictObject({ id: id8, name: v.optional(v.string()), fields: v.array(FormFieldSchema) });
export type Form = v.InferOutput<typeof FormSchema>;

export const ClientSchema = v.strictObject({
  id: id8,
  email: word,
  name: word,
  phone: v.optional(v.strictObject({ country_code: word, number: word })),
  /** ISO 3166-1 alpha-2. */
  country: v.optional(v.pipe(v.string(), v.regex(/^[A-Z]{2}$/, 'must be an ISO 3166-1 alpha-2 code'))),
  language: v.optional(word),
  referral_code: v.optional(id8),
});
export type Client = v.InferOutput<typeof ClientSchema>;

export const AccountTypeSchema = v.strictObject({
  id: id8,
  name: v.optional(v.string()),
  platform: v.picklist(['tp5', 'tp4']),
  /** What a demo account of this type is funded with, in units of its currency. */
  deposit: v.optional(v.pipe(v.number(), v.finite(), v.minValue(0))),
});
export type AccountType = v.InferOutput<typeof AccountTypeSchema>;

const connectionEntries = {
  id: word,
  /** For people. */
  name: v.optional(v.string()),
  /** A host name or address; `local` stands for a simulated server of the local service. */
  host: word,
  port: v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(65_535)),
  demo: v.boolean(),
  /** The name of a Secrets Manager secret. */
  secret: word,
};
const groupNames = v.optional(v.array(word));
const codePage = v.optional(word, 'windows-1252');

export const WebApiConnectionSchema = v.strictObject({
  ...connectionEntries,
  platform: v.literal('tp5'),
  protocol: v.literal('web-api'),
  groups: groupNames,
  /** PEM: the authority, or the server's own certificate, to trust. */
  ca: v.optional(v.string()),
  /** SHA-256 of the server's certificate (DER), hexadecimal, colons allowed: trusted whatever its issuer. */
  fingerprint: v.optional(v.pipe(v.string(), v.regex(/^([0-9a-fA-F]{2}:?){32}$/, 'must be a SHA-256 fingerprint'))),
});
export const WebRegistrationConnectionSchema = v.strictObject({
  ...connectionEntries,
  platform: v.literal('tp4'),
  protocol: v.literal('web-registration'),
  /** Group name to its 1-based index in the plug-in's list; this protocol knows no names. */
  groups: v.record(word, v.pipe(v.number(), v.integer(), v.minValue(1))),
  code_page: codePage,
});
export const InterfaceGatewayConnectionSchema = v.strictObject({
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
