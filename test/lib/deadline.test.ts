import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { pauseAtRandom, within } from '../../lib/deadline.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('A deadline', () => {
  it('aborts when its time is up, with a TimeoutError', async () => {
    const signal = within(20);
    expect(signal.aborted).toBe(false);
    await expect.poll(() => signal.aborted).toBe(true);
    expect((signal.reason as Error).name).toBe('TimeoutError');
  });

  it('aborts with its outer signal, for the same reason', () => {
    const outer = new AbortController();
    const signal = within(10_000, outer.signal);
    outer.abort('over');
    expect(signal.reason).toBe('over');
  });

  it.each([0, -5])('has aborted already when %s ms are left', (ms) => {
    expect(within(ms).aborted).toBe(true);
  });

  it('has aborted already when the signal around it has', () => {
    expect(within(10_000, AbortSignal.abort('over')).reason).toBe('over');
  });

  it('aborts without listeners and after a garbage collection, at any depth', async () => {
    const signals = Array.from({ length: 100 }, () => within(10_000, within(60, new AbortController().signal)));
    collectGarbage();
    await expect.poll(() => signals.filter(({ aborted }) => aborted).length).toBe(100);
  });

  it('leaves no listener on the outer signal', async () => {
    const { signal } = new AbortController();
    for (let index = 0; index < 50; index += 1) within(5, signal);
    expect(getEventListeners(signal, 'abort')).toHaveLength(50);
    await expect.poll(() => getEventListeners(signal, 'abort').length).toBe(0);
  });
});

describe('A random pause', () => {
  it('ends in its time, and at once if its signal aborts', async () => {
    await pauseAtRandom(5, new AbortController().signal);
    await pauseAtRandom(3_600_000, AbortSignal.abort());
    const ending = new AbortController();
    const pause = pauseAtRandom(3_600_000, ending.signal);
    ending.abort();
    await pause;
  });
});
