import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_LIMITS, type Limits, MAX_COUNTED } from '../../../lib/validators/deployment.ts';
import type { Recipient } from '../../../lib/validators/registration.ts';
import { naivelyAllowed } from '../../support/naive-limits.ts';
import { runs } from '../../support/runs.ts';
import { DAY, HOUR, LimitsWorld, MINUTE, mail, phone, SECOND } from '../../support/send-limits.ts';

const world = new LimitsWorld();
const ANN = mail('ann@example.com');

it('Limits that a deployment does not set are those of the contract', () => {
  expect(DEFAULT_LIMITS).toEqual({
    resendSeconds: [60, 120, 300, 900],
    recipientPerHour: 5,
    recipientPerDay: 10,
    sourcePer10Minutes: 5,
    sourcePerHour: 20,
    networkSourcesPerHour: 20,
    prefixPerHour: 10,
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
    const counting = world.only({ resendSeconds: DEFAULT_LIMITS.resendSeconds });
    await world.fill(counting, sent, { recipient: ANN }, 15 * MINUTE);
    world.now += (seconds - 1) * SECOND;
    expect(await world.retryAfter(counting, { recipient: ANN })).toBe(1);
    world.now += SECOND - 1;
    expect(await world.allowed(counting, { recipient: ANN })).toBe(false);
    world.now += 1;
    expect(await world.allowed(counting, { recipient: ANN })).toBe(true);
  });

  it('begins at the first step again when the messages are a day old', async () => {
    const counting = world.only({ resendSeconds: DEFAULT_LIMITS.resendSeconds });
    await world.fill(counting, 4, { recipient: ANN }, 15 * MINUTE);
    world.now += DAY;
    await world.fill(counting, 2, { recipient: ANN }, 60 * SECOND);
    world.now += 60 * SECOND;
    expect(await world.retryAfter(counting, { recipient: ANN })).toBe(60);
  });
});

let numbers = 0;
/** A number of which no other test has one. */
function numberAt(prefix: string): string {
  numbers += 1;
  return `${prefix}${String(numbers).padStart(4, '0')}`;
}

describe.each<[string, Partial<Limits>, number, number, () => { recipient?: Recipient; source?: string }]>([
  ['5 messages an hour to a recipient', { recipientPerHour: 5 }, 5, HOUR, () => ({ recipient: ANN })],
  ['10 messages in 24 hours to a recipient', { recipientPerDay: 10 }, 10, DAY, () => ({ recipient: ANN })],
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
    () => ({ recipient: phone(numberAt('+447400123')) }),
  ],
  [
    '6 messages an hour to a country by one channel',
    { countryPerHour: 6 },
    6,
    HOUR,
    () => ({ recipient: phone(`${numberAt('+4474001')}0000`) }),
  ],
  [
    '6 messages an hour to a mail domain',
    { mailDomainPerHour: 6 },
    6,
    HOUR,
    () => ({ recipient: mail(`p${numberAt('')}@example.com`) }),
  ],
])('The limit of %s', (_, settings, count, ms, given) => {
  it('allows that many, and the next one exactly when the first of them has left the window', async () => {
    const counting = world.only(settings);
    const first = world.now;
    for (let i = 0; i < count; i += 1) {
      world.now = first + i * 2 * SECOND;
      expect(await world.allowed(counting, given())).toBe(true);
    }
    world.now += 2 * SECOND;
    expect(await world.retryAfter(counting, given())).toBe((first + ms - world.now) / SECOND);
    world.now = first + ms - 1;
    expect(await world.retryAfter(counting, given())).toBe(1);
    world.now = first + ms;
    expect(await world.allowed(counting, given())).toBe(true);
    expect(await world.allowed(counting, given())).toBe(false);
  });
});

describe('A limit', () => {
  it('is of the channel and the address of a recipient', async () => {
    const counting = world.limits();
    for (const channel of ['sms', 'call', 'whatsapp'] as const) {
      await world.fill(counting, 1, { recipient: phone('+447400123456', channel) });
    }
    expect(await world.allowed(counting, { recipient: phone('+447400123456') })).toBe(false);
    expect(await world.allowed(counting, { recipient: phone('+447400123457') })).toBe(true);
  });

  it.each([
    ['plus-tags', 'ann@example.com', 'ann+shop@example.com'],
    ['dots at Gmail', 'annlee@gmail.com', 'a.n.n.lee+x@googlemail.com'],
  ])('takes addresses that differ in %s for one recipient', async (_, first, second) => {
    const counting = world.limits();
    await world.fill(counting, 1, { recipient: mail(first) });
    expect(await world.allowed(counting, { recipient: mail(second) })).toBe(false);
  });

  it('counts a phone prefix over all numbers and phone channels, and not for e-mail', async () => {
    const counting = world.only({ prefixPerHour: 3 });
    await world.fill(counting, 1, { recipient: phone('+447400120001', 'sms') });
    await world.fill(counting, 1, { recipient: phone('+447400120002', 'call') });
    await world.fill(counting, 1, { recipient: phone('+447400129999', 'whatsapp') });
    expect(await world.allowed(counting, { recipient: phone('+447400121234') })).toBe(false);
    expect(await world.allowed(counting, { recipient: phone('+447400131234') })).toBe(true);
    await world.fill(counting, 4, {});
  });

  it('counts each country and each phone channel by itself', async () => {
    const counting = world.only({ countryPerHour: 1 });
    await world.fill(counting, 1, { recipient: phone('+12125551234', 'sms', 'US') });
    expect(await world.allowed(counting, { recipient: phone('+12125569876', 'sms', 'US') })).toBe(false);
    await world.fill(counting, 1, { recipient: phone('+12125569876', 'call', 'US') });
    await world.fill(counting, 1, { recipient: phone('+14165551234', 'sms', 'CA') });
  });

  it('counts a mail domain over all its addresses, and no public provider', async () => {
    const counting = world.only({ mailDomainPerHour: 1 });
    await world.fill(counting, 1, { recipient: mail('ann@acme.example') });
    expect(await world.allowed(counting, { recipient: mail('bob@acme.example') })).toBe(false);
    expect(await world.allowed(counting, { recipient: mail('bob@other.example') })).toBe(true);
    for (const domain of ['gmail.com', 'googlemail.com', 'outlook.com', 'gmx.de', 'qq.com', 'fastmail.com']) {
      for (const name of ['ann', 'bob', 'eve'])
        await world.fill(counting, 1, { recipient: mail(`${name}.${domain}@${domain}`) });
    }
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
        pause: fc.oneof(fc.integer({ min: 1, max: 10 * MINUTE }), fc.integer({ min: HOUR, max: 10 * HOUR })),
        recipient: fc.constantFrom('ann@example.com', 'bob@example.com'),
        source: fc.constantFrom('192.0.2.1', '192.0.2.2', '192.0.2.3'),
      }),
      { minLength: 10, maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        world.forget();
        const counting = world.limits(settings);
        const times = new Map<string, number[]>();
        const of = (name: string) => times.get(name) ?? [];
        for (const { pause, recipient, source } of history) {
          world.now += pause;
          const { now } = world;
          const recipientAllows = naivelyAllowed(limit.recipient, of(recipient), now);
          const sourceAllows = naivelyAllowed(limit.source, of(source), now);
          const decision = await counting.count({ key: undefined, recipient: mail(recipient), source });
          expect(decision.kind).toBe(recipientAllows && sourceAllows ? 'allowed' : 'reached');
          // A refused request counts for its source, if that had room, and for nobody else.
          if (sourceAllows) times.set(source, [...of(source), now]);
          if (sourceAllows && recipientAllows) times.set(recipient, [...of(recipient), now]);
          if (decision.kind === 'reached') {
            const wait = decision.retryAfterSeconds * SECOND;
            const allow = (at: number) => naivelyAllowed(limit.recipient, of(recipient), at);
            expect(allow(now + wait)).toBe(true);
            const allowed = allow(now + wait - SECOND) && naivelyAllowed(limit.source, of(source), now + wait - SECOND);
            expect(allowed && wait > SECOND).toBe(false);
          }
        }
      }),
      runs(4),
    );
  });

  it('names the wait until all of them allow the request', async () => {
    const counting = world.limits();
    const source = '192.0.2.1';
    await world.fill(counting, 4, { source }, 10 * SECOND);
    await world.fill(counting, 1, { source, recipient: ANN });
    // The recipient's pause is 60 s; the source is full until its first request is ten minutes old.
    expect(await world.retryAfter(counting, { source, recipient: ANN })).toBe(570);
    world.now += 570 * SECOND - 1;
    expect(await world.allowed(counting, { source, recipient: ANN })).toBe(false);
    world.now += 1;
    expect(await world.allowed(counting, { source, recipient: ANN })).toBe(true);
  });

  it('lets a request that came a moment before the last message wait no longer than one after it', async () => {
    const counting = world.limits();
    await world.fill(counting, 1, { recipient: ANN });
    world.now -= 400;
    expect(await world.retryAfter(counting, { recipient: ANN })).toBe(60);
  });

  it('keeps no address in the table, and each item disappears by itself', async () => {
    const recipients = [phone('+447400123456'), mail('ann@acme.example')];
    for (const recipient of recipients) {
      await world.limits().count({ key: ['key', '192.0.2.77'], recipient, source: '192.0.2.77' });
      await world.limits().count({ key: undefined, recipient, source: '2001:db8:77::1' });
    }
    const { ScanCommand } = await import('@aws-sdk/lib-dynamodb');
    const { Items = [] } = await world.database.client.send(new ScanCommand({ TableName: 'limits' }));
    const rows = JSON.stringify(Items.map((item) => [item, ...(item.sources ?? [])]));
    expect(Items.length).toBeGreaterThan(0);
    expect(rows).not.toMatch(/447400|192\.0\.2|2001:|@|acme/);
    for (const item of Items) expect(item.expires_at).toBeGreaterThan(world.now / SECOND - 30 * DAY);
  });

  it('costs one write for each counter, and one read of all of them, where it allows', async () => {
    await world.limits().count(world.request({ recipient: phone('+447400123456') }));
    const calls = world.database.calls.map(({ operation }) => operation).toSorted();
    expect(calls).toEqual(['BatchGetItem', 'UpdateItem', 'UpdateItem', 'UpdateItem', 'UpdateItem']);
  });

  it('that is reached costs the source’s write and one read', async () => {
    const counting = world.limits();
    await world.fill(counting, 1, { recipient: ANN });
    world.database.calls.length = 0;
    expect(await world.allowed(counting, { recipient: ANN })).toBe(false);
    expect(world.database.calls.map(({ operation }) => operation).toSorted()).toEqual(['BatchGetItem', 'UpdateItem']);
  });
});

describe('The limits of a deployment', () => {
  it('that cannot be counted are refused when the function starts', () => {
    expect(() => world.limits({ sourcePerHour: MAX_COUNTED + 1 })).toThrow(RangeError);
  });

  it(`may be as low as one, and as high as ${MAX_COUNTED}`, async () => {
    const counting = world.only({ prefixPerHour: 1, sourcePer10Minutes: MAX_COUNTED, sourcePerHour: MAX_COUNTED });
    await world.fill(counting, 1, { recipient: phone('+447400123456') });
    expect(await world.allowed(counting, { recipient: phone('+447400123456') })).toBe(false);
    for (let i = 0; i < MAX_COUNTED; i += 1) await counting.admit(world.request({ source: '192.0.2.1' }));
    expect(await world.allowed(counting, { source: '192.0.2.1' })).toBe(false);
  });
});
