import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Terminal } from '../../../infra/crm/command.ts';
import type { CrmItem } from '../../../infra/crm/crm-items.ts';
import { exportFile, listRecords } from '../../../infra/crm/records.ts';
import type { Target } from '../../../infra/crm/target.ts';
import { inspectRecords } from '../../../infra/doctor/record-report.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const PAGES = 1_000;
const CLIENTS_OF_PAGE = 100;
/** The memory is looked at after the first of these pages, and after the last: a garbage collection of all takes long. */
const LOOKS = [99, PAGES - 1];
/** The growth of the memory in bytes while 90,000 clients are read. Their records take 20 MB. */
const MAX_GROWTH = 4_000_000;

function page(number: number): CrmItem[] {
  return Array.from({ length: CLIENTS_OF_PAGE }, (_, index) => {
    const id = String(number * CLIENTS_OF_PAGE + index).padStart(8, '0');
    return { pk: `client#${id}`, record: { id, name: `Client ${id}` } };
  });
}

/** A table of made-up clients, which looks at the memory that is in use while it is read. */
function madeUpTable() {
  const seen = { pages: 0, bytes: [] as number[] };
  async function* pages() {
    for (let number = 0; number < PAGES; number += 1) {
      seen.pages += 1;
      yield page(number);
      if (!LOOKS.includes(number)) continue;
      // References of this turn of the event loop end with it.
      await new Promise(setImmediate);
      collectGarbage();
      seen.bytes.push(getHeapStatistics().used_heap_size);
    }
  }
  async function* indexPages() {}
  const table = { pages, indexPages } as unknown as Target['table'];
  return { seen, target: { name: 'the table made-up', table } as Target };
}

/** A terminal that counts the printed clients, and keeps no text. `behind`: those that were read and not printed yet. */
function countingTerminal(seen: { pages: number }) {
  const counts = { printed: 0, behind: 0 };
  const terminal: Terminal = {
    print(text) {
      counts.printed += text.match(/Client \d+/g)?.length ?? 0;
      counts.behind = Math.max(counts.behind, seen.pages * CLIENTS_OF_PAGE - counts.printed);
    },
    report() {},
    input: (async function* () {})(),
    cdkJson: '',
    resolveHost: async () => [],
    wait: async () => {},
  };
  return { counts, terminal };
}

/** From the first look to the last. */
const growth = ({ bytes }: { bytes: readonly number[] }) => (bytes.at(-1) ?? Number.NaN) - (bytes[0] ?? Number.NaN);

describe('With 100,000 clients', () => {
  it.each([
    ['list', (target: Target, terminal: Terminal) => listRecords(target, 'clients', terminal)],
    ['export', (target: Target, terminal: Terminal) => exportFile(target, undefined, terminal)],
  ])('npm run crm -- %s writes each page before it reads the next, and keeps none', async (_, run) => {
    const { seen, target } = madeUpTable();
    const { counts, terminal } = countingTerminal(seen);
    await run(target, terminal);
    expect(counts).toEqual({ printed: PAGES * CLIENTS_OF_PAGE, behind: 0 });
    expect(growth(seen)).toBeLessThan(MAX_GROWTH);
  });

  it('npm run doctor keeps no page of the table of records', async () => {
    const { seen, target } = madeUpTable();
    const report = await inspectRecords(target, { fix: false, report: () => {} });
    expect(report).toMatchObject({ items: PAGES * CLIENTS_OF_PAGE, errors: [], more: 0 });
    expect(growth(seen)).toBeLessThan(MAX_GROWTH);
  });
});
