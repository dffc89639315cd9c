import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DERIVATION, deriveIdentity } from '../../../lib/openings/derivation.ts';
import { type Ledger, Overtaken, ReservationConflict } from '../../../lib/openings/ledger.ts';
import type { Life, LifeAt } from '../../../lib/openings/life.ts';
import { OPERATOR_ONLY, RETRY_ONLY } from '../../../lib/records/due.ts';
import { keyItem } from '../../../lib/records/idempotency-keys.ts';
import { LONG_TIMEOUTS, type TestDatabase, testDatabase } from '../../support/database.ts';
import { derivationKeys, LedgerWorld } from '../../support/openings.ts';

let database: TestDatabase;
let world: LedgerWorld;
beforeAll(async () => {
  database = await testDatabase(afterAll, LONG_TIMEOUTS);
  world = new LedgerWorld(database);
});

const sent = (login: number | undefined, commands: 'one' | 'many' = 'one'): Life => ({ at: 'sent', login, commands });
const open = (login: number, changes: Partial<LifeAt<'open'>> = {}): Life => ({
  ...{ at: 'open', login, opened_at: '2026-11-22T00:00:00.000Z', recorded: true, published: false },
  ...{ mail: 'none', deposit: 'none', ...changes },
});
const finished = (login: number): Life => open(login, { published: true });
const gone: Life = { at: 'gone' };
const write = (held: Parameters<LedgerWorld['ledger']['write']>[0], life: Life) =>
  world.ledger.write(held, { life }, world.signal());
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

  it('is free a day after a request that sent nothing, and never after one that sent a command', async () => {
    const [unsent, key] = [newKey(), newKey()];
    await world.claimed(unsent);
    const held = await world.claimed(key);
    const login = newLogin();
    await write(held, sent(login));
    await write(held, finished(login));
    world.now += 400 * 24 * 60 * 60_000;
    expect(await world.claim(unsent, 'a new body')).toMatchObject({ kind: 'held', held: { life: { at: 'claimed' } } });
    expect(await world.claim(key, 'a new body')).toEqual({ kind: 'reused' });
    expect(await world.item(held)).not.toHaveProperty('expires_at');
    expect(await world.claim(key)).toMatchObject({ kind: 'held', held: { life: finished(login) } });
  });

  describe.each<[string, object]>([
    ['sent', { life: sent(7) }],
    ['undecided', { life: { at: 'undecided', login: 7 } }],
    ['open', { life: finished(7) }],
    ['done in 1.x', { life: { at: 'done', login: 7, opened_at: '2026-01-02T03:04:05.678Z', unpaid: false } }],
    ['closed by an operator', { life: { at: 'claimed' }, closed: [7] }],
  ])('that expires although its operation is %s', (_, state) => {
    it.each(['request', 'settler', 'operator'] as const)('keeps the operation, which a %s acquires', async (worker) => {
      const key = newKey();
      const held = await world.claimed(key);
      const stored = { ...(await world.item(held)), pk: held.pk };
      const changes = { plan: held.plan, lease_until: 0, due_at: world.now, due_shard: 'due#0', ...state };
      await database.tables.operations.put({ ...stored, ...changes }, world.signal());
      world.now += 400 * 24 * 60 * 60_000;
      expect(await world.claim(key, 'a new body')).toEqual({ kind: 'reused' });
      const acquired =
        worker === 'request'
          ? await world.claim(key)
          : await world.ledger.acquire(held.pk, worker, 1_000, world.signal());
      expect(acquired).toBeDefined();
      expect(await world.item(held)).not.toHaveProperty('expires_at');
    });
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

  it('stays with the operation in every state, and is released with the key', async () => {
    const login = newLogin();
    const held = await world.claimed();
    const undecided: Life = { at: 'undecided', login };
    for (const state of [sent(login), sent(login, 'many'), undecided, open(login), finished(login)]) {
      await write(held, state);
      expect(await world.holder(`tp5#${login}`)).toBe(held.operationId);
    }
    await write(held, gone);
    expect(await world.holder(`tp5#${login}`)).toBeUndefined();
  });

  it('that an operator has closed stays with the operation, whose key is free', async () => {
    const [key, login] = [newKey(), newLogin()];
    const held = await world.claimed(key);
    await write(held, sent(login));
    await world.ledger.write(held, { life: { at: 'claimed' }, closed: [login] }, world.signal());
    await write(held, sent(login + 1));
    await world.ledger.write(held, { life: { at: 'claimed' } }, world.signal());
    expect(await world.holder(`tp5#${login}`)).toBe(held.operationId);
    expect(await world.holder(`tp5#${login + 1}`)).toBeUndefined();
    const item = await world.item(held);
    expect(item).toMatchObject({ lease_until: 0, closed: [login] });
    expect(item).not.toHaveProperty('expires_at');
    expect(item).not.toHaveProperty('due_at');
    expect(await world.claim(key)).toMatchObject({ kind: 'held', held: { closed: [login] } });
  });

  it('of a protocol that cannot name logins is reserved for its server once it is known', async () => {
    const login = newLogin();
    const plugIn = { keyed: false, version: 'tp4', server: 'mt4.example.com:443' } as const;
    const [one, other] = [
      await world.claimed(undefined, { ...plugIn, connection_id: 'tp4-live-1' }),
      await world.claimed(undefined, { ...plugIn, connection_id: 'tp4-raw-1' }),
    ];
    for (const held of [one, other]) await write(held, sent(undefined));
    await write(one, open(login));
    await expect(write(other, open(login))).rejects.toThrow(ReservationConflict);
    expect(await world.holder(`mt4.example.com:443#${login}`)).toBe(one.operationId);
    // What an operator has said of no login is no word.
    const taken = await world.ledger.takeFromWord(other, { life: open(login) as LifeAt<'open'> }, world.signal());
    expect(taken).toBeUndefined();
  });

  it('is found for any number of logins', async () => {
    const login = newLogin();
    const held = await world.claimed();
    await write(held, sent(login));
    const place = { version: 'tp5', connection_id: 'any', keyed: true } as const;
    const asked = Array.from({ length: 250 }, (_, index) => login - index);
    const holders = await world.ledger.holders(place, asked, world.signal());
    expect(holders.get(login)).toBe(held.operationId);
    expect(holders.has(login + 5)).toBe(false);
  });
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
    await write(settled, finished(login));
    expect(await dueAt(settled)).toBeUndefined();
  });

  it.each<[string, Life['at'], number]>([
    ['waits for an operator', 'undecided', OPERATOR_ONLY],
    ['waits for an operator’s payment', 'open', OPERATOR_ONLY],
    ['waits for a retry', 'sent', RETRY_ONLY],
  ])('keeps an operation that %s, and only an operator may acquire it', async (_, at, wanted) => {
    const [held, login] = [await world.claimed(), newLogin()];
    await write(held, sent(login));
    if (at === 'undecided') await write(held, { at, login });
    else if (at === 'open') await write(held, open(login, { published: true, deposit: 'unpaid' }));
    else await world.ledger.rest(held, RETRY_ONLY, world.signal());
    expect(await dueAt(held)).toBe(wanted);
    world.now += 400 * 24 * 60 * 60_000;
    expect((await world.ledger.due(world.signal())).map(({ pk }) => pk)).not.toContain(held.pk);
    expect(await world.ledger.acquire(held.pk, 'settler', 1_000, world.signal())).toBeUndefined();
    expect(await world.ledger.acquire(held.pk, 'operator', 1_000, world.signal())).toBeDefined();
    expect(await world.ledger.acquire(held.pk, 'operator', 1_000, world.signal())).toBeUndefined();
  });
});
