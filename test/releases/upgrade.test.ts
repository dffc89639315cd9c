import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, inject, it } from 'vitest';
import { type Release, releaseWorlds, repeatStory, restoreRelease } from './release.ts';

const RELEASES = readdirSync(new URL('.', import.meta.url)).filter((name) => /^[\d.]+\.json$/.test(name));

describe.each(RELEASES)('What version %s stored', (file) => {
  const release: Release = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));

  it('has operations in every state', () => {
    const states = new Set(release.items.operations?.map(({ life }) => (life as { at: string } | undefined)?.at));
    expect([...states].toSorted()).toEqual(['claimed', 'done', 'open', 'sent', 'undecided', undefined]);
  });

  it('is answered the same today: the same accounts, passwords, codes and refusals', async () => {
    const pool = await releaseWorlds(inject('bundles'), release.at - Date.now());
    await pool.use(async (world) => {
      await restoreRelease(world, release);
      const answers = [];
      for (const story of release.stories) answers.push({ ...story, answer: await repeatStory(world, story) });
      expect(answers).toEqual(release.stories);
      // Each request has one account, and no client heard of a code twice.
      const accounts = Object.values(world.servers).flatMap((server) => server.accounts());
      expect(accounts).toHaveLength(release.stories.filter((story) => 'call' in story).length);
      expect(world.outbox.list()).toEqual([]);
    });
    await pool.close();
  });
});
