import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { accountBundles, type Bundles } from '../support/environments.ts';
import { KINDS, type Kind } from '../support/never-twice/circumstances.ts';
import { runHistories } from '../support/never-twice/run.ts';

/** A few of them: `npm run never-twice` runs as many as one likes, and `.ci/run` a good number. */
const RUNS = 5;

vi.setConfig({ testTimeout: 300_000 });

let bundles: Bundles;
beforeAll(async () => {
  bundles = await accountBundles('request-registration', 'settle-operations');
});
afterAll(() => bundles.close());

describe.concurrent('Requests, retries, kills, stops and faults', () => {
  const PROMISES: Record<Kind, string> = {
    ranges: 'with logins of the service’s own, whatever servers and clocks do',
    registrations: 'nor a second message',
    times: 'without them, while servers act in time',
  };
  it.each(Object.keys(KINDS) as Kind[])(
    'never make a second account or deposit, nor keep a password: %s',
    async (kind) => {
      const { counts, violations } = await runHistories({ bundles, kind, runs: RUNS, lanes: 2, seed: 5 });
      expect(violations, PROMISES[kind]).toEqual([]);
      // Enough has happened to prove something.
      expect(counts.histories).toBe(RUNS);
      expect(counts.requests).toBeGreaterThan(3 * RUNS);
      expect(counts.kills + counts.stops).toBeGreaterThan(0);
      expect(counts.accounts + counts.messages).toBeGreaterThan(0);
      if (kind !== 'registrations') expect(counts.passwords).toBeGreaterThan(0);
    },
  );
});
