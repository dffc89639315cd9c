import fc from 'fast-check';
import { ENDINGS, type Fault, type FaultKind, PLATFORM_FAULT_KINDS } from '../../../infra/local/faults.ts';
import { UNDOCUMENTED_CODE } from '../../../infra/local/platforms/simulated-server.ts';
import { KEY_HOURS, keyExpiry } from '../../../lib/records/idempotency-keys.ts';
import type { ConnectionId } from '../account-connections.ts';

/** How long a key is kept after the last write, in milliseconds. */
export const KEPT_MS = keyExpiry(0) * 1_000;
/** How much longer that is than documented. */
export const KEPT_LONGER_MS = KEPT_MS - KEY_HOURS * 60 * 60 * 1_000;

/** How late a server may execute a command, in milliseconds, even if the connection has ended: longer than a lease. */
const LATE_MS = [50, 1_500, 20_000, 65_000, 200_000];
/** By how much the wall clock of a function may be wrong, in milliseconds. */
export const SKEW_MS = 90_000;

/** The connections of each kind of histories. */
export const KINDS = {
  accounts: ['tp5-live', 'tp5-live', 'tp5-demo', 'tp5-demo', 'tp5-list', 'gw-live', 'gw-live', 'gw-demo'],
  'web-registration': ['reg-live', 'reg-live', 'reg-demo'],
} as const satisfies Record<string, readonly ConnectionId[]>;
export type Kind = keyof typeof KINDS;

export const faultOf = (...kinds: FaultKind[]) =>
  fc.record({
    kind: fc.constantFrom(...kinds),
    times: fc.integer({ min: 1, max: 4 }),
    after: fc.integer({ min: 0, max: 6 }),
    ms: fc.constantFrom(30, 300, 1_500, 20_000),
  });
export const databaseFault = faultOf(
  'throttled',
  'refused',
  'down',
  'slow',
  'reply_lost',
  'reply_lost',
  'repeated',
  'repeated',
);
/** It is executed, and answered with an undocumented code. */
const undocumentedCode: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constant('retcode'),
  times: fc.constant(1),
  after: fc.constantFrom(0, 0, 1),
  code: fc.constant(UNDOCUMENTED_CODE),
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
  ending: fc.constantFrom(...ENDINGS),
  // Without those whose answer blames the request itself.
  code: fc.constantFrom(2, 7, 9, 10, 11, 12, 14, 1001, 1018),
});
/** Those with an unknown outcome are the most frequent. */
export const platformFault: fc.Arbitrary<Fault> = fc.oneof(
  ...[anyPlatformFault, anyPlatformFault, anyPlatformFault, anyPlatformFault, undocumentedCode],
);

/** The command is executed after its caller has gone. */
export const lateFault: fc.Arbitrary<Fault> = fc.record({
  kind: fc.constantFrom<FaultKind[]>('late', 'late', 'slow'),
  times: fc.constantFrom(1, 2),
  ms: fc.constantFrom(...LATE_MS.filter((ms) => ms > 10_000)),
  ending: fc.constantFrom(...ENDINGS),
});
