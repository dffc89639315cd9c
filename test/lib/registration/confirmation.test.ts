import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { interleave } from '../../support/interleave.ts';
import { forever } from '../../support/outcomes.ts';
import { DAY, type Given, MINUTE, NOW, RegistrationScene, TWO_KEYS } from '../../support/registration-scene.ts';

let database: TestDatabase;
let world: RegistrationScene;

beforeAll(async () => {
  database = await testDatabase(afterAll);
});
beforeEach(() => {
  world = new RegistrationScene(database);
});

describe('The right code and password', () => {
  it('confirm a registration, and the event is published', async () => {
    const id = await world.register();
    world.now += MINUTE;
    expect(await world.confirm()).toBe(204);
    expect(world.published).toEqual([
      {
        id,
        otp_type: 'email',
        verified: 'email',
        email_taken: false,
        phone_taken: false,
        form_id: 'FORM0001',
        referrer_user_id: 'CLIENT01',
        requested_at: new Date(NOW).toISOString(),
        confirmed_at: new Date(NOW + MINUTE).toISOString(),
      },
    ]);
  });

  it('are counted once for the channel, with the time since the message was sent', async () => {
    await world.register();
    world.now += MINUTE;
    for (let time = 0; time < 2; time += 1) await world.confirm();
    const fields = { channel: 'email', seconds_to_confirm: 59 };
    expect(world.events).toEqual([{ name: 'RegistrationConfirmed', fields }]);
  });

  it('may be repeated within 24 hours, without a second event', async () => {
    await world.register();
    for (const ms of [0, MINUTE, 20 * MINUTE, 23 * 60 * MINUTE]) {
      world.now = NOW + ms;
      expect(await world.confirm()).toBe(204);
    }
    expect(world.published).toHaveLength(1);
    world.now = NOW + DAY;
    expect(await world.confirm()).toBe('code_not_accepted');
  });

  it('keep the registration 30 days from then on', async () => {
    const id = await world.register();
    await world.confirm();
    world.now = NOW + 30 * DAY - 1_000;
    expect(await world.registrations.get(id, forever)).toMatchObject({ confirmation: { published: true } });
    world.now = NOW + 30 * DAY;
    expect(await world.registrations.get(id, forever)).toBeUndefined();
  });

  it.each(['email', 'phone'] as const)(
    'publish, for the CRM alone, that a client has proven the %s, then or when it was asked for',
    async (kind) => {
      const taken = { email_taken: kind === 'email', phone_taken: kind === 'phone' };
      await world.register();
      expect(await world.confirm({}, { known: { [kind]: true } })).toBe(204);
      const other = new RegistrationScene(database);
      await other.register({ delivery: { kind: 'code', outcome: 'sent', ...taken } });
      expect(await other.confirm()).toBe(204);
      expect([...world.published, ...other.published]).toMatchObject([taken, taken]);
    },
  );

  it('belong to any of twenty registrations of the address, each with its own, at the cost of one hash', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `person ${index}`);
    const ids = [];
    for (const [index, name] of names.entries()) {
      ids.push(await world.register({ code: `${100_000 + index}`, password: `password of ${name}` }));
    }
    expect(await world.confirm({ code: '100001', password: 'password of person 0' })).toBe('code_not_accepted');
    for (const index of [0, 10, 19]) {
      const own = { code: `${100_000 + index}`, password: `password of person ${index}` };
      expect(await world.confirm(own)).toBe(204);
    }
    expect(world.hashes).toBe(4);
    expect(world.published).toMatchObject([{ id: ids[0] }, { id: ids[10] }, { id: ids[19] }]);
  });

  it('may be repeated within 24 hours, however many newer registrations there are', async () => {
    await world.register();
    expect(await world.confirm()).toBe(204);
    for (let i = 0; i < 60; i += 1) {
      world.now += 15 * MINUTE;
      await world.register({ code: `${200_000 + i}`, password: `password ${i}` });
    }
    expect(await world.confirm()).toBe(204);
    expect(world.published).toHaveLength(1);
  });

  it('are accepted while the pepper is rotated, at the cost of a hash for each key', async () => {
    await world.register({ code: '111111' });
    world.pepper = TWO_KEYS;
    await world.register({ code: '222222' });
    expect(await world.confirm({ code: '111111' })).toBe(204);
    expect(await world.confirm({ code: '222222' })).toBe(204);
    expect(world.hashes).toBe(4);
  });

  it('are also those of a first message that arrives after the second, with one password', async () => {
    const first = await world.register({ code: '111111' });
    await world.register({ code: '222222' });
    expect(await world.confirm({ code: '111111' })).toBe(204);
    expect(world.published).toMatchObject([{ id: first }]);
  });
});

describe('A refusal', () => {
  /** The earlier registration: its wrong guesses, whether it is confirmed, and its age. */
  const having =
    (registered: Given[], { guesses = 0, confirmed = false, ms = 0 } = {}) =>
    async () => {
      for (const given of registered) await world.register(given);
      for (let i = 0; i < guesses; i += 1) await world.confirm({ code: `99999${i}` });
      if (confirmed) await world.confirm();
      world.now += ms;
    };
  const notice = {
    delivery: { kind: 'owner_notice', outcome: 'sent', email_taken: true, phone_taken: false },
  } as const;
  const wrong = { code: '999999' };

  it.each<[string, () => Promise<void>, Given]>([
    ['of a wrong code', having([{ documents: 2 }]), wrong],
    ['of a wrong password and code', having([{}]), { ...wrong, password: 'wrong password' }],
    ['of a wrong password', having([{}]), { password: 'wrong password' }],
    ['where nothing was asked for', having([]), {}],
    ['of an owner’s notice', having([notice]), {}],
    ['of an expired code', having([{}], { ms: 10 * MINUTE }), {}],
    ['without guesses left', having([{}], { guesses: 5 }), {}],
    ['of the code of another registration', having([{ password: 'other password' }, { code: '222222' }]), {}],
    ['of a registration that was confirmed a day ago', having([{}], { confirmed: true, ms: DAY }), {}],
    ['of a registration that has disappeared', having([{}], { ms: DAY }), {}],
    ['of a wrong code of a confirmed registration', having([{}], { confirmed: true }), wrong],
  ])('%s is code_not_accepted, after the same calls and as many hashes as every other', async (_, prepare, given) => {
    await prepare();
    [world.hashes, world.objectCalls, world.published, database.calls.length] = [0, 0, [], 0];
    expect(await world.confirm(given)).toBe('code_not_accepted');
    expect(world.hashes).toBe(1);
    const calls = database.calls.map(({ operation }) => operation);
    expect(calls).toEqual(['GetItem', 'UpdateItem', 'BatchGetItem']);
    expect(world.published).toEqual([]);
    expect(world.objectCalls).toBe(0);
  });

  it('for a wrong password uses up no guess', async () => {
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
    expect(database.calls.map(({ operation }) => operation)).toEqual(['GetItem']);
  });

  it('does not come because the source could not be counted', async () => {
    await world.register();
    expect(await world.confirm({}, { limit: { kind: 'unchecked', counted: [] } })).toBe(204);
    expect(world.events).toContainEqual(expect.objectContaining({ name: 'LimitUncheckable' }));
  });
});

describe('When the answer to a write is lost', () => {
  it('and the SDK repeats each, a guess counts once and one event is published', async () => {
    const { registrations: table } = database.tables;
    const repeating: Table = {
      ...table,
      update: async (...args) => {
        await table.update(...args);
        return table.update(...args);
      },
    };
    await world.register();
    for (let i = 0; i < 4; i += 1) await world.confirm({ code: `99999${i}` }, { table: repeating });
    expect(await world.confirm({}, { table: repeating })).toBe(204);
    expect(await world.confirm({}, { table: repeating })).toBe(204);
    expect(world.published).toHaveLength(1);
  });
});

describe('Guesses', () => {
  it('are five different ones: the same one again is free', async () => {
    await world.register();
    for (const code of ['1', '1', '2', '3', '3', '4', '4']) await world.confirm({ code: `99999${code}` });
    expect(await world.confirm()).toBe(204);
  });

  it('count for every registration with that password, and for no other', async () => {
    await world.register({ code: '111111' });
    await world.register({ code: '222222' });
    await world.register({ code: '333333', password: 'other password' });
    for (let i = 0; i < 5; i += 1) expect(await world.confirm({ code: `99999${i}` })).toBe('code_not_accepted');
    for (const code of ['111111', '222222']) expect(await world.confirm({ code })).toBe('code_not_accepted');
    expect(await world.confirm({ code: '333333', password: 'other password' })).toBe(204);
  });

  it('that are right but could not be written are not used up, however often that fails', async () => {
    await world.register({ documents: 1 });
    for (let i = 0; i < 4; i += 1) await world.confirm({ code: `99999${i}` });
    const failing: Table = {
      ...database.tables.registrations,
      update: (key, expression, signal) =>
        'values' in expression && expression.values !== undefined && ':confirmation' in expression.values
          ? Promise.reject(new Error('down'))
          : database.tables.registrations.update(key, expression, signal),
    };
    for (let i = 0; i < 7; i += 1) await expect(world.confirm({}, { table: failing })).rejects.toThrow('down');
    expect(await world.confirm()).toBe(204);
  });

  it('that come at once: fifty right ones are all answered 204, with one event', async () => {
    await world.register();
    const answers = await Promise.all(Array.from({ length: 50 }, () => world.confirm()));
    expect(new Set(answers)).toEqual(new Set([204]));
    expect(world.published).toHaveLength(1);
  });

  it('in parallel: at most five are compared, in any order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), fc.integer({ min: 0, max: 7 }), async (choices, wrong) => {
        world = new RegistrationScene(database);
        await world.register();
        const guesses = [...Array.from({ length: wrong }, (_, index) => `99999${index}`), '012345', '012345'];
        const answers = await interleave(
          database.tables.registrations,
          guesses.map((code) => (table) => world.confirm({ code }, { table })),
          (waiting) => (choices.next().value ?? 0) % waiting,
        );
        const [indexed] = await world.registrations.list({ otp_type: 'email', address: world.address }, forever);
        expect(indexed?.guesses.length).toBe(Math.min(5, wrong + 1));
        expect(world.published).toHaveLength(answers.includes(204) ? 1 : 0);
        expect(answers.slice(0, wrong).every((answer) => answer === 'code_not_accepted')).toBe(true);
        if (wrong <= 4) expect(answers.slice(wrong)).toEqual([204, 204]);
      }),
      { numRuns: 30 },
    );
  });
});
