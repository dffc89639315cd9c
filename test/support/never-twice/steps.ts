import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { ENDINGS, type Fault, type FaultKind, PLATFORM_FAULT_KINDS } from '../../../infra/local/faults.ts';
import { CONNECTIONS, type ConnectionId } from '../account-connections.ts';
import type { AccountWorld } from '../account-world.ts';
import type { Circumstances } from './circumstances.ts';
import type { History, Moment, Shape } from './history.ts';

/** Nothing is foretold: what must hold is checked at every step on the servers themselves. */
type Model = Record<string, never>;
export type Command = fc.AsyncCommand<Model, History>;

abstract class Step implements Command {
  check(): boolean {
    return true;
  }
  abstract run(model: Model, history: History): Promise<void>;
  abstract toString(): string;
}

/** What is sent at once, and what befalls each of it. */
type Round = (Moment | undefined)[];

/** A new request, with a fault of its server in its way, and its retries, one round after the other. */
class Begin extends Step {
  readonly shape: Shape;
  readonly fault: Fault | undefined;
  readonly rounds: Round[];
  constructor(shape: Shape, fault: Fault | undefined, rounds: Round[]) {
    super();
    this.shape = shape;
    this.fault = fault;
    this.rounds = shape.keyed ? rounds : [rounds[0]?.slice(0, 1) ?? [undefined]];
  }
  async run(_: Model, history: History) {
    const intent = await history.begin(this.shape);
    if (this.fault !== undefined) history.setFault(CONNECTIONS[this.shape.connection].server, this.fault);
    for (const round of this.rounds) await history.askAll(intent, round);
  }
  toString() {
    return `begin(${[this.shape, this.fault, this.rounds].map((part) => JSON.stringify(part)).join(', ')})`;
  }
}

/** Retries of an earlier request. */
class Retry extends Step {
  readonly which: number;
  readonly round: Round;
  constructor(which: number, round: Round) {
    super();
    this.which = which;
    this.round = round;
  }
  async run(_: Model, history: History) {
    const keyed = history.intents.filter(({ call }) => call.key !== undefined);
    const intent = keyed[this.which % keyed.length];
    if (intent !== undefined) await history.askAll(intent, this.round);
  }
  toString() {
    return `retry(${this.which}, ${JSON.stringify(this.round)})`;
  }
}

class SetFault extends Step {
  readonly target: keyof AccountWorld['faults'];
  readonly fault: Fault;
  constructor(target: keyof AccountWorld['faults'], fault: Fault) {
    super();
    this.target = target;
    this.fault = fault;
  }
  async run(_: Model, history: History) {
    history.setFault(this.target, this.fault);
  }
  toString() {
    return `fault(${this.target}, ${JSON.stringify(this.fault)})`;
  }
}

class Other extends Step {
  readonly does: 'heal' | 'wait' | 'retire' | { jumpMs: number };
  constructor(does: Other['does']) {
    super();
    this.does = does;
  }
  async run(_: Model, { world }: History) {
    if (this.does === 'heal') world.clearFaults();
    else if (this.does === 'wait') await sleep(500);
    else if (this.does === 'retire') await world.environments.retire();
    else world.environments.jump(this.does.jumpMs);
  }
  toString() {
    return JSON.stringify(this.does);
  }
}

/** Whatever may happen under these circumstances, three to six steps of it. */
export function historiesOf(circumstances: Circumstances): fc.Arbitrary<Command[]> {
  const platformFault = platformFaultOf(circumstances);
  const servers = [...new Set(circumstances.connections.map((id) => CONNECTIONS[id].server))];
  const begin = fc
    .tuple(
      shapeOf(circumstances),
      fc.oneof(platformFault, platformFault, fc.constant(undefined)),
      fc.array(round, { minLength: 2, maxLength: 3 }),
    )
    .map(([one, fault, rounds]) => new Begin(one, fault, rounds));
  const retry = fc.tuple(fc.nat(9), round).map(([which, tries]) => new Retry(which, tries));
  const onPlatform = fc
    .tuple(fc.constantFrom(...servers), platformFault)
    .map(([target, fault]) => new SetFault(target, fault));
  return fc.array(
    fc.oneof(begin, begin, begin, begin, retry, onPlatform, onDatabase, onService, otherOf(circumstances)),
    {
      minLength: 3,
      maxLength: 6,
      size: 'max',
    },
  );
}

function shapeOf({ connections }: Circumstances): fc.Arbitrary<Shape> {
  return fc
    .record({
      connection: fc.constantFrom<ConnectionId[]>(...connections),
      keyed: fc.constantFrom(true, true, true, true, false),
      login: fc.constantFrom<Shape['login'][]>('none', 'none', 'none', 'own', 'contested'),
      given: fc.boolean(),
      readonly: fc.boolean(),
      notices: fc.boolean(),
    })
    .map((one) => (one.connection.startsWith('reg') ? { ...one, login: 'none', readonly: false } : one));
}

/** The longest: until another worker has taken over, and believes that nothing was opened. */
const pauseMs = fc.constantFrom(undefined, undefined, undefined, 200, 2_000, 16_000, 16_000);
const moment: fc.Arbitrary<Moment> = fc.oneof(
  fc.record({
    kind: fc.constant('time' as const),
    count: fc.integer({ min: 0, max: 40 }),
    laterMs: fc.constant(0),
    pauseMs,
  }),
  fc.record({
    kind: fc.constant('database' as const),
    count: fc.integer({ min: 1, max: 6 }),
    laterMs: fc.constantFrom(0, 2, 8),
    pauseMs,
  }),
  // Right when it has noted that the command leaves.
  fc.record({
    kind: fc.constant('database' as const),
    count: fc.constantFrom(3, 3, 4),
    laterMs: fc.constantFrom(0, 1, 2),
    pauseMs: fc.constant(16_000),
  }),
  fc.record({
    kind: fc.constant('platform' as const),
    count: fc.integer({ min: 1, max: 3 }),
    laterMs: fc.constantFrom(0, 0, 1, 3, 10),
    pauseMs,
  }),
);
const round: fc.Arbitrary<Round> = fc.array(fc.oneof(fc.constant(undefined), fc.constant(undefined), moment), {
  minLength: 1,
  maxLength: 2,
});

const faultOf = (...kinds: FaultKind[]) =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    times: fc.integer({ min: 1, max: 4 }),
    after: fc.integer({ min: 0, max: 5 }),
    ms: fc.constantFrom(30, 300, 1_500),
  });
const onDatabase = faultOf(
  'throttled',
  'refused',
  'down',
  'slow',
  'reply_lost',
  'reply_lost',
  'repeated',
  'repeated',
).map((fault) => new SetFault('dynamodb', fault));
const onService = fc
  .tuple(fc.constantFrom('secrets' as const, 'ses' as const), faultOf('throttled', 'refused', 'down', 'slow'))
  .map(([target, fault]) => new SetFault(target, fault));

/** Those whose outcome is not known come most often. */
function platformFaultOf({ lateMs }: Circumstances): fc.Arbitrary<Fault> {
  return fc.record({
    kind: fc.oneof(
      fc.constantFrom<FaultKind[]>('slow', 'late', 'reply_lost', 'session_dropped', 'silence', 'garbage'),
      fc.constantFrom<FaultKind[]>('slow', 'late', 'reply_lost'),
      fc.constantFrom<FaultKind[]>(...PLATFORM_FAULT_KINDS),
    ),
    times: fc.constantFrom(1, 1, 2),
    after: fc.constantFrom(0, 0, 0, 1, 1, 2),
    ms: fc.constantFrom(...lateMs),
    ending: fc.constantFrom(...ENDINGS),
    // Without those that are answered as if the request itself were wrong.
    code: fc.constantFrom(2, 7, 9, 10, 11, 12, 14, 1001, 1018),
  });
}

function otherOf({ skewMs }: Circumstances): fc.Arbitrary<Other> {
  const always = fc.constantFrom<Other['does'][]>('heal', 'wait', 'retire');
  const jump = fc.integer({ min: -skewMs, max: skewMs }).map((jumpMs) => ({ jumpMs }));
  return (skewMs === 0 ? always : fc.oneof(always, jump)).map((does) => new Other(does));
}
