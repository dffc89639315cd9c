import * as v from 'valibot';
import { secretReader } from '../../lib/aws/secrets.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import { PlatformFailure, type PlatformFailureKind } from '../../lib/platform/platform.ts';
import { ConnectionSchema } from '../../lib/records/crm-records.ts';
import { CommandError, type CrmStreams, counted } from './command.ts';
import { itemKey } from './kinds.ts';
import type { Target } from './target.ts';

/** How long one trading server may take to log us in, in milliseconds. */
const CHECK_MS = 20_000;

/** Connects to trading servers and logs in, without creating anything. */
export async function check(target: Target, ids: string[], streams: CrmStreams): Promise<void> {
  const platforms = platformConnections({ readSecret: secretReader(target.client) });
  let failed = 0;
  for (const id of ids) {
    const item = await target.table.read(itemKey('connections', id));
    if (item === undefined) throw new CommandError(`There is no connection ${id} in ${target.name}.`);
    const connection = v.safeParse(ConnectionSchema, item.record);
    if (!connection.success) throw new CommandError(`The record of the connection ${id} is damaged. Put it anew.`);
    const began = Date.now();
    const signal = AbortSignal.timeout(CHECK_MS);
    try {
      const platform = await platforms(connection.output, signal);
      await platform.check(signal).finally(() => platform.close().catch(() => {}));
      streams.print(`${id}: connected and logged in (${Date.now() - began} ms)\n`);
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      failed += 1;
      streams.print(`${id}: ${error.kind} (${error.options.reason})${CHECK_HINTS[error.kind] ?? ''}\n`);
    }
  }
  if (failed > 0) throw new CommandError(`${counted(failed, 'connection')} of ${ids.length} cannot be used.`);
}

const CHECK_HINTS: Partial<Record<PlatformFailureKind, string>> = {
  platform_refused: ': the server answers, and refuses the secret, the certificate, or this address',
  platform_unavailable: ': the server or the secret cannot be reached from here',
};
