import * as v from 'valibot';
import { type Connection, ConnectionSchema } from '../../lib/records/crm-records.ts';
import { CommandError } from './command.ts';
import { itemKey } from './kinds.ts';
import type { Target } from './target.ts';

/** @returns undefined where there is none of this id; @throws CommandError where its record breaks its rules */
export async function findConnection({ table }: Target, id: string): Promise<Connection | undefined> {
  const item = await table.read(itemKey('connections', id));
  if (item === undefined) return undefined;
  const connection = v.safeParse(ConnectionSchema, item.record);
  if (!connection.success) throw new CommandError(`The record of the connection ${id} is damaged. Put it anew.`);
  return connection.output;
}
