import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Terminal } from '../../../infra/crm/command.ts';
import type { CrmItem, LocatedRecord } from '../../../infra/crm/crm-items.ts';
import { exportFile, importFile, listRecords } from '../../../infra/crm/records.ts';
import { writeRecords } from '../../../infra/crm/table-records.ts';
import type { Target } from '../../../infra/crm/target.ts';
import { inspectRecords } from '../../../infra/doctor/record-report.ts';
import { LIVE } from '../../support/crm-example.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const PAGES = 300;
const CLIENTS_OF_PAGE = 100;
/** The memory is looked at after the first of these pages, and after the last: a garbage collection of all takes long. */
const LOOKS = [99, PAGES - 1];
/** The growth of the memory in bytes while 20,000 clients are read. Their records take 4.4 MB. */
const MAX_GROWTH = 1_000_000;

function clientsOf(page: number) {
  return Array.from({ length: CLIENTS_OF_PAGE }, (_, index) => {
    const id = String(page * CLIENTS_OF_PAGE + index).padStart(8, '0');
    return { id, email: `${id}@example.com`, name: `Client ${id}` };
  });
}

function page(number: number): CrmItem[] {
  return clientsOf(number).map(({ id, name }) => ({ pk: `client#${id}`, record: { id, name } }));
}

async function usedBytes(): Promise<number> {
  // References of this turn of the event loop end with it.
  await new Promise(setImmediate);
  collectGarbage();
  return getHeapStatistics().used_heap_size;
}

/** A table of made-up clients, which looks at the memory that is in use while it is read. */
function madeUpTable() {
  const seen = { pages: 0, bytes: [] as number[] };
  async function* pages() {
    for (let number = 0; number < PAGES; number += 1) {
      seen.pages += 1;
      yield page(number);
      if (!LOOKS.includes(number)) continue;
      seen.bytes.push(await usedBytes());
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
    print() {},
    async printPage(text) {
      counts.printed += text.match(/Client \d+/g)?.length ?? 0;
      // Until the reader has taken it.
      await new Promise(setImmediate);
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

describe('With 30,000 clients', () => {
  it.each([
    ['list', (target: Target, terminal: Terminal) => listRecords(target, 'clients', terminal)],
    ['export', (target: Target, terminal: Terminal) => exportFile(target, undefined, terminal)],
  ])('npm run crm -- %s writes each page before it reads the next one, and keeps no page in memory', async (_, run) => {
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

  it('npm run crm -- import writes nothing of a file that is changed after it was checked', async () => {
    const folder = temporaryFolder('import');
    const file = join(folder, 'forms.json');
    const written: unknown[] = [];
    const table = {
      readMany: async () => [],
      // The last step of the check.
      async find() {
        await writeFile(file, JSON.stringify({ clients: clientsOf(0), connections: [LIVE, LIVE] }));
        return [];
      },
      write: async (writes: readonly unknown[]) => void written.push(...writes),
    } as unknown as Target['table'];
    const { terminal } = countingTerminal({ pages: 0 });
    await writeFile(file, JSON.stringify({ clients: clientsOf(0), connections: [LIVE] }));
    const importing = importFile({ name: 'the table made-up', table } as Target, file, {}, terminal);
    await expect(importing).rejects.toThrow(`${file} was changed during the import. Import it again.`);
    expect(written).toEqual([]);
  });

  it('npm run crm -- import leaves no copy of its standard input if it is killed', async () => {
    const TMPDIR = temporaryFolder('import');
    const command = ['infra/crm/crm.ts', 'import', '-', '--table', 'made-up'];
    const child = spawn(process.execPath, command, {
      env: { ...process.env, TMPDIR },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    // More than a pipe holds: when it is taken, the copy is being written.
    await new Promise((resolve) => child.stdin.write(' '.repeat(4_000_000), resolve));
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await readdir(TMPDIR)).toEqual([]);
  });

  it('npm run crm -- import writes a few batches before it reads further, and keeps no record in memory', async () => {
    const folder = temporaryFolder('import');
    const file = join(folder, 'clients.json');
    const bytes: number[] = [];
    const counts = { written: 0, most: 0 };
    const table = {
      readMany: async () => [],
      async write(writes: readonly unknown[]) {
        counts.written += writes.length;
        counts.most = Math.max(counts.most, writes.length);
        if (counts.written === PAGES * CLIENTS_OF_PAGE) bytes.push(await usedBytes());
      },
    } as unknown as Target['table'];
    const target = { name: 'the table made-up', table } as Target;
    const { terminal } = countingTerminal({ pages: 0 });
    await writeFile(file, JSON.stringify({ clients: clientsOf(0) }));
    await importFile(target, file, {}, terminal);
    bytes.push(await usedBytes());
    const pages = Array.from({ length: PAGES }, (_, number) => JSON.stringify(clientsOf(number)).slice(1, -1));
    await writeFile(file, `{"clients": [${pages.join(',')}], "forms": []}`);
    pages.length = 0;
    counts.written = 0;
    await importFile(target, file, {}, terminal);
    expect(counts).toEqual({ written: PAGES * CLIENTS_OF_PAGE, most: 400 });
    expect(growth({ bytes })).toBeLessThan(MAX_GROWTH);
  });

  it('an import takes no further part of its file while it writes', async () => {
    const counts = { read: 0, written: 0, ahead: 0 };
    async function* parts() {
      for (let number = 0; number < 100; number += 1) {
        counts.ahead = Math.max(counts.ahead, counts.read - counts.written);
        counts.read += CLIENTS_OF_PAGE;
        yield clientsOf(number).map((record): LocatedRecord => ({ kind: 'clients', path: record.id, record }));
      }
    }
    const table = {
      readMany: async () => [],
      async write(writes: readonly unknown[]) {
        await new Promise(setImmediate);
        counts.written += writes.length;
      },
    } as unknown as Target['table'];
    const { terminal } = countingTerminal({ pages: 0 });
    await writeRecords({ target: { name: 'it', table } as Target, dryRun: false, terminal }, parts());
    expect(counts).toEqual({ read: 10_000, written: 10_000, ahead: 300 });
  });
});
