import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleInto } from '../support/bundles.ts';
import type { Counts } from '../support/never-twice/history.ts';
import { runHistories, type Violation } from '../support/never-twice/run.ts';
import { KINDS, type Kind } from '../support/never-twice/steps.ts';

/**
 * `npm run never-twice -- --runs 1000`: random histories of requests, retries, kills, pauses, faults and edits against
 * the deployed bundles. Exits non-zero if a promise was broken.
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
const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    runs: { type: 'string', default: '1000' },
    kind: { type: 'string', multiple: true, default: Object.keys(KINDS) },
    lanes: { type: 'string', default: '12' },
    only: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit();
}
const kinds = values.kind.filter((kind): kind is Kind => kind in KINDS);
if (kinds.length !== values.kind.length) throw new Error(`--kind is one of ${Object.keys(KINDS).join(', ')}.`);
const runs = Number(values.runs);
const say = (text: string) => process.stdout.write(`${text}\n`);

/** Reports progress every ten seconds. */
function progress(kind: Kind) {
  let shown = Date.now();
  return ({ histories, requests, accounts }: Counts, failed: number) => {
    if (Date.now() - shown < 10_000) return;
    shown = Date.now();
    say(`${kind}: ${histories} of ${runs} histories, ${failed} violations, ${requests} requests, ${accounts} accounts`);
  };
}

function showViolation({ index, story, message }: Violation): void {
  say(`\nVIOLATION ${message}\nhistory ${index}: ${JSON.stringify(story)}\n`);
}

const bundles = await mkdtemp(join(tmpdir(), 'functions-'));
await bundleInto(bundles, 'settle-operations', 'operator');
for (const kind of kinds) {
  const options = { bundles, kind, runs, lanes: Number(values.lanes), seed: Number(values.seed) };
  const only = values.only === undefined ? undefined : Number(values.only);
  const hooks = { only, progress: progress(kind), onViolation: showViolation };
  const { seed, counts, violations, seconds } = await runHistories({ ...options, ...hooks });
  const { answers, ...others } = counts;
  const figures = { kind, seed, ...others, seconds: Math.round(seconds), violations: violations.length };
  for (const [name, figure] of Object.entries(figures)) say(`${name.padEnd(12)} ${figure}`);
  say('answers');
  for (const [word, count] of Object.entries(answers).toSorted((a, b) => b[1] - a[1]))
    say(`  ${String(count).padStart(7)}  ${word}`);
  if (violations.length > 0) process.exitCode = 1;
}
await rm(bundles, { recursive: true });
