import { setTimeout as sleep } from 'node:timers/promises';

const COMMON_KINDS = ['throttled', 'refused', 'down', 'slow'] as const;
/** `refused` is an error of the set-up; `refused_recipient` concerns the address of the message alone. */
const SENDER_KINDS = ['refused', 'refused_recipient', 'throttled', 'down', 'slow'] as const;

/**
 * The embedded services that send no codes by AWS: the purpose of each, and its kinds of fault (`PUT
 * /_local/faults/{target}`).
 */
const SERVICES = {
  /**
   * `reply_lost`: the call is executed without an answer. `repeated`: the call is executed and answered, and executed
   * again `ms` later, as a late duplicate.
   */
  dynamodb: { about: 'the database', kinds: [...COMMON_KINDS, 'reply_lost', 'repeated'] },
  s3: { about: 'stores documents', kinds: COMMON_KINDS },
  secrets: { about: 'stores secrets', kinds: COMMON_KINDS },
  /** `partial`: the call is answered with 200, but the bus did not take its first event. */
  events: { about: 'takes events', kinds: [...COMMON_KINDS, 'partial'] },
  sqs: { about: 'postpones deliveries', kinds: COMMON_KINDS },
  /** `garbage`: the CRM's answer is malformed. `gone`: the CRM answers that its address is gone (410). */
  crm: { about: 'receives events', kinds: [...COMMON_KINDS, 'reply_lost', 'garbage', 'gone'] },
  captcha: { about: 'verifies captchas', kinds: COMMON_KINDS },
  /** `refused_message`: only this message is refused. `reply_lost`: the message is sent, and the call not answered. */
  provider: { about: 'sends messages for the broker', kinds: [...SENDER_KINDS, 'refused_message', 'reply_lost'] },
} as const;
type ServiceName = keyof typeof SERVICES;
export const PLATFORM_FAULT_KINDS = [
  ...COMMON_KINDS,
  'reply_lost',
  'late',
  'session_dropped',
  'retcode',
  'executed_retcode',
  'executed_twice',
  'login_ignored',
  'silence',
  'garbage',
] as const;
export type FaultKind = (
  | typeof PLATFORM_FAULT_KINDS
  | typeof SENDER_KINDS
  | (typeof SERVICES)[ServiceName]['kinds']
)[number];

/** The faults of an embedded service, by its name among the targets. */
export function serviceFaults(name: ServiceName): Faults {
  const { kinds, about } = SERVICES[name];
  return new Faults(kinds, about);
}

/** The faults of a service of AWS that sends messages. @param about the purpose of the service */
export function senderFaults(about: string): Faults {
  return new Faults(SENDER_KINDS, about);
}

/** The steps before the first command of a session on a version 5 server, at which tests make faults. */
type FaultStep = 'tls' | 'authentication';
const CONNECTION_ENDINGS = ['orderly', 'cut', 'reset'] as const;

export interface Fault {
  kind: FaultKind;
  /** The step at which the fault occurs, instead of at a command. Then only the calls of this step count. */
  step?: FaultStep;
  /** The number of calls that fail. */
  times: number;
  /** The number of calls that succeed before. */
  after?: number;
  /**
   * For `slow` and `late`: the delay before the call is processed, in milliseconds. For `repeated`: the delay before
   * the repeat.
   */
  ms?: number;
  /**
   * For `late`: how the connection is closed before the delay: in order, without TLS's close (if there is TLS), or with
   * a reset.
   */
  ending?: (typeof CONNECTION_ENDINGS)[number];
  /** The platform's return code, for `retcode` and `executed_retcode`. */
  code?: number;
}

/** A call that arrived at a target, before it is processed. */
export interface IncomingCall {
  /** The call's name in its service: an operation, a path, a command. */
  name: string;
  /** The call's fault, if it has one. */
  fault: Fault | undefined;
  /** The kind of a command to a trading server. */
  parameters?: Readonly<Record<string, string>>;
}

/** The fault that waits at a target, for its next calls. */
export class Faults {
  #waiting: (Fault & { after: number }) | undefined;
  /** The version starts at the current time (epoch ms), so that a restarted service has a higher one. */
  #version = Date.now();
  readonly kinds: readonly FaultKind[];
  readonly about: string | undefined;

  /**
   * @param kinds that are listed; a test may set others
   * @param about the purpose of the service; absent: a trading server
   */
  constructor(kinds: readonly FaultKind[] = COMMON_KINDS, about?: string) {
    this.kinds = kinds;
    this.about = about;
  }

  /** The wait of slow and late calls. A test may skip it. */
  pause = async (ms: number, signal?: AbortSignal): Promise<void> => {
    await sleep(ms, undefined, { signal, ref: false });
  };

  /** Awaited before a call is processed. A test may inspect or delay the call. */
  onCall: (call: IncomingCall) => Promise<void> | undefined = () => undefined;

  /** Called when a fault was set or cleared: `down` must close its port before the next call comes. */
  onChange: () => void = () => {};

  /**
   * The waiting fault, as `GET /_local/faults` shows it. The version grows with every change of the fault, also by
   * calls, so it shows which of two states is newer.
   */
  state() {
    return { about: this.about, kinds: this.kinds, waiting: this.list(), version: this.#version };
  }

  set(fault: Fault): void {
    this.#replace(fault.times === 0 ? undefined : { ...fault, after: fault.after ?? 0 });
  }

  clear(): void {
    this.#replace(undefined);
  }

  #replace(waiting: (Fault & { after: number }) | undefined): void {
    this.#waiting = waiting;
    this.#version += 1;
    this.onChange();
  }

  /** The fault of the next command. Nothing is counted. */
  peek(): Fault | undefined {
    const [fault] = this.list();
    return fault?.step !== undefined || fault?.after ? undefined : fault;
  }

  /** The waiting fault, if there is one. */
  list(): Fault[] {
    return this.#waiting === undefined ? [] : [{ ...this.#waiting }];
  }

  /** The fault of this call, if it has one; counts the call. @param step absent: the call is a command */
  next(step?: FaultStep): Fault | undefined {
    const fault = this.#waiting;
    if (fault === undefined || fault.step !== step) return undefined;
    this.#version += 1;
    if (fault.after > 0) {
      fault.after -= 1;
      return undefined;
    }
    fault.times -= 1;
    if (fault.times <= 0) this.#waiting = undefined;
    return { ...fault };
  }
}

/** The targets that can be made to fail: embedded services by name, simulated trading servers by connection id. */
export type FaultTargets = ReadonlyMap<string, Faults>;

/** Every target with its kinds of fault and its waiting fault. */
export function listFaults(targets: FaultTargets) {
  return Object.fromEntries([...targets].map(([name, faults]) => [name, faults.state()]));
}
