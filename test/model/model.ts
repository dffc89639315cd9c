import {
  Broken,
  checkWorld,
  firstWorld,
  isEnd,
  keyOf,
  type Mistake,
  type Scenario,
  Steps,
  type World,
} from './world.ts';

/**
 * `npm run model`: explores every history of every scenario and prints states, transitions and time. It ends with 1 if
 * a promise is broken, and prints the shortest story of that.
 */

const PLAIN: Omit<Scenario, 'name'> = {
  keyed: true,
  funded: false,
  foreign: false,
  shows: 'mark',
  restored: false,
  rival: false,
  lies: false,
  workers: 2,
};

/**
 * Two workers of one request, each of which may be a request, the settler or an operator; or two requests. Those that
 * find the most mistakes in the shortest time come first.
 */
const LARGE: readonly Scenario[] = [
  { ...PLAIN, name: 'web-registration', keyed: false, shows: 'silent', workers: 3 },
  { ...PLAIN, name: 'two requests for the same logins', shows: 'nothing', rival: true, workers: 1 },
  { ...PLAIN, name: 'a login of somebody else', foreign: true },
  { ...PLAIN, name: 'a server that shows no marks', shows: 'nothing' },
  { ...PLAIN, name: 'a gateway that cannot look', shows: 'silent' },
  { ...PLAIN, name: 'a server that is restored', restored: true },
  { ...PLAIN, name: 'a deposit', funded: true },
  {
    ...PLAIN,
    name: 'web-registration, a server that lies',
    keyed: false,
    shows: 'silent',
    rival: true,
    lies: true,
    workers: 1,
  },
];

/** The same with one worker, which may die and restart: a second of exploring for all of them. */
export const SMALL: readonly Scenario[] = LARGE.filter(({ rival, lies }) => !rival || lies).map((scenario) => ({
  ...scenario,
  name: `${scenario.name}, one worker`,
  workers: 1,
}));

/** The smallest first. */
export const SCENARIOS: readonly Scenario[] = [...SMALL, ...LARGE];

interface Exploration {
  states: number;
  transitions: number;
  /** Absent if every promise holds. */
  broken?: { promise: string; story: string[] };
}

/** Explores every history of a scenario, the shortest first, until a promise is broken. */
export function explore(scenario: Scenario, mistake: Mistake = { name: 'none' }): Exploration {
  const first = firstWorld(scenario);
  const numbers = new Map<string, number>([[keyOf(first, scenario), 0]]);
  const worlds: (World | null)[] = [first];
  const actions: string[] = ['The request comes.'];
  const parents: number[] = [-1];
  /** For each state the states that lead to it. */
  const sources: number[][] = [[]];
  let transitions = 0;

  const storyOf = (state: number): string[] => {
    const story: string[] = [];
    for (let at = state; at > 0; at = parents[at] ?? 0) story.unshift(actions[at] ?? '');
    return story;
  };
  const report = (state: number, promise: string, last: string[] = []): Exploration => ({
    states: worlds.length,
    transitions,
    broken: { promise, story: [...storyOf(state), ...last] },
  });

  for (let state = 0; state < worlds.length; state += 1) {
    const world = worlds[state];
    if (!world) continue;
    try {
      checkWorld(world, scenario);
      new Steps(world, scenario, mistake, (action, next) => {
        transitions += 1;
        const key = keyOf(next, scenario);
        let number = numbers.get(key);
        if (number === undefined) {
          number = worlds.push(next) - 1;
          numbers.set(key, number);
          actions.push(action);
          parents.push(state);
          sources.push([]);
        }
        sources[number]?.push(state);
      }).all();
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      return report(state, error.message);
    }
  }
  const stuck = findEndless(worlds as World[], sources);
  if (stuck !== undefined) return report(stuck, 'From here no end can be reached.');
  return { states: worlds.length, transitions };
}

/** The first state from which no final state can be reached. */
function findEndless(worlds: readonly World[], sources: readonly number[][]): number | undefined {
  const ends = new Uint8Array(worlds.length);
  const waiting: number[] = [];
  for (const [state, world] of worlds.entries()) {
    if (!isEnd(world)) continue;
    ends[state] = 1;
    waiting.push(state);
  }
  for (let state = waiting.pop(); state !== undefined; state = waiting.pop()) {
    for (const source of sources[state] ?? []) {
      if (ends[source] === 1) continue;
      ends[source] = 1;
      waiting.push(source);
    }
  }
  const found = ends.indexOf(0);
  return found === -1 ? undefined : found;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

if (import.meta.main) {
  for (const scenario of SCENARIOS) {
    const began = performance.now();
    const { states, transitions, broken } = explore(scenario);
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    print(`${scenario.name.padEnd(42)} ${states} states, ${transitions} transitions, ${seconds} s`);
    if (broken === undefined) continue;
    process.exitCode = 1;
    print(`  BROKEN: ${broken.promise}`);
    for (const [index, line] of broken.story.entries()) print(`  ${String(index + 1).padStart(3)}  ${line}`);
  }
}
