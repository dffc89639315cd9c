import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { guideWithTables } from '../../../infra/registration-page/guide.ts';

it('The guide has the tables of the page’s state machine (npm run openapi writes them)', () => {
  const guide = readFileSync(new URL('../../../infra/docs/registration-page.md', import.meta.url), 'utf8');
  expect(guideWithTables(guide)).toBe(guide);
  expect(guide.match(/<!-- \w+ -->\n\| answer/g)).toHaveLength(2);
});
