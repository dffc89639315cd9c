import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pageWithDiagram } from './diagram.ts';
import { MISTAKES, REMOVALS } from './mistakes.ts';
import { explore, LIMITS, pageWithLimits, SCENARIOS, SMALL } from './model.ts';
import type { Mistake } from './world.ts';

/** What the first scenario shows in which a mistake breaks a promise. */
function findBroken(mistake: Mistake) {
  for (const scenario of [...SMALL, ...LIMITS, ...SCENARIOS].filter(
    ({ name }) => (mistake.scenario ?? name) === name,
  )) {
    const { broken } = explore(scenario, mistake, (promise) => 'breaks' in scenario && scenario.breaks === promise);
    if (broken !== undefined) return broken;
  }
  return undefined;
}

describe('The life of an operation', () => {
  it.each(SMALL.map((scenario) => [scenario.name, scenario] as const))('keeps every promise: %s', (_, scenario) => {
    const { states, broken } = explore(scenario);
    expect(broken).toBeUndefined();
    expect(states).toBeGreaterThan(80);
  });

  it.each(LIMITS.map((limit) => [limit.breaks, limit.name, limit] as const))(
    'cannot keep the promise "%s": %s',
    (promise, _, limit) => {
      expect(explore(limit, undefined, (one) => one !== promise).broken?.promise).toBe(promise);
    },
  );

  it.each(REMOVALS.map((removal) => [removal.name, removal] as const))('breaks a promise %s', (_, removal) => {
    expect(findBroken(removal)?.promise).toBeDefined();
  });

  it.each(MISTAKES.map((mistake) => [mistake.name, mistake] as const))(
    'breaks a promise with a mistake: %s',
    (_, mistake) => {
      expect(findBroken(mistake)?.story.length).toBeGreaterThan(3);
    },
  );

  it('is in lib/README.md with what no rule can keep', () => {
    const page = readFileSync(new URL('../../lib/README.md', import.meta.url), 'utf8');
    expect(pageWithLimits()).toBe(page);
    expect(page).toContain('| one deposit | a gateway that repeats the payment itself | two deposits |');
  });

  it('is drawn in lib/README.md', () => {
    const page = readFileSync(new URL('../../lib/README.md', import.meta.url), 'utf8');
    expect(pageWithDiagram()).toBe(page);
    expect(page).toContain('claimed --> sent: ready');
  });
});
