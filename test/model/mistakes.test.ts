import { describe, expect, it } from 'vitest';
import { MISTAKES, REMOVALS } from './mistakes.ts';
import { exploreScenario, LARGE, LIMITS, SMALL } from './model.ts';
import type { Mistake } from './world.ts';

/** What the first scenario shows in which a mistake breaks a promise. */
async function findBroken(mistake: Mistake) {
  for (const scenario of [...SMALL, ...LIMITS, ...LARGE].filter(({ name }) => (mistake.scenario ?? name) === name)) {
    const { broken } = await exploreScenario(
      scenario,
      mistake,
      (promise) => 'breaks' in scenario && scenario.breaks === promise,
    );
    if (broken !== undefined) return broken;
  }
  return undefined;
}

describe('The life of an operation', () => {
  it.each(LIMITS.map((limit) => [limit.breaks, limit.name, limit] as const))(
    'cannot keep the promise "%s": %s',
    async (promise, _, limit) => {
      const { broken } = await exploreScenario(limit, undefined, (one) => one !== promise);
      expect(broken?.promise).toBe(promise);
    },
  );

  it.each(REMOVALS.map((removal) => [removal.name, removal] as const))('breaks a promise %s', async (_, removal) => {
    expect((await findBroken(removal))?.promise).toBeDefined();
  });

  it.each(MISTAKES.map((mistake) => [mistake.name, mistake] as const))(
    'breaks a promise with a mistake: %s',
    async (_, mistake) => {
      expect((await findBroken(mistake))?.story.length).toBeGreaterThan(3);
    },
  );
});
