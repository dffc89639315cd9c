import { beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { registrationEnvironment } from '../support/account-surroundings.ts';
import { startAccountWorld } from '../support/account-world.ts';
import { bundleInto } from '../support/bundles.ts';
import { KINDS, type Kind } from '../support/never-twice/circumstances.ts';
import { PLAIN_SHAPE, type Shape } from '../support/never-twice/intents.ts';
import { playIn, runHistories } from '../support/never-twice/run.ts';
import type { Round, Step } from '../support/never-twice/steps.ts';

/** A few of them: `npm run never-twice` runs as many as one likes, and `.ci/run` a good number. */
const RUNS = 1;

vi.setConfig({ testTimeout: 300_000 });

let bundles: string;
beforeAll(async () => {
  bundles = await bundleInto(inject('bundles'), 'request-registration', 'settle-operations');
});

describe.concurrent('Requests, retries, kills, stops and faults', () => {
  const PROMISES: Record<Kind, string> = {
    ranges: 'with logins of the service’s own, whatever servers and clocks do',
    registrations: 'nor a second message',
    times: 'without them, while servers act in time',
  };
  it.each(Object.keys(KINDS) as Kind[])(
    'never make a second account or deposit, nor keep a password: %s',
    async (kind) => {
      const { counts, violations } = await runHistories({ bundles, kind, runs: RUNS, lanes: 2, seed: 6 });
      expect(violations, PROMISES[kind]).toEqual([]);
      // Enough has happened to prove something.
      expect(counts.histories).toBe(RUNS);
      expect(counts.requests).toBeGreaterThan(3 * RUNS);
      expect(counts.kills + counts.stops).toBeGreaterThan(0);
      expect(counts.accounts + counts.messages).toBeGreaterThan(0);
      if (kind !== 'registrations') expect(counts.passwords).toBeGreaterThan(0);
    },
  );
});

describe('A history', () => {
  const ASKED: Shape = { ...PLAIN_SHAPE, connection: 'tp5-live' };
  /** Its end was written down last. */
  const died = { tries: [{ of: 'note' as const, count: 3 }], passMs: 0 };
  const diedAtKeysEnd = { tries: [{ of: 'database' as const, count: 1 }], beforeKeyEndsMs: 8_000, passMs: 14_000 };
  const retried = { tries: [null], passMs: 0 };

  const retriedMuchLater = { ...retried, passMs: 62 * 60_000 };

  /** One request, and what befalls it. */
  function story<S>(shape: S, rounds: Round[]): Step<S>[] {
    return [{ kind: 'begin', shape, rivals: false, faults: [], rounds }];
  }

  async function play(kind: Kind, told: Parameters<typeof playIn>[2]): Promise<void> {
    const world = await startAccountWorld({ bundles, settleSeconds: 60, environment: registrationEnvironment() });
    try {
      await playIn(world, kind, told);
    } finally {
      await world.close();
    }
  }

  describe('in which a retry dies before it has done anything does not keep the key for longer', () => {
    it('its own login is taken by the account that the key has opened', () => {
      const steps = story<Shape>({ ...ASKED, login: 'outside' }, [died, diedAtKeysEnd, retried]);
      return play('times', { passwordCheck: 'known', steps });
    });

    it('another message is sent', () => play('registrations', story(true, [died, diedAtKeysEnd, retried])));
  });

  it('in which a function dies when the account is recorded is answered from our own table, where the server cannot be asked', () => {
    const diedRecorded = { tries: [{ of: 'put' as const, count: 2 }], passMs: 130_000 };
    const steps = story<Shape>({ ...ASKED, connection: 'reg-live' }, [diedRecorded, retried]);
    return play('times', { passwordCheck: 'known', steps });
  });

  it('in which a registration is repeated much later leaves its source all its places', () =>
    play('registrations', story(true, [retriedMuchLater, retried])));
});
