import { isIP } from 'node:net';
import * as v from 'valibot';
import { type Connection, ConnectionSchema } from '../../lib/records/crm-records.ts';
import { defaultPlatformSecrets, gather } from '../settings.ts';
import { CommandError, type Terminal } from './command.ts';
import { itemKey } from './crm-items.ts';
import { isPublic } from './public-address.ts';
import { deployedStage, readContext } from './service-secrets.ts';
import type { Target } from './target.ts';

/** @returns undefined if there is no connection of this id; @throws CommandError if its record is malformed */
export async function findConnection({ table }: Target, id: string): Promise<Connection | undefined> {
  const item = await table.read(itemKey('connections', id));
  if (item === undefined) return undefined;
  const connection = v.safeParse(ConnectionSchema, item.record);
  if (!connection.success)
    throw new CommandError(`The record of the connection ${id} is malformed. Write it again with crm put.`);
  return connection.output;
}

/**
 * Warnings about a valid connection that will not work, or not safely.
 * @param path names the connection
 */
export async function connectionWarnings(
  connection: Connection,
  path: string,
  target: Pick<Target, 'stack'>,
  { cdkJson, resolveHost }: Pick<Terminal, 'cdkJson' | 'resolveHost'>,
): Promise<string[]> {
  const all = [
    secretWarning(connection, path, target, readContext(cdkJson)),
    await publicTextWarning(connection, path, resolveHost),
  ];
  return all.filter((one) => one !== undefined);
}

/** The account functions of a stack may read only secrets whose names begin as its settings say. */
function secretWarning(
  { secret }: Connection,
  path: string,
  { stack }: Pick<Target, 'stack'>,
  context: Record<string, unknown>,
): string | undefined {
  if (stack === undefined) return undefined;
  const given = gather(context);
  const { platformSecrets } = given;
  const prefix =
    typeof platformSecrets === 'string' ? platformSecrets : defaultPlatformSecrets(deployedStage(given, stack));
  if (secret.startsWith(prefix)) return undefined;
  return `Warning: ${path}: the functions of ${stack} cannot read the secret ${secret}: its name must begin with ${prefix} (setting platformSecrets).`;
}

async function publicTextWarning(
  { protocol, host }: Connection,
  path: string,
  resolve: (host: string) => Promise<string[]>,
): Promise<string | undefined> {
  if (protocol === 'web-api') return undefined;
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  if (!addresses.some(isPublic)) return undefined;
  return `Warning: ${path}: ${host} has a public address, and ${protocol} has no encryption: passwords and clients' names go there in the clear. Such a server belongs into a private network.`;
}
