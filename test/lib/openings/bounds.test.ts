import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AccountDependencies } from '../../../lib/openings/dependencies.ts';
import type { HeldOperation } from '../../../lib/openings/ledger.ts';
import type { Fact, Life } from '../../../lib/openings/life.ts';
import { settleOperations } from '../../../lib/openings/settler.ts';
import { OPERATOR_ONLY, RETRY_ONLY } from '../../../lib/records/due.ts';
import { testDatabase } from '../../support/database.ts';
import { DriveScene } from '../../support/drive-scene.ts';
import { LedgerWorld, recordingTelemetry } from '../../support/openings.ts';

let world: LedgerWorld;
beforeAll(async () => {
  world = new LedgerWorld(await testDatabase(afterAll));
});

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** Five minutes more than a day: the clocks of two workers may differ. */
const KEY_MS = DAY_MS + 5 * MINUTE_MS;
const LEASE_MS = 30_000;

/** The state of an operation, what is due next (milliseconds from now), and the events. */
interface Seen {
  at?: Life['at'];
  due?: unknown;
  events?: string[];
}

async function see(held: HeldOperation, scene: DriveScene): Promise<Seen> {
  const { due_at: due } = (await world.item(held)) ?? {};
  const isTime = typeof due === 'number' && due < RETRY_ONLY;
  return {
    at: (await world.state(held)) ?? 'gone',
    due: isTime ? due - world.now : due,
    events: scene.events.map(({ name }) => name),
  };
}

/** The settler looks at a login whose command was sent that long ago. */
const looked = (sighting: Fact) => async (ageMs: number) => {
  const scene = Object.assign(new DriveScene(world), { looks: [sighting] });
  const held = await scene.left({ at: 'sent', login: scene.login, commands: 'many' });
  world.now += ageMs;
  await scene.run(held, 'settler');
  return see(held, scene);
};

/** An operator frees the caller's own login, which is absent. @param looks when the settler looks before */
const freed =
  (...looks: number[]) =>
  async (ageMs: number) => {
    const scene = new DriveScene(world);
    const held = await scene.left({ at: 'sent', login: scene.login, commands: 'many' }, { login_given: true });
    const { now } = world;
    for (const lookMs of looks) {
      world.now = now + lookMs;
      await scene.run(held, 'settler');
    }
    world.now = now + ageMs;
    const acquired = await world.ledger.acquire(held.pk, 'operator', LEASE_MS, world.signal());
    // Before it can be freed there is no such transition.
    if (acquired !== undefined)
      await scene.run(acquired, 'operator', { on: 'operator_found_none' }).catch(() => undefined);
    return { at: (await see(held, scene)).at };
  };

/** The settler completes an account that was opened that long ago. */
const paid = (deposit: 'refused' | 'unknown') => async (ageMs: number) => {
  const scene = new DriveScene(world);
  const completed = { on: 'completed', recorded: true, published: true, deposit };
  Object.assign(scene, { prepared: { plan: { deposit: 10_000 } }, completed });
  const held = await world.claimed();
  await scene.run(held);
  world.now += ageMs;
  await scene.run(held, 'settler');
  return see(held, scene);
};

/** Who holds the key of an operation that was claimed or written that long ago. */
const claimed = (finished: boolean, body: string) => async (ageMs: number) => {
  const key = `key ${Math.random()}`;
  // A key expires at a whole second.
  world.now = Math.ceil(world.now / SECOND_MS) * SECOND_MS;
  const held = await world.claimed(key);
  const { login } = new DriveScene(world);
  const done: Life = { at: 'done', login, opened_at: '2026-11-22T00:00:00.000Z', unpaid: false };
  await world.ledger.write(held, { at: 'sent', login, commands: 'one' }, world.signal());
  if (finished) await world.ledger.write(held, done, world.signal());
  world.now += ageMs;
  const claim = await world.claim(key, body, LEASE_MS);
  return claim.kind === 'held' ? claim.held.life.at : claim.kind;
};

/** Whether a worker acquires an operation whose lease, and due time, ends after `LEASE_MS`. */
const acquired = (worker: 'settler' | 'operator') => async (ageMs: number) => {
  const { login } = new DriveScene(world);
  const held = await world.claimed();
  held.leaseUntil = world.now + LEASE_MS;
  await world.ledger.write(held, { at: 'sent', login, commands: 'one' }, world.signal());
  world.now += ageMs;
  const isListed = (await world.ledger.due(world.signal())).some(({ pk }) => pk === held.pk);
  const isAcquired = (await world.ledger.acquire(held.pk, worker, LEASE_MS, world.signal())) !== undefined;
  return { isListed, isAcquired };
};

/** How many operations a run of the settler acquires in which this much time is left. */
const settled = async (leftMs: number) => {
  let count = 0;
  const ledger = {
    due: async () => [{ pk: 'one', dueAt: 0, connectionId: undefined }],
    acquire: async () => {
      count += 1;
    },
  };
  const dependencies = { ledger, now: () => world.now } as unknown as AccountDependencies;
  await settleOperations(dependencies, recordingTelemetry([]), world.now + leftMs);
  return count;
};

const WAITS: Seen = { at: 'sent', due: HOUR_MS, events: [] };
const HELD = { isListed: false, isAcquired: false };
const FREE = { isListed: true, isAcquired: true };
const PAID_AGAIN: Seen = { at: 'open', events: ['AccountOpened'] };
const REPORTED: Seen = { at: 'done', due: OPERATOR_ONLY, events: ['AccountOpened', 'DepositFailed'] };
const backoff = async (ageMs: number) => (await looked({ on: 'absent' })(ageMs)).due;

/** Each bound in time: the last moment before it, in milliseconds; what is seen then, and one millisecond later. */
const BOUNDS: [
  title: string,
  lastMs: number,
  seen: (ms: number) => Promise<unknown>,
  before: unknown,
  after: unknown,
][] = [
  [
    'the settler asks for a login that is free, for a day',
    DAY_MS,
    looked({ on: 'absent' }),
    WAITS,
    { due: RETRY_ONLY },
  ],
  [
    ...(['a server that does not answer is reported after a day', DAY_MS, looked({ on: 'unclear' })] as const),
    ...([WAITS, { ...WAITS, events: ['AccountOutcomeUnknown'] }] as const),
  ],
  [
    ...(['a server without a look-up is left to operators after a day', DAY_MS, looked({ on: 'silent' })] as const),
    ...([WAITS, { at: 'undecided', due: OPERATOR_ONLY }] as const),
  ],
  ['a caller’s own login can be freed after a day', DAY_MS, freed(), { at: 'sent' }, { at: 'gone' }],
  [
    ...(['it can be freed after the hour that follows, when the settler has looked', DAY_MS + HOUR_MS] as const),
    ...([freed(DAY_MS + 1, DAY_MS + HOUR_MS), { at: 'gone' }, { at: 'gone' }] as const),
  ],
  ['a refused payment is tried again for a day', DAY_MS, paid('refused'), PAID_AGAIN, REPORTED],
  ['a payment without an answer is looked for, for a day', DAY_MS, paid('unknown'), PAID_AGAIN, REPORTED],
  ['the settler looks again after a minute', MINUTE_MS - 1, backoff, MINUTE_MS, MINUTE_MS],
  ['it looks again after as long as it has waited', MINUTE_MS, backoff, MINUTE_MS, MINUTE_MS + 1],
  ['it waits no longer than an hour', HOUR_MS - 1, backoff, HOUR_MS - 1, HOUR_MS],
  ['it waits an hour from then on', HOUR_MS, backoff, HOUR_MS, HOUR_MS],
  ['a retry waits for the lease', LEASE_MS - 1, claimed(false, 'body'), 'busy', 'sent'],
  ['an operator waits for the lease', LEASE_MS - 1, acquired('operator'), HELD, FREE],
  ['the settler waits until an operation is due', LEASE_MS - 1, acquired('settler'), HELD, FREE],
  ['a key is kept for a day and five minutes', KEY_MS - 1, claimed(true, 'another body'), 'reused', 'claimed'],
  ['the request of a key that has expired has its account', KEY_MS - 1, claimed(true, 'body'), 'done', 'done'],
  ['the settler acquires nothing in its last ten seconds', 10 * SECOND_MS, settled, 0, 1],
];

function compare(found: unknown, wanted: unknown): void {
  if (typeof wanted === 'object') expect(found).toMatchObject(wanted as object);
  else expect(found).toBe(wanted);
}

describe.each(BOUNDS)('A bound in time: %s', (_, lastMs, seen, before, after) => {
  it('is not passed at its last moment', async () => compare(await seen(lastMs), before));

  it('is passed a millisecond later', async () => compare(await seen(lastMs + 1), after));
});

it('An operator pays what could not be paid for a day', async () => {
  const scene = new DriveScene(world);
  const held = await scene.left({ at: 'sent', login: scene.login, commands: 'one' });
  const life = { at: 'done', login: scene.login, opened_at: '2026-11-22T00:00:00.000Z', unpaid: true } as const;
  await world.ledger.write(held, life, world.signal());
  await scene.run(held, 'operator', { on: 'operator_paid' });
  expect(await world.item(held)).toMatchObject({ life: { at: 'done', unpaid: false } });
});
