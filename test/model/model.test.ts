import { describe, expect, it } from 'vitest';
import { exploreScenario } from './explore.ts';
import { MISTAKES } from './mistakes.ts';
import { LARGE, SMALL } from './model.ts';

describe('The life of an operation', () => {
  it.each([...SMALL, ...LARGE].map((scenario) => [scenario.name, scenario] as const))(
    'keeps every promise: %s',
    (_, scenario) => {
      const { states, broken } = exploreScenario(scenario);
      expect(broken).toBeUndefined();
      expect(states).toBeGreaterThanOrEqual(10);
    },
  );

  it.each(MISTAKES.map((mistake) => [mistake.name, mistake] as const))(
    'breaks a promise with a mistake: %s',
    (_, mistake) => {
      const found = [...SMALL, ...LARGE].find((scenario) => exploreScenario(scenario, mistake).broken !== undefined);
      expect(found?.name).toBeDefined();
    },
  );
});
