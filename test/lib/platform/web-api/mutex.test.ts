import { expect, it } from 'vitest';
import { createMutex } from '../../../../lib/platform/web-api/mutex.ts';

it('turns are taken one at a time, in the order of asking', async () => {
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

it('whoever leaves the queue is passed over', async () => {
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

it('whoever has no more time does not get in line', async () => {
  const take = createMutex();
  await expect(take(AbortSignal.abort())).rejects.toMatchObject({ options: { reason: 'queue_timeout' } });
  (await take())();
});
