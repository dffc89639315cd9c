import pLimit from 'p-limit';
import { describe, it } from 'vitest';
import type { Case } from './cases.ts';
import { type Surroundings, worldOf } from './world.ts';

/** Cases that belong together. */
export interface Section {
  title: string;
  /** True: the cases are independent and can run in parallel. */
  concurrent?: boolean;
  cases: readonly Case[];
}

/** Sections that run with one service. */
export interface Part extends Surroundings {
  title: string;
  sections: readonly Section[];
}

/**
 * Values of fields: the good ones run side by side; the bad ones run one by one, because they check all effects of the
 * service.
 */
export function sideBySide(title: string, cases: readonly Case[]): Section[] {
  const isGood = ({ stands }: Case) => stands.every(({ kept }) => kept);
  return [
    { title: `${title}, what is accepted field by field`, concurrent: true, cases: cases.filter(isGood) },
    { title: `${title}, what is refused field by field`, cases: cases.filter((one) => !isGood(one)) },
  ];
}

/** More requests at once make a busy machine miss the time limits of a function. */
const AT_ONCE = 5;

/** Lists the cases of the parts as tests. */
export function walk(parts: readonly Part[]): void {
  for (const { title, sections, ...surroundings } of parts) {
    describe(title, () => {
      const world = worldOf(surroundings);
      const turns = pLimit(AT_ONCE);
      for (const section of sections) {
        describe(section.title, { concurrent: section.concurrent === true }, () => {
          for (const one of section.cases) it(one.title, () => turns(() => one.run(world())));
        });
      }
    });
  }
}
