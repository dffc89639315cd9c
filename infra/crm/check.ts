import { PlatformFailure, type PlatformFailureKind } from '../../lib/platform/platform.ts';
import { CommandError, counted, type Terminal } from './command.ts';
import { missingRight } from './explain.ts';
import { findConnection } from './find-connection.ts';
import { publicTextWarning } from './public-address.ts';
import { knowsPassword, type Remark, remarks, serverReporter } from './server-report.ts';
import type { Target } from './target.ts';

/** Connects to trading servers, logs in and looks at rights, groups and logins, without creating anything. */
export async function check(target: Target, ids: string[], terminal: Terminal): Promise<void> {
  const report = serverReporter(target.client);
  let failed = 0;
  for (const id of ids) {
    const connection = await findConnection(target, id);
    if (connection === undefined) throw new CommandError(`There is no connection ${id} in ${target.name}.`);
    const warning = await publicTextWarning(connection, id, terminal.addressesOf);
    if (warning !== undefined) terminal.tell(`${warning}\n`);
    const began = Date.now();
    try {
      const found = remarks(connection, await report(connection));
      const loggedIn = knowsPassword(connection.protocol) ? ' and logged in' : '';
      terminal.print(`${id}: connected${loggedIn} (${Date.now() - began} ms)\n${found.map(lines).join('')}`);
      if (found.some(({ state }) => state === 'missing')) failed += 1;
    } catch (error) {
      if (!(error instanceof PlatformFailure) || missingRight(error) !== undefined) throw error;
      failed += 1;
      terminal.print(`${id}: ${error.kind} (${error.options.reason})${CHECK_HINTS[error.kind] ?? ''}\n`);
    }
  }
  if (failed > 0) throw new CommandError(`${counted(failed, 'connection')} of ${ids.length} cannot be used.`);
}

function lines({ about, says, mend }: Remark): string {
  return `  ${about}: ${says}\n${mend === undefined ? '' : `    → ${mend}\n`}`;
}

const CHECK_HINTS: Partial<Record<PlatformFailureKind, string>> = {
  platform_refused: ': the server answers, and refuses the secret, the certificate, or this address',
  platform_unavailable: ': the server or the secret cannot be reached from here',
};
