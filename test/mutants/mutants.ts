import { spawn } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { applyEdit, type Mutant, mutantsOf, sampleOf } from './mutate.ts';
import { relatedTests } from './related.ts';
import { isListed } from './survivors.ts';

/**
 * `npm run mutants`: makes small changes to `lib`, one at a time, and runs the tests that are nearest to the changed
 * file. A change that no test and no type notices is a survivor. Ends with 1 when one survives that `survivors.ts` does
 * not list. A sample can be tried in parts: `--from 50 --count 50` is its second fifty.
 *
 *     npm run mutants -- lib/validators --count 200 --seed 3
 */

const ROOT = new URL('../..', import.meta.url).pathname;
/** The files that tests read. */
const COPIED = ['functions', 'lib', 'infra', 'test', '.ci', '.github', '.githooks', '.biome.json', '.gitignore'].concat(
  globSync('*.{json,md}', { cwd: ROOT }),
);
/** How many test files are run, the nearest first. Those that start the service are run last. */
const MAX_FILES = { nearest: 3, light: 15, heavy: 2 };
/** Longer than any of the files takes on a busy machine: a mutant that loops without end. */
const MAX_MS = 180_000;
const VITEST = ['node_modules/vitest/vitest.mjs', 'run', '--config=test/vitest.config.ts', '--bail=1'];
/** The types of `lib` and of the functions: those of everything take four times as long. */
const TSC = [
  ...['node_modules/typescript/bin/tsc', '--project', 'test/mutants/tsconfig.json', '--noEmit'],
  ...['--incremental', '--tsBuildInfoFile', 'types.json'],
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '60' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
    help: { type: 'boolean', default: false },
  },
});
const folder = positionals[0] ?? 'lib';
const say = (line = '') => process.stdout.write(`${line}\n`);
if (values.help) {
  say('npm run mutants -- [folder of lib] [--count 60] [--from 0] [--seed 1] [--workers 2]');
  process.exit();
}

/** A copy of the project that mutants are written into. */
function newCopy(): string {
  const root = mkdtempSync(join(tmpdir(), 'mutants-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(root, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  return root;
}

/** Runs a program in a copy. @returns whether it succeeded, undefined if its time was up */
async function succeeds(root: string, args: readonly string[]): Promise<boolean | undefined> {
  const { CI: _, ...env } = process.env;
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'ignore', detached: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    // With the processes that its tests started.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, MAX_MS);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  return isLate ? undefined : code === 0;
}

/** @returns the first file with a failed test; `in time` if the time was up; undefined if all passed */
async function failedFile(root: string, files: readonly string[]): Promise<string | undefined> {
  if (files.length === 0) return undefined;
  const report = join(root, 'report.json');
  rmSync(report, { force: true });
  const options = ['--maxWorkers=1', '--reporter=json', `--outputFile=${report}`];
  const passed = await succeeds(root, [...VITEST, ...options, ...files]);
  if (passed !== false) return passed ? undefined : 'in time';
  const { testResults } = JSON.parse(readFileSync(report, 'utf8')) as {
    testResults: { name: string; status: string }[];
  };
  const failed = testResults.find(({ status }) => status === 'failed');
  return failed === undefined ? files[0] : relative(root, failed.name);
}

const related = relatedTests(ROOT);

/** The check that notices a mutant: a test file or `tsc`; undefined if none does. */
async function killerOf(root: string, { path }: Mutant): Promise<string | undefined> {
  const { light, heavy } = related(path);
  return (
    (await failedFile(root, light.slice(0, MAX_FILES.nearest))) ??
    ((await succeeds(root, TSC)) ? undefined : 'tsc') ??
    (await failedFile(root, light.slice(MAX_FILES.nearest, MAX_FILES.light))) ??
    (await failedFile(root, heavy.slice(0, MAX_FILES.heavy)))
  );
}

const from = Number(values.from);
const paths = globSync('lib/**/*.ts', { cwd: ROOT }).filter((path) => path.startsWith(folder));
const all = paths.flatMap((path) => mutantsOf(path, readFileSync(join(ROOT, path), 'utf8')));
const sample = sampleOf(all, from + Number(values.count), Number(values.seed)).slice(from);
const queue = sample.filter((mutant) => !isListed(mutant));
const total = queue.length;
say(`${sample.length} of ${all.length} mutants of ${folder}, seed ${values.seed}; ${sample.length - total} listed`);

const started = performance.now();
const killers = new Map<string, number>();
let survived = 0;

async function work(root: string): Promise<void> {
  for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
    const { path, line, change, text } = mutant;
    const source = readFileSync(join(ROOT, path), 'utf8');
    writeFileSync(join(root, path), applyEdit(source, mutant));
    const killer = await killerOf(root, mutant);
    writeFileSync(join(root, path), source);
    if (killer === undefined) survived += 1;
    else killers.set(killer, (killers.get(killer) ?? 0) + 1);
    say(`${killer === undefined ? 'SURVIVED' : `killed by ${killer}`}  ${path}:${line}  ${change}  in  ${text}`);
  }
}

const copies = Array.from({ length: Number(values.workers) }, newCopy);
try {
  await Promise.all(copies.map(work));
  // A check that fails without the mutant too has noticed nothing.
  const [copy = ROOT] = copies;
  const files = [...killers.keys()].filter((killer) => killer.endsWith('.test.ts'));
  const areTypesBroken = killers.has('tsc') && !(await succeeds(copy, TSC));
  const broken = areTypesBroken ? 'tsc' : await failedFile(copy, files);
  if (broken !== undefined) throw new Error(`${broken} fails without a mutant`);
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}

const percent = total === 0 ? 100 : Math.round((100 * (total - survived)) / total);
const seconds = Math.round((performance.now() - started) / 1_000);
say(`${total - survived} of ${total} killed (${percent} %), ${killers.get('tsc') ?? 0} of them by types; ${seconds} s`);
if (survived > 0) {
  say(`${survived} survived that test/mutants/survivors.ts does not list: write the test, or list it with the reason.`);
  process.exitCode = 1;
}
