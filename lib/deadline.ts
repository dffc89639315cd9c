/**
 * How long before the function's timeout a use case is aborted, in milliseconds: enough for the last writes and the
 * answer.
 */
export const STOP_BEFORE_END_MS = 4_000;

/**
 * A signal that aborts with the given one, or after this many milliseconds; at once if none are left.
 *
 * Not `AbortSignal.any` with `AbortSignal.timeout`: that signal does not keep its sources alive. The garbage collector
 * may remove the timeout, and then the signal never aborts.
 */
export function within(ms: number, signal?: AbortSignal): AbortSignal {
  return stoppable(ms, signal).signal;
}

/** Like `within`, and the remaining time can be shortened later. */
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
