import { setImmediate } from 'node:timers/promises';

/** After this many turns of the event loop without a new call, everything waits for the calls that were made. */
const IDLE_TURNS = 5;

/**
 * Counts the trips of a request: the rounds of calls that wait for each other. Calls are held until no further one comes,
 * then all go out together, so the count does not depend on how long each takes.
 */
export class Trips {
  /** The names of the calls of each round. */
  readonly rounds: string[][] = [];
  #waiting: { name: string; release: () => void }[] = [];
  #running = 0;

  /** A call of this name, which is held until its round. */
  async call<T>(name: string, make: () => Promise<T>): Promise<T> {
    await new Promise<void>((release) => this.#waiting.push({ name, release }));
    this.#running += 1;
    try {
      return await make();
    } finally {
      this.#running -= 1;
    }
  }

  /** Runs a request, with its calls in rounds. @returns its result */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.rounds.length = 0;
    let isOver = false;
    const result = work().finally(() => {
      isOver = true;
    });
    // It is awaited below.
    result.catch(() => {});
    for (let idle = 0; !isOver; ) {
      await setImmediate();
      idle = this.#running > 0 ? 0 : idle + 1;
      if (idle < IDLE_TURNS || this.#waiting.length === 0) continue;
      const round = this.#waiting;
      this.#waiting = [];
      this.rounds.push(round.map(({ name }) => name).sort());
      for (const { release } of round) release();
      idle = 0;
    }
    return result;
  }
}
