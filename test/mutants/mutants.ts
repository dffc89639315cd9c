import { spawn } from 'node:child_process';
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { type Mutant, mutantsOf, mutated, sampleOf } from './mutate.ts';
import { relatedTests } from './related.ts';
import { isListed } from './survivors.ts';

/**
 * `npm run mutants`: makes small changes to `lib`, one at a time, and runs the tests that are related to the changed file.
 * A change that no test and no type notices is a survivor. Ends with 1 when one survives that `survivors.ts` does not list.
 *
 *     npm run mutants -- lib/validators --count 200 --seed 3
 */

const ROOT = new URL('../..', import.meta.url).pathname;
/** What the tests read. */
const COPIED = ['functions', 'lib', 'infra', 'test', '.ci', '.github', '.biome.json'].concat(
  globSync('*.{json,md}', { cwd: ROOT }),
);
/** Files of tests that one process runs before it is known whether more are needed. */
const NEAREST = 4;
/** Of the tests that start the service, the nearest ones. */
const MAX_HEAVY = 12;
const MAX_MS = { light: 60_000, heavy: 300_000 };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '60' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
  },
});
const folder = positionals[0] ?? 'lib';
const say = (line = '') => process.stdout.write(`${line}\n`);

type Outcome = 'a test' | 'a type' | 'a time limit' | 'nothing';

/** A copy of the project that mutants are written into. */
interface Copy {
  root: string;
  related: ReturnType<typeof relatedTests>;
}

function newCopy(): Copy {
  const root = mkdtempSync(join(tmpdir(), 'mutants-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(root, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  return { root, related: relatedTests(ROOT) };
}

/** Runs a program in a copy. @returns whether it succeeded, undefined where its time was up */
async function succeeds(root: string, args: readonly string[], ms: number): Promise<boolean | undefined> {
  const { CI: _, ...env } = process.env;
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'ignore', detached: true });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    // With the processes that its tests started.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, ms);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearTimeout(timer);
  return isLate ? undefined : code === 0;
}

/** What notices a mutant: the nearest tests are asked first, the types last. */
async function noticedBy({ root, related }: Copy, mutant: Mutant): Promise<Outcome> {
  const { light, heavy } = related(mutant.path);
  const batches = [
    { files: light.slice(0, NEAREST), workers: 1, ms: MAX_MS.light },
    { files: light.slice(NEAREST), workers: 2, ms: MAX_MS.heavy },
    { files: heavy.slice(0, MAX_HEAVY), workers: 2, ms: MAX_MS.heavy },
  ];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', '--bail=1'];
  for (const { files, workers, ms } of batches) {
    if (files.length === 0) continue;
    const passed = await succeeds(root, [...vitest, `--maxWorkers=${workers}`, ...files], ms);
    if (passed !== true) return passed === undefined ? 'a time limit' : 'a test';
  }
  const compiles = await succeeds(root, ['node_modules/typescript/bin/tsc', '--noEmit'], MAX_MS.light);
  return compiles === true ? 'nothing' : 'a type';
}

const paths = globSync('lib/**/*.ts', { cwd: ROOT }).filter((path) => path.startsWith(folder));
const all = paths.flatMap((path) => mutantsOf(path, readFileSync(join(ROOT, path), 'utf8')));
const queue = sampleOf(all, Number(values.count), Number(values.seed));
const total = queue.length;
say(`${total} of ${all.length} mutants of ${folder}, seed ${values.seed}`);

const started = performance.now();
const counts = new Map<Outcome, number>();
const survivors: Mutant[] = [];

async function work(): Promise<void> {
  const copy = newCopy();
  try {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const source = readFileSync(join(ROOT, mutant.path), 'utf8');
      writeFileSync(join(copy.root, mutant.path), mutated(source, mutant));
      const outcome = await noticedBy(copy, mutant);
      writeFileSync(join(copy.root, mutant.path), source);
      counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
      if (outcome !== 'nothing') continue;
      survivors.push(mutant);
      say(
        `survived${isListed(mutant) ? ' as listed' : ''}  ${mutant.path}:${mutant.line}  ${mutant.change}  in  ${mutant.text}`,
      );
    }
  } finally {
    rmSync(copy.root, { recursive: true, force: true });
  }
}
await Promise.all(Array.from({ length: Number(values.workers) }, work));

const killed = total - survivors.length;
const by = [...counts].map(([outcome, count]) => `${count} by ${outcome}`).join(', ');
const seconds = Math.round((performance.now() - started) / 1_000);
say(`${killed} of ${total} noticed (${Math.round((100 * killed) / total)} %): ${by}; ${seconds} s`);
const unlisted = survivors.filter((mutant) => !isListed(mutant));
if (unlisted.length > 0) {
  say(
    `${unlisted.length} survived that test/mutants/survivors.ts does not list: write the test, or list it with the reason.`,
  );
  process.exitCode = 1;
}
