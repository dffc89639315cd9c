/** How long before the function's end a use case is told to stop, in milliseconds: enough to settle and to answer. */
export const STOP_BEFORE_END_MS = 4_000;

/**
 * A signal that aborts with the given one, and after so many milliseconds at the latest; at once when none are left.
 *
 * Not `AbortSignal.any` with `AbortSignal.timeout`: what that makes does not keep its sources, so the garbage collector
 * may take the time limit away while nobody listens, and then the signal never comes.
 */
export function within(ms: number, signal?: AbortSignal): AbortSignal {
  return stoppable(ms, signal).signal;
}

/** The same, and the time that is left may be cut short later. */
export function stoppable(ms: number, signal?: AbortSignal): { signal: AbortSignal; stopIn(ms: number): void } {
  const controller = new AbortController();
  let endsAt = Number.POSITIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  const end = (reason: unknown) => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', follow);
    controller.abort(reason);
  };
  const follow = () => end(signal?.reason);
  const timeIsUp = () => end(new DOMException('The time is up.', 'TimeoutError'));
  const stopIn = (left: number) => {
    const at = performance.now() + left;
    if (at >= endsAt || controller.signal.aborted) return;
    endsAt = at;
    clearTimeout(timer);
    if (left <= 0) timeIsUp();
    else timer = setTimeout(timeIsUp, left).unref();
  };
  if (signal?.aborted === true) {
    controller.abort(signal.reason);
  } else {
    signal?.addEventListener('abort', follow, { once: true });
    stopIn(ms);
  }
  return { signal: controller.signal, stopIn };
}

/** Like `Promise.all`, but it also waits for the others when one fails: no work continues after an answer. */
export async function awaitAll<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [I in keyof T]: Awaited<T[I]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
