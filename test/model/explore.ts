import { setImmediate as turn } from 'node:timers/promises';
import { Broken, type Mistake, type Promised, type Scenario } from './scenario.ts';
import { States } from './states.ts';
import { exploreSteps } from './steps.ts';
import { checkWorld, firstWorld, isEnd, type World } from './world.ts';

interface Exploration {
  states: number;
  transitions: number;
  /** Absent if every promise holds. */
  broken?: { promise: Promised; message: string; story: string[] };
}

/** The worlds that are found, and what leads from one to another. All lists are by the number of a state. */
interface Found {
  states: States;
  /** Whether a history may end in the state. */
  ends: boolean[];
  /** The state from which it was found first. */
  parents: number[];
  /** The states that the state leads to: from this place in `targets` to that of the next state. */
  starts: number[];
  targets: number[];
}

/**
 * Explores every history of a scenario, the shortest first, until a promise is broken.
 * @param given called with a broken promise. `true`: the exploration goes on, and this history ends.
 */
export async function exploreScenario(
  scenario: Scenario,
  mistake: Mistake = { name: 'none' },
  given: (promise: Promised) => boolean = () => false,
): Promise<Exploration> {
  const found: Found = { states: new States(scenario), ends: [], parents: [0], starts: [], targets: [] };
  const { states, ends, parents, starts, targets } = found;
  const report = (state: number, promise: Promised, message: string): Exploration => ({
    states: states.count,
    transitions: targets.length,
    broken: { promise, message, story: storyOf(state, found, scenario, mistake) },
  });

  states.add(firstWorld(scenario));
  for (let state = 0; state < states.count; state += 1) {
    // A test runner hears nothing of a worker that never pauses.
    if (state % 10_000 === 0) await turn();
    const world = states.world(state);
    ends.push(isEnd(world, scenario));
    starts.push(targets.length);
    try {
      checkWorld(world);
      forEachStep(world, scenario, mistake, (_, next) => {
        const target = states.add(next);
        if (target === parents.length) parents.push(state);
        targets.push(target);
      });
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      if (!given(error.promise)) return report(state, error.promise, error.message);
      // A broken promise is the end of a history.
      ends[state] = true;
    }
  }
  const stuck = findEndless(found);
  const kept = scenario.slow === true ? 'an account while one login is free' : 'every operation can end';
  if (stuck !== undefined && !given(kept)) return report(stuck, kept, 'From here no end can be reached.');
  return { states: states.count, transitions: targets.length };
}

/** Calls `add` with everything that may happen in a world, and the world after that. */
function forEachStep(world: World, scenario: Scenario, mistake: Mistake, add: (action: string, next: World) => void) {
  exploreSteps({
    ...{ scenario, mistake, world },
    add(action, change) {
      const next = { ...world };
      change(next);
      add(action, next);
    },
  });
}

/** What has happened until a state, told by living it again. */
function storyOf(state: number, { states, parents }: Found, scenario: Scenario, mistake: Mistake): string[] {
  const path: number[] = [];
  for (let at = state; at > 0; at = parents[at] as number) path.unshift(at);
  const story: string[] = [];
  let world = firstWorld(scenario);
  for (const target of path) {
    const steps: [string, World][] = [];
    try {
      forEachStep(world, scenario, mistake, (action, next) => steps.push([action, next]));
    } catch (error) {
      // The steps before the one that breaks a promise lead on.
      if (!(error instanceof Broken)) throw error;
    }
    const [action, next] = steps.find(([, after]) => states.add(after) === target) as [string, World];
    story.push(action);
    world = next;
  }
  return story;
}

/** The first state from which no final state can be reached. */
function findEndless({ ends, starts, targets }: Found): number | undefined {
  const canEnd = [...ends];
  const leadsToEnd = (state: number) => {
    for (let at = starts[state] as number; at < (starts[state + 1] ?? targets.length); at += 1)
      if (canEnd[targets[at] as number]) return true;
    return false;
  };
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    // Most steps lead to a state of a higher number.
    for (let state = canEnd.length - 1; state >= 0; state -= 1) {
      if (canEnd[state] || !leadsToEnd(state)) continue;
      canEnd[state] = true;
      hasChanged = true;
    }
  }
  const stuck = canEnd.indexOf(false);
  return stuck === -1 ? undefined : stuck;
}
