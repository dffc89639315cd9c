import { type EventLoopUtilization, performance } from 'node:perf_hooks';

/** How many requests are worked on at once however busy the process is. */
const ALWAYS = 8;
/** How often waiting requests are looked at, in milliseconds, and the share of it that must have been free. */
const LOOK_MS = 10;
const BUSY = 0.7;

/**
 * Lets requests into this process as it can carry them. In Lambda each request has a processor of its own; here all
 * share one, and were hundreds let in at once, each would take seconds and run into timeouts that it never meets there.
 * Requests that wait for something slow take no processor, so others go in beside them.
 */
export class Admission {
  #working = 0;
  readonly #waiting: (() => void)[] = [];
  #timer: NodeJS.Timeout | undefined;
  #seen: EventLoopUtilization = performance.eventLoopUtilization();

  /** Does the work when its turn has come; first come, first served. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#working < ALWAYS && this.#waiting.length === 0) this.#working += 1;
    else await this.#turn();
    try {
      return await work();
    } finally {
      this.#working -= 1;
      if (this.#working < ALWAYS) this.#admitOne();
    }
  }

  #turn(): Promise<void> {
    if (this.#timer === undefined) {
      this.#seen = performance.eventLoopUtilization();
      this.#timer = setInterval(() => this.#look(), LOOK_MS).unref();
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #admitOne(): void {
    const next = this.#waiting.shift();
    if (next === undefined) return;
    this.#working += 1;
    next();
  }

  #look(): void {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#seen);
    this.#seen = now;
    if (utilization < BUSY) this.#admitOne();
    if (this.#waiting.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
