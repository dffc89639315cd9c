import pLimit from 'p-limit';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { PARTS } from './parts.ts';
import { startWorld, type World } from './world.ts';

/** More requests at once make a busy machine miss the time limits of a function. */
const AT_ONCE = 5;

for (const { title, settings, sections } of PARTS) {
  describe(title, () => {
    let world: World;
    beforeAll(async () => {
      world = await startWorld(settings);
    });
    afterAll(() => world.close());

    const turns = pLimit(AT_ONCE);
    for (const section of sections) {
      describe(section.title, { concurrent: section.concurrent === true }, () => {
        for (const one of section.cases) it(one.title, () => turns(() => one.run(world)));
      });
    }
  });
}
