import * as v from 'valibot';
import type { Item, Table } from '../aws/dynamodb.ts';
import type { Telemetry } from '../telemetry.ts';
import { IdSchema, parseLeniently } from '../validators/primitives.ts';
import { E164 } from '../validators/setting-types.ts';

/** The keys of the table of CRM records. `infra/crm-items.json` describes its items. */
export const crmKey = {
  form: (id: string) => `form#${id}`,
  client: (id: string) => `client#${id}`,
  accountType: (id: string) => `account_type#${id}`,
  connection: (id: string) => `connection#${id}`,
  /** Pointers to one client (`client_id`): by email address in its look-up form, by referral code. */
  email: (emailKey: string) => `email#${emailKey}`,
  referral: (code: string) => `referral#${code}`,
  /** A pointer to all clients of a number in E.164 (`client_ids`). */
  phone: (e164: string) => `phone#${e164}`,
  /** A pointer to all connections of a host that reserve logins there (`connection_ids`). Functions do not read it. */
  server: (platform: string, host: string) => `server#${platform}#${host.toLowerCase()}`,
};

/** The existing items of these keys, by key; one round trip. */
export async function readItems(
  table: Table,
  keys: (string | undefined)[],
  signal: AbortSignal,
): Promise<Map<string, Item>> {
  const wanted = [...new Set(keys.filter((key) => key !== undefined))];
  const items = await table.getMany(
    wanted.map((pk) => ({ pk })),
    signal,
  );
  return new Map(items.map((item) => [String(item.pk), item]));
}

/** @returns the record of a key; undefined if it is absent, or if it breaks its rules, which is logged */
export function parseRecord<S extends v.GenericSchema<unknown, { id: string }>>(
  schema: S,
  items: ReadonlyMap<string, Item>,
  key: string | undefined,
  telemetry: Telemetry,
): v.InferOutput<S> | undefined {
  const item = items.get(key ?? '');
  if (item === undefined) return undefined;
  const record = parseLeniently(schema, item.record);
  const isRight =
    key === `${keyPrefix(key)}#${record?.id}` && (item.e164 === undefined || E164.test(String(item.e164)));
  if (isRight) return record;
  reportMalformed(String(key), telemetry);
  return undefined;
}

const PointerSchema = v.union([
  v.object({ client_id: IdSchema }),
  v.object({ client_ids: v.pipe(v.array(IdSchema), v.minLength(1)) }),
]);

/** @returns the clients that a pointer names; none if it is absent, or if it breaks its rules, which is logged */
export function parsePointer(
  items: ReadonlyMap<string, Item>,
  key: string | undefined,
  telemetry: Telemetry,
): string[] {
  const item = items.get(key ?? '');
  if (item === undefined) return [];
  const pointer = v.safeParse(PointerSchema, item);
  if (pointer.success) return 'client_id' in pointer.output ? [pointer.output.client_id] : pointer.output.client_ids;
  reportMalformed(String(key), telemetry);
  return [];
}

function keyPrefix(key = ''): string {
  return key.slice(0, key.indexOf('#'));
}

/** The key of a pointer holds an address: only its kind is logged. */
function reportMalformed(key: string, telemetry: Telemetry): void {
  const prefix = keyPrefix(key);
  telemetry.event('CrmItemMalformed', { item: ['email', 'phone'].includes(prefix) ? prefix : key });
}
