import { exploreSteps } from './steps.ts';
import { Broken, checkWorld, firstWorld, isEnd, isOpen, type Mistake, type Scenario, type World } from './world.ts';

interface Exploration {
  states: number;
  /** Absent if every promise holds. */
  broken?: { message: string; story: string[] };
}

/** Explores every history of a scenario, the shortest first, until a promise is broken. */
export function exploreScenario(scenario: Scenario, mistake: Mistake = { name: 'none' }): Exploration {
  const worlds: World[] = [];
  const numbers = new Map<string, number>();
  const parents: { from: number; action: string }[] = [];
  const targets: number[][] = [];
  const add = (world: World, from: number, action: string): number => {
    const key = JSON.stringify(world);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, worlds.length);
    parents.push({ from, action });
    return worlds.push(world) - 1;
  };
  const storyOf = (state: number): string[] => {
    const story: string[] = [];
    for (let at = state; at > 0; at = parents[at]?.from ?? 0) story.unshift(parents[at]?.action ?? '');
    return story;
  };
  add(firstWorld(scenario), 0, '');
  for (let state = 0; state < worlds.length; state += 1) {
    const world = worlds[state] as World;
    const next: number[] = [];
    targets.push(next);
    try {
      checkWorld(world, scenario);
      exploreSteps({
        scenario,
        mistake,
        world,
        add(action, to, late) {
          const target = add(to, state, action);
          if (late === undefined) next.push(target);
        },
      });
    } catch (error) {
      if (!(error instanceof Broken)) throw error;
      return { states: worlds.length, broken: { message: error.message, story: storyOf(state) } };
    }
  }
  if (!worlds.some(({ life }) => isOpen(life)))
    return { states: worlds.length, broken: { message: 'No request opens an account.', story: [] } };
  const stuck = findEndless(
    worlds.map((world) => isEnd(world, scenario)),
    targets,
  );
  if (stuck === undefined) return { states: worlds.length };
  return { states: worlds.length, broken: { message: 'From here no end can be reached.', story: storyOf(stuck) } };
}

/** The first state from which no end can be reached by what does not have to wait for a day. */
function findEndless(ends: boolean[], targets: readonly number[][]): number | undefined {
  const sources: number[][] = targets.map(() => []);
  for (const [state, next] of targets.entries()) for (const target of next) sources[target]?.push(state);
  const reached = ends.flatMap((isEnding, state) => (isEnding ? [state] : []));
  const canEnd = new Set(reached);
  for (let state = reached.pop(); state !== undefined; state = reached.pop())
    for (const source of sources[state] ?? []) {
      if (canEnd.has(source)) continue;
      canEnd.add(source);
      reached.push(source);
    }
  const stuck = ends.findIndex((_, state) => !canEnd.has(state));
  return stuck === -1 ? undefined : stuck;
}
