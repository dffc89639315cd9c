import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { Admission } from '../../../infra/local/admission.ts';

/** Keeps the process busy for so long, yet lets others have their turns. */
async function toil(ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (performance.now() < until) await nextTurn();
}

/** Starts so many pieces of work at once, and notes how many ran side by side and in which order they began. */
async function runMany(count: number, work: () => Promise<void>): Promise<{ most: number; order: number[] }> {
  const admission = new Admission();
  const order: number[] = [];
  let running = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: count }, (_, index) =>
      admission.run(async () => {
        order.push(index);
        running += 1;
        most = Math.max(most, running);
        await work();
        running -= 1;
      }),
    ),
  );
  return { most, order };
}

describe('the admission of requests', () => {
  it('lets eight in at once while the process is busy', async () => {
    const { most } = await runMany(40, () => toil(60));
    expect(most).toBe(8);
  });

  it('lets more in beside those that only wait', async () => {
    const { most } = await runMany(30, () => sleep(2_000));
    expect(most).toBe(30);
  });

  it('lets in first whoever came first', async () => {
    const { order } = await runMany(30, () => toil(5));
    expect(order).toEqual(Array.from({ length: 30 }, (_, index) => index));
  });

  it('goes on after work that failed', async () => {
    const admission = new Admission();
    const failing = Array.from({ length: 20 }, () =>
      admission.run(() => Promise.reject(new Error('no'))).catch(() => 'failed'),
    );
    expect(await Promise.all(failing)).toEqual(Array(20).fill('failed'));
    expect(await admission.run(async () => 'done')).toBe('done');
  });
});
