import * as v from 'valibot';
import { type Connection, ConnectionSchema } from '../../lib/records/crm-records.ts';
import { CommandError } from './command.ts';
import { itemKey } from './kinds.ts';
import type { Target } from './target.ts';

/** @returns undefined if there is no connection of this id; @throws CommandError if its record is malformed */
export async function findConnection({ table }: Target, id: string): Promise<Connection | undefined> {
  const item = await table.read(itemKey('connections', id));
  if (item === undefined) return undefined;
  const connection = v.safeParse(ConnectionSchema, item.record);
  if (!connection.success) throw new CommandError(`The record of the connection ${id} is damaged. Put it anew.`);
  return connection.output;
}
