/**
 * The number of runs of a property that uses the database. In `npm test` it is small; `.ci/run` multiplies it by
 * `TEST_RUNS`.
 */
export function propertyRuns(few: number): { numRuns: number } {
  return { numRuns: few * Number(process.env.TEST_RUNS ?? 1) };
}
