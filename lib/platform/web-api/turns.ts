import { PlatformFailure } from '../platform.ts';

/**
 * One at a time, in the order of asking. The promise gives the turn, as the function that ends it; whoever waits leaves
 * the queue when the signal aborts.
 * @throws PlatformFailure `platform_unavailable` when the signal aborts first
 */
export function turns(): (signal?: AbortSignal) => Promise<() => void> {
  const waiting: (() => void)[] = [];
  let taken = false;

  const end = () => {
    const next = waiting.shift();
    if (next === undefined) taken = false;
    else next();
  };

  return async (signal) => {
    if (signal?.aborted === true) throw timedOut();
    if (taken) {
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
    taken = true;
    return end;
  };
}

function timedOut(): PlatformFailure {
  return new PlatformFailure('platform_unavailable', { reason: 'queue_timeout', retryAfterSeconds: 5 });
}
