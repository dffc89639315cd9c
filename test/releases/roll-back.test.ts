import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { type AccountWorld, WorldPool } from '../support/account-world.ts';
import { bundleCheckout } from '../support/bundles.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeRelease, type Release, repeatStory, restoreRelease } from './release.ts';

/** The commit of version 1.0.0, whose own code the functions of these tests run. */
const RELEASED = 'dc00c38c2cf89c501aac78c71136a29d1b762eb0';
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const FUNCTIONS = [
  ...(['create-tp5-account', 'create-tp4-account', 'settle-operations'] as const),
  ...(['request-registration', 'confirm-registration'] as const),
];

const git = (...more: string[]) => spawnSync('git', ['-C', PROJECT, ...more], { maxBuffer: 2 ** 30 });
const isCloned = git('cat-file', '-e', `${RELEASED}^{commit}`).status === 0;
if (!isCloned) process.stderr.write('Skipped: the roll-back to version 1.0.0 (its commit is not in this checkout)\n');

describe.runIf(isCloned)('After a roll-back to version 1.0.0', () => {
  const folder = temporaryFolder('roll-back');
  let stored: Release;
  let released: string;

  beforeAll(async () => {
    const checkout = join(folder, 'checkout');
    mkdirSync(checkout);
    execFileSync('tar', ['-x', '-C', checkout], { input: git('archive', RELEASED).stdout });
    symlinkSync(join(PROJECT, 'node_modules'), join(checkout, 'node_modules'));
    released = await bundleCheckout(checkout, join(folder, 'released'), FUNCTIONS);
    stored = await makeRelease(join(folder, 'today'));
  });

  /** Calls the functions of 1.0.0 on what those of today have stored. */
  async function rollBack(work: (world: AccountWorld) => Promise<void>): Promise<void> {
    const skewMs = () => stored.at - Date.now();
    const pool = new WorldPool(1, { bundles: released, skewMs, areAdministrators: true });
    await pool.use(async (world) => {
      await restoreRelease(world, stored);
      await work(world);
    });
    await pool.close();
  }
  const accountsOf = (world: AccountWorld) => Object.values(world.servers).flatMap((server) => server.accounts());
  const openings = () => stored.stories.filter((story) => 'call' in story);

  it('every request for an account, and every code, is answered as before, but for keys of registrations', async () => {
    await rollBack(async (world) => {
      const answers: Release['stories'] = [];
      for (const story of stored.stories) answers.push({ ...story, answer: await repeatStory(world, story) });
      // 1.0.0 keeps them in another table, so the request counts as a new one for the recipient.
      const expected = stored.stories.map((story) =>
        'path' in story && story.key !== undefined
          ? { ...story, answer: { status: 429, type: 'too_many_requests' } }
          : story,
      );
      expect(answers).toEqual(expected);
      expect(accountsOf(world)).toHaveLength(openings().length);
    });
  });

  it('a request of an earlier day, whose key has expired, still has its one account', async () => {
    await rollBack(async (world) => {
      await world.lose('operations');
      for (const { call, answer } of openings()) {
        if (answer.status !== 200) continue;
        const { status, body } = await world.ask(call);
        expect({ status, login: body.login }).toEqual({ status: 200, login: answer.login });
      }
      expect(accountsOf(world)).toHaveLength(openings().length);
    });
  });

  it('the settler ends what today’s functions have left open', async () => {
    await rollBack(async (world) => {
      const lives = async () =>
        (await world.items('operations')).map(({ life }) => (life as { at?: string } | undefined)?.at);
      expect(await lives()).toContain('open');
      await world.clock.pass(3_600_000);
      await world.settle().outcome;
      expect(await lives()).not.toContain('open');
    });
  });
});
