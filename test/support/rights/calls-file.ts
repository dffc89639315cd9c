/** The calls that the functions made in the last complete run of the tests. */
export const CALLS_FILE = new URL('../../../.local/calls.json', import.meta.url).pathname;
