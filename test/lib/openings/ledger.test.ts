import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DERIVATION, deriveIdentity } from '../../../lib/openings/derivation.ts';
import { type HeldOperation, type Ledger, Overtaken, ReservationConflict } from '../../../lib/openings/ledger.ts';
import type { Life, LifeAt } from '../../../lib/openings/life.ts';
import { accountRecord } from '../../../lib/openings/order.ts';
import { OPERATOR_ONLY, RETRY_ONLY } from '../../../lib/records/due.ts';
import { keyExpiry, keyItem } from '../../../lib/records/idempotency-keys.ts';
import { LONG_TIMEOUTS, type TestDatabase, testDatabase } from '../../support/database.ts';
import { derivationKeys, LedgerWorld, planFor } from '../../support/openings.ts';

let database: TestDatabase;
let world: LedgerWorld;
beforeAll(async () => {
  database = await testDatabase(afterAll, LONG_TIMEOUTS);
  world = new LedgerWorld(database);
});

const sent = (login: number | undefined, commands: 'one' | 'many' = 'one'): Life => ({ at: 'sent', login, commands });
const open = (login: number): Life => ({
  ...{ at: 'open', login, opened_at: '2026-11-22T00:00:00.000Z' },
  ...{ recorded: true, deposit: 'none', published: false },
});
const done = (login: number, unpaid = false): Life => ({
  at: 'done',
  login,
  opened_at: '2026-11-22T00:00:00.000Z',
  unpaid,
});
const gone: Life = { at: 'gone' };
const write = (held: Parameters<LedgerWorld['ledger']['write']>[0], to: Life) =>
  world.ledger.write(held, to, world.signal());
let keys = 0;
const newKey = () => {
  keys += 1;
  return `key-${keys}`;
};
let logins = 700_000;
const newLogin = () => {
  logins += 10;
  return logins;
};

describe('An idempotency key', () => {
  it('is held by one worker at a time, and is refused with another body', async () => {
    const key = newKey();
    const first = await world.claimed(key);
    expect(await world.claim(key)).toMatchObject({
      kind: 'busy',
      identity: { operationId: first.operationId, fingerprint: 'body' },
      retryAfterSeconds: 5,
    });
    expect(await world.claim(key, 'another body')).toEqual({ kind: 'reused' });
  });

  it('goes to a retry with its state when the lease has ended', async () => {
    const key = newKey();
    const first = await world.claimed(key);
    const login = newLogin();
    await write(first, sent(login));
    world.now += 30_001;
    const claim = await world.claim(key);
    expect(claim).toMatchObject({ kind: 'held', held: { operationId: first.operationId, life: sent(login) } });
    await expect(write(first, sent(login, 'many'))).rejects.toThrow(Overtaken);
  });

  it('is free when it has expired after the end, and never while the account may exist', async () => {
    const [finished, unknown] = [newKey(), newKey()];
    const one = await world.claimed(finished);
    const [first, second] = [newLogin(), newLogin()];
    await write(one, sent(first));
    await write(one, done(first));
    const other = await world.claimed(unknown);
    await write(other, sent(second));
    world.now += keyExpiry(0) * 1_000 + 1_000;
    expect(await world.claim(finished, 'a new body')).toMatchObject({
      kind: 'held',
      held: { life: { at: 'claimed' } },
    });
    expect(await world.claim(unknown, 'a new body')).toEqual({ kind: 'reused' });
    expect(await world.item(other)).not.toHaveProperty('expires_at');
  });

  it('leads the same request to its operation even after the key has expired', async () => {
    const key = newKey();
    const first = await world.claimed(key);
    const login = newLogin();
    await write(first, sent(login));
    await write(first, done(login));
    world.now += keyExpiry(0) * 1_000 + 1_000;
    expect(await world.claim(key)).toMatchObject({ kind: 'held', held: { life: done(login) } });
  });

  it('leads a retry to its operation after the secret was rotated', async () => {
    const scope = newKey();
    const [[before], keys] = [derivationKeys('1'), derivationKeys('2', '1')];
    const identities = (some: typeof keys): Parameters<Ledger['claim']>[0] => {
      const [first, ...older] = some.map((key) => deriveIdentity(key, keyItem([scope]), `body ${key.id}`));
      return first === undefined ? expect.fail() : [first, ...older];
    };
    const old = identities([before])[0];
    const claim = (some: typeof keys) => world.ledger.claim(identities(some), 30_000, world.signal());
    expect(await claim([before])).toMatchObject({ kind: 'held', held: old });
    expect(await claim(keys)).toMatchObject({ kind: 'busy', identity: old });
    world.now += 30_001;
    expect(await claim(keys)).toMatchObject({ kind: 'held', held: old });
    // A new key is never invited: whether the body is the same one can no longer be known.
    world.now += 30_001;
    expect(await claim(derivationKeys('3', '2'))).toEqual({ kind: 'underivable', operationId: old.operationId });
  });

  it('of another version of the derivation is not acquired', async () => {
    const key = newKey();
    const held = await world.claimed(key);
    const item = await world.item(held);
    await database.tables.operations.put({ ...item, derivation: DERIVATION + 1 }, world.signal());
    world.now += 30_001;
    expect(await world.claim(key)).toEqual({ kind: 'underivable', operationId: held.operationId });
  });

  it('continues with the identity that a found reservation names', async () => {
    const key = newKey();
    const held = await world.claimed(key);
    const [other] = derivationKeys('9');
    const identity = deriveIdentity(other, held.pk, 'another fingerprint');
    const adopted = await world.ledger.adopt(held, identity, world.signal());
    const login = newLogin();
    await write(adopted, sent(login));
    expect(await world.item(held)).toMatchObject({ operation_id: identity.operationId, secret: other.id });
    expect(await world.holder(`tp5#${login}`)).toBe(identity.operationId);
    await expect(world.ledger.adopt(held, identity, world.signal())).rejects.toThrow(Overtaken);
  });

  it('is free at once after the state gone', async () => {
    const key = newKey();
    const held = await world.claimed(key);
    await write(held, gone);
    const claim = await world.claim(key, 'another body');
    expect(claim).toMatchObject({ kind: 'held', held: { life: { at: 'claimed' } } });
  });
});

describe('A login', () => {
  it('is reserved with the state sent, for one operation of the platform version', async () => {
    const login = newLogin();
    const [one, other] = [await world.claimed(), await world.claimed(undefined, { connection_id: 'tp5-live-2' })];
    await write(one, sent(login));
    expect(await world.holder(`tp5#${login}`)).toBe(one.operationId);
    await expect(write(other, sent(login))).rejects.toThrow(ReservationConflict);
    expect(await world.item(other)).toMatchObject({ life: { at: 'claimed' } });
    const version4 = await world.claimed(undefined, { version: 'tp4' });
    await write(version4, sent(login));
    expect(await world.holder(`tp4#${login}`)).toBe(version4.operationId);
  });

  it('is given up with the next login, and with the only command that was refused', async () => {
    const login = newLogin();
    const held = await world.claimed();
    await write(held, sent(login));
    await write(held, sent(login + 1));
    expect([await world.holder(`tp5#${login}`), await world.holder(`tp5#${login + 1}`)]).toEqual([
      undefined,
      held.operationId,
    ]);
    await write(held, gone);
    expect(await world.holder(`tp5#${login + 1}`)).toBeUndefined();
  });

  it('stays with the operation in every other state', async () => {
    const login = newLogin();
    const held = await world.claimed();
    for (const state of [sent(login), sent(login, 'many'), open(login), done(login)] as const) {
      await write(held, state);
      expect(await world.holder(`tp5#${login}`)).toBe(held.operationId);
    }
    const escalated = await world.claimed();
    await write(escalated, sent(login + 1));
    await write(escalated, { at: 'undecided', login: login + 1 });
    await write(escalated, gone);
    expect(await world.holder(`tp5#${login + 1}`)).toBe(escalated.operationId);
  });

  it('of a protocol that cannot name logins is reserved for its server once it is known', async () => {
    const login = newLogin();
    const plugIn = { keyed: false, version: 'tp4', server: 'mt4.example.com:443' } as const;
    const [one, other] = [
      await world.claimed(undefined, { ...plugIn, connection_id: 'tp4-live-1' }),
      await world.claimed(undefined, { ...plugIn, connection_id: 'tp4-raw-1' }),
    ];
    for (const held of [one, other]) await write(held, sent(undefined));
    const answered = { ...open(login), recorded: false } as Life;
    await write(one, answered);
    await expect(write(other, answered)).rejects.toThrow(ReservationConflict);
    expect(await world.holder(`mt4.example.com:443#${login}`)).toBe(one.operationId);
  });
});

describe.each([true, false])('The login of an account that has a record, keyed: %s', (keyed) => {
  const plan = { keyed, server: 'mt.example.com:443' };
  const keyOf = (login: number) => (keyed ? `tp5#${login}` : `mt.example.com:443#${login}`);
  const undecided = (login: number): Life => ({ at: 'undecided', login });
  const known: [string, (login: number) => Life][] = [
    ['open', open],
    ['undecided', undecided],
  ];

  it.each(known)('is reserved with the state %s', async (_, state) => {
    const [login, held] = [newLogin(), await world.claimed(undefined, plan)];
    await write(held, state(login));
    expect(await world.holder(keyOf(login))).toBe(held.operationId);
  });

  it.each(known)('stays with another operation that has reserved it since, and the state is %s', async (_, state) => {
    const [login, rival, held] = [newLogin(), await world.claimed(), await world.claimed(undefined, plan)];
    rival.plan = { ...planFor(rival.operationId), ...plan };
    await write(rival, keyed ? sent(login) : sent(undefined));
    if (!keyed) await write(rival, { ...open(login), recorded: false } as Life);
    await write(held, state(login));
    expect(await world.item(held)).toMatchObject({ life: state(login) });
    expect(await world.holder(keyOf(login))).toBe(rival.operationId);
  });
});

describe('A login that turned out to be another’s, when our account has a record at a later one', () => {
  it.each<[string, 'ours' | 'another’s', string | undefined]>([
    ['is free again', 'ours', undefined],
    ['is reserved for its owner', 'ours', 'owner'],
    ['is free again, and the later one stays another’s', 'another’s', undefined],
  ])('%s', async (_, later, seenOwner) => {
    const [login, rival, held] = [newLogin(), await world.claimed(), await world.claimed()];
    if (later === 'another’s') await write(rival, sent(login + 1));
    await write(held, sent(login));
    held.seenOwner = seenOwner;
    await write(held, open(login + 1));
    expect(await world.holder(`tp5#${login}`)).toBe(seenOwner);
    expect(await world.holder(`tp5#${login + 1}`)).toBe(later === 'ours' ? held.operationId : rival.operationId);
    expect(await world.state(held)).toBe('open');
  });
});

describe('A login that a restored table gives to another holder', () => {
  const sentBefore = async (changes: { operation_id?: string; incarnation: string }) => {
    const login = newLogin();
    const held = await world.claimed();
    await write(held, sent(login));
    const { operationId: operation_id } = held;
    const reservation = { pk: `tp5#${login}`, operation_id, connection_id: 'tp5-live-1', ...changes };
    await database.tables.logins.put(reservation, world.signal());
    return { login, held };
  };

  it('is not released if the holder is a later life of the same operation', async () => {
    const { login, held } = await sentBefore({ incarnation: 'later' });
    await expect(write(held, gone)).rejects.toThrow(ReservationConflict);
    expect(await world.holder(`tp5#${login}`)).toBe(held.operationId);
    expect(await world.state(held)).toBe('sent');
  });

  it.each<[string, string, (login: number) => Life[]]>([
    ['ends', 'undefined', () => [gone]],
    ['goes on', 'sent', (login) => [sent(login + 1)]],
    ['is settled as a stranger’s', 'claimed', (login) => [{ at: 'undecided', login }, { at: 'claimed' }]],
  ])('stays with that holder, and the operation %s', async (_, state, lives) => {
    for (const seenOwner of [undefined, 'another operation']) {
      const { login, held } = await sentBefore({ operation_id: 'another operation', incarnation: 'other' });
      held.seenOwner = seenOwner;
      for (const life of lives(login)) await write(held, life);
      expect(await world.holder(`tp5#${login}`)).toBe('another operation');
      expect(String(await world.state(held))).toBe(state);
    }
  });

  it('is not reserved together with the operation’s next login', async () => {
    const { login, held } = await sentBefore({ operation_id: 'another operation', incarnation: 'other' });
    const other = await world.claimed(newKey());
    await write(other, sent(login + 1));
    await expect(write(held, sent(login + 1))).rejects.toThrow(ReservationConflict);
  });
});

it('A login at which an operator has found another client’s account stays reserved for no operation, and a retry may continue', async () => {
  const login = newLogin();
  const held = await world.claimed(newKey());
  await write(held, sent(login));
  await write(held, { at: 'undecided', login });
  await write(held, { at: 'claimed' });
  expect(await world.holder(`tp5#${login}`)).toBe('nobody');
  expect(await world.item(held)).toMatchObject({ lease_until: 0, expires_at: keyExpiry(world.now) });
  expect(await world.item(held)).not.toHaveProperty('due_at');
});

it.each<[string, (login: number) => Life]>([
  ['goes on', (login) => sent(login + 1)],
  ['ends', () => ({ at: 'gone' })],
])(
  'A login at which another operation’s account was seen is reserved for that operation when ours %s',
  async (_, next) => {
    const login = newLogin();
    const held = await world.claimed();
    await write(held, sent(login));
    held.seenOwner = 'another-operation';
    await write(held, next(login));
    expect(await world.holder(`tp5#${login}`)).toBe('another-operation');
    expect(held.seenOwner).toBeUndefined();
  },
);

describe('A reservation that an operator’s finding moves', () => {
  it.each<[string, (login: number) => Life, Partial<HeldOperation>]>([
    ['open', open, {}],
    ['claimed', () => ({ at: 'claimed' }), { plan: undefined }],
  ])('goes to the operation with the state %s, unless a third one has it meanwhile', async (_, state, change) => {
    const login = newLogin();
    const [rival, held] = [await world.claimed(newKey()), await world.claimed(newKey())];
    await write(rival, sent(login));
    await write(held, { at: 'undecided' });
    const pk = `tp5#${login}`;
    const move = { pk, from: 'an earlier holder', to: held.operationId };
    Object.assign(held, change, { moved: [move] });
    await expect(write(held, { ...state(login), recorded: false } as Life)).rejects.toThrow(ReservationConflict);
    expect([await world.holder(pk), await world.state(held)]).toEqual([rival.operationId, 'undecided']);
    held.moved = [{ ...move, from: rival.operationId }];
    await write(held, { ...state(login), recorded: false } as Life);
    expect([await world.holder(pk), await world.state(held)]).toEqual([held.operationId, state(login).at]);
    expect(held.moved).toBeUndefined();
  });
});

it.each([
  ['already', 0],
  ['in the same write', 1],
])('An account’s record is written with its state, if its login is reserved %s', async (_, offset) => {
  const login = newLogin();
  const held = await world.claimed();
  await write(held, sent(login));
  await write(held, { at: 'undecided', login });
  const to = open(login + offset) as LifeAt<'open'>;
  await world.ledger.write(held, to, world.signal(), accountRecord(held.plan, to));
  expect(await world.record(held)).toMatchObject({ operation_id: held.operationId, login: login + offset });
});

it('The login that a server has answered is reserved with the operator’s decision', async () => {
  const login = newLogin();
  const held = await world.claimed();
  await write(held, sent(login));
  await write(held, { at: 'undecided', login, other: login + 1 });
  await write(held, open(login + 1));
  const holders = [await world.holder(`tp5#${login}`), await world.holder(`tp5#${login + 1}`)];
  expect(holders).toEqual([held.operationId, held.operationId]);
});

/** The network repeats the next calls. @returns what lets the repeats happen, until each is executed */
function lateRepeats(times: number): () => Promise<void> {
  const { faults, repeats } = database;
  const { pause } = faults;
  const late = Promise.withResolvers<void>();
  faults.pause = () => late.promise;
  faults.set({ kind: 'repeated', times });
  return async () => {
    faults.pause = pause;
    expect(repeats).toHaveLength(times);
    late.resolve();
    await Promise.all(repeats.splice(0));
  };
}

describe('A write', () => {
  it('under an older version of the same lease changes nothing', async () => {
    const login = newLogin();
    const held = await world.claimed();
    const earlier = { ...held };
    await write(held, sent(login));
    await write(held, sent(login, 'many'));
    await expect(write(earlier, sent(login + 1))).rejects.toThrow(Overtaken);
    expect(await world.item(held)).toMatchObject({ life: sent(login, 'many') });
  });

  it('that the network repeats late changes no newer state', async () => {
    const login = newLogin();
    const held = await world.claimed();
    const repeat = lateRepeats(1);
    await write(held, sent(login));
    await write(held, gone);
    await repeat();
    expect([await world.item(held), await world.holder(`tp5#${login}`)]).toEqual([undefined, undefined]);
  });

  it.each([true, false])('that the network repeats late sends nothing for a freed key (keyed: %s)', async (keyed) => {
    const repeat = lateRepeats(2);
    const held = await world.claimed(newKey(), { keyed });
    await write(held, sent(keyed ? newLogin() : undefined));
    await write(held, gone);
    await repeat();
    // The late duplicate of the claim ends with its lease.
    expect(await world.state(held)).toBe('claimed');
  });

  it('whose answer is lost is recognized when the SDK repeats it', async () => {
    const login = newLogin();
    database.faults.set({ kind: 'reply_lost', times: 1 });
    const held = await world.claimed(newKey());
    for (const state of [sent(login), sent(login, 'many'), open(login), gone]) {
      database.faults.set({ kind: 'reply_lost', times: 1 });
      await write(held, state);
    }
    expect(await world.item(held)).toBeUndefined();
  });
});

describe('The list of due operations', () => {
  const dueAt = async (held: Parameters<typeof write>[0]) => (await world.item(held))?.due_at;

  it('contains an operation from the moment when it may send until it ends', async () => {
    const login = newLogin();
    const held = await world.claimed();
    expect(await dueAt(held)).toBeUndefined();
    await write(held, sent(login));
    expect(await dueAt(held)).toBe(held.leaseUntil);
    await world.ledger.rest(held, world.now + 60_000, world.signal());
    expect(await world.item(held)).toMatchObject({ due_at: world.now + 60_000, lease_until: 0 });
    expect(await world.ledger.acquire(held.pk, 'settler', 1_000, world.signal())).toBeUndefined();
    world.now += 60_000;
    const found = (await world.ledger.due(world.signal())).find(({ pk }) => pk === held.pk);
    const { pk, operationId } = held;
    expect(found).toMatchObject({ pk, operationId, dueAt: world.now, connectionId: 'tp5-live-1' });
    const settled = await world.ledger.acquire(held.pk, 'settler', 1_000, world.signal());
    expect(settled).toMatchObject({ life: sent(login), plan: { user_id: 'CLIENT01' } });
    if (settled === undefined) return;
    await write(settled, done(login));
    expect(await dueAt(settled)).toBeUndefined();
  });

  it.each<[string, Life['at'], number]>([
    ['waits for an operator', 'undecided', OPERATOR_ONLY],
    ['waits for an operator’s payment', 'done', OPERATOR_ONLY],
    ['waits for a retry', 'sent', RETRY_ONLY],
  ])('keeps an operation that %s, and only an operator may acquire it', async (_, at, wanted) => {
    const [held, login] = [await world.claimed(), newLogin()];
    await write(held, sent(login));
    if (at === 'undecided') await write(held, { at, login });
    else if (at === 'done') await write(held, done(login, true));
    else await world.ledger.rest(held, RETRY_ONLY, world.signal());
    expect(await dueAt(held)).toBe(wanted);
    world.now += 400 * 24 * 60 * 60_000;
    expect((await world.ledger.due(world.signal())).map(({ pk }) => pk)).not.toContain(held.pk);
    expect(await world.ledger.acquire(held.pk, 'settler', 1_000, world.signal())).toBeUndefined();
    expect(await world.ledger.acquire(held.pk, 'operator', 1_000, world.signal())).toBeDefined();
    expect(await world.ledger.acquire(held.pk, 'operator', 1_000, world.signal())).toBeUndefined();
  });
});

describe('The holders of logins', () => {
  it('are found for any number of them', async () => {
    const login = newLogin();
    const held = await world.claimed();
    await write(held, sent(login));
    const asked = Array.from({ length: 250 }, (_, index) => login - index);
    const holders = await world.ledger.holders('tp5', asked, world.signal());
    expect(holders.get(login)).toBe(held.operationId);
    expect(holders.has(login + 5)).toBe(false);
  });
});
