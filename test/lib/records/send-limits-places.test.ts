import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DatabaseFailure, type Table } from '../../../lib/aws/dynamodb.ts';
import { naivelyAllowed } from '../../support/naive-limits.ts';
import { runs } from '../../support/runs.ts';
import {
  admissionOf,
  type Counting,
  DAY,
  HOUR,
  LimitsWorld,
  MINUTE,
  mail,
  phone,
  SECOND,
  signal,
} from '../../support/send-limits.ts';

const world = new LimitsWorld();
const ANN = mail('ann@acme.example');
const MOBILE = phone('+447400123456');
const SOURCE = '192.0.2.1';

describe('A message that was not sent', () => {
  it('lets the caller ask again at once', async () => {
    const counting = world.limits();
    const one = world.request({ recipient: MOBILE });
    await admissionOf(await counting.count(one)).dropMessage(signal);
    expect((await counting.count(one)).kind).toBe('allowed');
    expect((await counting.count(one)).kind).toBe('reached');
  });

  it('leaves the source with one request less', async () => {
    const counting = world.limits();
    const one = world.request({ recipient: ANN, source: SOURCE });
    for (let i = 0; i < 5; i += 1) await admissionOf(await counting.count(one)).dropMessage(signal);
    expect((await counting.count(one)).kind).toBe('reached');
    expect(await world.allowed(counting, { recipient: ANN })).toBe(true);
  });

  it('leaves the source with one request less also when it is asked for again with the same key', async () => {
    const counting = world.limits();
    const one = world.request({ key: ['key-1'], recipient: ANN, source: SOURCE });
    for (let i = 0; i < 5; i += 1) await admissionOf(await counting.count(one)).dropMessage(signal);
    expect((await counting.count(one)).kind).toBe('reached');
  });

  it('gives its places back once, however often they are given back', async () => {
    const counting = world.only({ prefixPerHour: 2 });
    const admission = admissionOf(await counting.count(world.request({ recipient: phone('+447400120001') })));
    await world.fill(counting, 1, { recipient: phone('+447400120002') });
    await Promise.all([admission.dropMessage(signal), admission.dropMessage(signal)]);
    await admission.dropMessage(signal);
    await world.fill(counting, 1, { recipient: phone('+447400120003') });
    expect(await world.allowed(counting, { recipient: phone('+447400120004') })).toBe(false);
  });

  it('leaves exactly what would be there had it never been asked for', async () => {
    const steps = fc.array(fc.record({ pause: fc.integer({ min: 1, max: 30 * MINUTE }), fails: fc.boolean() }), {
      maxLength: 25,
    });
    await fc.assert(
      fc.asyncProperty(steps, async (history) => {
        world.forget();
        const counting = world.only({ prefixPerHour: 3 });
        const times: number[] = [];
        for (const { pause, fails } of history) {
          world.now += pause;
          const number = `+44740012${String(world.now % 10_000).padStart(4, '0')}`;
          const decision = await counting.count(world.request({ recipient: phone(number) }));
          const expected = naivelyAllowed({ windows: [{ count: 3, ms: HOUR }] }, times, world.now);
          expect(decision.kind).toBe(expected ? 'allowed' : 'reached');
          if (decision.kind === 'reached') continue;
          if (fails) await decision.admission.dropMessage(signal);
          else times.push(world.now);
        }
      }),
      runs(4),
    );
  });
});

describe('A request that is refused for its own faults', () => {
  it('costs its source nothing', async () => {
    const counting = world.limits();
    for (let i = 0; i < 8; i += 1) {
      const admission = await counting.admit(world.request({ source: SOURCE }));
      expect(admission.ofSource.kind).toBe('allowed');
      await admission.dropRequest(signal);
    }
    await world.fill(counting, 5, { source: SOURCE });
  });

  /** Guesses an id. @returns whether it is told that there is none */
  async function guess(counting: Counting): Promise<boolean> {
    // One key for all guesses.
    const admission = await counting.admit(world.request({ key: ['key-1'], source: SOURCE }));
    if (admission.ofSource.kind === 'reached') return false;
    const verdict = await admission.ofWrongId(signal);
    if (verdict.kind === 'reached') await admission.dropMessage(signal);
    return verdict.kind === 'allowed';
  }

  it('for an unknown id, is counted by itself: after 30 in 10 minutes its source is told nothing more, right or wrong', async () => {
    const counting = world.limits();
    const first = world.now;
    for (let i = 0; i < 30; i += 1) {
      expect(await guess(counting)).toBe(true);
      world.now += SECOND;
    }
    expect(await guess(counting)).toBe(false);
    expect(await world.retryAfter(counting, { source: SOURCE })).toBe(570);
    expect(await world.allowed(counting)).toBe(true);
    world.now = first + 10 * MINUTE;
    expect(await guess(counting)).toBe(true);
    expect(await world.allowed(counting, { source: SOURCE })).toBe(false);
    world.now += SECOND;
    expect(await world.allowed(counting, { source: SOURCE })).toBe(true);
  });

  it('for an unknown id, is counted exactly, however many come at once', async () => {
    const counting = world.limits({ wrongIdsPer10Minutes: 3, sourcePer10Minutes: 20 });
    const told = await Promise.all(Array.from({ length: 10 }, () => guess(counting)));
    expect(told.filter(Boolean)).toHaveLength(3);
  });
});

describe('A request whose function died', () => {
  it('has its places already when it comes again with its key', async () => {
    const counting = world.limits();
    const one = world.request({ key: ['key-1'], recipient: MOBILE, source: SOURCE });
    for (let i = 0; i < 7; i += 1) {
      expect((await counting.count(one)).kind).toBe('allowed');
      world.now += SECOND;
    }
    await world.fill(counting, 4, { source: SOURCE });
    expect(await world.allowed(counting, { source: SOURCE })).toBe(false);
    expect(await world.allowed(counting, { recipient: MOBILE })).toBe(false);
  });

  it('also when it died before its message was counted', async () => {
    const counting = world.limits({ sourcePer10Minutes: 1 });
    const one = world.request({ key: ['key-1'], recipient: MOBILE, source: SOURCE });
    await counting.admit(one);
    expect((await counting.count(one)).kind).toBe('allowed');
  });

  it('gives all of them back when it then fails', async () => {
    const counting = world.limits({ prefixPerHour: 1, countryPerHour: 1 });
    const one = world.request({ key: ['key-1'], recipient: MOBILE });
    await counting.count(one);
    await admissionOf(await counting.count(one)).dropMessage(signal);
    expect(await world.allowed(counting, { recipient: MOBILE })).toBe(true);
  });

  it('counts anew when its places are older than any limit looks back', async () => {
    const counting = world.limits();
    const one = world.request({ key: ['key-1'], recipient: ANN });
    await counting.count(one);
    world.now += DAY;
    expect((await counting.count(one)).kind).toBe('allowed');
    expect(await world.allowed(counting, { recipient: ANN })).toBe(false);
  });
});

describe('A repeat of a request', () => {
  it('that has ended or is under way leaves the places of that one alone', async () => {
    const counting = world.limits({ sourcePer10Minutes: 1 });
    const one = world.request({ key: ['key-1'], source: SOURCE });
    await counting.count(one);
    for (let i = 0; i < 3; i += 1) await (await counting.admit(one)).dropRepeat(signal);
    expect(await world.allowed(counting, { source: SOURCE })).toBe(false);
  });

  it('takes no place of its own', async () => {
    const counting = world.limits();
    const one = world.request({ key: ['key-1'], source: SOURCE });
    await counting.count(one);
    world.now += HOUR;
    for (let i = 0; i < 7; i += 1) await (await counting.admit(one)).dropRepeat(signal);
    await world.fill(counting, 5, { source: SOURCE });
  });
});

describe('When the database does not answer', () => {
  /** The table as it is, but for writes to one kind of counter. */
  function failingFor(kind: string): Table {
    const { table } = world;
    return {
      ...table,
      update: (key, ...rest) =>
        key.pk?.startsWith(`${kind}#`)
          ? Promise.reject(new DatabaseFailure('InternalServerError'))
          : table.update(key, ...rest),
    };
  }
  /** The table as it is, but that it cannot be read. */
  function unreadable(): Table {
    const fail = () => Promise.reject(new DatabaseFailure('InternalServerError'));
    return { ...world.table, get: fail, getMany: fail };
  }
  /** The table as it is, but that each write arrives twice: its first answer is lost. */
  function repeating(): Table {
    const { table } = world;
    return {
      ...table,
      update: async (...args) => {
        await table.update(...args);
        return table.update(...args);
      },
    };
  }

  it('the request is unchecked', async () => {
    world.database.faults.set({ kind: 'refused', times: 10 });
    const decision = await world.limits().count(world.request());
    world.database.faults.clear();
    expect(decision.kind).toBe('unchecked');
  });

  it.each(['recipient', 'source', 'prefix', 'country', 'network'])(
    'for the %s, the request is unchecked, and what was counted can be given back',
    async (kind) => {
      const one = world.request({ recipient: MOBILE, source: '2001:db8::1' });
      const decision = await world.limits({}, failingFor(kind)).count(one);
      expect(decision.kind).toBe('unchecked');
      await admissionOf(decision).dropMessage(signal);
      expect((await world.limits().count(one)).kind).toBe('allowed');
    },
  );

  it.each(['recipient', 'source', 'prefix'])(
    'for the %s, a limit that is reached elsewhere still holds',
    async (kind) => {
      const one = world.request({ recipient: MOBILE });
      const settings = kind === 'source' ? { recipientPerHour: 1 } : { sourcePer10Minutes: 1 };
      await world.limits(settings).count(one);
      world.now += 10 * MINUTE - 1;
      expect((await world.limits(settings, failingFor(kind)).count(one)).kind).toBe('reached');
    },
  );

  it('to reads, the recipient is counted all the same, and nobody else’s place is taken', async () => {
    const one = world.request({ recipient: MOBILE });
    expect((await world.limits({}, unreadable()).count(one)).kind).toBe('unchecked');
    expect((await world.limits().count(one)).kind).toBe('reached');
    expect(await world.allowed(world.limits({ prefixPerHour: 1 }), { recipient: phone('+447400120001') })).toBe(true);
  });

  it('to reads, the place of the recipient is not taken again when the request comes again with its key', async () => {
    const settings = { resendSeconds: [1], recipientPerHour: 2 };
    const one = world.request({ recipient: MOBILE, key: ['key-1'] });
    expect((await world.limits(settings, unreadable()).count(one)).kind).toBe('unchecked');
    world.now += MINUTE;
    expect((await world.limits(settings).count(one)).kind).toBe('allowed');
    expect(await world.allowed(world.limits(settings), { recipient: MOBILE })).toBe(true);
    expect(await world.allowed(world.limits(settings), { recipient: MOBILE })).toBe(false);
  });

  it('in time, and its client repeats each write, the request is counted once and allowed', async () => {
    const settings = { sourcePer10Minutes: 2, prefixPerHour: 2, countryPerHour: 2, networkSourcesPerHour: 1 };
    const one = world.request({ recipient: MOBILE, source: '2001:db8::1' });
    expect((await world.limits(settings, repeating()).count(one)).kind).toBe('allowed');
    world.now += MINUTE;
    expect((await world.limits(settings, repeating()).count(one)).kind).toBe('allowed');
    expect(await world.allowed(world.limits(settings), { recipient: phone('+447400120001') })).toBe(false);
  });

  it('places stay taken, and nothing is thrown', async () => {
    const counting = world.limits();
    const one = world.request({ recipient: ANN });
    const admission = admissionOf(await counting.count(one));
    world.database.faults.set({ kind: 'refused', times: 10 });
    await admission.dropMessage(signal);
    await admission.dropRequest(signal);
    world.database.faults.clear();
    expect((await counting.count(one)).kind).toBe('reached');
  });
});
