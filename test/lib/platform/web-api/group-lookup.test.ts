import { beforeEach, describe, expect, it } from 'vitest';
import { anOrder, failure, noSignal, platformOn, scriptedServer } from '../../../support/web-api.ts';

let now = 0;
beforeEach(() => {
  now = Date.UTC(2026, 0, 15);
});

/** A group of these accounts, and what was asked of it; `onBatch` is told of each batch before it is answered. */
async function groupOf(
  logins: readonly number[],
  record: (login: number) => Record<string, unknown> | undefined,
  onBatch: (count: number) => void = () => {},
) {
  const batches: number[] = [];
  const singles: number[] = [];
  const userOf = (login: number) => {
    const own = record(login);
    return own === undefined ? undefined : { Login: String(login), Name: 'Bob Moss', Comment: '', ...own };
  };
  const server = await scriptedServer(({ path }, response) => {
    const answer = (content: unknown) =>
      response.end(
        JSON.stringify(content === undefined ? { retcode: '13 Not found' } : { retcode: '0 Done', answer: content }),
      );
    if (path.startsWith('/api/user/logins')) return answer(logins.map(String));
    const asked = (path.split('login=')[1] ?? '').split(',').map(Number);
    if (path.startsWith('/api/user/get?')) {
      singles.push(...asked);
      return answer(userOf(asked[0] ?? 0));
    }
    batches.push(asked.length);
    onBatch(batches.length);
    const known = asked.map(userOf).filter((user) => user !== undefined && !('LeftOut' in user));
    answer(known.length === 0 ? undefined : known);
  });
  return { batches, singles, platform: platformOn(server, { now: () => now }) };
}
const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

describe('a large group', () => {
  it('is read from the highest login down, until ours is found', async () => {
    const order = anOrder();
    const { platform, batches } = await groupOf(upTo(50_000), (login) =>
      login === 49_950 ? { Comment: order.operationId } : {},
    );
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 49_950 });
    expect(batches).toEqual([200]);
  });

  it('is read whole before an account is called absent', async () => {
    const { platform, batches } = await groupOf(upTo(10_000), () => ({}));
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(batches).toHaveLength(50);
  });

  it('is read on below logins that were chosen by hand', async () => {
    const order = anOrder();
    const chosen = Array.from({ length: 2_100 }, (_, index) => 900_001 + index);
    const { platform } = await groupOf([500_001, ...chosen, 902_101], (login) =>
      login === 500_001 ? { Comment: order.operationId } : {},
    );
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 500_001 });
  });

  it('is read once in ten minutes, whoever is looked for, and then anew, since a login may be given anew', async () => {
    const { platform, batches } = await groupOf(upTo(10_000), () => ({}));
    for (let time = 0; time < 3; time += 1) {
      expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    }
    expect(batches).toHaveLength(50);
    now += 10 * 60_000 + 1;
    batches.length = 0;
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(batches).toHaveLength(50);
  });

  it('that was read for another has the account of the next, however old a server with a wrong clock says that it is', async () => {
    const [other, order] = [anOrder(), anOrder()];
    const { platform, batches } = await groupOf(upTo(1_000), (login) => ({
      Registration: '0',
      ...(login === 77 ? { Comment: order.operationId } : {}),
    }));
    expect(await platform.find(other, noSignal)).toEqual({ kind: 'absent' });
    batches.length = 0;
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 77 });
    expect(batches).toEqual([1]);
  });

  it('that takes longer than there is time is read on by the next look-up, to its end', async () => {
    const order = anOrder();
    let caller = new AbortController();
    const { platform, batches } = await groupOf(
      upTo(100_000),
      (login) => (login === 1 ? { Comment: order.operationId } : {}),
      (count) => {
        if (count % 120 === 0) caller.abort();
      },
    );
    for (let time = 0; time < 4; time += 1) {
      caller = new AbortController();
      expect(await failure(platform.find(order, caller.signal))).toMatchObject({ kind: 'platform_unavailable' });
    }
    caller = new AbortController();
    expect(await platform.find(order, caller.signal)).toEqual({ kind: 'found', login: 1 });
    // Of each look-up the batch is read again in which its time ended.
    expect(batches).toHaveLength(500 + 4);
  });

  it.each([
    ['one account', (login: number) => login === 150],
    ['every account', () => true],
  ])('whose batch leaves out %s is asked for it by itself', async (_, isLeftOut) => {
    const order = anOrder();
    const { platform, singles } = await groupOf(upTo(200), (login) => ({
      Comment: login === 150 ? order.operationId : '',
      ...(isLeftOut(login) ? { LeftOut: '1' } : {}),
    }));
    expect(await platform.find(order, noSignal)).toEqual({ kind: 'found', login: 150 });
    expect(singles).toContain(150);
  });

  it('of which an account is gone by the time it is read does without it', async () => {
    const { platform, singles } = await groupOf(upTo(10), (login) => (login === 4 ? undefined : {}));
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
    expect(singles).toEqual([4]);
  });
});

describe('a group in which nobody has a comment', () => {
  it('has no account of ours where nobody has its name, which is read once in ten minutes too', async () => {
    const { platform, batches } = await groupOf(upTo(1_000), () => ({}));
    const order = anOrder();
    for (let time = 0; time < 2; time += 1) {
      expect(await platform.find(order, noSignal)).toEqual({ kind: 'absent' });
    }
    expect(batches).toHaveLength(5);
    expect(await platform.find(anOrder({ name: 'Bob Moss' }), noSignal)).toEqual({ kind: 'cannot_tell' });
    expect(batches).toHaveLength(10);
  });

  it('has none where a comment was shown to us elsewhere, whatever its names are', async () => {
    const { platform } = await groupOf(upTo(100), (login) =>
      login === 100 ? { Comment: 'VIP' } : { Name: 'Ann Lee' },
    );
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'absent' });
  });

  it.each(['ann  LEE', 'Ann', 'Lee', ''])('cannot tell among many accounts that show the name “%s”', async (Name) => {
    const { platform } = await groupOf(upTo(100), () => ({ Name }));
    expect(await platform.find(anOrder(), noSignal)).toEqual({ kind: 'cannot_tell' });
  });
});
