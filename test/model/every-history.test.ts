import { expect, it } from 'vitest';
import { exploreScenario } from './explore.ts';
import { LARGE } from './model.ts';

it.each(LARGE.map((scenario) => [scenario.name, scenario] as const))(
  'The life of an operation keeps every promise: %s',
  async (_, scenario) => {
    expect((await exploreScenario(scenario)).broken).toBeUndefined();
  },
);
