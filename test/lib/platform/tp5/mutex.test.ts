import { expect, it } from 'vitest';
import { createMutex } from '../../../../lib/platform/tp5/client.ts';

it('The mutex has one holder at a time, in the order of the calls', async () => {
  const take = createMutex();
  const order: number[] = [];
  let busy = 0;
  await Promise.all(
    [0, 1, 2, 3, 4].map(async (index) => {
      const end = await take();
      busy += 1;
      expect(busy).toBe(1);
      order.push(index);
      await new Promise((resolve) => setImmediate(resolve));
      busy -= 1;
      end();
    }),
  );
  expect(order).toEqual([0, 1, 2, 3, 4]);
});

it('The mutex skips a caller that has left the queue', async () => {
  const take = createMutex();
  const end = await take();
  const leaving = new AbortController();
  const left = take(leaving.signal);
  const stayed = take();
  leaving.abort();
  await expect(left).rejects.toMatchObject({ kind: 'platform_unavailable' });
  end();
  (await stayed)();
  (await take())();
});

it('The mutex refuses a caller whose time is up', async () => {
  const take = createMutex();
  await expect(take(AbortSignal.abort())).rejects.toMatchObject({ options: { reason: 'queue_timeout' } });
  (await take())();
});
