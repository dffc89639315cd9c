import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { dynamoLimits } from '../../../lib/limits/limits.ts';
import { DEFAULT_LIMITS } from '../../../lib/validators/registration-settings.ts';
import { interleave } from '../../support/interleave.ts';
import {
  DAY_MS,
  HOUR_MS,
  type LimitedMessage,
  LimitsWorld,
  longestWindow,
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
const MOBILE = toPhone('+447400123456');
const passed = (all: readonly Passage[]) => all.filter(({ kind }) => kind === 'allowed');

describe('Of many requests at once for one recipient', () => {
  const WIDE = { sourcePer10Minutes: 'none', sourcePerHour: 100 } as const;
  const many = (count: number, given: LimitedMessage) => {
    const limits = world.limits(WIDE);
    return Promise.all(Array.from({ length: count }, () => world.pass(limits, given)));
  };

  it.each<[string, LimitedMessage]>([
    ['from 20 sources', { recipient: MOBILE }],
    ['from one source', { recipient: MOBILE, source: '192.0.2.1' }],
    ['from one /64', { recipient: MOBILE, source: '2001:db8:1:2::1' }],
    ['by mail', { recipient: toEmail('ann@acme.example') }],
  ])('exactly one passes, and the counters count that request alone: %s', async (_, given) => {
    const all = await many(20, given);
    expect(passed(all)).toHaveLength(1);
    // The others wait for the recipient alone, not for each other.
    expect(Math.max(...all.map(({ waits }) => waits))).toBe(60);
    const [counted = []] = passed(all).map((one) => one.counted);
    expect(counted.length).toBeGreaterThan(2);
    for (const { counter } of counted) {
      const item = await world.item(counter);
      for (const [window] of counter.windows) expect(item[`n_${window}`], counter.pk).toBe(1);
    }
  });

  const SHARED = ['recipient', 'prefix', 'country', 'channel'];
  /** Every non-empty combination of them. */
  const combinations = SHARED.reduce<string[][]>((found, one) => found.flatMap((some) => [some, [...some, one]]), [[]]);

  it.each([...combinations.slice(1), ['source'], ['source', ...SHARED]].map((full) => ({ full })))(
    'none passes, and no counter changes, if these counters are full: $full',
    async ({ full }) => {
      const asked = world.asked({ recipient: MOBILE });
      // All counters of the request, none of which counts it any longer.
      const limits = world.limits(WIDE);
      const { counted } = await world.pass(limits, asked);
      await limits.release(counted, NEVER_ABORTED);
      const counters = counted.map(({ counter }) => counter);
      expect(counters.map(({ kind }) => kind)).toEqual(expect.arrayContaining(full));
      for (const { pk, windows } of counters.filter(({ kind }) => full.includes(kind))) {
        const entries = windows.flatMap(([window, max]) => [
          [`n_${window}`, max],
          [`from_${window}`, world.now - MINUTE_MS],
        ]);
        await world.table.put({ pk, ...Object.fromEntries(entries) }, NEVER_ABORTED);
      }
      const items = () => Promise.all(counters.map((one) => world.item(one)));
      const before = await items();
      const all = await many(5, full.includes('source') ? asked : { recipient: MOBILE });
      expect(passed(all)).toEqual([]);
      expect(await items()).toEqual(before);
      // A full source is refused before any other counter is asked.
      const asking = full.includes('source') ? ['source'] : full;
      const longest = Math.max(...counters.filter(({ kind }) => asking.includes(kind)).map(longestWindow));
      expect(all[0]?.waits).toBe((longest - MINUTE_MS) / SECOND_MS);
    },
  );
});

/** Several requests, one database call at a time, in a random order. */
function inAnyOrder<T>(order: Iterator<number>, actors: readonly ((table: Table) => Promise<T>)[]) {
  return interleave(
    actors.map((actor) => (step) => actor(tableOfSteps('limits', world.table, step))),
    (waiting) => (order.next().value ?? 0) % waiting,
  );
}

describe('In any order of simultaneous requests', () => {
  const orders = fc.infiniteStream(fc.nat());
  const SETTINGS = { ...NO_LIMITS, resendSeconds: [60], sourcePerHour: 4, prefixPerHour: 2, channelPerDay: 3 };

  it('each recipient gets one message at most, no counter exceeds its limit, and refused requests leave no count', async () => {
    const keys = ['+447400120001', '+447400120001', '+447400120002', '+447400130003', '+447400130003', '+447400130003'];
    await fc.assert(
      fc.asyncProperty(orders, async (order) => {
        await world.forget();
        const passages = await inAnyOrder(
          order,
          keys.map((key) => (table) => world.pass(world.limits(SETTINGS, table), { recipient: toPhone(key) })),
        );
        const sent = keys.filter((_, index) => passages[index]?.kind === 'allowed');
        // There is room for one message to each.
        expect(sent.toSorted()).toEqual([...new Set(keys)]);
        const after = world.limits(SETTINGS);
        expect(await world.pass(after, { recipient: toPhone('+447400999999') })).toMatchObject({ kind: 'reached' });
        expect(await world.pass(after, { recipient: toPhone('+447400999999', 'call') })).toMatchObject({
          kind: 'allowed',
        });
      }),
      propertyRuns(5),
    );
  });

  it('requests that passed and sent nothing leave no count', async () => {
    const tight = { ...NO_LIMITS, resendSeconds: [60], recipientPerHour: 1, sourcePerHour: 1, prefixPerHour: 1 };
    await fc.assert(
      fc.asyncProperty(orders, async (order) => {
        await world.forget();
        await inAnyOrder(
          order,
          [1, 2, 3, 4].map(() => async (table: Table) => {
            const limits = world.limits(tight, table);
            const { counted } = await world.pass(limits, { recipient: MOBILE, source: '192.0.2.1' });
            await limits.release(counted, NEVER_ABORTED);
          }),
        );
        const again = await world.pass(world.limits(tight), { recipient: MOBILE, source: '192.0.2.1' });
        expect(again).toMatchObject({ kind: 'allowed' });
      }),
      propertyRuns(5),
    );
  });
});

/** A limit in its simplest implementation. */
class NaiveCounter {
  readonly #windows: { ms: number; max: number; from: number; n: number }[];
  readonly #pauses: readonly number[];
  #pausedUntil = 0;

  constructor(windows: [ms: number, max: number][], pauses: readonly number[] = []) {
    this.#windows = windows.map(([ms, max]) => ({ ms, max, from: Number.NEGATIVE_INFINITY, n: 0 }));
    this.#pauses = pauses;
  }

  waits(now: number): number {
    const full = this.#windows.filter(({ from, ms, n, max }) => from + ms > now && n >= max);
    return Math.ceil(Math.max(0, this.#pausedUntil - now, ...full.map(({ from, ms }) => from + ms - now)) / SECOND_MS);
  }

  count(now: number): void {
    for (const one of this.#windows)
      Object.assign(one, one.from + one.ms > now ? { n: one.n + 1 } : { from: now, n: 1 });
    const sent = this.#windows.at(-1)?.n ?? 0;
    this.#pausedUntil = now + (this.#pauses[Math.min(sent, this.#pauses.length) - 1] ?? 0) * SECOND_MS;
  }

  release(): void {
    for (const one of this.#windows) one.n -= 1;
    this.#pausedUntil = 0;
  }
}

const RECIPIENTS = ['+447400120001', '+447400120002', '+447400120003'];
const SOURCES = ['192.0.2.1', '192.0.2.2'];
const steps = fc.array(
  fc.record({
    pause: fc.oneof(fc.integer({ min: 0, max: 5 * MINUTE_MS }), fc.integer({ min: HOUR_MS, max: 10 * HOUR_MS })),
    recipient: fc.constantFrom(...RECIPIENTS),
    source: fc.constantFrom(...SOURCES),
    /** Nothing is sent, and the counts are released. */
    fails: fc.boolean(),
  }),
  { minLength: 10, maxLength: 40 },
);

it('Every history of requests one after another goes as in a naive model', async () => {
  const resendSeconds = [60, 120];
  const settings = {
    ...NO_LIMITS,
    resendSeconds,
    recipientPerHour: 4,
    recipientPerDay: 6,
    sourcePer10Minutes: 3,
    sourcePerHour: 6,
    prefixPerHour: 5,
  };
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      await world.forget();
      const limits = world.limits(settings);
      const sources = new Map(
        SOURCES.map((one) => [
          one,
          new NaiveCounter([
            [10 * MINUTE_MS, 3],
            [HOUR_MS, 6],
          ]),
        ]),
      );
      const recipients = new Map(
        RECIPIENTS.map((one) => [
          one,
          new NaiveCounter(
            [
              [HOUR_MS, 4],
              [DAY_MS, 6],
            ],
            resendSeconds,
          ),
        ]),
      );
      const prefix = new NaiveCounter([[HOUR_MS, 5]]);
      for (const { pause, recipient, source, fails } of history) {
        world.now += pause;
        const own = sources.get(source) as NaiveCounter;
        const message = [recipients.get(recipient) as NaiveCounter, prefix];
        const waits = own.waits(world.now);
        const others = Math.max(...message.map((one) => one.waits(world.now)));
        const passage = await world.pass(limits, { recipient: toPhone(recipient), source });
        expect(passage.waits).toBe(waits || others);
        if (waits > 0) continue;
        own.count(world.now);
        if (others > 0) own.release();
        if (others > 0) continue;
        for (const one of message) one.count(world.now);
        if (!fails) continue;
        await limits.release(passage.counted, NEVER_ABORTED);
        for (const one of [own, ...message]) one.release();
      }
    }),
    propertyRuns(5),
  );
});

/** A table whose writes may be refused, lost on the way back, or repeated by the SDK after a lost answer. */
function faulty(table: Table, drawn: Iterator<number>, repeats: boolean): Table {
  const down = new AwsFailure('ServiceUnavailable');
  return {
    ...table,
    async update(...call) {
      const fault = (drawn.next().value ?? 0) % 8;
      if (fault === 0) throw down;
      if (fault < 3 && repeats) await table.update(...call).catch(() => {});
      const answer = await table.update(...call);
      if (fault === 3) throw down;
      return answer;
    },
  };
}

it('With any loss of writes and answers, the limits hold in every window', async () => {
  const settings = {
    ...NO_LIMITS,
    resendSeconds: [1],
    recipientPerHour: 2,
    sourcePer10Minutes: 2,
    sourcePerHour: 4,
    prefixPerHour: 3,
  };
  await fc.assert(
    fc.asyncProperty(steps, fc.infiniteStream(fc.nat()), async (history, drawn) => {
      await world.forget();
      const now = () => world.now;
      const once = faulty(world.table, drawn, false);
      const limits = dynamoLimits(
        faulty(world.table, drawn, true),
        () => once,
        { ...DEFAULT_LIMITS, ...settings },
        now,
      );
      const passes = new Map<string, number>();
      for (const { pause, recipient, source, fails } of history) {
        world.now += pause;
        // Its own releases may fail too.
        const passage = await world.pass(limits, { recipient: toPhone(recipient), source }).catch(() => undefined);
        if (passage?.kind !== 'allowed') continue;
        if (fails) await limits.release(passage.counted, NEVER_ABORTED).catch(() => {});
        if (fails) continue;
        for (const { counter, item } of passage.counted) {
          for (const [window, max] of counter.windows) {
            const one = `${counter.pk} ${window} ${item[`from_${window}`]}`;
            passes.set(one, (passes.get(one) ?? 0) + 1);
            expect(passes.get(one), one).toBeLessThanOrEqual(max);
          }
        }
      }
    }),
    propertyRuns(5),
  );
});

describe('A count that is released', () => {
  it('is available again, and its pause is over', async () => {
    const limits = world.limits();
    const asked = world.asked({ recipient: MOBILE });
    const { counted } = await world.pass(limits, asked);
    await limits.release(counted, NEVER_ABORTED);
    expect(await world.pass(limits, asked)).toMatchObject({ kind: 'allowed' });
    expect(await world.pass(limits, asked)).toMatchObject({ waits: 60 });
  });

  it('is released only in its own window: the next one keeps its count', async () => {
    const limits = world.limits({ ...NO_LIMITS, prefixPerHour: 2, channelPerDay: 3 });
    const number = (last: number) => ({ recipient: toPhone(`+44740012000${last}`) });
    const { counted } = await world.pass(limits, number(1));
    world.now += HOUR_MS;
    await world.pass(limits, number(2));
    await limits.release(counted, NEVER_ABORTED);
    expect(await world.pass(limits, number(3))).toMatchObject({ kind: 'allowed' });
    expect(await world.pass(limits, number(4))).toMatchObject({ kind: 'reached' });
    // The day is the same.
    world.now += HOUR_MS;
    expect(await world.pass(limits, number(5))).toMatchObject({ kind: 'allowed' });
    expect(await world.pass(limits, number(6))).toMatchObject({ kind: 'reached' });
  });

  it('ends no pause that another request has begun', async () => {
    const limits = world.limits();
    const { counted } = await world.pass(limits, { recipient: MOBILE });
    world.now += MINUTE_MS;
    await world.pass(limits, { recipient: MOBILE });
    await limits.release(counted, NEVER_ABORTED);
    expect(await world.pass(limits, { recipient: MOBILE })).toMatchObject({ waits: 120 });
  });
});
