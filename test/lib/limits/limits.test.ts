import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { COUNT_LIMIT_NAMES, COUNT_LIMITS, type CountLimitName, WINDOW_MS } from '../../../lib/config/limits.ts';
import { DEFAULT_LIMITS } from '../../../lib/config/registration-settings.ts';
import type { Recipient } from '../../../lib/validators/registration.ts';
import { interleave } from '../../support/interleave.ts';
import {
  HOUR_MS,
  type LimitedMessage,
  LimitsWorld,
  MINUTE_MS,
  type Passage,
  SECOND_MS,
  toEmail,
  toPhone,
} from '../../support/limits.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { propertyRuns } from '../../support/runs.ts';
import { tableOfSteps } from '../../support/step-faults.ts';
import { NO_LIMITS } from '../../support/usual-limits.ts';

const world = new LimitsWorld();
const ANN = toEmail('ann@example.com');
const MOBILE = toPhone('+447400123456');
const AMERICAN = toPhone('+12125551234', 'sms', 'US');
const CANADIAN = toPhone('+14165551234', 'sms', 'CA');
const passed = (all: readonly Passage[]) => all.filter(({ kind }) => kind === 'allowed');
const asked = (given: string | Recipient): LimitedMessage =>
  typeof given === 'string' ? { source: given } : { recipient: given };

/** A source or a recipient of a request, others that the limit counts with it, and others that it does not. */
interface CountedBy {
  one: string | Recipient;
  same: (string | Recipient)[];
  other: (string | Recipient)[];
}
const SOURCE: CountedBy = {
  one: '2001:db8:1:2::1',
  same: ['2001:db8:1:2:ffff::9'],
  other: ['2001:db8:1:3::1', '192.0.2.1'],
};
const RECIPIENT: CountedBy = {
  one: toEmail('j.ohn@gmail.com'),
  same: [toEmail('john+x@googlemail.com')],
  other: [toEmail('john@example.com'), MOBILE, toPhone(MOBILE.key, 'call')],
};
const COUNTED_BY: Readonly<Record<CountLimitName, CountedBy>> = {
  sourceRequestsPer10Minutes: SOURCE,
  sourceRequestsPerHour: SOURCE,
  networkRequestsPerHour: {
    one: '2001:db8:1:2::1',
    same: ['2001:db8:1:2::2', '2001:db8:1:3::1'],
    other: ['2001:db8:2:2::1', '192.0.2.1'],
  },
  sourceMessagesPer10Minutes: SOURCE,
  sourceMessagesPerHour: SOURCE,
  recipientMessagesPerMinute: RECIPIENT,
  recipientMessagesPerHour: RECIPIENT,
  recipientMessagesPerDay: RECIPIENT,
  prefixMessagesPerHour: {
    one: MOBILE,
    same: [toPhone('+447400129999', 'call')],
    other: [toPhone('+447400133456'), ANN],
  },
  countryMessagesPerHour: { one: AMERICAN, same: [toPhone('+13125551234', 'sms', 'US')], other: [CANADIAN, ANN] },
  channelMessagesPerDay: { one: MOBILE, same: [CANADIAN], other: [toPhone('+447400133456', 'whatsapp'), ANN] },
};

it('The limits that a deployment does not set are those of the contract', () => {
  expect(DEFAULT_LIMITS).toEqual({
    sourceRequestsPer10Minutes: 10,
    sourceRequestsPerHour: 40,
    networkRequestsPerHour: 100,
    sourceMessagesPer10Minutes: 5,
    sourceMessagesPerHour: 20,
    recipientMessagesPerMinute: 1,
    recipientMessagesPerHour: 5,
    recipientMessagesPerDay: 10,
    prefixMessagesPerHour: 10,
    countryMessagesPerHour: 500,
    channelMessagesPerDay: 5_000,
  });
});

describe.each(COUNT_LIMIT_NAMES)('Of the limit %s', (name) => {
  const { one, same, other } = COUNTED_BY[name];
  const window = WINDOW_MS[COUNT_LIMITS[name].window];

  it('as many requests pass as it allows, and the next one after the window, which began with the first request', async () => {
    const limits = world.limits({ ...NO_LIMITS, [name]: 4 });
    for (let turn = 0; turn < 2; turn += 1) {
      const end = world.now + window;
      for (let count = 0; count < 4; count += 1) {
        expect(await world.pass(limits, asked(one))).toEqual({ kind: 'allowed', waits: 0 });
        world.now += 2 * SECOND_MS;
      }
      expect(await world.pass(limits, asked(one))).toMatchObject({ waits: (end - world.now) / SECOND_MS });
      world.now = end - 1;
      expect(await world.pass(limits, asked(one))).toMatchObject({ waits: 1 });
      world.now = end;
    }
  });

  it('the counter counts what belongs together, and nothing else', async () => {
    const limits = world.limits({ ...NO_LIMITS, [name]: 1 });
    await world.pass(limits, asked(one));
    for (const given of same) expect(await world.pass(limits, asked(given))).toMatchObject({ kind: 'reached' });
    for (const given of other) expect(await world.pass(limits, asked(given))).toMatchObject({ kind: 'allowed' });
  });

  it('nothing is counted if it is switched off, and a million may pass, but no more', async () => {
    for (let count = 0; count < 12; count += 1)
      expect(await world.pass(world.limits(NO_LIMITS), asked(one))).toMatchObject({ kind: 'allowed' });
    expect(world.calls).toEqual([]);
    const limits = world.limits({ ...NO_LIMITS, [name]: 1_000_000 });
    await world.pass(limits, asked(one));
    const [{ pk } = { pk: '' }] = await world.items();
    const update = `SET n_${COUNT_LIMITS[name].window} = :n`;
    await world.table.update({ pk: String(pk) }, { update, values: { ':n': 999_999 } }, NEVER_ABORTED);
    expect(await world.pass(limits, asked(one))).toMatchObject({ kind: 'allowed' });
    expect(await world.pass(limits, asked(one))).toMatchObject({ kind: 'reached' });
  });
});

describe('The counters of a request', () => {
  it('hold no address, and each item expires when its windows are over', async () => {
    for (const given of [
      { recipient: MOBILE, source: '192.0.2.77' },
      { recipient: ANN, source: '2001:db8:77::1' },
    ])
      await world.pass(world.limits(), given);
    const items = await world.items();
    expect(items.map(({ pk }) => String(pk).split('#')[0]).toSorted()).toEqual([
      'channel',
      'country',
      'network',
      'prefix',
      ...['recipient', 'sender', 'source'].flatMap((kind) => [kind, kind]),
    ]);
    expect(JSON.stringify(items)).not.toMatch(/447400|192\.0\.2|2001:|@|example/);
    const longest = { source: 1, network: 1, sender: 1, recipient: 24, prefix: 1, country: 1, channel: 24 };
    for (const { pk, expires_at } of items) {
      const hours = longest[String(pk).split('#')[0] as keyof typeof longest];
      expect(expires_at).toBe((world.now + hours * HOUR_MS) / SECOND_MS);
    }
  });

  it('are read once, and each is written once', async () => {
    await world.pass(world.limits(), { recipient: MOBILE });
    expect(world.calls.toSorted()).toEqual(['getMany', ...Array.from({ length: 6 }, () => 'update')]);
  });

  it.each(['recipient', 'prefix', 'country', 'channel', 'sender'])(
    'are not written, but for its source, if one was read as full: %s',
    async (full) => {
      const given = { recipient: MOBILE, source: '192.0.2.1' };
      const limits = world.limits({ recipientMessagesPerMinute: 'none' });
      await world.pass(limits, given);
      for (const { pk, ...item } of (await world.items()).filter((one) => String(one.pk).startsWith(full))) {
        const full = Object.keys(item).filter((name) => name.startsWith('n_'));
        await world.table.put({ pk, ...item, ...Object.fromEntries(full.map((name) => [name, 5_000])) }, NEVER_ABORTED);
      }
      world.calls.length = 0;
      expect(await world.pass(limits, given)).toMatchObject({ kind: 'reached' });
      expect(world.calls.filter((call) => call === 'update').length).toBeLessThanOrEqual(2);
      expect((await world.items()).filter(({ counted_by }) => counted_by !== undefined)).toHaveLength(6);
    },
  );

  it('are not changed by a source that has used up its limit', async () => {
    const limits = world.limits({ ...NO_LIMITS, sourceRequestsPer10Minutes: 1, networkRequestsPerHour: 2 });
    const [one, two] = ['2001:db8:1:1::1', '2001:db8:1:2::1'];
    for (let count = 0; count < 3; count += 1) await world.pass(limits, { source: one });
    expect(await world.pass(limits, { source: two })).toMatchObject({ kind: 'allowed' });
  });

  it('that cannot be written or read leave the limits unchecked, and nothing is thrown', async () => {
    const down = new Error('down');
    const broken: [keyof Table, string[]][] = [
      ['update', ['unchecked', 'allowed', 'unchecked', 'unchecked']],
      ['getMany', ['allowed', 'unchecked', 'allowed', 'allowed']],
    ];
    for (const [call, kinds] of broken) {
      const limits = world.limits({}, { ...world.table, [call]: () => Promise.reject(down) });
      const arrival = await world.arrive(limits, { recipient: MOBILE });
      const counts = [await arrival.countRecipient(NEVER_ABORTED), await arrival.countMessage(NEVER_ABORTED)];
      const decisions = [arrival.source, arrival.room, ...counts];
      expect(decisions.map(({ kind }) => kind)).toEqual(kinds);
      for (const one of decisions) if (one.kind === 'unchecked') expect(one.failure).toBe(down);
    }
  });
});

describe('Of many requests at once', () => {
  it.each<[string, LimitedMessage]>([
    ['from 20 sources', { recipient: MOBILE }],
    ['from one source', { recipient: MOBILE, source: '192.0.2.1' }],
    ['by mail', { recipient: ANN }],
  ])('for one recipient exactly one passes, and the others wait for the recipient alone: %s', async (_, given) => {
    const limits = world.limits({ sourceRequestsPer10Minutes: 'none', sourceRequestsPerHour: 'none' });
    const all = await Promise.all(Array.from({ length: 20 }, () => world.pass(limits, given)));
    expect(passed(all)).toHaveLength(1);
    expect(new Set(all.map(({ waits }) => waits))).toEqual(new Set([0, 60]));
  });

  it('in any order, each recipient gets one, and no counter exceeds its limit', async () => {
    const settings = {
      ...NO_LIMITS,
      recipientMessagesPerMinute: 1,
      prefixMessagesPerHour: 2,
      channelMessagesPerDay: 3,
    };
    const keys = ['+447400120001', '+447400120001', '+447400120002', '+447400130003', '+447400130003'];
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), async (order) => {
        await world.forget();
        const passages = await interleave(
          keys.map((key) => (step) => {
            const limits = world.limits(settings, tableOfSteps('limits', world.table, step));
            return world.pass(limits, { recipient: toPhone(key) });
          }),
          (waiting) => (order.next().value ?? 0) % waiting,
        );
        const sent = keys.filter((_, index) => passages[index]?.kind === 'allowed');
        expect(sent.toSorted()).toEqual([...new Set(keys)]);
        const next = { recipient: toPhone('+447400999999') };
        expect(await world.pass(world.limits(settings), next)).toMatchObject({ kind: 'reached' });
      }),
      propertyRuns(5),
    );
  });
});

/** A limit in its simplest implementation. */
class NaiveCounter {
  readonly #windows: { ms: number; max: number; from: number; n: number }[];

  constructor(...windows: [ms: number, max: number][]) {
    this.#windows = windows.map(([ms, max]) => ({ ms, max, from: Number.NEGATIVE_INFINITY, n: 0 }));
  }

  waits(now: number): number {
    const full = this.#windows.filter(({ from, ms, n, max }) => from + ms > now && n >= max);
    return Math.ceil(Math.max(0, ...full.map(({ from, ms }) => from + ms - now)) / SECOND_MS);
  }

  count(now: number): void {
    for (const one of this.#windows)
      Object.assign(one, one.from + one.ms > now ? { n: one.n + 1 } : { from: now, n: 1 });
  }
}

const RECIPIENTS = ['+447400120001', '+447400120002', '+447400120003'];
const SOURCES = ['192.0.2.1', '192.0.2.2'];
const histories = fc.array(
  fc.record({
    pause: fc.oneof(fc.integer({ min: 0, max: 5 * MINUTE_MS }), fc.integer({ min: HOUR_MS, max: 10 * HOUR_MS })),
    recipient: fc.constantFrom(...RECIPIENTS),
    source: fc.constantFrom(...SOURCES),
  }),
  { minLength: 10, maxLength: 40 },
);
const TIGHT = {
  ...NO_LIMITS,
  ...{ sourceRequestsPer10Minutes: 3, sourceRequestsPerHour: 6, sourceMessagesPerHour: 4 },
  ...{ recipientMessagesPerMinute: 1, recipientMessagesPerHour: 3, recipientMessagesPerDay: 5 },
  prefixMessagesPerHour: 5,
} as const;
const naiveSource = () => new NaiveCounter([10 * MINUTE_MS, 3], [HOUR_MS, 6]);
const naiveRecipient = () => new NaiveCounter([MINUTE_MS, 1], [HOUR_MS, 3], [24 * HOUR_MS, 5]);

it('Every history of requests one after another goes as in a naive model', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (history) => {
      await world.forget();
      const counters = new Map<string, NaiveCounter>();
      const counter = (name: string, make: () => NaiveCounter) => {
        const found = counters.get(name) ?? make();
        counters.set(name, found);
        return found;
      };
      for (const { pause, recipient, source } of history) {
        world.now += pause;
        const requests = counter(source, naiveSource);
        const message = [
          counter(recipient, naiveRecipient),
          counter(`sender ${source}`, () => new NaiveCounter([HOUR_MS, 4])),
          counter('prefix', () => new NaiveCounter([HOUR_MS, 5])),
        ];
        const ofSource = requests.waits(world.now);
        const waits = ofSource || Math.max(...message.map((one) => one.waits(world.now)));
        expect(await world.pass(world.limits(TIGHT), { recipient: toPhone(recipient), source })).toMatchObject({
          waits,
        });
        if (ofSource === 0) requests.count(world.now);
        if (waits === 0) for (const one of message) one.count(world.now);
      }
    }),
    propertyRuns(5),
  );
});

/** A table whose writes may be refused, lost on the way back, or repeated by the SDK after a lost answer. */
function faulty(table: Table, drawn: Iterator<number>): Table {
  const down = new AwsFailure('ServiceUnavailable');
  return {
    ...table,
    async update(...call) {
      const fault = (drawn.next().value ?? 0) % 8;
      if (fault === 0) throw down;
      if (fault < 3) await table.update(...call).catch(() => {});
      const answer = await table.update(...call);
      if (fault === 3) throw down;
      return answer;
    },
  };
}

it('With any loss of writes and answers, no more pass in any window than its limit lets', async () => {
  await fc.assert(
    fc.asyncProperty(histories, fc.infiniteStream(fc.nat()), async (history, drawn) => {
      await world.forget();
      const limits = world.limits(TIGHT, faulty(world.table, drawn));
      const passes = new Map<string, number>();
      for (const { pause, recipient, source } of history) {
        world.now += pause;
        const before = new Map((await world.items()).map(({ pk, counted_by }) => [pk, counted_by]));
        const { kind } = await world.pass(limits, { recipient: toPhone(recipient), source });
        const counted = (await world.items()).filter(({ pk, counted_by }) => before.get(pk) !== counted_by);
        if (kind !== 'allowed') continue;
        for (const { pk, ...item } of counted) {
          for (const [name, { window, counter }] of Object.entries(COUNT_LIMITS)) {
            const max = TIGHT[name as CountLimitName];
            if (max === 'none' || !String(pk).startsWith(`${counter}#`)) continue;
            const one = `${pk} ${window} ${item[`from_${window}`]}`;
            passes.set(one, (passes.get(one) ?? 0) + 1);
            expect(passes.get(one), one).toBeLessThanOrEqual(max);
          }
        }
      }
    }),
    propertyRuns(5),
  );
});
