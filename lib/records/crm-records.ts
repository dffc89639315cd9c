import * as v from 'valibot';
import type { Item, Table } from '../aws/dynamodb.ts';
import type { Telemetry } from '../telemetry.ts';
import { CountrySchema } from '../validators/countries.ts';
import { EmailSchema } from '../validators/email.ts';
import type { E164 } from '../validators/phone.ts';
import {
  boundedText,
  IdSchema,
  loginSchema,
  NumberSchema,
  type ObjectKind,
  OneLineSchema,
  violationMessage,
  wholeNumber,
} from '../validators/primitives.ts';

/** The keys of the table of CRM records. `infra/crm-items.json` describes its items. */
export const crmKey = {
  form: (id: string) => `form#${id}`,
  client: (id: string) => `client#${id}`,
  accountType: (id: string) => `account_type#${id}`,
  connection: (id: string) => `connection#${id}`,
};

/**
 * A phone number as `readPhone` returns it. A number that gets no message needs only a possible length, which may be
 * shorter or longer than E.164 allows.
 */
export const PHONE_NUMBER = /^\+[1-9]\d{2,19}$/;

/** @returns the record of an item; undefined if the item is absent, or if it breaks its rules, which is logged */
export function parseRecord<S extends v.GenericSchema<unknown, { id: string }>>(
  schema: S,
  item: Item | undefined,
  telemetry: Telemetry,
): v.InferOutput<S> | undefined {
  if (item === undefined) return undefined;
  const key = String(item.pk);
  const record = v.safeParse(schema, item.record);
  const isRight =
    record.success &&
    key === `${key.slice(0, key.indexOf('#'))}#${record.output.id}` &&
    (item.e164 === undefined || PHONE_NUMBER.test(String(item.e164)));
  if (isRight) return record.output;
  telemetry.event('CrmItemMalformed', { item: key });
  return undefined;
}

/** The kinds of addresses by which a person can be reached. */
const ADDRESS_KINDS = ['email', 'phone'] as const;
export type AddressKind = (typeof ADDRESS_KINDS)[number];

/** The id of a client: 8 visible ASCII characters without those that a path cannot carry. */
export const ClientIdSchema = v.pipe(
  boundedText(8, 8),
  v.regex(
    /^[\x21\x22\x24\x26-\x2e\x30-\x3e\x40-\x5b\x5d-\x7e]*$/,
    violationMessage('characters', 'must be visible ASCII characters, without / ? # % \\'),
  ),
);

/** The record of a client. @param object refuses members that no client has, or leaves them out */
export function clientSchema(object: ObjectKind) {
  return object({
    id: ClientIdSchema,
    /** The client's email address. Absent: it was only typed, and erased since, or the CRM has none. */
    email: v.optional(EmailSchema),
    name: OneLineSchema,
    phone: v.optional(object({ country_code: OneLineSchema, number: OneLineSchema })),
    /** ISO 3166-1 alpha-2. */
    country: v.optional(CountrySchema),
    language: v.optional(OneLineSchema),
    referral_code: v.optional(IdSchema),
    /**
     * The addresses that a person only typed. They are data: the service finds no client by them, and sends nothing to
     * them.
     */
    unproven: v.optional(v.array(v.picklist(ADDRESS_KINDS))),
  });
}
export const StoredClientSchema = /* @__PURE__ */ clientSchema(v.object);
export type Client = v.InferOutput<typeof StoredClientSchema>;

/** The record of a type of account. @param object refuses members that no type has, or leaves them out */
export function accountTypeSchema(object: ObjectKind) {
  return object({
    id: IdSchema,
    name: v.optional(v.string()),
    platform: v.picklist(['tp5', 'tp4']),
    /** The deposit of a demo account of this type, in units of its currency. */
    deposit: v.optional(
      v.pipe(
        NumberSchema,
        v.minValue(0, violationMessage('minimum', 'must be at least 0')),
        v.maxValue(100_000_000, violationMessage('maximum', 'must be at most 100000000')),
      ),
    ),
  });
}
export const StoredAccountTypeSchema = /* @__PURE__ */ accountTypeSchema(v.object);
export type AccountType = v.InferOutput<typeof StoredAccountTypeSchema>;

/** Ids of connections are in commands that operators paste. */
const CONNECTION_ID = /^[\w.-]{1,64}$/;

const connectionEntries = {
  id: v.pipe(
    v.string(),
    v.regex(
      CONNECTION_ID,
      violationMessage('characters', 'must be at most 64 letters, digits, dots, hyphens and underscores'),
    ),
  ),
  /** The name that people read. */
  name: v.optional(v.string()),
  /** A host name or address; `local` is a simulated server of the local service. */
  host: OneLineSchema,
  port: wholeNumber(1, 65_535),
  demo: v.boolean(),
  /** The name of a Secrets Manager secret. */
  secret: OneLineSchema,
  /** The highest leverage of accounts on this connection, as in 1:leverage. */
  max_leverage: v.exactOptional(wholeNumber(1)),
  /** How the server wants countries: the English name (default), or the ISO 3166-1 alpha-2 code. */
  country_format: v.exactOptional(v.picklist(['name', 'code'])),
};
/** Maps the name of a group to its number in the plug-in's list, from 1. */
const groupNumbers = v.record(OneLineSchema, wholeNumber(1));
/** A smaller range would soon be full. */
const MIN_LOGINS = 1_000;
/** Logins that only this service uses on that server: one range, or several that are used in turn. */
const loginRangesSchema = (version: 'tp5' | 'tp4', object: ObjectKind) => {
  const range = v.pipe(
    object({ from: loginSchema(version), to: loginSchema(version) }),
    v.check(
      ({ from, to }) => to - from + 1 >= MIN_LOGINS,
      violationMessage('size', `must hold at least ${MIN_LOGINS} logins`),
    ),
  );
  return v.union([
    range,
    v.pipe(v.array(range), v.minLength(1, violationMessage('size', 'must list at least one range'))),
  ]);
};
/** SHA-256 of the server's certificate (DER), hexadecimal, colons allowed: trusted for any issuer. */
const fingerprint = v.optional(
  v.pipe(
    v.string(),
    v.regex(/^([0-9a-fA-F]{2}:?){32}$/, violationMessage('format', 'must be a SHA-256 fingerprint in hexadecimal')),
  ),
);
/**
 * True: an account in the range without proof goes to the operators. Absent: it counts as opened by the operation that
 * may have opened it.
 */
const strict = v.exactOptional(v.boolean());
const codePage = v.optional(OneLineSchema, 'windows-1252');
/** The letter before every command of a text protocol. Absent: `W`. */
const prefix = v.exactOptional(v.picklist(['W', 'Z']));

/** The record of a connection. @param object refuses members that its protocol lacks, or leaves them out */
export function connectionSchema(object: ObjectKind) {
  return v.variant('protocol', [
    object({
      ...connectionEntries,
      platform: v.literal('tp5'),
      protocol: v.literal('web-api'),
      groups: v.optional(v.array(OneLineSchema)),
      logins: loginRangesSchema('tp5', object),
      strict,
      /** The authority, or the server's own certificate, to trust. PEM. */
      ca: v.optional(v.string()),
      fingerprint,
    }),
    object({
      ...connectionEntries,
      platform: v.literal('tp4'),
      protocol: v.literal('web-registration'),
      groups: groupNumbers,
      code_page: codePage,
      prefix,
    }),
    object({
      ...connectionEntries,
      platform: v.literal('tp4'),
      protocol: v.literal('interface-gateway'),
      /** Names, or numbers by name for a gateway with the plug-in's list. */
      groups: v.optional(v.union([v.array(OneLineSchema), groupNumbers])),
      logins: loginRangesSchema('tp4', object),
      strict,
      code_page: codePage,
      prefix,
      /** `account_check`: the gateway never answers a look-up, so it is not asked. `password_check`: of 1.x, not asked. */
      lacks: v.exactOptional(v.array(v.picklist(['account_check', 'password_check']))),
    }),
  ]);
}
export const StoredConnectionSchema = /* @__PURE__ */ connectionSchema(v.object);
export type Connection = v.InferOutput<typeof StoredConnectionSchema>;
export type WebApiConnection = Extract<Connection, { protocol: 'web-api' }>;
export type TextProtocolConnection = Exclude<Connection, WebApiConnection>;

/** The groups of a trading server's managers, where no client account is ever opened. Servers trim names. */
export function isManagerGroup(group: string): boolean {
  return /^\s*managers?\s*(?:\\|$)/i.test(group);
}

/** Both ends are included. */
export interface LoginRange {
  from: number;
  to: number;
}

/** The ranges of a connection; none if the protocol cannot name logins. */
export function loginRanges(connection: Connection): LoginRange[] {
  if (connection.protocol === 'web-registration') return [];
  return Array.isArray(connection.logins) ? connection.logins : [connection.logins];
}

/** Whether two connections share logins. Connections of one platform version on one host count as one server. */
export function loginsOverlap(one: Connection, other: Connection): boolean {
  if (one.platform !== other.platform || one.host.toLowerCase() !== other.host.toLowerCase()) return false;
  return loginRanges(one).some((mine) =>
    loginRanges(other).some((theirs) => mine.from <= theirs.to && theirs.from <= mine.to),
  );
}

/** The addresses that may get a secret: `mt5.example.com:443`. Absent, as version 1.0.0 stored it: any. */
const hosts = v.exactOptional(v.array(v.string()));

/** The secret of a `web-api` connection: the manager's login and its API password. */
export const WebApiSecretSchema = v.object({ login: v.pipe(v.number(), v.integer()), password: v.string(), hosts });
export type WebApiSecret = v.InferOutput<typeof WebApiSecretSchema>;
/** The secret of a text-protocol connection. */
export const TextProtocolSecretSchema = v.object({ master: v.string(), hosts });
export type TextProtocolSecret = v.InferOutput<typeof TextProtocolSecretSchema>;

/** The schema of a connection's secret. */
export function platformSecretSchema({ protocol }: Connection) {
  return protocol === 'web-api' ? WebApiSecretSchema : TextProtocolSecretSchema;
}

/** The address of a connection's server, as its secret names it: lower case, an IPv6 address in brackets. */
export function serverAddress({ host, port }: Pick<Connection, 'host' | 'port'>): string {
  const bracketed = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return `${bracketed}:${port}`.toLowerCase();
}

/** Whether the server of a connection may get a secret. An empty list: no server. */
export function maySend({ hosts: listed }: { hosts?: readonly string[] }, connection: Connection): boolean {
  return listed === undefined || listed.some((one) => one.toLowerCase() === serverAddress(connection));
}

/** A client for whom an account is opened, with the phone number in E.164. */
export interface AccountClient extends Omit<Client, 'phone'> {
  phone?: E164;
}

/** The records that an opening names. */
interface RecordIds {
  user_id: string;
  connection_id: string;
  account_type_id?: string | undefined;
  rebate_user_id?: string | undefined;
}

export type AccountDirectory = ReturnType<typeof dynamoAccountDirectory>;

/** The CRM records of an opening. */
export function dynamoAccountDirectory(table: Table) {
  return {
    /** Reads the records in one round trip. A malformed one counts as absent. */
    async readAccountRecords(ids: RecordIds, telemetry: Telemetry, signal: AbortSignal) {
      const { user_id, connection_id, account_type_id, rebate_user_id } = ids;
      const keys = {
        client: crmKey.client(user_id),
        connection: crmKey.connection(connection_id),
        accountType: account_type_id && crmKey.accountType(account_type_id),
        rebateUser: rebate_user_id && crmKey.client(rebate_user_id),
      };
      const wanted = [...new Set(Object.values(keys).filter((key) => key !== undefined))];
      const found = await table.getMany(
        wanted.map((pk) => ({ pk })),
        signal,
      );
      const items = new Map(found.map((item) => [String(item.pk), item]));
      const item = (key: string | undefined) => items.get(key ?? '');
      return {
        client: accountClient(item(keys.client), telemetry),
        connection: parseRecord(StoredConnectionSchema, item(keys.connection), telemetry),
        accountType: parseRecord(StoredAccountTypeSchema, item(keys.accountType), telemetry),
        rebateUser: accountClient(item(keys.rebateUser), telemetry),
      };
    },
  };
}

/** The item has the number in E.164, so that openings need no numbering plans. */
function accountClient(item: Item | undefined, telemetry: Telemetry): AccountClient | undefined {
  const client = parseRecord(StoredClientSchema, item, telemetry);
  if (client === undefined) return undefined;
  const { phone: _, ...rest } = client;
  return typeof item?.e164 === 'string' ? { ...rest, phone: item.e164 as E164 } : rest;
}
