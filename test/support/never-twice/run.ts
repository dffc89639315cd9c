import fc from 'fast-check';
import type { AccountWorld } from '../account-world.ts';
import { WorldPool } from '../world-pool.ts';
import { type Counts, History } from './history.ts';
import { LedgerWatch } from './ledger-watch.ts';
import { type Kind, SKEW_MS, type Story, storiesOf } from './steps.ts';

/**
 * Random histories of requests, retries, kills, pauses, faults, edits and operators' commands, against the functions as
 * they are deployed, each in a process of its own. No request has two accounts, two deposits or a stranger's account,
 * and every write of an operation is a transition of `LIFE`.
 */

export interface Violation {
  /** Its number among those of the seed. */
  index: number;
  story: Story;
  message: string;
}
export interface Summary {
  kind: Kind;
  seed: number;
  counts: Counts;
  violations: Violation[];
  seconds: number;
}

export interface HistoriesOptions {
  /** The folder of `bundleInto`. */
  bundles: string;
  kind: Kind;
  /** How many histories. */
  runs: number;
  /** How many at a time, each with separate services. */
  lanes: number;
  seed: number;
  /** Only this one of them. */
  only?: number | undefined;
  /** Called after each history. */
  progress?: (counts: Counts, violations: number) => void;
  /** Called as soon as a broken promise is found. */
  onViolation?: (violation: Violation) => void;
}

/** Runs this many histories; the same seed gives the same ones. */
export async function runHistories(options: HistoriesOptions): Promise<Summary> {
  const { bundles, kind, runs, lanes, seed, only, progress, onViolation } = options;
  const began = Date.now();
  const counts = noCounts();
  const violations: Violation[] = [];
  const skews = fc.sample(fc.integer({ min: -SKEW_MS, max: SKEW_MS }), { numRuns: 997, seed });
  let started = 0;
  const pool = new WorldPool(lanes, { bundles, skewMs: () => skews[started++ % skews.length] ?? 0 });
  const one = (story: Story, index: number) =>
    pool.use(async (world) => {
      if (only !== undefined && only !== index) return;
      try {
        await playIn(world, story, counts);
      } catch (error) {
        const violation = { index, story, message: error instanceof Error ? error.message : String(error) };
        violations.push(violation);
        onViolation?.(violation);
      }
      progress?.(counts, violations.length);
    });
  try {
    await Promise.all(fc.sample(storiesOf(kind), { numRuns: runs, seed }).map(one));
  } finally {
    counts.passwords = pool.worlds.reduce((sum, { passwords }) => sum + passwords.size, 0);
    await pool.close();
  }
  return { kind, seed, counts, violations, seconds: (Date.now() - began) / 1_000 };
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
    counts.writes += watch.writes - before;
  }
}

function noCounts(): Counts {
  const none = { histories: 0, requests: 0, kills: 0, stops: 0, faults: 0, accounts: 0 };
  return { ...none, writes: 0, decided: 0, answers: {}, passwords: 0 };
}
