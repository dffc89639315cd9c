import { endWithReader } from '../../infra/closed-output.ts';
import { exploreScenario } from './explore.ts';
import { searchLimits } from './limits.ts';
import type { Scenario } from './scenario.ts';

/**
 * `npm run model`: explores every history of every scenario and prints states, transitions and time, and which promises
 * no rule can keep: it writes that table into `lib/README.md`. It ends with 1 if another promise is broken, and prints the
 * shortest story of that.
 */

const KEYED: Omit<Scenario, 'name'> = { keyed: true, workers: 1, shows: 'comments' };
const PLUG_IN: Omit<Scenario, 'name'> = { keyed: false, workers: 1, shows: 'silent' };
/** A server without any proof, whose comments are hidden and which does not check passwords. */
const NO_PROOF: Omit<Scenario, 'name'> = { ...KEYED, shows: 'nothing' };

/** A stranger uses our range, the server lies about refusals, and a gateway repeats commands. */
const HOSTILE = { stranger: true, strict: true, lies: true, repeats: true };

/** One worker, which may die and restart; or one for each of two requests. */
export const SMALL: readonly Scenario[] = [
  { ...KEYED, name: 'a server that shows comments' },
  { ...KEYED, name: 'refusals that lie, and a gateway that repeats', lies: true, repeats: true },
  { ...NO_PROOF, name: 'refusals that lie, and a gateway that repeats, without proof', lies: true, repeats: true },
  { ...KEYED, name: 'a strict connection that checks passwords', shows: 'passwords', ...HOSTILE },
  { ...NO_PROOF, name: 'a strict connection without proof', ...HOSTILE },
  { ...NO_PROOF, name: 'a stranger, with commands that are all answered', stranger: true, answers: true },
  { ...KEYED, name: 'a gateway that cannot look', shows: 'silent', repeats: true },
  { ...KEYED, name: 'a server that is restored', restored: true },
  { ...KEYED, name: 'a connection that leads to another server', moves: true },
  { ...KEYED, name: 'a server and a ledger that are restored', restored: true, loses: 'operations' },
  { ...KEYED, name: 'a login of the caller', own: true, stranger: true, lies: true, repeats: true },
  { ...NO_PROOF, name: 'a login of the caller, without proof', own: true, stranger: true, lies: true, repeats: true },
  {
    ...KEYED,
    name: 'a login of the caller, on a gateway that cannot look',
    own: true,
    stranger: true,
    shows: 'silent',
  },
  { ...KEYED, name: 'operations that are set back', loses: 'operations', ...HOSTILE },
  { ...NO_PROOF, name: 'operations that are set back, without proof', loses: 'operations', lies: true, repeats: true },
  { ...NO_PROOF, name: 'reservations that are lost, without proof', loses: 'reservations', repeats: true },
  { ...KEYED, name: 'all tables lost', loses: 'all', ...HOSTILE },
  { ...NO_PROOF, name: 'all tables lost, without proof', loses: 'all', lies: true, repeats: true },
  { ...NO_PROOF, name: 'keys that expire early, without proof', expires: true },
  {
    ...KEYED,
    name: 'keys that expire early, and another operation that takes the login since',
    ...{ expires: true, loses: 'reservations', another: 'later' },
  },
  {
    ...NO_PROOF,
    name: 'keys that expire early, and another operation that takes the login of the caller since',
    ...{ own: 'inside', expires: true, loses: 'reservations', another: 'later' },
  },
  {
    ...KEYED,
    name: 'keys that expire early, a secret that is rotated, and a server that is restored',
    ...{ expires: true, loses: 'reservations', rederives: 'rotated', restored: true },
  },
  { ...KEYED, name: 'a login of the caller, and all tables lost', own: true, loses: 'all', stranger: true },
  {
    ...KEYED,
    name: 'a worker whose time ends, and the account of another operation without its reservation',
    slow: true,
    another: true,
    loses: 'reservations',
  },
  { ...KEYED, name: 'a deposit', funded: true },
  { ...KEYED, name: 'a deposit, and operations that are set back', funded: true, loses: 'operations' },
  { ...KEYED, name: 'a deposit, and all tables lost', funded: true, loses: 'all' },
  { ...PLUG_IN, name: 'web-registration' },
  { ...PLUG_IN, name: 'web-registration, keys that expire early', expires: true },
  { ...PLUG_IN, name: 'web-registration with an answer of another account', rival: true, otherLogin: true },
];

/** Two workers, each of which may be a request, the settler or an operator; or two requests; or two ledgers. */
export const LARGE: readonly Scenario[] = [
  { ...KEYED, name: 'two workers', workers: 2, lies: true, repeats: true },
  { ...NO_PROOF, name: 'two workers without proof, and operations that are set back', workers: 2, loses: 'operations' },
  { ...KEYED, name: 'two workers, a login of the caller', workers: 2, own: true, stranger: true },
  { ...KEYED, name: 'two workers, a deposit', workers: 2, funded: true },
  { ...NO_PROOF, name: 'two requests for the same logins', rival: true, repeats: true },
  { ...KEYED, name: 'two requests for the same logins, operations set back', rival: true, loses: 'operations' },
  { ...KEYED, name: 'two ledgers', workers: 2, double: true },
  { ...PLUG_IN, name: 'web-registration, three workers', workers: 3 },
];

/** The smallest first. */
const SCENARIOS: readonly Scenario[] = [...SMALL, ...LARGE];

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function printStory(promise: string, story: readonly string[]): void {
  print(`  BROKEN: ${promise}`);
  for (const [index, line] of story.entries()) print(`  ${String(index + 1).padStart(3)}  ${line}`);
}

if (import.meta.main) {
  endWithReader();
  for (const scenario of SCENARIOS) {
    const began = performance.now();
    const { states, transitions, broken } = await exploreScenario(scenario);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    print(`${scenario.name.padEnd(72)} ${states} states, ${transitions} transitions, ${seconds} s`);
    if (broken === undefined) continue;
    process.exitCode = 1;
    printStory(`${broken.promise}: ${broken.message}`, broken.story);
  }
  const { explored, found, differences } = await searchLimits(3);
  print(`\nWhat no rule can keep, of ${explored} combinations:`);
  for (const line of [...found, ...differences]) print(line);
  if (differences.length > 0) process.exitCode = 1;
}
