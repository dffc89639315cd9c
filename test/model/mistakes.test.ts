import { describe, expect, it } from 'vitest';
import { exploreScenario } from './explore.ts';
import { combine, isListed, listedLimits, searchLimits } from './limits.ts';
import { MISTAKES, REMOVALS } from './mistakes.ts';
import { LARGE, SMALL } from './model.ts';
import type { Mistake, Promised } from './scenario.ts';

function scenarioOf(of: Parameters<typeof combine>[0]) {
  const scenario = combine(of);
  if (scenario === undefined) throw new Error(`Circumstances exclude each other: ${of.join(', ')}.`);
  return scenario;
}

/** What the first scenario shows in which a mistake breaks a promise. */
async function findBroken(mistake: Mistake) {
  const limits = new Map(listedLimits().map(({ of }) => [scenarioOf(of), of]));
  for (const scenario of [...SMALL, ...limits.keys(), ...LARGE].filter(
    ({ name }) => (mistake.scenario ?? name) === name,
  )) {
    // What the scenario breaks without a mistake shows nothing.
    const isKnown = (promise: Promised) => isListed(promise, limits.get(scenario) ?? []);
    const { broken } = await exploreScenario(scenario, mistake, isKnown);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

describe('The life of an operation', () => {
  it.each(listedLimits().map(({ promise, of }) => [promise, of.join(', '), of] as const))(
    'cannot keep the promise "%s": %s',
    async (promise, _, of) => {
      const { broken } = await exploreScenario(scenarioOf(of), undefined, (one) => one !== promise);
      expect(broken?.promise).toBe(promise);
    },
  );

  it('breaks no promise by one or two circumstances that the table does not list', async () => {
    expect((await searchLimits(2)).differences).toEqual([]);
  });

  it.each(REMOVALS.map((removal) => [removal.name, removal] as const))(
    'breaks a promise if a mistake is built into it: %s',
    async (_, removal) => {
      expect((await findBroken(removal))?.promise).toBeDefined();
    },
  );

  it.each(MISTAKES.map((mistake) => [mistake.name, mistake] as const))(
    'breaks a promise with a mistake: %s',
    async (_, mistake) => {
      expect((await findBroken(mistake))?.story.length).toBeGreaterThan(3);
    },
  );
});
