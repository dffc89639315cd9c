import { readFile } from 'node:fs/promises';
import * as v from 'valibot';
import { PlatformFailure, type PlatformFailureKind } from '../../lib/platform/platform.ts';
import { ConnectionSchema } from '../../lib/records/crm-records.ts';
import { isObject } from '../../lib/validators/primitives.ts';
import { CommandError, counted, type Terminal } from './command.ts';
import { connectionWarnings, findConnection } from './connections.ts';
import { parseJson } from './crm-file.ts';
import { missingRight } from './explain.ts';
import { highestLogin, knowsPassword, type Remark, remarks, serverReporter } from './server-report.ts';
import type { Target } from './target.ts';

/** Connects to trading servers, logs in and looks at rights, groups and logins, without creating anything. */
export async function check(target: Target, ids: string[], terminal: Terminal): Promise<void> {
  const report = serverReporter(target);
  let failed = 0;
  for (const id of ids) {
    const connection = await findConnection(target, id);
    if (connection === undefined) throw new CommandError(`There is no connection ${id} in ${target.name}.`);
    for (const warning of await connectionWarnings(connection, id, target, terminal)) terminal.report(`${warning}\n`);
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

function lines({ about, says, fix }: Remark): string {
  return `  ${about}: ${says}\n${fix === undefined ? '' : `    → ${fix}\n`}`;
}

const CHECK_HINTS: Partial<Record<PlatformFailureKind, string>> = {
  platform_refused: ': the server answers, and refuses the secret, the certificate, or this address',
  platform_unavailable: ': the server or the secret cannot be reached from here',
};

/** An unused range, for a connection whose range is not chosen yet. */
const NO_RANGE = { from: 1, to: 1_000 };
/** A suggested range begins at a multiple of this, and holds as many logins. */
const RANGE_SIZE = 100_000;

/** Shows the highest login of a server whose connection is in a CRM file, and suggests a range above it. */
export async function showHighestLogin(
  target: Target,
  [file, id]: [string, string],
  terminal: Terminal,
): Promise<void> {
  const content = parseJson(await readFile(file, 'utf8'));
  const connections: unknown[] = isObject(content) && Array.isArray(content.connections) ? content.connections : [];
  const found = connections.filter(isObject).find((one) => one.id === id);
  const connection = v.safeParse(ConnectionSchema, { ...found, logins: NO_RANGE });
  if (!connection.success) throw new CommandError(`${file} has no connection ${id} that can be called.`);
  const highest = await highestLogin(target, connection.output);
  if (highest === undefined) {
    terminal.print('This protocol cannot list logins: ask the administrators of the server for an unused range.\n');
    return;
  }
  const from = Math.ceil((highest + 1) / RANGE_SIZE) * RANGE_SIZE;
  const range = JSON.stringify({ from, to: from + RANGE_SIZE - 1 });
  terminal.print(`${id}: the highest login is ${highest}; a free range is "logins": ${range}\n`);
}
