import * as v from 'valibot';
import type { Item, Table } from '../aws/dynamodb.ts';
import { AwsFailure } from '../aws/failure.ts';
import { isObject } from '../validators/primitives.ts';

/** The keys of the table of CRM records, also for the operators' command. */
export const crmKey = {
  form: (id: string) => `form#${id}`,
  client: (id: string) => `client#${id}`,
  accountType: (id: string) => `account_type#${id}`,
  connection: (id: string) => `connection#${id}`,
  /** Pointers to a client (`client_id`): by email address in its look-up form, by E.164 number, by referral code. */
  email: (emailKey: string) => `email#${emailKey}`,
  phone: (e164: string) => `phone#${e164}`,
  referral: (code: string) => `referral#${code}`,
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

/** The record in an item; @throws AwsFailure if it is malformed */
export function parseRecord<S extends v.GenericSchema>(
  schema: S,
  item: Item | undefined,
): v.InferOutput<S> | undefined {
  if (item === undefined) return undefined;
  const read = readRecord(schema, item.record);
  if (read === undefined) throw new AwsFailure('CrmRecordMalformed');
  return read;
}

/**
 * Reads a record leniently: members of a newer version of the service are ignored. Operators' files are parsed
 * strictly, and an unknown member is an error there.
 * @returns undefined if it breaks a rule
 */
export function readRecord<const S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> | undefined {
  const strict = v.safeParse(schema, value);
  if (strict.success) return strict.output;
  const known = structuredClone(value);
  for (const keys of unknownMembers(strict.issues)) removeMember(known, keys);
  const result = v.safeParse(schema, known);
  return result.success ? result.output : undefined;
}

/** The paths of unknown members, also of those that an option of a union does not know. */
function unknownMembers(issues: readonly v.BaseIssue<unknown>[], before: readonly unknown[] = []): unknown[][] {
  return issues.flatMap(({ expected, path = [], issues: ofOptions = [] }) => {
    const keys = [...before, ...path.map(({ key }) => key)];
    return expected === 'never' ? [keys] : unknownMembers(ofOptions, keys);
  });
}

function removeMember(value: unknown, keys: unknown[]): void {
  const last = keys.pop();
  const owner = keys.reduce<unknown>((at, key) => Object(at)[key as string], value);
  if (isObject(owner)) delete owner[last as string];
}
