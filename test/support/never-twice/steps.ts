import fc from 'fast-check';
import { CONNECTION_ENDINGS, type Fault, type FaultKind, PLATFORM_FAULT_KINDS } from '../../../infra/local/faults.ts';
import { KEY_HOURS, keyExpiry } from '../../../lib/records/idempotency-keys.ts';
import { CONNECTIONS, type ConnectionId, isKeyed, type ServerName } from '../account-connections.ts';
import type { Target } from '../account-world.ts';
import type { RequestShape } from './checks.ts';
import { arbitraryServerModes, type ServerModes } from './modes.ts';
import type { Moment } from './moments.ts';

/** How long a key is kept after the last write, in milliseconds. */
export const KEPT_MS = keyExpiry(0) * 1_000;
/** The difference to the documented time, in milliseconds. */
const KEPT_LONGER_MS = KEPT_MS - KEY_HOURS * 60 * 60 * 1_000;

/**
 * The delays of a server that executes a command late, in milliseconds, even if the connection has ended. Some are
 * longer than a lease.
 */
const LATE_MS = [50, 1_500, 20_000, 65_000, 200_000];
/** The largest error of the wall clock of a function, in milliseconds. */
export const SKEW_MS = 90_000;

/** The connections of each kind of histories. */
export const CONNECTIONS_BY_KIND = {
  accounts: ['tp5-live', 'tp5-live', 'tp5-demo', 'tp5-demo', 'tp5-list', 'gw-live', 'gw-live', 'gw-demo'],
  'web-registration': ['reg-live', 'reg-live', 'reg-demo'],
} as const satisfies Record<string, readonly ConnectionId[]>;
export type Kind = keyof typeof CONNECTIONS_BY_KIND;

const faultOf = (...kinds: FaultKind[]) =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    times: fc.integer({ min: 1, max: 4 }),
    after: fc.integer({ min: 0, max: 6 }),
    ms: fc.constantFrom(30, 300, 1_500, 20_000),
  });
const databaseFault = faultOf(
  'throttled',
  'refused',
  'down',
  'slow',
  'reply_lost',
  'reply_lost',
  'repeated',
  'repeated',
);
/** Answers of a proxy: a page, a redirect, and statuses that say nothing about our rights. */
const PROXY_CODES = [200, 302, 400, 404, 413, 415, 500, 502] as const;
/** Return codes that do not blame the request itself, and the statuses. */
const REFUSING_CODES = [2, 7, 9, 10, 11, 12, 14, 1_001, 1_018, 401, 403, ...PROXY_CODES] as const;
/**
 * The answers to a command that was executed, by server: of a proxy, about the server's state, about the content, and an
 * undocumented one. A server that refuses our rights after it has executed a command is a row of the limits, and so is a
 * plug-in that refuses the content.
 */
const EXECUTED_CODES: Readonly<Record<ServerName, readonly number[]>> = {
  tp5: [...PROXY_CODES, 2, 3, 7, 9, 10, 11, 12, 14, 3_006, 9_999],
  gw: [3, 10, 12, 13, 1_000, 3_004, 3_006, 9_999],
  reg: [10, 12, 9_999],
};
/** The command is executed, and its answer is a false one. */
const falseAnswer: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constant('executed_retcode'),
  times: fc.constantFrom(1, 1, 2),
  after: fc.constantFrom(0, 0, 1),
  code: fc.nat(999),
});
const anyPlatformFault = fc.record({
  kind: fc.oneof(
    fc.constantFrom<FaultKind[]>('slow', 'late', 'reply_lost', 'session_dropped', 'silence', 'garbage'),
    fc.constantFrom<FaultKind[]>('slow', 'late', 'late', 'reply_lost'),
    fc.constantFrom<FaultKind[]>(...PLATFORM_FAULT_KINDS),
  ),
  times: fc.constantFrom(1, 1, 2),
  after: fc.constantFrom(0, 0, 0, 1, 1, 2),
  ms: fc.constantFrom(...LATE_MS),
  ending: fc.constantFrom(...CONNECTION_ENDINGS),
  code: fc.constantFrom(...REFUSING_CODES),
});
/** Faults with an unknown outcome are the most frequent. */
const platformFault: fc.Arbitrary<Fault> = fc.oneof(
  ...[anyPlatformFault, anyPlatformFault, anyPlatformFault, falseAnswer, falseAnswer],
);
/** At the login, something else than a Web API answers, the server refuses us, or nothing answers. */
const authenticationFault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constantFrom<FaultKind[]>('retcode', 'retcode', 'retcode', 'garbage', 'silence', 'session_dropped'),
  step: fc.constant('authentication'),
  times: fc.integer({ min: 1, max: 4 }),
  after: fc.constantFrom(0, 0, 1),
  code: fc.constantFrom(...REFUSING_CODES),
});

/** The connection ends before TLS is established, or something else than TLS answers, late or not at all. */
const tlsFault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constantFrom<FaultKind[]>('garbage', 'silence', 'session_dropped', 'slow'),
  step: fc.constant('tls'),
  times: fc.integer({ min: 1, max: 4 }),
  after: fc.constantFrom(0, 0, 1),
  ms: fc.constantFrom(...LATE_MS),
});
const loginFault = fc.oneof(authenticationFault, authenticationFault, tlsFault);

/** A fault as a server can have it. The text protocols have neither TLS nor a login: they refuse our address. */
function onServerOf(target: ServerName, { step, ...fault }: Fault): Fault {
  if (step !== undefined && target !== 'tp5') return { ...fault, kind: 'refused' };
  if (fault.kind !== 'executed_retcode') return { ...fault, ...(step && { step }) };
  const codes = EXECUTED_CODES[target];
  return { ...fault, code: codes[(fault.code ?? 0) % codes.length] ?? 2 };
}

/** The command is executed after its caller has gone. */
const lateFault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constantFrom<FaultKind[]>('late', 'late', 'slow'),
  times: fc.constantFrom(1, 2),
  ms: fc.constantFrom(...LATE_MS.filter((ms) => ms > 10_000)),
  ending: fc.constantFrom(...CONNECTION_ENDINGS),
});

/** The parallel requests with their circumstances. After them time passes, in milliseconds, and people make edits. */
export interface Round {
  tries: (Moment | null)[];
  passMs: number;
  /** Before the round, time passes until the key has this many milliseconds left. */
  beforeKeyEndsMs?: number;
  /** The fault that the server has from now on. */
  fault?: Fault;
  edit?: Edit | undefined;
}

/** Edits by people of the records, the server or the operation of a request. */
const EDITS = [
  // The client gets another name in the CRM, or the connection another range: of its own, or of another connection.
  ...['client renamed', 'range edited', 'range shared'],
  // The account gets another comment or group. A CRM writes a UUID of its own into the comment.
  ...['comment edited', 'comment deleted', 'comment cut', 'comment of a CRM', 'comment of another operation'],
  'group edited',
  // The manager sees no personal data, or names alone, or everything.
  ...['data hidden', 'names shown', 'data shown'],
  // The server is restored from a backup without the account.
  'server restored',
  // An operator looks at the server and decides.
  'operator decides',
] as const;
export type Edit = (typeof EDITS)[number];
/** Edits that do not apply to a server that chooses its logins. */
const OF_LOGINS: readonly Edit[] = ['range edited', 'range shared', 'server restored'];

export type Step =
  /** One new request, or two for the same account, with faults, and the retries, one round after the other. */
  | { kind: 'begin'; shape: RequestShape; rivals: boolean; faults: { target: Target; fault: Fault }[]; rounds: Round[] }
  /** Retries of an earlier request. */
  | { kind: 'retry'; which: number; round: Round }
  | { kind: 'edit'; which: number; edit: Edit }
  | { kind: 'fault'; target: Target; fault: Fault }
  | { kind: 'heal' }
  /** The settler runs, and may be stopped or killed too. */
  | { kind: 'settle'; moment: Moment | null }
  /** Every later request has a cold start. */
  | { kind: 'retire' }
  /** From now on the wall clocks of all functions are wrong by this many milliseconds. */
  | { kind: 'jump'; ms: number };

export interface Story {
  modes: ServerModes;
  steps: Step[];
}

/**
 * The function is stopped until another worker has taken over and assumes that nothing was opened; or for a moment
 * only.
 */
const stopMs = fc.constantFrom(300, 7_000, 65_000, 140_000, 140_000);
const ending = fc.oneof(fc.constant(undefined), fc.constant(undefined), stopMs);
const moment: fc.Arbitrary<Moment> = fc.oneof(
  fc.record({ of: fc.constant('time' as const), count: fc.nat(20), stopMs: ending }),
  fc.record({ of: fc.constant('database' as const), count: fc.integer({ min: 1, max: 8 }), stopMs: ending }),
  fc.record({ of: fc.constant('note' as const), count: fc.integer({ min: 1, max: 4 }), stopMs: ending }),
  fc.record({ of: fc.constant('command' as const), count: fc.integer({ min: 1, max: 3 }), stopMs: ending }),
);
/** The moment right after the function has recorded that it sends a command. */
const noted: fc.Arbitrary<Moment> = fc.record({
  of: fc.constant('note' as const),
  count: fc.constantFrom(1, 1, 2),
  stopMs: fc.constant(140_000),
});
/** The moment right after a command has arrived, or while its result is written. */
const killed: fc.Arbitrary<Moment> = fc.oneof(
  fc.record({ of: fc.constant('put' as const), count: fc.constantFrom(2, 2, 3) }),
  fc.record({ of: fc.constant('note' as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ of: fc.constant('command' as const), count: fc.constantFrom(1, 1, 2) }),
);

/** All events that may happen to requests for accounts of a kind. */
export function storiesOf(kind: Kind): fc.Arbitrary<Story> {
  return fc.record({ modes: arbitraryServerModes, steps: stepsOf(CONNECTIONS_BY_KIND[kind]) });
}

function stepsOf(connections: readonly ConnectionId[]): fc.Arbitrary<Step[]> {
  // The plug-in can give a login that a restored server has forgotten to another client.
  const edits = connections.some(isKeyed) ? EDITS : EDITS.filter((one) => !OF_LOGINS.includes(one));
  const begin = beginOf(connections, edits);
  const targets = [...new Set(connections.map((id) => CONNECTIONS[id].server))];
  const onServer = fc
    .tuple(fc.constantFrom(...targets), platformFault)
    .map(([target, fault]) => ({ kind: 'fault' as const, target, fault: onServerOf(target, fault) }));
  const edited = edits.map((edit) =>
    fc.record({ kind: fc.constant('edit' as const), which: fc.nat(9), edit: fc.constant(edit) }),
  );
  const anyEdit = fc.oneof(...edited);
  const others = [retry, onServer, onDatabase, onService, other, anyEdit, anyEdit];
  const one = fc.oneof(begin, begin, begin, begin, begin, ...others);
  // Without a request there is nothing to see.
  return fc
    .tuple(begin, fc.array(one, { minLength: 2, maxLength: 4, size: 'max' }))
    .map(([first, rest]) => [first, ...rest]);
}

/**
 * Strangers' accounts are in the range of `tp5-demo`. There the second lock needs a password that the settler knows.
 */
function onDemo(shape: RequestShape): RequestShape {
  return shape.connection === 'tp5-demo' ? { ...shape, given: false } : shape;
}

function shapeOf(connections: readonly ConnectionId[]): fc.Arbitrary<RequestShape> {
  return fc
    .record({
      connection: fc.constantFrom<ConnectionId[]>(...connections),
      keyed: fc.constantFrom(true, true, true, true, true, false),
      returns: fc.constantFrom(true, true, false),
      login: fc.constantFrom<RequestShape['login'][]>('none', 'none', 'none', 'none', 'outside', 'inside'),
      given: fc.boolean(),
      readonly: fc.boolean(),
      notices: fc.constantFrom(false, false, true),
    })
    .map((one) => (isKeyed(one.connection) ? one : { ...one, login: 'none' as const, readonly: false }))
    .map(onDemo);
}

/** The rounds of a new request. */
interface Script {
  /** The fault of the request's server, and of the database. */
  fault: Fault | null;
  databaseFault: Fault | null;
  rounds: Round[];
  /** The account gets a deposit. */
  pays?: boolean;
}

/**
 * The time that passes: none, a moment, and up to the end of a lease; a little before each, so that it ends in the
 * middle of the next round.
 */
const passMs = fc.constantFrom(0, 0, 900, 6_900, 12_000, 25_000, 64_900, 130_000, 139_900);
const none = fc.constant(null);
const anyRound: fc.Arbitrary<Round> = fc.record({
  tries: fc.array(fc.oneof(none, none, moment), { minLength: 1, maxLength: 2 }),
  passMs,
});
const calm: fc.Arbitrary<Round> = fc.record({ tries: fc.constantFrom([null], [null, null]), passMs });
const afterMs = (...ms: number[]): fc.Arbitrary<Round> =>
  fc.record({ tries: fc.constant([null]), passMs: fc.constantFrom(...ms) });
const struck = (moments: fc.Arbitrary<Moment | null>, ...ms: number[]): fc.Arbitrary<Round> =>
  fc.record({ tries: moments.map((one) => [one]), passMs: fc.constantFrom(...ms) });

function script(
  fault: fc.Arbitrary<Fault | null>,
  rounds: fc.Arbitrary<Round>[],
  more: { databaseFault?: fc.Arbitrary<Fault | null>; pays?: fc.Arbitrary<boolean> } = {},
): fc.Arbitrary<Script> {
  const { databaseFault: onDatabase = none, pays = fc.constant(false) } = more;
  return fc.record({ fault, databaseFault: onDatabase, rounds: fc.tuple(...rounds), pays });
}

/** The first command is executed between a look-up and the repeat of the command. */
const overtaken = script(
  fc.constantFrom(...CONNECTION_ENDINGS).map((ending) => ({ kind: 'late', times: 1, ms: 200, ending })),
  [struck(fc.constant({ of: 'command', count: 2, stopMs: 400 }), 7_000), calm],
);
/** One attempt is stopped right before its command, and resumes after others have acquired the operation. */
const takenOver = script(none, [struck(noted, 139_900), afterMs(100), calm]);
/** The database fails when the account is open, or is about to be. */
const failingNotes = script(none, [afterMs(0, 6_900), fc.oneof(anyRound, calm), calm], {
  databaseFault: fc.record({
    kind: fc.constantFrom<FaultKind[]>('refused', 'throttled', 'reply_lost', 'reply_lost', 'repeated'),
    times: fc.integer({ min: 1, max: 5 }),
    after: fc.integer({ min: 2, max: 5 }),
    ms: fc.constantFrom(300, 20_000),
  }),
  pays: fc.boolean(),
});

const refusal = fc.record({
  kind: fc.constantFrom<FaultKind[]>('throttled', 'retcode'),
  // A refused password.
  code: fc.constant(3006),
  times: fc.constantFrom(1, 5),
  after: fc.constant(1),
});

const anything = script(fc.oneof(platformFault, platformFault, none), [anyRound, anyRound, fc.oneof(anyRound, calm)], {
  databaseFault: fc.oneof(databaseFault, none, none),
});
/** The request is retried while a very late server may still execute the command. */
const late = script(lateFault, [afterMs(900, 12_000), afterMs(12_000, 25_000), calm]);
/** The answer is lost or false. */
const failing = script(platformFault, [afterMs(0, 12_000), calm, calm]);
/** The first request, and perhaps the next one, cannot log in. */
const refusedLogin = script(loginFault, [afterMs(0, 12_000), anyRound, calm]);
/** The function is killed when a command is sent or received. */
const died = script(fc.oneof(none, none, lateFault), [
  struck(killed, 6_900, 14_000, 14_000, 130_000),
  afterMs(12_000, 130_000),
  anyRound,
]);
/** An attempt dies too soon, while a late server has yet to execute the command. */
const diedTooSoon = script(lateFault, [
  struck(fc.constant({ of: 'command', count: 1 }), 14_000),
  afterMs(12_000, 130_000),
  calm,
]);
/** The first command is executed late, and a repeated one is refused before that. */
const refusedLater = script(lateFault, [
  struck(fc.constant({ of: 'command', count: 1 }), 14_000),
  fc.record({ tries: fc.constant([null]), passMs, fault: refusal }),
  calm,
]);
/** The command after the opening fails. */
const lostPayment = script(
  platformFault.map((one) => ({ ...one, after: 1 })),
  [afterMs(0, 12_000, 64_900), fc.oneof(anyRound, calm), calm],
  { pays: fc.constant(true) },
);
const scripts = fc.oneof(
  ...[anything, anything, failing, failing, late, late, takenOver, takenOver, died, died, died, diedTooSoon],
  ...[diedTooSoon, atKeysEnd(platformFault), atKeysEnd(none), failingNotes, failingNotes, lostPayment, overtaken],
  ...[refusedLater, refusedLogin, refusedLogin],
);

/** Retries right before the key expires, or before callers take it for expired, and right after. */
function atKeysEnd(fault: fc.Arbitrary<Fault | null>): fc.Arbitrary<Script> {
  const second = fc
    .constantFrom(2_000, 8_000, KEPT_LONGER_MS + 2_000, KEPT_LONGER_MS + 8_000)
    .chain((beforeKeyEndsMs) =>
      struck(fc.oneof(killed, moment, none), beforeKeyEndsMs + 6_000).map((round) => ({ ...round, beforeKeyEndsMs })),
    );
  return script(fc.oneof(fault, none), [struck(fc.oneof(killed, moment, none, none), 0), second, calm]);
}

function beginOf(connections: readonly ConnectionId[], edits: readonly Edit[]): fc.Arbitrary<Step> {
  const edit = fc.constantFrom(...edits.map((): undefined => undefined), undefined, ...edits);
  const parts = fc.tuple(shapeOf(connections), scripts, fc.boolean(), fc.tuple(edit, edit, edit));
  return parts.map(([asked, { fault, databaseFault, rounds, pays }, wanted, edited]) => {
    const isPaid = pays === true && !asked.connection.startsWith('reg');
    const shape = isPaid ? onDemo({ ...asked, connection: 'tp5-demo' }) : asked;
    const { server } = CONNECTIONS[shape.connection];
    const editedRounds = rounds.map((round, index) => ({ ...round, edit: edited[index] }));
    return {
      kind: 'begin',
      shape,
      rivals: wanted && shape.login !== 'none',
      faults: [
        ...(fault === null ? [] : [{ target: server, fault: onServerOf(server, fault) }]),
        ...(databaseFault === null ? [] : [{ target: 'dynamodb' as const, fault: databaseFault }]),
      ],
      rounds: shape.keyed
        ? editedRounds
        : [{ tries: rounds[0]?.tries.slice(0, 1) ?? [null], passMs: 0, edit: edited[0] }],
    };
  });
}

const retry: fc.Arbitrary<Step> = fc.record({ kind: fc.constant('retry'), which: fc.nat(9), round: anyRound });
const onDatabase = databaseFault.map((fault): Step => ({ kind: 'fault', target: 'dynamodb', fault }));
const onService: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant('fault'),
  target: fc.constantFrom('secrets', 'ses'),
  fault: faultOf('throttled', 'refused', 'down', 'slow'),
});
const settle = fc.oneof(none, moment).map<Step>((one) => ({ kind: 'settle', moment: one }));

const jump = fc.integer({ min: -SKEW_MS, max: SKEW_MS }).map<Step>((ms) => ({ kind: 'jump', ms }));
const other = fc.oneof(
  fc.oneof(fc.constantFrom<Step[]>({ kind: 'heal' }, { kind: 'retire' }), settle, settle),
  ...[jump, jump],
);
