import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { FakeAccounts } from '../../support/account-fakes.ts';
import { beforeEachOpening, KEY, unavailable } from '../../support/account-tests.ts';

let world: FakeAccounts;
beforeEachOpening((fresh) => {
  world = fresh;
});

describe('The session with the server of the connection', () => {
  it('is opened beside the claim, as it opens no account', async () => {
    const asked = Promise.withResolvers<void>();
    world.platform.sessions = [async () => asked.resolve()];
    world.operations.failing = { at: 1 };
    await expect(world.run()).rejects.toThrow('ServiceUnavailable');
    await asked.promise;
    expect(world.platform.calls).toEqual([]);
  });

  it('that cannot be opened refuses the request, which may be repeated at once; no other is opened for it', async () => {
    world.platform.sessions = [() => Promise.reject(unavailable())];
    expect(await world.refused({}, KEY)).toMatchObject({ type: 'platform_unavailable', status: 503 });
    expect(world.platform.calls).toEqual([]);
    expect((await world.run({}, KEY)).replayed).toBe(false);
  });

  it('that the answer does not need ends with it', async () => {
    await world.run({}, KEY);
    const opening = Promise.withResolvers<void>();
    world.platform.sessions = [
      async (signal) => {
        await once(signal, 'abort');
        opening.resolve();
      },
    ];
    expect((await world.run({}, KEY)).replayed).toBe(true);
    await opening.promise;
  });
});

describe('The bus for events', () => {
  it('is opened while the server is asked, and for no operation that is at its end', async () => {
    world.platform.beforeMarking = async () => expect(world.eventsPrepared).toBe(1);
    await world.run({}, KEY);
    await world.run({}, KEY);
    expect(world.eventsPrepared).toBe(1);
  });
});
