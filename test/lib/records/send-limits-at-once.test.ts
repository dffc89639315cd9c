import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LimitRequest } from '../../../lib/records/send-limits.ts';
import { interleave } from '../../support/interleave.ts';
import { runs } from '../../support/runs.ts';
import { admissionOf, type Decision, LimitsWorld, mail, phone, SECOND, signal } from '../../support/send-limits.ts';

const world = new LimitsWorld();
const ANN = mail('ann@acme.example');
const MOBILE = phone('+447400123456');

const isAllowed = ({ kind }: Decision) => kind === 'allowed';

describe('Of 50 requests at once for one recipient exactly one is allowed', () => {
  const fifty = Array.from({ length: 50 }, (_, i) => i);

  async function allowedOf(requests: LimitRequest[]): Promise<number> {
    const counting = world.limits();
    const decisions = await Promise.all(requests.map((one) => counting.count(one)));
    return decisions.filter(isAllowed).length;
  }

  it('from 50 sources', async () => {
    expect(await allowedOf(fifty.map(() => world.request({ recipient: ANN })))).toBe(1);
  });

  it('from one source, which has room for five', async () => {
    const one = world.request({ recipient: ANN, source: '192.0.2.1' });
    expect(await allowedOf(fifty.map(() => one))).toBe(1);
  });

  it('from five sources', async () => {
    const requests = fifty.map((i) => world.request({ recipient: ANN, source: `192.0.2.${i % 5}` }));
    expect(await allowedOf(requests)).toBe(1);
  });

  it('from 50 networks of one /48', async () => {
    const requests = fifty.map((i) => world.request({ recipient: ANN, source: `2001:db8:1:${i}::1` }));
    expect(await allowedOf(requests)).toBe(1);
  });

  it('by text message, whose prefix has room for ten', async () => {
    expect(await allowedOf(fifty.map(() => world.request({ recipient: MOBILE })))).toBe(1);
  });

  it('by text message, and the others are told to wait for the recipient alone, not for each other', async () => {
    const counting = world.limits();
    const requests = fifty.map(() => world.request({ recipient: MOBILE }));
    const decisions = await Promise.all(requests.map((one) => counting.count(one)));
    const waits = decisions.map((one) => (one.kind === 'reached' ? one.retryAfterSeconds : 0));
    expect(Math.max(...waits)).toBe(60);
  });

  it('by text message from one source', async () => {
    const one = world.request({ recipient: MOBILE, source: '192.0.2.1' });
    expect(await allowedOf(fifty.map(() => one))).toBe(1);
  });
});

describe('In whatever order the database works on simultaneous requests', () => {
  const orders = fc.infiniteStream(fc.nat());

  /** So many requests at once, one database call at a time, in a drawn order. */
  function atOnce<T>(
    choices: Iterator<number>,
    settings: Parameters<LimitsWorld['limits']>[0],
    actors: readonly ((counting: ReturnType<LimitsWorld['limits']>) => Promise<T>)[],
  ): Promise<T[]> {
    return interleave(
      world.table,
      actors.map((act) => (table) => act(world.limits(settings, table))),
      (waiting) => (choices.next().value ?? 0) % waiting,
    );
  }

  it('one of those for one recipient is allowed, and the prefix, the country and the source count no more', async () => {
    await fc.assert(
      fc.asyncProperty(orders, async (choices) => {
        world.forget();
        const settings = { sourcePer10Minutes: 3, prefixPerHour: 2, countryPerHour: 3 };
        const one = { key: undefined, recipient: MOBILE, source: '192.0.2.1' };
        const decisions = await atOnce(
          choices,
          settings,
          Array.from({ length: 7 }, () => (counting) => counting.count(one)),
        );
        expect(decisions.filter(isAllowed)).toHaveLength(1);
        // The prefix holds that one message alone, and so does the country.
        const counting = world.limits(settings);
        expect(await world.allowed(counting, { recipient: phone('+447400127777') })).toBe(true);
        expect(await world.allowed(counting, { recipient: phone('+447400128888') })).toBe(false);
        expect(await world.allowed(counting, { recipient: phone('+447400998888') })).toBe(true);
        expect(await world.allowed(counting, { recipient: phone('+447400888888') })).toBe(false);
        // The source is full.
        expect(await world.allowed(counting, { source: one.source })).toBe(false);
      }),
      runs(5),
    );
  });

  it('nothing is left of those that were allowed and sent nothing', async () => {
    await fc.assert(
      fc.asyncProperty(orders, async (choices) => {
        world.forget();
        const settings = { resendSeconds: [1], prefixPerHour: 1, countryPerHour: 1 };
        await atOnce(
          choices,
          settings,
          Array.from({ length: 5 }, () => async (counting) => {
            const decision = await counting.count(world.request({ recipient: MOBILE }));
            if (decision.kind !== 'reached') await decision.admission.dropMessage(signal);
          }),
        );
        expect(await world.allowed(world.limits(settings), { recipient: MOBILE })).toBe(true);
      }),
      runs(5),
    );
  });

  it('neighbours of one prefix take exactly the room that there is', async () => {
    await fc.assert(
      fc.asyncProperty(orders, async (choices) => {
        world.forget();
        const recipients = ['+447400120001', '+447400120001', '+447400120002', '+447400120002', '+447400120003'];
        const decisions = await atOnce(
          choices,
          { prefixPerHour: 2 },
          recipients.map((key) => (counting) => counting.count(world.request({ recipient: phone(key) }))),
        );
        const allowed = recipients.filter((_, index) => decisions[index]?.kind === 'allowed');
        expect(allowed.length).toBeLessThanOrEqual(2);
        expect(new Set(allowed).size).toBe(allowed.length);
        const free = 2 - allowed.length;
        const after = world.limits({ prefixPerHour: 2 });
        for (let i = 0; i < free; i += 1) {
          expect(await world.allowed(after, { recipient: phone(`+44740012100${i}`) })).toBe(true);
        }
        expect(await world.allowed(after, { recipient: phone('+447400129999') })).toBe(false);
      }),
      runs(5),
    );
  });
});

describe('A source that is over its limit', () => {
  it('changes nothing of the recipients that it names, their prefix, country and domain', async () => {
    const counting = world.limits();
    await world.fill(counting, 5, { source: '192.0.2.1' });
    world.database.calls.length = 0;
    for (const recipient of [ANN, MOBILE]) {
      for (let i = 0; i < 5; i += 1)
        expect(await world.allowed(counting, { recipient, source: '192.0.2.1' })).toBe(false);
    }
    const writes = world.database.calls.filter(({ operation }) => operation === 'UpdateItem');
    expect(writes).toHaveLength(10);
    expect(await world.allowed(counting, { recipient: ANN })).toBe(true);
    expect(await world.allowed(counting, { recipient: MOBILE })).toBe(true);
  });

  it('makes none of other people’s first requests wait, however many of its own are under way', async () => {
    const counting = world.limits({ prefixPerHour: 1 });
    await world.fill(counting, 5, { source: '192.0.2.1' });
    const people = Array.from({ length: 12 }, (_, index) => phone(`+4474001${10 + index}3456`));
    const decisions = await Promise.all(
      people.flatMap((recipient) => [
        ...Array.from({ length: 3 }, () => counting.count(world.request({ recipient, source: '192.0.2.1' }))),
        counting.count(world.request({ recipient })),
      ]),
    );
    expect(decisions.filter(isAllowed)).toHaveLength(people.length);
  });

  it('stays so although it asks for the same recipient again and again', async () => {
    const counting = world.limits();
    const again = { recipient: ANN, source: '192.0.2.1' };
    await world.fill(counting, 1, again);
    for (let i = 0; i < 4; i += 1) {
      world.now += 10 * SECOND;
      expect(await world.allowed(counting, again)).toBe(false);
    }
    world.now += 30 * SECOND;
    expect(await world.allowed(counting, again)).toBe(false);
    expect(await world.allowed(counting, { ...again, source: '192.0.2.2' })).toBe(true);
  });
});

describe('A recipient over the limit', () => {
  it('costs the source that asks for it a request', async () => {
    const counting = world.limits();
    await world.fill(counting, 1, { recipient: ANN });
    for (let i = 0; i < 5; i += 1) {
      world.now += SECOND;
      await world.allowed(counting, { recipient: ANN, source: '192.0.2.1' });
    }
    expect(await world.allowed(counting, { source: '192.0.2.1' })).toBe(false);
  });

  it('costs the phone prefix nothing', async () => {
    const counting = world.limits({ prefixPerHour: 2 });
    await world.fill(counting, 1, { recipient: MOBILE });
    for (let i = 0; i < 5; i += 1) await world.allowed(counting, { recipient: MOBILE });
    expect(await world.allowed(counting, { recipient: phone('+447400121111') })).toBe(true);
    expect(await world.allowed(counting, { recipient: phone('+447400122222') })).toBe(false);
  });
});

describe('One source is', () => {
  it('a /64 of IPv6, whatever address in it calls', async () => {
    const counting = world.limits();
    for (let i = 0; i < 5; i += 1) await world.fill(counting, 1, { source: `2001:db8:1:2:${i}::1` });
    expect(await world.allowed(counting, { source: '2001:db8:1:2:ffff::1' })).toBe(false);
    expect(await world.allowed(counting, { source: '2001:db8:1:3::1' })).toBe(true);
  });

  it('one of so many of its /48 that may ask in an hour', async () => {
    const counting = world.limits({ networkSourcesPerHour: 3 });
    world.now += 40 * 60 * SECOND;
    for (let i = 0; i < 3; i += 1) await world.fill(counting, 1, { source: `2001:db8:1:${i}::1` });
    // The hour of the clock ends after 20 minutes.
    const wait = await world.retryAfter(counting, { source: '2001:db8:1:3::1' });
    expect(wait).toBeGreaterThan(0);
    expect(wait).toBeLessThanOrEqual(20 * 60);
    expect(await world.allowed(counting, { source: '2001:db8:1:0::9' })).toBe(true);
    expect(await world.allowed(counting, { source: '2001:db8:2:3::1' })).toBe(true);
    world.now += wait * SECOND;
    expect(await world.allowed(counting, { source: '2001:db8:1:3::1' })).toBe(true);
  });
});

describe('A place that is given back', () => {
  it('was the own one, also when others were counted since', async () => {
    const counting = world.only({ prefixPerHour: 3 });
    const admissions = [];
    for (const key of ['+447400120001', '+447400120002', '+447400120003']) {
      admissions.push(admissionOf(await counting.count(world.request({ recipient: phone(key) }))));
      world.now += 60 * SECOND;
    }
    await admissions[0]?.dropMessage(signal);
    await world.fill(counting, 1, { recipient: phone('+447400124444') });
    // The oldest that still counts is the second one, of a minute after the first.
    expect(await world.retryAfter(counting, { recipient: phone('+447400125555') })).toBe(3_600 - 120);
  });
});
