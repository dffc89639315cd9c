import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { DAY, FakeConfirmations, type Given, MINUTE, NOW } from '../../support/confirmation-fakes.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { interleave } from '../../support/interleave.ts';

const signal = new AbortController().signal;

let database: TestDatabase;
let world: FakeConfirmations;

beforeAll(async () => {
  database = await testDatabase(afterAll);
});
beforeEach(() => {
  world = new FakeConfirmations(database);
});

describe('The right code and password', () => {
  it('confirm a registration, and the CRM is told', async () => {
    const id = await world.register();
    world.now += MINUTE;
    expect(await world.confirm()).toBe(204);
    expect(world.told).toEqual([
      {
        id,
        otp_type: 'email',
        verified: 'email',
        email_taken: false,
        form_id: 'FORM0001',
        referrer_user_id: 'CLIENT01',
        requested_at: new Date(NOW).toISOString(),
        confirmed_at: new Date(NOW + MINUTE).toISOString(),
      },
    ]);
  });

  it('say so again within 24 hours, and tell nobody twice', async () => {
    await world.register();
    for (const ms of [0, MINUTE, 20 * MINUTE, 23 * 60 * MINUTE]) {
      world.now = NOW + ms;
      expect(await world.confirm()).toBe(204);
    }
    expect(world.told).toHaveLength(1);
    world.now = NOW + DAY;
    expect(await world.confirm()).toBe('code_not_accepted');
  });

  it('keep the registration 30 days from then on', async () => {
    const id = await world.register();
    await world.confirm();
    world.now = NOW + 30 * DAY - 1_000;
    expect(await world.registrations.get(id, signal)).toMatchObject({ confirmation: { told: true } });
    world.now = NOW + 30 * DAY;
    expect(await world.registrations.get(id, signal)).toBeUndefined();
  });

  it.each([
    ['then', { isClient: true }, undefined],
    ['when it was asked for', {}, { kind: 'code', outcome: 'sent', email_taken: true } as const],
  ])('tell the CRM, and nobody else, that the e-mail address was a client’s %s', async (_, change, delivery) => {
    await world.register(delivery === undefined ? {} : { delivery });
    expect(await world.confirm({}, change)).toBe(204);
    expect(world.told).toMatchObject([{ email_taken: true }]);
  });

  it('are those of any of the three newest, each with its own', async () => {
    const ids = [];
    for (const name of ['old', 'first', 'second', 'third']) {
      ids.push(await world.register({ code: `00000${ids.length}`, password: `password of ${name}` }));
    }
    expect(await world.confirm({ code: '000000', password: 'password of old' })).toBe('code_not_accepted');
    expect(await world.confirm({ code: '000001', password: 'password of first' })).toBe(204);
    expect(await world.confirm({ code: '000002', password: 'password of first' })).toBe('code_not_accepted');
    expect(await world.confirm({ code: '000003', password: 'password of third' })).toBe(204);
    expect(world.told).toMatchObject([{ id: ids[1] }, { id: ids[3] }]);
  });

  it('are also those of a first message that arrives after the second, with one password', async () => {
    const first = await world.register({ code: '111111' });
    await world.register({ code: '222222' });
    expect(await world.confirm({ code: '111111' })).toBe(204);
    expect(world.told).toMatchObject([{ id: first }]);
  });
});

describe('A refusal', () => {
  const refusals: [string, () => Promise<unknown>, Given][] = [
    ['of a wrong code', () => world.register({ documents: 2 }), { code: '999999' }],
    ['of a wrong password and code', () => world.register(), { code: '999999', password: 'wrong password' }],
    ['of a wrong password', () => world.register(), { password: 'wrong password' }],
    ['where nothing was asked for', async () => {}, {}],
    [
      'of an owner’s notice',
      () => world.register({ delivery: { kind: 'owner_notice', outcome: 'sent', email_taken: true } }),
      {},
    ],
    [
      'of an expired code',
      async () => {
        await world.register();
        world.now += 10 * MINUTE;
      },
      {},
    ],
    [
      'without guesses left',
      async () => {
        await world.register();
        for (let i = 0; i < 5; i += 1) await world.confirm({ code: '999999' });
      },
      {},
    ],
    [
      'of the code of another registration of the address',
      async () => {
        await world.register({ code: '012345', password: 'other password' });
        await world.register({ code: '222222' });
      },
      {},
    ],
    [
      'of a registration that was confirmed a day ago',
      async () => {
        await world.register();
        await world.confirm();
        world.now += DAY;
      },
      {},
    ],
    [
      'of a registration that has disappeared',
      async () => {
        await world.register();
        world.now += DAY;
      },
      {},
    ],
    [
      'of a wrong code of a confirmed registration',
      async () => {
        await world.register();
        await world.confirm();
      },
      { code: '999999' },
    ],
  ];

  it.each(refusals)(
    '%s is code_not_accepted, after the same calls and as many hashes as every other',
    async (_, before, given) => {
      await before();
      [world.hashes, world.objectCalls, world.told, database.calls.length] = [0, 0, [], 0];
      expect(await world.confirm(given)).toBe('code_not_accepted');
      expect(world.hashes).toBe(3);
      const calls = database.calls.map(({ operation }) => operation);
      expect(calls).toEqual(['GetItem', 'BatchGetItem', 'UpdateItem', 'UpdateItem', 'UpdateItem']);
      expect(world.told).toEqual([]);
      expect(world.objectCalls).toBe(0);
    },
  );

  it('for a wrong password uses up nobody’s guesses', async () => {
    await world.register();
    for (let i = 0; i < 8; i += 1) await world.confirm({ password: 'wrong password' });
    expect(await world.confirm()).toBe(204);
  });

  it('by the source comes before any hash', async () => {
    await world.register();
    expect(await world.confirm({}, { limit: { kind: 'reached', retryAfterSeconds: 5, counted: [] } })).toBe(
      'too_many_requests',
    );
    expect(world.hashes).toBe(0);
    expect(database.calls).toEqual([]);
  });

  it('does not come because the source could not be counted', async () => {
    await world.register();
    expect(await world.confirm({}, { limit: { kind: 'unchecked', counted: [] } })).toBe(204);
    expect(world.events).toContain('LimitUncheckable');
  });
});

describe('When the answer to a write is lost', () => {
  it('and the database’s client repeats each, the code counts once and is told once', async () => {
    const { registrations: table } = database.tables;
    const repeating: Table = {
      ...table,
      update: async (...args) => {
        await table.update(...args);
        return table.update(...args);
      },
    };
    await world.register();
    for (let i = 0; i < 2; i += 1) await world.confirm({ code: '999999' }, { table: repeating });
    expect(await world.confirm({}, { table: repeating })).toBe(204);
    expect(await world.confirm({}, { table: repeating })).toBe(204);
    expect(world.told).toHaveLength(1);
  });
});

describe('Of guesses that come at once', () => {
  it('fifty right ones tell one event', async () => {
    await world.register();
    const answers = await Promise.all(Array.from({ length: 50 }, () => world.confirm()));
    expect(answers).toContain(204);
    expect(answers.every((answer) => answer === 204 || answer === 'code_not_accepted')).toBe(true);
    expect(world.told).toHaveLength(1);
    expect(await world.confirm()).toBe(204);
  });

  it('at most five are compared, in whatever order the database works on them, and of right ones one wins', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), fc.integer({ min: 0, max: 6 }), async (choices, wrong) => {
        world = new FakeConfirmations(database);
        await world.register();
        const guesses = [...Array.from({ length: wrong }, () => '999999'), '012345', '012345'];
        const answers = await interleave(
          database.tables.registrations,
          guesses.map((code) => (table) => world.confirm({ code }, { table })),
          (waiting) => (choices.next().value ?? 0) % waiting,
        );
        expect(world.told).toHaveLength(answers.includes(204) ? 1 : 0);
        expect(answers.slice(0, wrong).every((answer) => answer === 'code_not_accepted')).toBe(true);
        if (wrong <= 3) expect(answers.at(-1)).toBe(204);
      }),
      { numRuns: 30 },
    );
  });
});
