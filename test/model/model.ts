import { type Exploration, explore } from './explore.ts';
import { MISTAKES, REMOVALS } from './mistakes.ts';
import { SCENARIOS } from './scenarios.ts';
import type { Mistake } from './world.ts';

/**
 * `npm run model`: explores every history of every scenario and prints states, transitions and time. It ends with 1 if
 * a promise is broken. `--without sent:3` removes a transition, `--mistakes` makes each mistake and prints its story.
 */

/** The first scenario in which a mistake breaks a promise. */
export function findBroken(mistake: Mistake): (Exploration & { scenario: string }) | undefined {
  for (const scenario of SCENARIOS.filter(({ name }) => (mistake.scenario ?? name) === name)) {
    const exploration = explore(scenario, mistake);
    if (exploration.broken !== undefined) return { ...exploration, scenario: scenario.name };
  }
  return undefined;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function printStory({ broken }: Exploration, scenario: string): void {
  if (broken === undefined) return;
  print(`  BROKEN in "${scenario}": ${broken.promise}`);
  for (const [index, line] of broken.story.entries()) print(`  ${String(index + 1).padStart(3)}  ${line}`);
}

function exploreAll(mistake: Mistake): boolean {
  let isBroken = false;
  for (const scenario of SCENARIOS) {
    const began = performance.now();
    const found = explore(scenario, mistake);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    print(`${scenario.name.padEnd(42)} ${found.states} states, ${found.transitions} transitions, ${seconds} s`);
    printStory(found, scenario.name);
    isBroken ||= found.broken !== undefined;
  }
  return isBroken;
}

function plantAll(mistakes: readonly Mistake[]): boolean {
  let isMissed = false;
  for (const mistake of mistakes) {
    const found = findBroken(mistake);
    print(`\n${mistake.name}`);
    if (found === undefined) print('  NOT FOUND');
    else printStory(found, found.scenario);
    isMissed ||= found === undefined;
  }
  return isMissed;
}

if (import.meta.main) {
  const [option, value = ''] = process.argv.slice(2);
  const removal = REMOVALS.find(({ name }) => name === `without ${value.replace(':', ' ')}`);
  if (option === '--without' && removal === undefined) throw new Error(`There is no transition ${value}.`);
  const failed =
    option === '--mistakes' ? plantAll([...MISTAKES, ...REMOVALS]) : exploreAll(removal ?? { name: 'none' });
  process.exitCode = failed ? 1 : 0;
}
