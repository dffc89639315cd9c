import { planTimes } from '../../lib/openings/dependencies.ts';
import { type DriveEnd, driveOperation } from '../../lib/openings/drive.ts';
import type { Effects } from '../../lib/openings/effects.ts';
import type { CallerOrder, Job } from '../../lib/openings/job.ts';
import type { HeldOperation, Ledger, OperationPlan } from '../../lib/openings/ledger.ts';
import type { DecisionContext, Fact, Life } from '../../lib/openings/life.ts';
import { PlatformFailure, type PlatformFailureKind } from '../../lib/platform/platform.ts';
import type { EventFields, EventName } from '../../lib/telemetry.ts';
import { derivationKeys, type LedgerWorld, planFor, recordingTelemetry } from './openings.ts';

let logins = 800_000;

/** One operation with effects that a test scripts. */
export class DriveScene {
  readonly login: number;
  readonly #world: LedgerWorld;
  readonly calls: string[] = [];
  readonly events: { name: EventName; fields: EventFields }[] = [];
  /** The results of the next commands; the last result repeats. */
  sends: Fact[];
  looks: Fact[] = [{ on: 'absent' }];
  onComplete: (job: Job) => void = () => {};
  completed: Fact = { on: 'completed', recorded: true, published: true, deposit: 'kept' };
  prepared: { plan?: Partial<OperationPlan>; fails?: Error; found?: boolean; openedAt?: string } = {};
  hasNext = true;
  /** What the record of the operation's account shows, if there is one. */
  known: Fact | undefined;
  #nexts = 0;
  noLogin: PlatformFailureKind = 'login_range_exhausted';
  /** The duration of each command and look-up, in milliseconds. */
  takesMs = 0;
  ledger: Ledger;
  recorded = true;

  constructor(world: LedgerWorld) {
    this.#world = world;
    this.ledger = world.ledger;
    logins += 10;
    this.login = logins;
    this.sends = [{ on: 'opened', login: this.login }];
  }

  run(held: HeldOperation, worker: DecisionContext['worker'] = 'request', first?: Fact): Promise<DriveEnd> {
    const logins = { failure: () => new PlatformFailure(this.noLogin, { reason: 'login_exists' }) };
    const job: Job = {
      worker,
      held,
      times: { ...planTimes(this.#world.now, this.#world.now + 20_000), signal: this.#world.signal() },
      telemetry: recordingTelemetry(this.events),
      dependencies: { ledger: this.ledger, now: () => this.#world.now } as Job['dependencies'],
      server: async () => undefined,
      keys: async () => derivationKeys('1'),
      generated: async () => undefined,
      ...(worker === 'request' && { order: { logins } as unknown as CallerOrder }),
      wait: async (ms: number) => {
        this.#world.now += ms;
      },
    };
    return driveOperation(job, first, this.#effects());
  }

  /** The operation, as an earlier worker left it in this state. */
  async left(life: Life, changes: Partial<OperationPlan> = {}): Promise<HeldOperation> {
    const world = this.#world;
    const held = await world.claimed(undefined, changes);
    Object.assign(held, { since: world.now, sentAt: world.now });
    const login = 'login' in life ? life.login : undefined;
    await world.ledger.write(held, { at: 'sent', login, commands: 'one' }, world.signal());
    if (life.at !== 'sent' || life.commands === 'many') await world.ledger.write(held, life, world.signal());
    return held;
  }

  #effects(): Effects {
    const next = (name: string, list: Fact[]): Fact => {
      this.calls.push(name);
      this.#world.now += this.takesMs;
      return (list.length > 1 ? list.shift() : list[0]) ?? { on: 'lost' };
    };
    const loginOf = ({ held: { life } }: Job) => ('login' in life ? life.login : undefined);
    const look = (step: keyof Effects) => async (job: Job) => next(`${step} ${loginOf(job)}`, this.looks);
    const complete = (step: keyof Effects) => async (job: Job) => {
      this.onComplete(job);
      return next(step, [this.completed]);
    };
    return {
      prepare: async ({ held }) => {
        const { plan, fails, found = false, openedAt } = this.prepared;
        if (fails !== undefined) return { on: 'not_executed', failure: fails };
        held.plan = planFor(held.operationId, plan);
        if (found) held.found = this.login;
        const { login } = this;
        if (openedAt !== undefined) return { on: 'recorded', login, opened_at: openedAt };
        return { on: 'ready', login: plan?.keyed === false ? undefined : login, found };
      },
      send: async (job) => next(`send ${loginOf(job) ?? ''}`, this.sends),
      look: look('look'),
      pause: look('look'),
      prove: look('prove'),
      confirm: look('confirm'),
      pay: complete('pay'),
      repay: complete('repay'),
      complete: complete('complete'),
      next: async ({ worker }) => {
        if (this.known !== undefined) return this.known;
        this.#nexts += 1;
        return worker === 'request' && this.hasNext && this.#nexts <= 5 ? this.login + this.#nexts : undefined;
      },
      record: async () => {
        this.calls.push('record');
        return { recorded: this.recorded, published: false };
      },
      notify: async () => void this.calls.push('notify'),
    };
  }
}
