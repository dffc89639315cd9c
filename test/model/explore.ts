import { setImmediate as turn } from 'node:timers/promises';
import { Broken, type Mistake, type Promised, type Scenario } from './scenario.ts';
import { exploreSteps } from './steps.ts';
import { checkWorld, copyWorld, firstWorld, isEnd, keyOf, type World } from './world.ts';

interface Exploration {
  states: number;
  transitions: number;
  /** Absent if every promise holds. */
  broken?: { promise: Promised; message: string; story: string[] };
}

/**
 * Explores every history of a scenario, the shortest first, until a promise is broken.
 * @param given the promises that are not checked
 */
export async function exploreScenario(
  scenario: Scenario,
  mistake: Mistake = { name: 'none' },
  given: (promise: Promised) => boolean = () => false,
): Promise<Exploration> {
  const first = firstWorld(scenario);
  const numbers = new Map<string, number>([[keyOf(first, scenario), 0]]);
  /** The worlds that are not explored yet; then whether a history may end there. */
  const worlds: (World | boolean)[] = [first];
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
  const report = (state: number, promise: Promised, message: string): Exploration => ({
    states: worlds.length,
    transitions,
    broken: { promise, message, story: storyOf(state) },
  });
  const add = (state: number) => (action: string, next: World) => {
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
  };

  for (let state = 0; state < worlds.length; state += 1) {
    // A test runner hears nothing of a worker that never pauses.
    if (state % 10_000 === 0) await turn();
    const world = worlds[state] as World;
    worlds[state] = isEnd(world, scenario);
    try {
      checkWorld(world);
      const addWorld = add(state);
      exploreSteps({
        ...{ scenario, mistake, world },
        add(action, change) {
          const next = copyWorld(world);
          change(next);
          addWorld(action, next);
        },
      });
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      if (!given(error.promise)) return report(state, error.promise, error.message);
      // A broken promise is the end of a history.
      worlds[state] = true;
    }
  }
  const stuck = findEndless(worlds, sources);
  const kept = scenario.slow === true ? 'an account while one login is free' : 'every operation can end';
  if (stuck !== undefined && !given(kept)) return report(stuck, kept, 'From here no end can be reached.');
  return { states: worlds.length, transitions };
}

/** The first state from which no final state can be reached. */
function findEndless(isFinal: readonly unknown[], sources: readonly number[][]): number | undefined {
  const ends = Uint8Array.from(isFinal, Number);
  const waiting = [...ends.keys()].filter((state) => ends[state] === 1);
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
