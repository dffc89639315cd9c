/** How long before the function's end a use case is told to stop, in milliseconds: enough to settle and to answer. */
export const STOP_BEFORE_END_MS = 4_000;

/**
 * A signal that aborts with the given one, and after so many milliseconds at the latest; at once when none are left.
 *
 * Not `AbortSignal.any` with `AbortSignal.timeout`: what that makes does not keep its sources, so the garbage collector
 * may take the time limit away while nobody listens, and then the signal never comes.
 */
export function within(ms: number, signal?: AbortSignal): AbortSignal {
  const controller = new AbortController();
  if (signal?.aborted === true || ms <= 0) {
    controller.abort(signal?.reason);
    return controller.signal;
  }
  const follow = () => {
    clearTimeout(timer);
    controller.abort(signal?.reason);
  };
  const timer = setTimeout(() => {
    signal?.removeEventListener('abort', follow);
    controller.abort(new DOMException('The time is up.', 'TimeoutError'));
  }, ms).unref();
  signal?.addEventListener('abort', follow, { once: true });
  return controller.signal;
}

/** The same, and the time that is left may be cut short later. */
export function stoppable(ms: number, signal: AbortSignal): { signal: AbortSignal; stopIn(ms: number): void } {
  const controller = new AbortController();
  const stopIn = (left: number) => {
    const limit = within(left, signal);
    if (limit.aborted) controller.abort(limit.reason);
    else limit.addEventListener('abort', () => controller.abort(limit.reason), { once: true });
  };
  stopIn(ms);
  return { signal: controller.signal, stopIn };
}
