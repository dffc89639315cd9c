import { setDefaultAutoSelectFamilyAttemptTimeout } from 'node:net';

/** How long one address of a name may take to answer, in milliseconds, before the next one is tried. */
const ADDRESS_MS = 2_000;

/**
 * Gives every address of a name time to answer, for all connections of this process. Node gives it 250 ms: a far server
 * whose name has several addresses could never be reached.
 */
export function allowFarServers(): void {
  setDefaultAutoSelectFamilyAttemptTimeout(ADDRESS_MS);
}

/**
 * How long before the function's timeout a use case is aborted, in milliseconds: enough for the last writes and the
 * answer.
 */
export const STOP_BEFORE_END_MS = 4_000;

/** The reason of all signals. They share one error, because making its stack costs more than the signal itself. */
const TIME_IS_UP = new DOMException('The time is up.', 'TimeoutError');

/**
 * A signal that aborts with the given one, or after this many milliseconds; at once if none are left.
 *
 * Not `AbortSignal.any` with `AbortSignal.timeout`: that signal does not keep its sources alive. The garbage collector
 * may remove the timeout, and then the signal never aborts.
 */
export function within(ms: number, signal?: AbortSignal): AbortSignal {
  if (signal?.aborted === true) return signal;
  const controller = new AbortController();
  const timeIsUp = () => {
    signal?.removeEventListener('abort', follow);
    controller.abort(TIME_IS_UP);
  };
  const follow = () => {
    clearTimeout(timer);
    controller.abort(signal?.reason);
  };
  const timer = ms > 0 ? setTimeout(timeIsUp, ms).unref() : undefined;
  if (timer === undefined) timeIsUp();
  else signal?.addEventListener('abort', follow, { once: true });
  return controller.signal;
}

/** Like `Promise.all`, but it also waits for the others when one fails: no work continues after an answer. */
export async function awaitAll<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  try {
    return await Promise.all(work);
  } catch {
    const ends = await Promise.allSettled(work);
    throw ends.find((end) => end.status === 'rejected')?.reason;
  }
}

/** Waits for a random part of this time, in milliseconds, or until the signal aborts. Never throws. */
export async function pauseAtRandom(maxMs: number, signal: AbortSignal): Promise<void> {
  const { promise: isOver, resolve } = Promise.withResolvers<void>();
  // The timer is not unreferenced: it may be the only work of the function.
  const timer = setTimeout(resolve, Math.random() * maxMs);
  signal.addEventListener('abort', () => resolve(), { once: true });
  if (!signal.aborted) await isOver;
  clearTimeout(timer);
}
