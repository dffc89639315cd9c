import fc from 'fast-check';
import { ENDINGS, type Fault, type FaultKind } from '../../../infra/local/faults.ts';
import type { Question } from '../../../infra/local/platforms/text-accounts.ts';
import { CONNECTIONS, type ConnectionId, type ServerName } from '../account-connections.ts';
import type { Circumstances } from './circumstances.ts';
import type { Shape } from './intents.ts';
import { databaseFault, faultOf, lateFaultOf, platformFaultOf } from './made-up-faults.ts';
import { killed, type Moment, moment, noted } from './moments.ts';

/** What is sent at once, with what befalls each of it; and how much time passes then, in milliseconds. */
export interface Round {
  tries: (Moment | null)[];
  passMs: number;
  /** Before it the key comes to within so many milliseconds of its end. */
  beforeKeyEndsMs?: number;
}

/** Where a fault may be. */
export type Target = ServerName | 'dynamodb' | 'secrets' | 'ses';

export type Step<S = Shape> =
  /** A new request, or two that want the same, with faults in its way, and its retries, one round after the other. */
  | { kind: 'begin'; shape: S; rivals: boolean; faults: { target: Target; fault: Fault }[]; rounds: Round[] }
  /** Retries of an earlier request. */
  | { kind: 'retry'; which: number; round: Round }
  | { kind: 'fault'; target: Target; fault: Fault }
  | { kind: 'heal' }
  /** What nobody retries is settled by the clock, and something befalls that too. */
  | { kind: 'settle'; moment: Moment | null }
  /** Every later request meets a cold start. */
  | { kind: 'retire' }
  /** The wall clocks of all functions that are there are wrong by so much from now on. */
  | { kind: 'jump'; ms: number };

export interface Story {
  /** What the gateway makes of `WCHECKPASS`. */
  passwordCheck: Question;
  steps: Step[];
}

interface ServerFaults {
  fault: fc.Arbitrary<Fault>;
  /** Of a server that does what it is asked when nobody waits any more. */
  lateFault: fc.Arbitrary<Fault>;
}

/** What histories of one sort of requests are made of. */
interface Making<S> extends ServerFaults {
  shapes: fc.Arbitrary<S>;
  /** The same, to be paid into. */
  paying(shape: S): S;
  isKeyed(shape: S): boolean;
  mayHaveRival(shape: S): boolean;
  serverOf(shape: S): Target;
  targets: Target[];
  skewMs: number;
  /** The clock calls a function that settles what nobody retries. */
  isSettled: boolean;
}

function stepsOf<S>(making: Making<S>): fc.Arbitrary<Step<S>[]> {
  const begin = beginOf(making);
  const { targets, fault } = making;
  const onServer = fc.record({ kind: fc.constant('fault' as const), target: fc.constantFrom(...targets), fault });
  const one = fc.oneof(begin, begin, begin, begin, begin, retry, onServer, onDatabase, onService, otherOf(making));
  return fc.array(one, { minLength: 3, maxLength: 5, size: 'max' });
}

/** Whatever may happen to requests for accounts under these circumstances. */
export function storiesOf(circumstances: Circumstances): fc.Arbitrary<Story> {
  const { connections, skewMs } = circumstances;
  return fc.record({
    passwordCheck: fc.constantFrom<Question[]>('known', 'known', 'refused', 'silent'),
    steps: stepsOf({
      shapes: shapeOf(circumstances),
      paying: (shape) => ({ ...shape, connection: shape.connection.includes('range') ? 'tp5-range-demo' : 'tp5-demo' }),
      isKeyed: ({ keyed }) => keyed,
      mayHaveRival: ({ login }) => login !== 'none',
      serverOf: ({ connection }) => CONNECTIONS[connection].server,
      targets: [...new Set(connections.map((id) => CONNECTIONS[id].server))],
      fault: platformFaultOf(circumstances),
      lateFault: lateFaultOf(circumstances),
      skewMs,
      isSettled: true,
    }),
  });
}

/** The same of registrations by e-mail: with a key, or without. */
export function registrationStoriesOf({ lateMs, skewMs }: Circumstances): fc.Arbitrary<Step<boolean>[]> {
  const ses = (ms: readonly number[], ...kinds: FaultKind[]) =>
    fc.record({
      kind: fc.constantFrom(...kinds),
      times: fc.constantFrom(1, 1, 2),
      after: fc.constantFrom(0, 0, 1),
      ms: fc.constantFrom(...ms),
    });
  return stepsOf({
    shapes: fc.constantFrom(true, true, true, true, true, false),
    paying: (keyed) => keyed,
    isKeyed: (keyed) => keyed,
    mayHaveRival: () => false,
    serverOf: () => 'ses',
    targets: ['ses'],
    fault: ses(lateMs, 'throttled', 'refused', 'down', 'slow'),
    lateFault: ses([20_000], 'slow'),
    skewMs,
    isSettled: false,
  });
}

function shapeOf({ connections }: Circumstances): fc.Arbitrary<Shape> {
  return fc
    .record({
      connection: fc.constantFrom<ConnectionId[]>(...connections),
      keyed: fc.constantFrom(true, true, true, true, true, false),
      returns: fc.constantFrom(true, true, false),
      login: fc.constantFrom<Shape['login'][]>('none', 'none', 'none', 'none', 'outside', 'inside'),
      given: fc.boolean(),
      readonly: fc.boolean(),
      notices: fc.constantFrom(false, false, true),
    })
    .map((one) => {
      if (one.connection.startsWith('reg')) return { ...one, login: 'none', readonly: false };
      return one.login === 'inside' && !one.connection.includes('range') ? { ...one, login: 'outside' } : one;
    });
}

/** What befalls a new request, its rounds one after the other. */
interface Script {
  /** Of its server, and of the database. */
  fault: Fault | null;
  databaseFault: Fault | null;
  rounds: Round[];
  /** What is asked for is to be paid into. */
  pays?: boolean;
}

/** A moment, the end of a lease, of the settling time, of that after a death: a little before each, so that it comes amid the next round. */
const passMs = fc.constantFrom(0, 0, 900, 6_900, 12_000, 25_000, 64_900, 130_000, 139_900);
const none = fc.constant(null);
const anyRound: fc.Arbitrary<Round> = fc.record({
  tries: fc.array(fc.oneof(none, none, moment), { minLength: 1, maxLength: 2 }),
  passMs,
});
const calm: fc.Arbitrary<Round> = fc.record({ tries: fc.constantFrom([null], [null, null]), passMs });
const afterMs = (...ms: number[]) => fc.record({ tries: none.map((one) => [one]), passMs: fc.constantFrom(...ms) });

/** Between the look-up and the repeat of the command, the first one is carried out after all. */
const overtaken: fc.Arbitrary<Script> = fc.record({
  fault: fc.constantFrom(...ENDINGS).map((ending): Fault => ({ kind: 'late', times: 1, ms: 200, ending })),
  databaseFault: none,
  rounds: calm.map((last): Round[] => [{ tries: [{ of: 'command', count: 2, stopMs: 400 }], passMs: 7_000 }, last]),
});

/** One try is stopped right before its command leaves; others take over, and then it goes on. */
const takenOver: fc.Arbitrary<Script> = fc.record({
  fault: none,
  databaseFault: none,
  rounds: fc.tuple(noted, afterMs(100), calm).map(([one, ...later]) => [{ tries: [one], passMs: 139_900 }, ...later]),
});

/** A function dies, and what it was about goes on or does not. */
function deaths(lateFault: fc.Arbitrary<Fault>): fc.Arbitrary<Script>[] {
  /** It dies at the very moment at which a command leaves or has come in. */
  const died = fc.record({
    fault: fc.oneof(none, none, lateFault),
    databaseFault: none,
    rounds: fc
      .tuple(killed, fc.constantFrom(6_900, 14_000, 14_000, 130_000), afterMs(12_000, 130_000), anyRound)
      .map(([one, ms, ...later]) => [{ tries: [one], passMs: ms }, ...later]),
  });
  /** The same while a late server has yet to carry it out. */
  const diedTooSoon = fc.record({
    fault: lateFault,
    databaseFault: none,
    rounds: fc
      .tuple(afterMs(12_000, 130_000), calm)
      .map((later): Round[] => [{ tries: [{ of: 'command', count: 1 }], passMs: 14_000 }, ...later]),
  });
  return [died, died, died, diedTooSoon, diedTooSoon];
}

/** @param lateFault of a server that does what it is asked when nobody waits any more */
function scriptsOf({ fault, lateFault }: ServerFaults): fc.Arbitrary<Script> {
  const anything = fc.record({
    fault: fc.oneof(fault, fault, none),
    databaseFault: fc.oneof(databaseFault, none, none),
    rounds: fc.array(anyRound, { minLength: 2, maxLength: 3 }),
  });
  /** It is retried while the command may yet be carried out, by a server that is very late. */
  const late = fc.record({
    fault: lateFault,
    databaseFault: none,
    rounds: fc.tuple(afterMs(900, 12_000), afterMs(12_000, 25_000), calm),
  });
  /** Its answer says nothing, or is lost. */
  const failing = fc.record({ fault, databaseFault: none, rounds: fc.tuple(afterMs(0, 12_000), calm, calm) });
  return fc.oneof(
    ...[anything, anything, failing, failing, late, late, takenOver, takenOver],
    ...deaths(lateFault),
    ...[atKeysEnd(fault), atKeysEnd(none), failingNotes, failingNotes, lostPayment(fault), overtaken],
  );
}

/** It is retried right before its key ends, and right after. */
function atKeysEnd(fault: fc.Arbitrary<Fault | null>): fc.Arbitrary<Script> {
  const before = fc.constantFrom(2_000, 8_000, 8_000);
  return fc.record({
    fault: fc.oneof(fault, none),
    databaseFault: none,
    rounds: fc
      .tuple(fc.oneof(killed, moment, none, none), before, fc.oneof(killed, moment, none), calm)
      .map(([first, beforeKeyEndsMs, second, last]) => [
        { tries: [first], passMs: 0 },
        { tries: [second], beforeKeyEndsMs, passMs: beforeKeyEndsMs + 6_000 },
        last,
      ]),
  });
}

/** The database fails once the account is open, or is about to be. */
const failingNotes: fc.Arbitrary<Script> = fc.record({
  fault: none,
  databaseFault: fc.record({
    kind: fc.constantFrom<FaultKind[]>('refused', 'throttled', 'reply_lost', 'reply_lost', 'repeated'),
    times: fc.integer({ min: 1, max: 5 }),
    after: fc.integer({ min: 3, max: 5 }),
    ms: fc.constantFrom(300, 20_000),
  }),
  rounds: fc.tuple(afterMs(0, 6_900), fc.oneof(anyRound, calm), calm),
  pays: fc.boolean(),
});

/** Something goes wrong with the command after the one that opens. */
function lostPayment(fault: fc.Arbitrary<Fault>): fc.Arbitrary<Script> {
  return fc.record({
    fault: fault.map((one) => ({ ...one, after: 1 })),
    databaseFault: none,
    rounds: fc.tuple(afterMs(0, 12_000, 64_900), fc.oneof(anyRound, calm), calm),
    pays: fc.constant(true),
  });
}

function beginOf<S>({ shapes, paying, isKeyed, mayHaveRival, serverOf, ...faults }: Making<S>): fc.Arbitrary<Step<S>> {
  const asked = fc.tuple(shapes, scriptsOf(faults), fc.boolean()).map(([shape, script, wanted]) => ({
    ...script,
    shape: script.pays === true ? paying(shape) : shape,
    rivals: wanted && mayHaveRival(shape),
  }));
  return asked.map(({ shape, rivals, fault, databaseFault, rounds }) => ({
    kind: 'begin',
    shape,
    rivals,
    faults: [
      ...(fault === null ? [] : [{ target: serverOf(shape), fault }]),
      ...(databaseFault === null ? [] : [{ target: 'dynamodb' as const, fault: databaseFault }]),
    ],
    rounds: isKeyed(shape) ? rounds : [{ tries: rounds[0]?.tries.slice(0, 1) ?? [null], passMs: 0 }],
  }));
}

const retry: fc.Arbitrary<Step<never>> = fc.record({ kind: fc.constant('retry'), which: fc.nat(9), round: anyRound });

const onDatabase: fc.Arbitrary<Step<never>> = databaseFault.map((fault) => ({
  kind: 'fault',
  target: 'dynamodb',
  fault,
}));
const onService: fc.Arbitrary<Step<never>> = fc.record({
  kind: fc.constant('fault'),
  target: fc.constantFrom('secrets', 'ses'),
  fault: faultOf('throttled', 'refused', 'down', 'slow'),
});

const settle = fc.oneof(none, moment).map<Step<never>>((one) => ({ kind: 'settle', moment: one }));

function otherOf({ skewMs, isSettled }: Pick<Making<unknown>, 'skewMs' | 'isSettled'>): fc.Arbitrary<Step<never>> {
  const ever = fc.constantFrom<Step<never>[]>({ kind: 'heal' }, { kind: 'retire' });
  const always = isSettled ? fc.oneof(ever, settle, settle) : ever;
  const jump = fc.integer({ min: -skewMs, max: skewMs }).map<Step<never>>((ms) => ({ kind: 'jump', ms }));
  return skewMs === 0 ? always : fc.oneof(always, jump, jump);
}
