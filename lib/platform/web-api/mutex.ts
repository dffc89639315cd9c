import { PlatformFailure } from '../platform.ts';

/**
 * One holder at a time, in the order of the calls. The promise resolves to the function that unlocks. A caller that waits
 * leaves the queue when its signal aborts.
 * @throws PlatformFailure `platform_unavailable` if the signal aborts first
 */
export function createMutex(): (signal?: AbortSignal) => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let locked = false;

  const unlock = () => {
    const next = waiting.shift();
    if (next === undefined) locked = false;
    else next();
  };

  return async (signal) => {
    if (signal?.aborted === true) throw timedOut();
    if (locked) {
      await new Promise<void>((resolve, reject) => {
        const start = () => {
          signal?.removeEventListener('abort', leave);
          resolve();
        };
        const leave = () => {
          waiting.splice(waiting.indexOf(start), 1);
          reject(timedOut());
        };
        waiting.push(start);
        signal?.addEventListener('abort', leave, { once: true });
      });
    }
    locked = true;
    return unlock;
  };
}

function timedOut(): PlatformFailure {
  return new PlatformFailure('platform_unavailable', { reason: 'queue_timeout', retryAfterSeconds: 5 });
}
