import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { applyEdit, mutantsOf, sampleOf } from './mutate.ts';
import { relatedTests } from './related.ts';
import { SURVIVORS } from './survivors.ts';

const SOURCE = `import { a } from './a.ts';
export function f(b: 1 | 2, c?: { d: true }): boolean {
  if (b < a && !c) throw new Error('no such thing');
  return c?.d ?? g({ kind: 'mail', ...c }, true);
}`;
const changes = (source: string) => mutantsOf('f.ts', source).map(({ line, change }) => `${line}: ${change}`);

describe('The mutants of a file', () => {
  it('change what runs, and neither types nor imports nor sentences', () => {
    expect(changes(SOURCE)).toEqual([
      '3: b < a && !c → !(b < a && !c)',
      '3: b < a && !c → ((b < a) || (!c))',
      '3: < → <=',
      '3: !c → c',
      "3: throw new Error('no such thing'); → ;",
      "4: c?.d ?? g({ kind: 'mail', ...c }, true) → c?.d",
      "4: kind: 'mail', → nothing",
      "4: 'mail' → ''",
      '4: ...c → nothing',
      '4: true → false',
    ]);
  });

  it('are written into the file one at a time', () => {
    const [less] = mutantsOf('f.ts', 'a < b').filter(({ change }) => change === '< → <=');
    expect(less && applyEdit('a < b', less)).toBe('a <= b');
  });

  it('give the same sample for a seed, even after additions to the file', () => {
    const sample = (source: string) => sampleOf(mutantsOf('f.ts', source), 4, 7).map(({ change }) => change);
    expect(sample(SOURCE)).toEqual(sample(SOURCE));
    expect(sample(`// A line.\n${SOURCE}`)).toEqual(sample(SOURCE));
    expect(sampleOf(mutantsOf('f.ts', SOURCE), 4, 8).map(({ change }) => change)).not.toEqual(sample(SOURCE));
  });
});

describe('The tests of a file', () => {
  const related = relatedTests(new URL('../..', import.meta.url).pathname);

  it('are those that import it, its own first, and those that start the service apart', () => {
    const { light, heavy } = related('lib/validators/registration.ts');
    expect(light[0]).toBe('test/lib/validators/registration.test.ts');
    expect(light).toContain('test/specification/fields.test.ts');
    expect(heavy).toContain('test/specification/http.test.ts');
  });
});

it('Every survivor that is listed is a mutant of today', () => {
  for (const { path, text, change, reason } of SURVIVORS) {
    expect(existsSync(path), path).toBe(true);
    const mutants = mutantsOf(path, readFileSync(path, 'utf8'));
    expect(
      mutants.some((one) => one.text === text && one.change === change),
      `${path}: ${text}`,
    ).toBe(true);
    expect(reason).toMatch(/\w{3,}/);
  }
});
