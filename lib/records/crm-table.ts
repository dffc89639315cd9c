import type * as v from 'valibot';
import type { Item } from '../aws/dynamodb.ts';
import type { Telemetry } from '../telemetry.ts';
import { parseLeniently } from '../validators/primitives.ts';
import { E164 } from '../validators/setting-types.ts';

/** The keys of the table of CRM records. `infra/crm-items.json` describes its items. */
export const crmKey = {
  form: (id: string) => `form#${id}`,
  client: (id: string) => `client#${id}`,
  accountType: (id: string) => `account_type#${id}`,
  connection: (id: string) => `connection#${id}`,
};

/** @returns the record of an item; undefined if the item is absent, or if it breaks its rules, which is logged */
export function parseRecord<S extends v.GenericSchema<unknown, { id: string }>>(
  schema: S,
  item: Item | undefined,
  telemetry: Telemetry,
): v.InferOutput<S> | undefined {
  if (item === undefined) return undefined;
  const key = String(item.pk);
  const record = parseLeniently(schema, item.record);
  const isRight =
    key === `${key.slice(0, key.indexOf('#'))}#${record?.id}` &&
    (item.e164 === undefined || E164.test(String(item.e164)));
  if (isRight) return record;
  telemetry.event('CrmItemMalformed', { item: key });
  return undefined;
}
