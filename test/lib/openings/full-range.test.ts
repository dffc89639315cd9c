import { describe, expect, it } from 'vitest';
import { LIVE } from '../../support/crm-example.ts';
import { testDatabase } from '../../support/database.ts';
import { OpeningScene } from '../../support/opening-scene.ts';

const SIZE = 1_000;
/** Opened before, for a short test. */
const USED = 900;
const OPENERS = 50;

describe('A login range', () => {
  it('of 1,000 gives 50 openers exactly its 1,000 accounts, then login_range_exhausted, with a notice before', async () => {
    const database = await testDatabase();
    const scene = new OpeningScene(database);
    scene.connection = { ...LIVE, logins: { from: 1, to: SIZE } };
    await scene.reserve(USED);
    let requests = 0;
    const answers: (number | string)[] = [];
    const openUntil = async (last: number) => {
      const opener = async () => {
        while (requests < last) {
          requests += 1;
          answers.push(await scene.open(`request ${requests}`));
        }
      };
      await Promise.all(Array.from({ length: OPENERS }, opener));
    };

    await openUntil(SIZE * 0.97 - USED);
    expect(scene.events.map(({ name }) => name)).toContain('LoginsScarce');
    await openUntil(SIZE - USED + OPENERS);
    expect(scene.accounts.size).toBe(SIZE);
    expect(new Set(answers.filter((one) => typeof one === 'number')).size).toBe(SIZE - USED);
    expect(answers.filter((one) => typeof one === 'string')).toEqual(Array(OPENERS).fill('login_range_exhausted'));
  });
});
