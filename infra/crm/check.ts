import { isDeepStrictEqual } from 'node:util';
import { PlatformFailure, type PlatformFailureKind } from '../../lib/platform/platform.ts';
import { CommandError, counted, missingRight, type Terminal } from './command.ts';
import { connectionWarnings, findConnection } from './connections.ts';
import {
  type CrmItem,
  itemKey,
  ownerIds,
  parseItems,
  place,
  pointerKind,
  recordKind,
  serializeItems,
} from './crm-items.ts';
import { duplicateErrors, overlapErrors, recordErrors } from './record-rules.ts';
import { knowsPassword, type Remark, remarks, reportServer } from './server-report.ts';
import type { Target } from './target.ts';

/** Connects to trading servers, logs in and looks at rights, groups and logins, without creating anything. */
export async function check(target: Target, ids: string[], terminal: Terminal): Promise<void> {
  let failed = 0;
  for (const id of ids) {
    const connection = await findConnection(target, id);
    if (connection === undefined) throw new CommandError(`There is no connection ${id} in ${target.name}.`);
    for (const warning of await connectionWarnings(connection, id, target, terminal)) terminal.report(`${warning}\n`);
    const began = Date.now();
    try {
      const found = remarks(connection, await reportServer(target, connection));
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

const WRONG_POINTER = 'is missing, or does not lead to the right records';
const WRONG_RECORD = "has another `e164` than the record's phone, or attributes that are not known";

/**
 * Lists the items of the table that the service cannot use, and pointers that are missing or wrong.
 * @param options.fix writes what follows from the records: the pointers, and numbers in E.164
 */
export async function checkItems(
  { table, name }: Target,
  { fix = false }: { fix?: boolean },
  terminal: Terminal,
): Promise<void> {
  const items = await table.readAll();
  const { records, errors } = parseItems(items);
  const placed = place(records, (kind, _, id) => itemKey(kind, id));
  const rules = (await Promise.all(placed.map(recordErrors))).flat();
  errors.push(...rules, ...duplicateErrors(placed), ...overlapErrors(placed));
  const { differing, dangling, unknown } = compare(items, await serializeItems(records));
  if (fix) {
    await table.write(differing.map((item) => ({ put: item })));
    await table.write(dangling.map(({ pk }) => ({ delete: pk })));
    terminal.print(`${counted(differing.length + dangling.length, 'item')} fixed in ${name}.\n`);
  } else {
    errors.push(
      ...differing.map(({ pk, record }) => ({ path: pk, rule: record === undefined ? WRONG_POINTER : WRONG_RECORD })),
      ...dangling.map(({ pk }) => ({ path: pk, rule: 'leads to no such record' })),
    );
  }
  errors.push(...unknown.map(({ pk }) => ({ path: pk, rule: 'is not a key of this table' })));
  for (const { path, rule } of errors) terminal.print(`${path}: ${rule}\n`);
  if (errors.length > 0) throw new CommandError(`${counted(errors.length, 'error')} in ${name}.`);
  terminal.print(`${counted(items.length, 'item')} in ${name}, no errors.\n`);
}

/** @param wanted the items of the readable records. A pointer to a damaged record is not judged: the record may be fixed. */
function compare(items: readonly CrmItem[], wanted: readonly CrmItem[]) {
  const now = new Map(items.map((item) => [item.pk, item]));
  const keys = new Set(wanted.map(({ pk }) => pk));
  const differing = wanted.filter((item) => !isDeepStrictEqual(now.get(item.pk), item));
  const others = items.filter(({ pk }) => !keys.has(pk) && recordKind(pk) === undefined);
  const leadsToDamaged = (item: CrmItem) => {
    const { to = 'clients' } = pointerKind(item.pk) ?? {};
    return ownerIds(item).some((id) => now.has(itemKey(to, id)) && !keys.has(itemKey(to, id)));
  };
  return {
    differing,
    dangling: others.filter((item) => pointerKind(item.pk) !== undefined && !leadsToDamaged(item)),
    unknown: others.filter(({ pk }) => pointerKind(pk) === undefined),
  };
}
