import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { pageWithDiagram } from './diagram.ts';
import { exploreScenario } from './explore.ts';
import { SMALL } from './model.ts';

/** The small scenarios. `every-history.test.ts` explores the others, `mistakes.test.ts` what breaks promises. */
describe('The life of an operation', () => {
  it.each(SMALL.map((scenario) => [scenario.name, scenario] as const))(
    'keeps every promise: %s',
    async (_, scenario) => {
      const { states, broken } = await exploreScenario(scenario);
      expect(broken).toBeUndefined();
      expect(states).toBeGreaterThan(80);
    },
  );

  it('is drawn in lib/README.md', () => {
    const page = readFileSync(new URL('../../lib/README.md', import.meta.url), 'utf8');
    expect(pageWithDiagram()).toBe(page);
    expect(page).toContain('claimed --> sent: ready');
  });
});
