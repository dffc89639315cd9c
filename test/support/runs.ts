/**
 * The number of runs of a property that uses the database. In `npm test` that is a few times; `.ci/run` sets
 * `TEST_RUNS` and tries it so many times as often.
 */
export function runs(few: number): { numRuns: number } {
  return { numRuns: few * Number(process.env.TEST_RUNS ?? 1) };
}
