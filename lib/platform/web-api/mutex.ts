import { PlatformFailure } from '../platform.ts';

/**
 * One holder at a time, in the order of the calls. The promise resolves to the function that unlocks. A caller that waits
 * leaves the queue when its signal aborts.
 * @throws PlatformFailure `platform_unavailable` if the signal aborts first
 */
export function createMutex(): (signal?: AbortSignal) => Promise<() => void> {
  let last = Promise.resolve();

  return async (signal) => {
    const { promise: unlocked, resolve: unlock } = Promise.withResolvers<void>();
    const before = last;
    last = before.then(() => unlocked);
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        unlock();
        const reason = 'queue_timeout';
        reject(new PlatformFailure('platform_unavailable', { reason, proof: 'unsent', retryAfterSeconds: 5 }));
      };
      if (signal?.aborted === true) return leave();
      signal?.addEventListener('abort', leave, { once: true });
      before.then(() => {
        signal?.removeEventListener('abort', leave);
        resolve();
      });
    });
    return unlock;
  };
}
