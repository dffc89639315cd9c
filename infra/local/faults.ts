/** What can be made to go wrong, by kind of target (`PUT /_local/faults/{target}`). */
export const SERVICE_FAULT_KINDS = ['throttled', 'refused', 'down', 'slow'] as const;
export const PLATFORM_FAULT_KINDS = [
  ...SERVICE_FAULT_KINDS,
  'reply_lost',
  'session_dropped',
  'retcode',
  'silence',
  'garbage',
] as const;
export type FaultKind = (typeof PLATFORM_FAULT_KINDS)[number];

export interface Fault {
  kind: FaultKind;
  /** How many calls go wrong. */
  times: number;
  /** How many calls go well before. */
  after?: number;
  /** Of `slow`: milliseconds that the call waits before it is worked on, as ever. */
  ms?: number;
  /** Of `retcode`: the platform's return code. */
  code?: number;
}

/** The faults waiting at one target; each call takes its turn. */
export class Faults {
  #waiting: (Fault & { after: number })[] = [];

  /** Called when faults were set or cleared: `down` must close its port before the next call comes. */
  onChange: () => void = () => {};

  set(fault: Fault): void {
    this.#waiting = fault.times === 0 ? [] : [{ ...fault, after: fault.after ?? 0 }];
    this.onChange();
  }

  clear(): void {
    this.#waiting = [];
    this.onChange();
  }

  /** The fault that the next call will have; counts nothing. */
  peek(): Fault | undefined {
    const [fault] = this.#waiting;
    return fault === undefined || fault.after > 0 ? undefined : { ...fault };
  }

  list(): Fault[] {
    return this.#waiting.map((fault) => ({ ...fault }));
  }

  /** The fault of this call, if it has one; counts the call. */
  next(): Fault | undefined {
    const [fault] = this.#waiting;
    if (fault === undefined) return undefined;
    if (fault.after > 0) {
      fault.after -= 1;
      return undefined;
    }
    fault.times -= 1;
    if (fault.times <= 0) this.#waiting.shift();
    return { ...fault };
  }
}
