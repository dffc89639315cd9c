import { secretReader } from '../../lib/aws/secrets.ts';
import { platformConnections } from '../../lib/platform/connections.ts';
import { PlatformFailure, type PlatformFailureKind, type TradingPlatform } from '../../lib/platform/platform.ts';
import type { Connection } from '../../lib/records/crm-records.ts';
import { CommandError, counted, type Terminal } from './command.ts';
import { findConnection } from './find-connection.ts';
import { publicTextWarning } from './public-address.ts';
import type { Target } from './target.ts';

/** How long one trading server may take to log us in and to tell of its logins, in milliseconds. */
const CHECK_MS = 20_000;

/** Connects to trading servers, logs in and looks at the range of logins, without creating anything. */
export async function check(target: Target, ids: string[], terminal: Terminal): Promise<void> {
  const platforms = platformConnections({ readSecret: secretReader(target.client) });
  let failed = 0;
  for (const id of ids) {
    const connection = await findConnection(target, id);
    if (connection === undefined) throw new CommandError(`There is no connection ${id} in ${target.name}.`);
    const warning = await publicTextWarning(connection, id, terminal.addressesOf);
    if (warning !== undefined) terminal.tell(`${warning}\n`);
    const began = Date.now();
    const signal = AbortSignal.timeout(CHECK_MS);
    try {
      const platform = await platforms(connection, signal);
      const range = await look(platform, connection, signal).finally(() => platform.close().catch(() => {}));
      terminal.print(`${id}: connected and logged in (${Date.now() - began} ms)${range}\n`);
    } catch (error) {
      if (!(error instanceof PlatformFailure)) throw error;
      failed += 1;
      terminal.print(`${id}: ${error.kind} (${error.options.reason})${CHECK_HINTS[error.kind] ?? ''}\n`);
    }
  }
  if (failed > 0) throw new CommandError(`${counted(failed, 'connection')} of ${ids.length} cannot be used.`);
}

/** @returns what is to be said of the range of logins */
async function look(platform: TradingPlatform, connection: Connection, signal: AbortSignal): Promise<string> {
  await platform.check(signal);
  if (connection.protocol === 'web-registration') return '';
  if (connection.logins === undefined) return '; it has no range of logins of its own';
  const { from, to } = connection.logins;
  const { looked, taken } = await platform.inspectRange({ from, to }, signal);
  const range = `; logins ${from} to ${to}`;
  if (looked === 0) return `${range}: the server cannot say which of them exist`;
  if (taken === looked) throw new PlatformFailure('login_range_exhausted', { reason: 'all_looked_at_are_taken' });
  return `${range}: ${taken} of ${looked} looked at are taken`;
}

const CHECK_HINTS: Partial<Record<PlatformFailureKind, string>> = {
  platform_refused: ': the server answers, and refuses the secret, the certificate, or this address',
  platform_unavailable: ': the server or the secret cannot be reached from here',
  login_range_exhausted: ': the range is full; give the connection another one',
};
