import fc from 'fast-check';
import type { Bundles } from '../environments.ts';
import { WorldPool } from '../world-pool.ts';
import { KINDS, type Kind } from './circumstances.ts';
import { type Counts, History } from './history.ts';
import { type Command, historiesOf } from './steps.ts';

/**
 * Histories of requests, retries, kills, pauses and faults, made up by fast-check and driven against the functions as they
 * are deployed, each in a process of its own, with a database and trading servers that keep count: however it goes, no
 * request has two accounts, two deposits, or a stranger's account.
 */

interface Violation {
  history: string;
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
  bundles: Bundles;
  kind: Kind;
  /** How many histories. */
  runs: number;
  /** How many at a time, each with everything of its own. */
  lanes: number;
  seed: number;
  progress?: (counts: Counts, violations: number) => void;
}

/** Runs so many histories; the same seed makes up the same ones, though not the same moments. */
export async function runHistories({ bundles, kind, runs, lanes, seed, progress }: HistoriesOptions): Promise<Summary> {
  const began = Date.now();
  const counts: Counts = {
    histories: 0,
    requests: 0,
    kills: 0,
    pauses: 0,
    faults: 0,
    accounts: 0,
    answers: {},
    passwords: 0,
  };
  const violations: Violation[] = [];
  const circumstances = KINDS[kind];
  const { settleSeconds, skewMs } = circumstances;
  const pool = new WorldPool(lanes, {
    bundles,
    settleSeconds,
    skewMs: () => Math.round((Math.random() * 2 - 1) * skewMs),
  });
  const one = (commands: Command[]) =>
    pool.use(async (world) => {
      try {
        let history: History | undefined;
        await fc.asyncModelRun(() => {
          history = new History(world, counts, circumstances);
          return { model: {}, real: history };
        }, commands);
        await history?.end();
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        violations.push({ history: commands.join('\n'), message });
      }
      progress?.(counts, violations.length);
    });
  try {
    await Promise.all(fc.sample(historiesOf(circumstances), { numRuns: runs, seed }).map(one));
  } finally {
    counts.passwords = pool.worlds.reduce((sum, { passwords }) => sum + passwords.size, 0);
    await pool.close().catch((error: Error) => violations.push({ history: 'all of them', message: error.message }));
  }
  return { kind, seed, counts, violations, seconds: (Date.now() - began) / 1_000 };
}
