import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { endWithReader } from '../../../infra/closed-output.ts';
import { exitOnSignals, processFolder } from '../../../infra/local/process-folder.ts';
import { type AccountWorld, WorldPool } from '../account-world.ts';
import { bundleInto } from '../bundles.ts';
import { addCount, type Counts, History } from './history.ts';
import { LedgerWatch } from './ledger-watch.ts';
import { CONNECTIONS_BY_KIND, type Kind, SKEW_MS, type Story, storiesOf } from './steps.ts';

/**
 * Random histories of requests, retries, kills, pauses, faults, edits and operators' commands, against the functions as
 * they are deployed, each in a process of its own. No request has two accounts, two deposits or a stranger's account,
 * and every write of an operation is a transition of `LIFE`. `npm run never-twice -- --runs 1000` exits non-zero if a
 * promise was broken.
 */

const USAGE = `npm run never-twice -- [--kind <name>]… [--runs 1000] [--seed <number>] [--lanes 12] [--only <number>]
  --kind   accounts: protocols that name the login
           web-registration: the protocol that cannot, which sends once
           absent: all of them
  --runs   how many histories of each kind
  --seed   the same seed makes up the same histories
  --lanes  how many are played at a time, each with servers of its own
  --only   plays that history of the seed alone
`;

interface HistoriesOptions {
  /** The folder of `bundleInto`. */
  bundles: string;
  kind: Kind;
  /** The number of histories. */
  runs: number;
  /** The number of simultaneous histories, each with separate services. */
  lanes: number;
  seed: number;
  /** The only history to play, by its number. */
  only?: number | undefined;
  /** Called with each broken promise at once, and with the progress every ten seconds. */
  say?: (text: string) => void;
}

/**
 * Plays this many histories; the same seed gives the same histories. @returns the counts of events, and the broken
 * promises
 */
export async function runHistories(options: HistoriesOptions): Promise<{ counts: Counts; violations: string[] }> {
  const { bundles, kind, runs, lanes, seed, only, say = () => {} } = options;
  const counts: Counts = new Map();
  const violations: string[] = [];
  const skews = fc.sample(fc.integer({ min: -SKEW_MS, max: SKEW_MS }), { numRuns: 997, seed });
  let started = 0;
  const pool = new WorldPool(lanes, { bundles, skewMs: () => skews[started++ % skews.length] ?? 0 });
  let shownAt = Date.now();
  const one = (story: Story, index: number) =>
    pool.use(async (world) => {
      if (only !== undefined && only !== index) return;
      try {
        await playIn(world, story, counts);
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        violations.push(`VIOLATION ${message}\nhistory ${index}: ${JSON.stringify(story)}`);
        say(`\n${violations.at(-1)}\n`);
      }
      if (Date.now() - shownAt < 10_000) return;
      shownAt = Date.now();
      say(`${kind}: ${counts.get('histories')} of ${runs} histories, ${violations.length} violations`);
    });
  try {
    await Promise.all(fc.sample(storiesOf(kind), { numRuns: runs, seed }).map(one));
  } finally {
    for (const { passwords } of pool.worlds) addCount(counts, 'passwords', passwords.size);
    await pool.close();
  }
  return { counts, violations };
}

const watches = new WeakMap<AccountWorld, LedgerWatch>();
function watchOf(world: AccountWorld): LedgerWatch {
  let watch = watches.get(world);
  if (watch === undefined) {
    watch = new LedgerWatch((seconds) => seconds * 1_000 <= world.clock.now() + SKEW_MS);
    watch.listenTo(world.database);
    watches.set(world, watch);
  }
  return watch;
}

/** Plays one history. @throws Error if a promise was broken, with what happened */
async function playIn(world: AccountWorld, story: Story, counts: Counts): Promise<void> {
  const watch = watchOf(world);
  const before = watch.writes;
  try {
    await new History(world, watch, counts, story).play(story.steps);
  } finally {
    addCount(counts, 'writes', watch.writes - before);
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', default: false },
      runs: { type: 'string', default: '1000' },
      kind: { type: 'string', multiple: true, default: Object.keys(CONNECTIONS_BY_KIND) },
      lanes: { type: 'string', default: '12' },
      only: { type: 'string' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    },
  });
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  if (values.help) return say(USAGE);
  const kinds = values.kind.filter((kind): kind is Kind => kind in CONNECTIONS_BY_KIND);
  if (kinds.length !== values.kind.length)
    throw new Error(`--kind is one of ${Object.keys(CONNECTIONS_BY_KIND).join(', ')}.`);
  const [runs, lanes, seed] = [Number(values.runs), Number(values.lanes), Number(values.seed)];
  if (!(runs >= 1 && lanes >= 1 && seed >= 0)) throw new Error('--runs, --lanes and --seed are numbers.');
  const only = values.only === undefined ? undefined : Number(values.only);
  const { folder: bundles } = processFolder('functions');
  await bundleInto(bundles, 'settle-operations', 'operator');
  for (const kind of kinds) {
    const began = Date.now();
    const { counts, violations } = await runHistories({ bundles, kind, runs, lanes, seed, only, say });
    const seconds = Math.round((Date.now() - began) / 1_000);
    say(`${kind}, seed ${seed}: ${violations.length} violations in ${seconds} s`);
    for (const [name, times] of [...counts].toSorted()) say(`  ${String(times).padStart(7)}  ${name}`);
    if (violations.length > 0) process.exitCode = 1;
  }
}

if (import.meta.main) {
  endWithReader();
  exitOnSignals(process, 1);
  await main();
}
