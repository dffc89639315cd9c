import pLimit from 'p-limit';
import { EXPIRY_ATTRIBUTE, logicalId, RESTORABLE_TABLES } from '../tables.ts';
import { CommandError, countOf, wrongUsage } from './command.ts';
import { openTable, type Target } from './target.ts';
import type { Terminal } from './terminal.ts';

/** The number of items that are written at once. */
const AT_ONCE = 16;

/**
 * Puts the items that a table lacks, from a table that AWS restored. What is there stays, and what has expired is left
 * out. Tables of openings are then rebuilt by `rebuild`.
 */
export async function restoreTable(
  target: Target,
  name: string,
  { from, dryRun = false }: { from: string; dryRun?: boolean },
  terminal: Terminal,
): Promise<void> {
  const table = RESTORABLE_TABLES.find((one) => one.toLowerCase() === name);
  if (table === undefined) throw wrongUsage(`TABLE is ${RESTORABLE_TABLES.join(', ').toLowerCase()}.`);
  const source = await target.resource(logicalId(table));
  if (!from.startsWith(`${source}-restored`))
    throw new CommandError(`${from} is no restored table of ${name}: its name must begin with ${source}-restored.`);
  const live = await openTable(target, table);
  const counts = { put: 0, stay: 0, expired: 0 };
  for await (const page of (await openTable(target, table, from)).pages()) {
    const kept = page.filter(({ [EXPIRY_ATTRIBUTE]: end }) => typeof end !== 'number' || end * 1_000 > Date.now());
    const present = new Set((await live.get(kept)).map((item) => JSON.stringify(live.itemKey(item))));
    const absent = kept.filter((item) => !present.has(JSON.stringify(live.itemKey(item))));
    const added = dryRun ? absent.map(() => true) : await pLimit(AT_ONCE).map(absent, live.add);
    const put = added.filter(Boolean).length;
    counts.put += put;
    counts.stay += kept.length - put;
    counts.expired += page.length - kept.length;
  }
  const done = dryRun ? 'would be put into' : 'put into';
  const note = dryRun ? '; nothing was written' : '';
  terminal.print(
    `${countOf(counts.put, 'item')} ${done} ${name}; ${counts.stay} stay as they are, ${counts.expired} have expired${note}.`,
  );
  if (name === 'registrations' || name === 'crm')
    terminal.print('Persons who were forgotten since are back: forget them again.');
}
