import { setImmediate as nextTurn } from 'node:timers/promises';

interface Sleeper {
  /** In milliseconds, by this clock. */
  at: number;
  wake(): unknown;
}

/**
 * The clock of a world. It runs normally, and can be advanced: due timers run in order, at their times.
 */
export class WorldClock {
  readonly #sleepers = new Set<Sleeper>();
  /** By how much it is ahead of this machine's, in milliseconds. */
  aheadMs = 0;
  /** Called when it has moved. */
  onMove: () => void = () => {};
  /** Awaited before it moves, and after its timers: no sent data is pending. */
  settled: () => Promise<void> = async () => {};

  now(): number {
    return Date.now() + this.aheadMs;
  }

  /** Ends without an error when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const sleeper: Sleeper = { at: this.now() + ms, wake: () => wake() };
      const wake = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', wake);
        this.#sleepers.delete(sleeper);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      timer.unref();
      signal?.addEventListener('abort', wake);
      this.#sleepers.add(sleeper);
    });
  }

  /** Advances the clock. */
  async pass(ms: number): Promise<void> {
    await this.settled();
    const end = this.now() + ms;
    for (let next = this.#first(end); next !== undefined; next = this.#first(end)) {
      this.#moveTo(next.at);
      next.wake();
      await nextTurn();
      await this.settled();
    }
    this.#moveTo(end);
  }

  #first(end: number): Sleeper | undefined {
    const [first] = [...this.#sleepers].filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at);
    return first;
  }

  /** It never goes back. */
  #moveTo(at: number): void {
    this.aheadMs = Math.max(this.aheadMs, at - Date.now());
    this.onMove();
  }
}
