import { readFileSync } from 'node:fs';
import { describe, expect, inject, it } from 'vitest';
import type { Life } from '../../lib/openings/life.ts';
import { parseHeld } from '../../lib/openings/stored-operation.ts';
import type { AccountWorld } from '../support/account-world.ts';
import { type Release, releaseWorlds, repeatStory, restoreRelease } from './release.ts';

/** What 1.1.0 has stored: accounts, reservations, confirmed registrations, and operations in its states. */
const RELEASE: Release = JSON.parse(readFileSync(new URL('1.x.json', import.meta.url), 'utf8'));

/** Works in a world that 1.x has left. */
async function inheriting(work: (world: AccountWorld) => Promise<void>): Promise<void> {
  const pool = await releaseWorlds(inject('bundles'), RELEASE.at - Date.now());
  await pool.use(async (world) => {
    await restoreRelease(world, RELEASE);
    await work(world);
  });
  await pool.close();
}
const accountsOf = (world: AccountWorld) => Object.values(world.servers).flatMap((server) => server.accounts());

describe('After the update from 1.x', () => {
  it('every key is answered with its login and passwords, and every open operation goes on', async () => {
    await inheriting(async (world) => {
      const answers: Release['stories'] = [];
      for (const story of RELEASE.stories) answers.push({ ...story, answer: await repeatStory(world, story) });
      expect(answers).toEqual(RELEASE.stories);
      expect(accountsOf(world)).toHaveLength(RELEASE.stories.length);
      await world.settle().outcome;
      const operations = await world.items('operations');
      expect(operations.filter((item) => 'expires_at' in item)).toEqual([]);
      const lives = operations.map(({ life }) => life as Life & { at: string });
      for (const { at, ...life } of lives) if (at === 'open') expect(life).toMatchObject({ published: true });
      expect(new Set(lives.map(({ at }) => at))).toEqual(new Set(['open', 'done', 'undecided']));
    });
  });

  it('a key that 1.x has forgotten still names its login: its account is found by the comment', async () => {
    await inheriting(async (world) => {
      await world.lose('operations');
      for (const story of RELEASE.stories.filter(({ name }) => name.startsWith('done on tp5')))
        expect(await repeatStory(world, story)).toEqual(story.answer);
      // The undecided request of the plug-in has an account, and the request that was killed before it sent has none.
      expect(accountsOf(world)).toHaveLength(RELEASE.stories.length - 1);
    });
  });
});

describe('A state of 1.x is read as', () => {
  const [item] = RELEASE.items.operations ?? [];
  const open = { at: 'open', login: 7, opened_at: '2026-01-02T03:04:05.678Z', recorded: true, published: false };
  const done = { at: 'done', login: 7, opened_at: open.opened_at };
  it.each<[object, object]>([
    [{ at: 'claimed' }, { at: 'claimed' }],
    [
      { at: 'sent', login: 7, commands: 'one' },
      { at: 'sent', login: 7, commands: 'one' },
    ],
    [
      { at: 'sent', login: 7, commands: 'taken' },
      { at: 'sent', login: 7, commands: 'taken' },
    ],
    [
      { at: 'sent', login: 7, commands: 'found' },
      { at: 'undecided', login: 7 },
    ],
    [
      { at: 'undecided', login: 7, other: 8 },
      { at: 'undecided', login: 7, other: 8 },
    ],
    [
      { ...open, deposit: 'again' },
      { ...open, deposit: 'due', mail: 'none' },
    ],
    [
      { ...open, deposit: 'sent' },
      { ...open, deposit: 'sent', mail: 'none' },
    ],
    [
      { ...open, deposit: 'found' },
      { ...open, deposit: 'unpaid', mail: 'none' },
    ],
    [
      { ...open, deposit: 'failed' },
      { ...open, deposit: 'unpaid', mail: 'none' },
    ],
    [
      { ...done, unpaid: false },
      { ...open, published: true, deposit: 'none', mail: 'none' },
    ],
    [
      { ...done, unpaid: true },
      { ...open, published: true, deposit: 'unpaid', mail: 'none' },
    ],
  ])('%j: %j', (life, expected) => {
    expect(parseHeld({ ...item, life }).life).toEqual(expected);
  });
});
