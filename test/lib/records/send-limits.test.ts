import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { DatabaseFailure } from '../../../lib/aws/dynamodb.ts';
import {
  type LimitDecision,
  type LimitRequest,
  type SendLimits,
  sendLimits,
  sourceNetwork,
} from '../../../lib/records/send-limits.ts';
import { parsePepper } from '../../../lib/secrets/pepper.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../lib/validators/deployment.ts';
import { type TestDatabase, testDatabase } from '../../support/database.ts';
import { interleave } from '../../support/interleave.ts';
import { naivelyAllowed } from '../../support/naive-limits.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const signal = new AbortController().signal;

let database: TestDatabase;
const closes: (() => Promise<void>)[] = [];
let now = Date.UTC(2026, 0, 1);
/** Every test has counters of its own. */
let test = 0;
const pepper = () => parsePepper(JSON.stringify({ current: '1', '1': `${test} `.padEnd(32, 'x') }));

beforeAll(async () => {
  database = await testDatabase((close) => closes.push(close));
});
afterAll(() => Promise.all(closes.map((close) => close())));
beforeEach(() => {
  test += 1;
  now = Date.UTC(2026, 0, 1) + test;
  database.calls.length = 0;
});

function limits(settings: Partial<Limits> = {}, table: Table = database.tables.limits): SendLimits {
  return sendLimits(table, settings, () => now)(pepper());
}

/** Limits of which only the named ones can be felt. */
function only(settings: Partial<Limits>): SendLimits {
  return limits({
    resendSeconds: [1],
    recipientPerHour: 100,
    recipientPerDay: 100,
    sourcePer10Minutes: 100,
    sourcePerHour: 100,
    prefixPerHour: 100,
    ...settings,
  });
}

let serial = 0;
/** A request that shares nothing with any other but what is given. */
function request(given: Partial<LimitRequest> = {}): LimitRequest {
  serial += 1;
  return {
    channel: 'email',
    recipient:
      given.channel === undefined || given.channel === 'email'
        ? `a${serial}@example.com`
        : `+4479${String(serial).padStart(4, '0')}0000`,
    source: `10.${serial >> 16}.${(serial >> 8) & 255}.${serial & 255}`,
    ...given,
  };
}

async function retryAfter(decision: Promise<LimitDecision>): Promise<number> {
  const reached = await decision;
  if (reached.kind !== 'reached') throw new Error(`The limit was not reached but ${reached.kind}.`);
  return reached.retryAfterSeconds;
}

async function allowed(counting: SendLimits, given: Partial<LimitRequest>): Promise<boolean> {
  return (await counting.count(request(given), signal)).kind === 'allowed';
}

/** Lets `count` requests through at once after each other, `apart` milliseconds apart. */
async function fill(counting: SendLimits, count: number, given: Partial<LimitRequest>, apart = SECOND): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    if (i > 0) now += apart;
    expect(await allowed(counting, given)).toBe(true);
  }
}

it('Limits that a deployment does not set are those of the contract', () => {
  expect(DEFAULT_LIMITS).toEqual({
    resendSeconds: [60, 120, 300, 900],
    recipientPerHour: 5,
    recipientPerDay: 10,
    sourcePer10Minutes: 5,
    sourcePerHour: 20,
    prefixPerHour: 10,
    network48Per10Minutes: 20,
    network48PerHour: 80,
    countryPerHour: 50,
    mailDomainPerHour: 50,
    wrongIdsPer10Minutes: 30,
  });
});

describe('The resend limit of a recipient', () => {
  it.each([
    [1, 60],
    [2, 120],
    [3, 300],
    [4, 900],
    [5, 900],
    [6, 900],
  ])('after message %i of 24 hours makes the next one wait %i s', async (sent, seconds) => {
    const counting = only({ resendSeconds: DEFAULT_LIMITS.resendSeconds });
    const to = { recipient: 'ann@example.com' };
    await fill(counting, sent, to, 15 * MINUTE);
    now += (seconds - 1) * SECOND;
    expect(await retryAfter(counting.count(request(to), signal))).toBe(1);
    now += SECOND - 1;
    expect(await allowed(counting, to)).toBe(false);
    now += 1;
    expect(await allowed(counting, to)).toBe(true);
  });

  it('begins at the first step again when the messages are a day old', async () => {
    const counting = only({ resendSeconds: DEFAULT_LIMITS.resendSeconds });
    const to = { recipient: 'ann@example.com' };
    await fill(counting, 4, to, 15 * MINUTE);
    now += DAY;
    await fill(counting, 2, to, 60 * SECOND);
    now += 60 * SECOND;
    expect(await retryAfter(counting.count(request(to), signal))).toBe(60);
  });
});

describe.each<[string, Partial<Limits>, number, number, () => Partial<LimitRequest>]>([
  ['5 messages an hour to a recipient', { recipientPerHour: 5 }, 5, HOUR, () => ({ recipient: 'ann@example.com' })],
  [
    '10 messages in 24 hours to a recipient',
    { recipientPerDay: 10 },
    10,
    DAY,
    () => ({ recipient: 'ann@example.com' }),
  ],
  [
    '5 requests in 10 minutes from a source',
    { sourcePer10Minutes: 5 },
    5,
    10 * MINUTE,
    () => ({ source: '192.0.2.1' }),
  ],
  ['20 requests an hour from a source', { sourcePerHour: 20 }, 20, HOUR, () => ({ source: '192.0.2.1' })],
  [
    '10 messages an hour to a phone prefix',
    { prefixPerHour: 10 },
    10,
    HOUR,
    () => ({ channel: 'sms', recipient: `+447400123${String(serial % 1_000).padStart(4, '0')}` }),
  ],
])('The limit of %s', (_, settings, count, ms, given) => {
  it('allows that many, and the next one exactly when the first of them has left the window', async () => {
    const counting = only(settings);
    const first = now;
    for (let i = 0; i < count; i += 1) {
      now = first + i * 2 * SECOND;
      expect(await allowed(counting, given())).toBe(true);
    }
    now += 2 * SECOND;
    expect(await retryAfter(counting.count(request(given()), signal))).toBe((first + ms - now) / SECOND);
    now = first + ms - 1;
    expect(await retryAfter(counting.count(request(given()), signal))).toBe(1);
    now = first + ms;
    expect(await allowed(counting, given())).toBe(true);
    expect(await allowed(counting, given())).toBe(false);
  });
});

describe('A limit', () => {
  it('is of the channel and the address of a recipient', async () => {
    const counting = limits();
    for (const channel of ['sms', 'call', 'whatsapp'] as const) {
      await fill(counting, 1, { channel, recipient: '+447400123456' });
    }
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400123456' })).toBe(false);
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400123457' })).toBe(true);
  });

  it.each([
    ['upper and lower case', 'ann.lee@example.com', 'Ann.Lee@EXAMPLE.com'],
    ['plus-tags', 'ann@example.com', 'ann+shop@example.com'],
    ['dots at Gmail', 'annlee@gmail.com', 'a.n.n.lee+x@googlemail.com'],
  ])('takes addresses that differ in %s for one recipient', async (_, first, second) => {
    const counting = limits();
    await fill(counting, 1, { recipient: first });
    expect(await allowed(counting, { recipient: second })).toBe(false);
  });

  it('counts a phone prefix over all numbers and phone channels, and not for e-mail', async () => {
    const counting = only({ prefixPerHour: 3 });
    await fill(counting, 1, { channel: 'sms', recipient: '+447400120001' });
    await fill(counting, 1, { channel: 'call', recipient: '+447400120002' });
    await fill(counting, 1, { channel: 'whatsapp', recipient: '+447400129999' });
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400121234' })).toBe(false);
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400131234' })).toBe(true);
    await fill(counting, 4, {});
  });

  it('is exact for every history of requests', async () => {
    const settings = { sourcePer10Minutes: 3, sourcePerHour: 6, recipientPerHour: 4, recipientPerDay: 6 };
    const limit = {
      recipient: {
        windows: [
          { count: 4, ms: HOUR },
          { count: 6, ms: DAY },
        ],
        resendSeconds: DEFAULT_LIMITS.resendSeconds,
      },
      source: {
        windows: [
          { count: 3, ms: 10 * MINUTE },
          { count: 6, ms: HOUR },
        ],
      },
    };
    const steps = fc.array(
      fc.record({
        pause: fc.oneof(fc.integer({ min: 5_001, max: 10 * MINUTE }), fc.integer({ min: HOUR, max: 10 * HOUR })),
        recipient: fc.constantFrom('ann@example.com', 'bob@example.com'),
        source: fc.constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.3'),
      }),
      { minLength: 10, maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        test += 1;
        const counting = limits(settings);
        const times = new Map<string, number[]>();
        const of = (name: string) => times.get(name) ?? [];
        for (const { pause, recipient, source } of history) {
          now += pause;
          const recipientAllows = naivelyAllowed(limit.recipient, of(recipient), now);
          const sourceAllows = naivelyAllowed(limit.source, of(source), now);
          const decision = await counting.count({ channel: 'email', recipient, source }, signal);
          expect(decision.kind).toBe(recipientAllows && sourceAllows ? 'allowed' : 'reached');
          // A refused request counts for its source, if that had room, and for nobody else.
          if (sourceAllows) times.set(source, [...of(source), now]);
          if (sourceAllows && recipientAllows) times.set(recipient, [...of(recipient), now]);
          if (decision.kind === 'reached') {
            const wait = decision.retryAfterSeconds * SECOND;
            const allow = (at: number) =>
              naivelyAllowed(limit.recipient, of(recipient), at) && naivelyAllowed(limit.source, of(source), at);
            expect(allow(now + wait)).toBe(true);
            expect(allow(now + wait - SECOND) && wait > SECOND).toBe(false);
          }
        }
      }),
      { numRuns: 25 },
    );
  });

  it('names the wait until all of them allow the request', async () => {
    const counting = limits();
    const source = '192.0.2.1';
    await fill(counting, 4, { source }, 10 * SECOND);
    await fill(counting, 1, { source, recipient: 'ann@example.com' });
    // The recipient's pause is 60 s; the source is full until its first request is ten minutes old.
    expect(await retryAfter(counting.count(request({ source, recipient: 'ann@example.com' }), signal))).toBe(570);
    now += 570 * SECOND - 1;
    expect(await allowed(counting, { source, recipient: 'ann@example.com' })).toBe(false);
    now += 1;
    expect(await allowed(counting, { source, recipient: 'ann@example.com' })).toBe(true);
  });

  it('keeps no address in the table, and each item disappears by itself', async () => {
    await limits().count({ channel: 'sms', recipient: '+447400123456', source: '192.0.2.77' }, signal);
    const { ScanCommand } = await import('@aws-sdk/lib-dynamodb');
    const { Items = [] } = await database.client.send(new ScanCommand({ TableName: 'limits' }));
    expect(Items.length).toBeGreaterThan(0);
    expect(JSON.stringify(Items)).not.toMatch(/447400|192\.0\.2|@|example/);
    for (const item of Items) expect(item.expires_at).toBeGreaterThan(now / SECOND - 30 * DAY);
  });

  it('costs one write for each counter and no read where it allows', async () => {
    await limits().count(request({ channel: 'sms' }), signal);
    expect(database.calls).toEqual(Array.from({ length: 3 }, () => ({ operation: 'UpdateItem', table: 'limits' })));
  });
});

describe('Of 50 requests at once for one recipient exactly one is allowed', () => {
  const fifty = Array.from({ length: 50 }, (_, i) => i);

  async function allowedOf(requests: LimitRequest[]): Promise<number> {
    const counting = limits();
    const decisions = await Promise.all(requests.map((one) => counting.count(one, signal)));
    return decisions.filter(({ kind }) => kind === 'allowed').length;
  }

  it('from 50 sources', async () => {
    expect(await allowedOf(fifty.map(() => request({ recipient: 'ann@example.com' })))).toBe(1);
  });

  it('from one source, which has room for five', async () => {
    const one = request({ recipient: 'ann@example.com', source: '192.0.2.1' });
    expect(await allowedOf(fifty.map(() => one))).toBe(1);
  });

  it('from five sources', async () => {
    const requests = fifty.map((i) => request({ recipient: 'ann@example.com', source: `192.0.2.${i % 5}` }));
    expect(await allowedOf(requests)).toBe(1);
  });

  it('by text message, whose prefix has room for ten', async () => {
    expect(await allowedOf(fifty.map(() => request({ channel: 'sms', recipient: '+447400123456' })))).toBe(1);
  });

  it('by text message, and the others are told to wait for the recipient alone, not for each other', async () => {
    const counting = limits();
    const recipient = '+447400123456';
    const decisions = await Promise.all(
      Array.from({ length: 50 }, () => counting.count(request({ channel: 'sms', recipient }), signal)),
    );
    const waits = decisions.map((one) => (one.kind === 'reached' ? one.retryAfterSeconds : 0));
    expect(Math.max(...waits)).toBe(60);
  });

  it('by text message from one source', async () => {
    const one = request({ channel: 'sms', recipient: '+447400123456', source: '192.0.2.1' });
    expect(await allowedOf(fifty.map(() => one))).toBe(1);
  });

  it('in whatever order the database works on them', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), async (choices) => {
        test += 1;
        const settings = { sourcePer10Minutes: 2, prefixPerHour: 2 };
        const one = { channel: 'sms', recipient: '+447400123456', source: '192.0.2.1' } as const;
        const decisions = await interleave(
          database.tables.limits,
          Array.from({ length: 7 }, () => (table) => limits(settings, table).count(one, signal)),
          (waiting) => (choices.next().value ?? 0) % waiting,
        );
        expect(decisions.filter(({ kind }) => kind === 'allowed')).toHaveLength(1);
        // The prefix holds that one message alone: there is room for one more.
        const counting = limits(settings);
        expect(await allowed(counting, { channel: 'sms', recipient: '+447400127777' })).toBe(true);
        expect(await allowed(counting, { channel: 'sms', recipient: '+447400128888' })).toBe(false);
        // The source is full.
        expect(await allowed(counting, { source: one.source })).toBe(false);
      }),
      { numRuns: 60 },
    );
  });
});

describe('A source that is over its limit', () => {
  it('does not use up the allowance of the recipients it names', async () => {
    const counting = limits();
    await fill(counting, 5, { source: '192.0.2.1' });
    for (let i = 0; i < 10; i += 1) {
      expect(await allowed(counting, { recipient: 'ann@example.com', source: '192.0.2.1' })).toBe(false);
    }
    expect(await allowed(counting, { recipient: 'ann@example.com' })).toBe(true);
  });

  it('does not use up the allowance of their phone prefix', async () => {
    const counting = only({ sourcePer10Minutes: 1, prefixPerHour: 1 });
    await fill(counting, 1, { source: '192.0.2.1' });
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400123456', source: '192.0.2.1' })).toBe(false);
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400129999' })).toBe(true);
  });

  it('stays so although it asks for the same recipient again and again', async () => {
    const counting = limits();
    const again = { recipient: 'ann@example.com', source: '192.0.2.1' };
    await fill(counting, 1, again);
    for (let i = 0; i < 4; i += 1) {
      now += 10 * SECOND;
      expect(await allowed(counting, again)).toBe(false);
    }
    now += 30 * SECOND;
    expect(await allowed(counting, again)).toBe(false);
    expect(await allowed(counting, { ...again, source: '192.0.2.2' })).toBe(true);
  });
});

describe('A recipient over the limit', () => {
  it('costs the source that asks for it a request', async () => {
    const counting = limits();
    await fill(counting, 1, { recipient: 'ann@example.com' });
    for (let i = 0; i < 5; i += 1) {
      now += SECOND;
      await allowed(counting, { recipient: 'ann@example.com', source: '192.0.2.1' });
    }
    expect(await allowed(counting, { source: '192.0.2.1' })).toBe(false);
  });

  it('costs the phone prefix nothing', async () => {
    const counting = limits({ prefixPerHour: 2 });
    await fill(counting, 1, { channel: 'sms', recipient: '+447400123456' });
    for (let i = 0; i < 5; i += 1) await allowed(counting, { channel: 'sms', recipient: '+447400123456' });
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400121111' })).toBe(true);
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400122222' })).toBe(false);
  });
});

describe('A slot that is given back', () => {
  async function sent(counting: SendLimits, one: LimitRequest) {
    const decision = await counting.count(one, signal);
    if (decision.kind !== 'allowed') throw new Error(decision.kind);
    return decision.ticket;
  }

  it('lets the caller try again at once', async () => {
    const counting = limits();
    const one = request({ channel: 'sms' });
    await counting.release(await sent(counting, one), signal);
    expect((await counting.count(one, signal)).kind).toBe('allowed');
    expect((await counting.count(one, signal)).kind).toBe('reached');
  });

  it('leaves the source with one request less', async () => {
    const counting = limits();
    const one = request({ source: '192.0.2.1' });
    for (let i = 0; i < 5; i += 1) await counting.release(await sent(counting, one), signal);
    expect((await counting.count(one, signal)).kind).toBe('reached');
    expect(await allowed(counting, { recipient: one.recipient })).toBe(true);
  });

  it('is the own one, also when others were counted since', async () => {
    const counting = only({ prefixPerHour: 3 });
    const numbers = ['+447400120001', '+447400120002', '+447400120003'];
    const tickets = [];
    for (const recipient of numbers) {
      tickets.push(await sent(counting, request({ channel: 'sms', recipient })));
      now += MINUTE;
    }
    const [first] = tickets;
    if (first === undefined) throw new Error('no ticket');
    await counting.release(first, signal);
    await fill(counting, 1, { channel: 'sms', recipient: '+447400124444' });
    // The oldest that still counts is the second one, of a minute after the first.
    expect(await retryAfter(counting.count(request({ channel: 'sms', recipient: '+447400125555' }), signal))).toBe(
      (HOUR - 2 * MINUTE) / SECOND,
    );
  });

  it('is given back once, however often it is asked for', async () => {
    const counting = only({ prefixPerHour: 2 });
    const ticket = await sent(counting, request({ channel: 'sms', recipient: '+447400120001' }));
    await fill(counting, 1, { channel: 'sms', recipient: '+447400120002' });
    await Promise.all([counting.release(ticket, signal), counting.release(ticket, signal)]);
    await counting.release(ticket, signal);
    await fill(counting, 1, { channel: 'sms', recipient: '+447400120003' });
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400120004' })).toBe(false);
  });

  it('leaves exactly what would be there had the request never been', async () => {
    const steps = fc.array(fc.record({ pause: fc.integer({ min: 1, max: 30 * MINUTE }), fails: fc.boolean() }), {
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        test += 1;
        const counting = only({ prefixPerHour: 3 });
        const times: number[] = [];
        for (const { pause, fails } of history) {
          now += pause;
          const decision = await counting.count(
            request({ channel: 'sms', recipient: `+44740012${String(now % 10_000).padStart(4, '0')}` }),
            signal,
          );
          const expected = naivelyAllowed({ windows: [{ count: 3, ms: HOUR }] }, times, now);
          expect(decision.kind).toBe(expected ? 'allowed' : 'reached');
          if (decision.kind === 'reached') continue;
          if (fails) await counting.release(decision.ticket, signal);
          else times.push(now);
        }
      }),
      { numRuns: 15 },
    );
  });

  it('stays used when the database does not answer, and nothing is thrown', async () => {
    const counting = limits();
    const one = request();
    const ticket = await sent(counting, one);
    database.faults.set({ kind: 'refused', times: 10 });
    await counting.release(ticket, signal);
    database.faults.clear();
    expect((await counting.count(one, signal)).kind).toBe('reached');
  });
});

describe('When the database does not answer', () => {
  it('the request is unchecked', async () => {
    database.faults.set({ kind: 'refused', times: 10 });
    const decision = await limits().count(request(), signal);
    database.faults.clear();
    expect(decision.kind).toBe('unchecked');
  });

  it('for one counter, the request is unchecked, and what was counted can be given back', async () => {
    const one = request({ channel: 'sms' });
    const counting = limits({}, failingFor('source'));
    const decision = await counting.count(one, signal);
    if (decision.kind !== 'unchecked') throw new Error(decision.kind);
    await counting.release(decision.ticket, signal);
    expect((await limits().count(one, signal)).kind).toBe('allowed');
  });

  it.each(['recipient', 'source', 'prefix'])(
    'for the %s, a limit that is reached elsewhere still holds',
    async (kind) => {
      const one = request({ channel: 'sms' });
      const reached = kind === 'source' ? { recipientPerHour: 1 } : { sourcePer10Minutes: 1 };
      await limits(reached).count(one, signal);
      now += 10 * MINUTE - 1;
      const decision = await limits(reached, failingFor(kind)).count(one, signal);
      expect(decision.kind).toBe('reached');
    },
  );

  it('to the question how long to wait, the first pause is named', async () => {
    const one = request();
    await limits().count(one, signal);
    const { limits: table } = database.tables;
    const getMany = () => Promise.reject(new DatabaseFailure('InternalServerError'));
    expect(await retryAfter(limits({}, { ...table, getMany }).count(one, signal))).toBe(60);
  });

  it('in time, and its client repeats the write, the request is counted once and allowed', async () => {
    const { limits: table } = database.tables;
    const repeating: Table = {
      ...table,
      update: async (...args) => {
        await table.update(...args);
        return table.update(...args);
      },
    };
    const one = request({ channel: 'sms' });
    expect((await limits({ prefixPerHour: 1, sourcePer10Minutes: 1 }, repeating).count(one, signal)).kind).toBe(
      'allowed',
    );
    now += MINUTE;
    expect((await limits().count(one, signal)).kind).toBe('allowed');
  });

  /** The table as it is, but for one kind of counter. */
  function failingFor(kind: string): Table {
    const { limits: table } = database.tables;
    return {
      ...table,
      update: (key, ...rest) =>
        key.pk?.startsWith(`${kind}#`)
          ? Promise.reject(new DatabaseFailure('InternalServerError'))
          : table.update(key, ...rest),
    };
  }
});

describe('One source is', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    [' 192.0.2.1 ', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::1', '2001:db8:1:2::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['2001:db8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
    ['somewhere', 'somewhere'],
  ])('%s in %s', (address, network) => {
    expect(sourceNetwork(address)).toBe(network);
  });

  it('a /64 of IPv6, whatever address in it calls', async () => {
    const counting = limits();
    for (let i = 0; i < 5; i += 1) await fill(counting, 1, { source: `2001:db8:1:2:${i}::1` });
    expect(await allowed(counting, { source: '2001:db8:1:2:ffff::1' })).toBe(false);
    expect(await allowed(counting, { source: '2001:db8:1:3::1' })).toBe(true);
  });
});

describe('The limits of a deployment', () => {
  it('that cannot be counted are refused when the function starts', () => {
    expect(() => limits({ sourcePerHour: 101 })).toThrow(RangeError);
  });

  it('may be as low as one, and as high as a hundred', async () => {
    const counting = limits({
      resendSeconds: [1],
      recipientPerHour: 1,
      recipientPerDay: 1,
      sourcePer10Minutes: 100,
      sourcePerHour: 100,
      prefixPerHour: 1,
    });
    await fill(counting, 1, { channel: 'sms', recipient: '+447400123456' });
    expect(await allowed(counting, { channel: 'sms', recipient: '+447400123456' })).toBe(false);
    for (let i = 0; i < 100; i += 1) await fill(counting, 1, { source: '192.0.2.1' });
    expect(await allowed(counting, { source: '192.0.2.1' })).toBe(false);
  });
});
