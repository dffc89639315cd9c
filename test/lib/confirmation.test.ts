import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Table } from '../../lib/aws/dynamodb.ts';
import { type ConfirmationParts, confirmRegistration } from '../../lib/confirmation.ts';
import { Problem } from '../../lib/http/problem.ts';
import type { Events } from '../../lib/records/events.ts';
import { type Delivery, type PendingRegistration, registrationsIn } from '../../lib/records/registrations.ts';
import type { Verdict } from '../../lib/records/send-limits.ts';
import { sealCode } from '../../lib/secrets/one-time-code.ts';
import { parsePepper } from '../../lib/secrets/pepper.ts';
import type { EventName, Telemetry } from '../../lib/telemetry.ts';
import { type TestDatabase, testDatabase } from '../support/database.ts';
import { checkEvent } from '../support/events.ts';
import { interleave } from '../support/interleave.ts';

const NOW = Date.UTC(2026, 0, 1, 12);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const PEPPER = parsePepper(JSON.stringify({ current: '1', '1': 'p'.repeat(32) }));
const signal = new AbortController().signal;

let database: TestDatabase;
let now = NOW;
/** Every test has an address of its own. */
let address = '';
let serial = 0;
let hashes = 0;
let told: Parameters<Events['tell']>[1][] = [];
let events: EventName[] = [];

beforeAll(async () => {
  database = await testDatabase(afterAll);
});
beforeEach(() => begin());

function begin(): void {
  serial += 1;
  address = `ann${serial}@example.com`;
  now = NOW;
  hashes = 0;
  told = [];
  events = [];
  database.calls.length = 0;
}

interface Given {
  code?: string;
  password?: string;
  delivery?: Delivery;
}

/** Keeps a registration as a request does. @returns its id */
async function register({ code = '012345', password = 'right password', delivery }: Given = {}): Promise<string> {
  serial += 1;
  const registrationId = `r${serial}`;
  const record: PendingRegistration = {
    registration_id: registrationId,
    type: 'trader',
    otp_type: 'email',
    address,
    email: address,
    email_key: address,
    name: 'Ann',
    password_hash: `hash of ${password}`,
    form_id: 'FORM0001',
    referrer_user_id: 'CLIENT01',
    custom_fields: '{}',
    documents: [],
    code: sealCode(code, { registrationId, channel: 'email', address }, PEPPER, now),
    requested_at: new Date(now).toISOString(),
  };
  const registrations = registrationsIn(database.tables.registrations, () => now);
  await registrations.put(record, now, signal);
  await registrations.noteDelivery(
    registrationId,
    delivery ?? { kind: 'code', outcome: 'sent', email_taken: false },
    signal,
  );
  database.calls.length = 0;
  return registrationId;
}

interface World {
  table?: Table;
  isClient?: boolean;
  verdict?: Verdict;
  busDown?: boolean;
}

function partsOf({ table, isClient = false, verdict = { kind: 'allowed' }, busDown }: World = {}): ConfirmationParts {
  return {
    directory: { isClient: async () => ({ email: isClient, phone: false }) },
    registrations: registrationsIn(table ?? database.tables.registrations, () => now),
    documents: { keep: async () => {} },
    events: {
      tell: async (type, detail) => {
        checkEvent(type, detail);
        if (busDown) throw new Error('The bus does not answer.');
        told.push(detail);
      },
    },
    pepper: async () => PEPPER,
    countSource: async () => verdict,
    isPassword: async (hash, password) => {
      hashes += 1;
      return hash === undefined || hash === `hash of ${password}`;
    },
    now: () => now,
  };
}

const telemetry: Telemetry = { event: (name) => events.push(name), with: () => telemetry };

/** @returns 204, or the type of the problem */
async function confirm({ code = '012345', password = 'right password' }: Given = {}, world: World = {}) {
  const body = { channel: 'email', address, code, password } as const;
  const request = { body, sentBody: {}, parameters: {}, idempotencyKey: undefined, caller: undefined, endsAt: now };
  try {
    await confirmRegistration(partsOf(world), { ...request, source: '192.0.2.1' }, telemetry, signal);
    return 204;
  } catch (error) {
    if (error instanceof Problem) return error.type;
    throw error;
  }
}

describe('The right code and password', () => {
  it('confirm a registration, and the CRM is told', async () => {
    const id = await register();
    now += MINUTE;
    expect(await confirm()).toBe(204);
    expect(told).toEqual([
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
    await register();
    for (const ms of [0, MINUTE, 20 * MINUTE, 23 * 60 * MINUTE]) {
      now = NOW + ms;
      expect(await confirm()).toBe(204);
    }
    expect(told).toHaveLength(1);
    now = NOW + DAY;
    expect(await confirm()).toBe('code_not_accepted');
  });

  it('keep the registration 30 days from then on', async () => {
    const id = await register();
    await confirm();
    const registrations = registrationsIn(database.tables.registrations, () => now);
    now = NOW + 30 * DAY - 1_000;
    expect(await registrations.get(id, signal)).toMatchObject({ confirmation: { told: true } });
    now = NOW + 30 * DAY;
    expect(await registrations.get(id, signal)).toBeUndefined();
  });

  it.each([
    ['then', { isClient: true }, undefined],
    ['when it was asked for', {}, { kind: 'code', outcome: 'sent', email_taken: true } as const],
  ])('tell the CRM, and nobody else, that the e-mail address was a client’s %s', async (_, world, delivery) => {
    await register(delivery === undefined ? {} : { delivery });
    expect(await confirm({}, world)).toBe(204);
    expect(told).toMatchObject([{ email_taken: true }]);
  });

  it('are those of any of the three newest, each with its own', async () => {
    const ids = [];
    for (const name of ['old', 'first', 'second', 'third']) {
      ids.push(await register({ code: `00000${ids.length}`, password: `password of ${name}` }));
    }
    expect(await confirm({ code: '000000', password: 'password of old' })).toBe('code_not_accepted');
    expect(await confirm({ code: '000001', password: 'password of first' })).toBe(204);
    expect(await confirm({ code: '000002', password: 'password of first' })).toBe('code_not_accepted');
    expect(await confirm({ code: '000003', password: 'password of third' })).toBe(204);
    expect(told).toMatchObject([{ id: ids[1] }, { id: ids[3] }]);
  });

  it('are also those of a first message that arrives after the second, with one password', async () => {
    const first = await register({ code: '111111' });
    await register({ code: '222222' });
    expect(await confirm({ code: '111111' })).toBe(204);
    expect(told).toMatchObject([{ id: first }]);
  });
});

describe('A refusal', () => {
  const refusals: [string, () => Promise<unknown>, Given][] = [
    ['of a wrong code', () => register(), { code: '999999' }],
    ['of a wrong password', () => register(), { password: 'wrong password' }],
    ['where nothing was asked for', async () => {}, {}],
    [
      'of an owner’s notice',
      () => register({ delivery: { kind: 'owner_notice', outcome: 'sent', email_taken: true } }),
      {},
    ],
    [
      'of an expired code',
      async () => {
        await register();
        now += 10 * MINUTE;
      },
      {},
    ],
    [
      'without guesses left',
      async () => {
        await register();
        for (let i = 0; i < 5; i += 1) await confirm({ code: '999999' });
      },
      {},
    ],
    [
      'of a wrong code of a confirmed registration',
      async () => {
        await register();
        await confirm();
      },
      { code: '999999' },
    ],
  ];

  it.each(refusals)(
    '%s is code_not_accepted, after the same calls and as many hashes as every other',
    async (_, before, given) => {
      await before();
      [hashes, database.calls.length, told.length] = [0, 0, 0];
      expect(await confirm(given)).toBe('code_not_accepted');
      expect(hashes).toBe(3);
      const calls = database.calls.map(({ operation }) => operation);
      expect(calls).toEqual(['GetItem', 'BatchGetItem', 'UpdateItem', 'UpdateItem', 'UpdateItem']);
      expect(told).toEqual([]);
    },
  );

  it('for a wrong password uses up nobody’s guesses', async () => {
    await register();
    for (let i = 0; i < 8; i += 1) await confirm({ password: 'wrong password' });
    expect(await confirm()).toBe(204);
  });

  it('by the source comes before any hash', async () => {
    await register();
    expect(await confirm({}, { verdict: { kind: 'reached', retryAfterSeconds: 5 } })).toBe('too_many_requests');
    expect(hashes).toBe(0);
    expect(database.calls).toEqual([]);
  });

  it('does not come because the source could not be counted', async () => {
    await register();
    expect(await confirm({}, { verdict: { kind: 'unchecked' } })).toBe(204);
    expect(events).toContain('LimitUncheckable');
  });
});

describe('When something goes wrong', () => {
  it('with the event, the registration is confirmed, and a repeat tells it', async () => {
    await register();
    expect(await confirm({}, { busDown: true })).toBe(204);
    expect(events).toEqual(['OperationNotSettled']);
    expect(told).toEqual([]);
    now += MINUTE;
    expect(await confirm()).toBe(204);
    expect(await confirm()).toBe(204);
    expect(told).toHaveLength(1);
  });

  it('with the answer to each write, and its client repeats it, the code counts once and is told once', async () => {
    const { registrations: table } = database.tables;
    const repeating: Table = {
      ...table,
      update: async (...args) => {
        await table.update(...args);
        return table.update(...args);
      },
    };
    await register();
    for (let i = 0; i < 2; i += 1) await confirm({ code: '999999' }, { table: repeating });
    expect(await confirm({}, { table: repeating })).toBe(204);
    expect(await confirm({}, { table: repeating })).toBe(204);
    expect(told).toHaveLength(1);
  });
});

describe('Of guesses that come at once', () => {
  it('fifty right ones tell one event', async () => {
    await register();
    const answers = await Promise.all(Array.from({ length: 50 }, () => confirm()));
    expect(answers).toContain(204);
    expect(answers.every((answer) => answer === 204 || answer === 'code_not_accepted')).toBe(true);
    expect(told).toHaveLength(1);
    expect(await confirm()).toBe(204);
  });

  it('at most five are compared, in whatever order the database works on them, and of right ones one wins', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), fc.integer({ min: 0, max: 6 }), async (choices, wrong) => {
        begin();
        await register();
        const guesses = [...Array.from({ length: wrong }, () => '999999'), '012345', '012345'];
        const answers = await interleave(
          database.tables.registrations,
          guesses.map((code) => (table) => confirm({ code }, { table })),
          (waiting) => (choices.next().value ?? 0) % waiting,
        );
        expect(told).toHaveLength(answers.includes(204) ? 1 : 0);
        expect(answers.slice(0, wrong).every((answer) => answer === 'code_not_accepted')).toBe(true);
        if (wrong <= 3) expect(answers.at(-1)).toBe(204);
      }),
      { numRuns: 30 },
    );
  });
});
