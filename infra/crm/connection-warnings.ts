import type { Connection } from '../../lib/records/crm-records.ts';
import { defaultPlatformSecrets, gather } from '../settings.ts';
import type { Terminal } from './command.ts';
import { publicTextWarning } from './public-address.ts';
import { readContext } from './service-secrets.ts';
import type { Target } from './target.ts';

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
  const { stage = 'prod', platformSecrets } = gather(context);
  // A deployment may name its stage on the command line alone.
  const deployed = /^broker-api-(.+)$/.exec(stack)?.[1] ?? String(stage);
  const prefix = typeof platformSecrets === 'string' ? platformSecrets : defaultPlatformSecrets(deployed);
  if (secret.startsWith(prefix)) return undefined;
  return `Warning: ${path}: the functions of ${stack} cannot read the secret ${secret}: its name must begin with ${prefix} (setting platformSecrets).`;
}
