import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/aws/dynamodb.ts';
import type { LimitDecision } from '../../../lib/limits/limits.ts';
import {
  COUNT_LIMIT_NAMES,
  COUNT_LIMITS,
  type CountLimitName,
  type LimitedCounter,
} from '../../../lib/validators/limits.ts';
import type { Recipient } from '../../../lib/validators/registration.ts';
import { DEFAULT_LIMITS, type Limits } from '../../../lib/validators/registration-settings.ts';
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
import { NO_LIMITS } from '../../support/usual-limits.ts';

const world = new LimitsWorld();
const ANN = toEmail('ann@example.com');
const MOBILE = toPhone('+447400123456');

let numbers = 0;
/** A number that no other test has. */
function numberAt(prefix: string): string {
  numbers += 1;
  return `${prefix}${String(numbers).padStart(4, '0')}`;
}

/** Sends as many messages, some seconds apart, each of which passes. */
async function fill(
  limits: ReturnType<LimitsWorld['limits']>,
  count: number,
  given: () => LimitedMessage,
  apart = SECOND_MS,
) {
  for (let i = 0; i < count; i += 1) {
    if (i > 0) world.now += apart;
    expect(await world.pass(limits, given())).toMatchObject({ kind: 'allowed' });
  }
}

it('The limits that a deployment does not set are those of the contract', () => {
  expect(DEFAULT_LIMITS).toEqual({
    resendSeconds: [60, 120, 300, 900],
    recipientPerHour: 5,
    recipientPerDay: 10,
    sourcePer10Minutes: 5,
    sourcePerHour: 20,
    networkSourcesPerHour: 20,
    prefixPerHour: 10,
    countryPerHour: 500,
    channelPerDay: 5_000,
    mailDomainPerHour: 200,
    wrongIdsPer10Minutes: 30,
    replaysPerHour: 30,
    confirmationsPer10Minutes: 10,
    confirmationNetworkSourcesPerHour: 20,
  });
});

type Asking = (limits: ReturnType<LimitsWorld['limits']>) => Promise<Passage>;

const registers =
  (given: () => LimitedMessage): Asking =>
  (limits) =>
    world.pass(limits, given());

function toPassage(decision: LimitDecision): Passage {
  const waits = decision.kind === 'reached' ? decision.retryAfterSeconds : 0;
  return { kind: decision.kind, waits, counted: decision.counted };
}

const confirms =
  (source: () => string): Asking =>
  async (limits) =>
    toPassage(await limits.countConfirmation(source(), world.pepper, NEVER_ABORTED));

const ofNextNetwork = () => `2001:db8:1:${numberAt('')}::1`;

/** The same request again, which every counter of requests counts together. */
const sameRequest = registers(() => ({ recipient: ANN, source: '192.0.2.1', userAgent: 'one' }));

/** Other requests that the limits of a counter count together. */
const COUNTED_TOGETHER: Readonly<Partial<Record<LimitedCounter, Asking>>> = {
  network: registers(() => ({ source: ofNextNetwork() })),
  prefix: registers(() => ({ recipient: toPhone(numberAt('+447400123')) })),
  country: registers(() => ({ recipient: toPhone(`${numberAt('+4474')}00000`) })),
  channel: registers(() => ({ recipient: toPhone(`${numberAt('+4475')}00000`) })),
  domain: registers(() => ({ recipient: toEmail(`${numberAt('p')}@acme.co.uk`) })),
  wrong: async (limits) =>
    toPassage(await (await world.admit(limits, { source: '192.0.2.1' })).countWrongId(NEVER_ABORTED)),
  replay: async (limits) => toPassage(await limits.countReplay(['one'], world.pepper, NEVER_ABORTED)),
  confirmation: confirms(() => '192.0.2.1'),
  confirmation_network: confirms(ofNextNetwork),
};

/** The names of the limits say how long their windows are. */
const WINDOWS = { Per10Minutes: 10 * MINUTE_MS, PerHour: HOUR_MS, PerDay: DAY_MS };

function windowOf(name: CountLimitName): number {
  const [, ms] = Object.entries(WINDOWS).find(([end]) => name.endsWith(end)) ?? [];
  if (ms === undefined) throw new Error(`The name of the limit ${name} ends with no window.`);
  return ms;
}

describe.each(COUNT_LIMIT_NAMES)('Of the limit %s', (name) => {
  const ask = COUNTED_TOGETHER[COUNT_LIMITS[name].counter] ?? sameRequest;

  it('as many requests pass as it allows, and the next one after the window, which began with the first request', async () => {
    const limits = world.limits({ ...NO_LIMITS, [name]: 4 });
    for (let window = 0; window < 2; window += 1) {
      const end = world.now + windowOf(name);
      for (let count = 0; count < 4; count += 1) {
        expect(await ask(limits)).toMatchObject({ kind: 'allowed' });
        world.now += 2 * SECOND_MS;
      }
      expect(await ask(limits)).toMatchObject({ waits: (end - world.now) / SECOND_MS });
      world.now = end - 1;
      expect(await ask(limits)).toMatchObject({ waits: 1 });
      world.now = end;
    }
  });

  it('is absent if it is disabled', async () => {
    const limits = world.limits(NO_LIMITS);
    for (let count = 0; count < 12; count += 1) expect(await ask(limits)).toMatchObject({ kind: 'allowed' });
    expect(world.calls).toEqual([]);
  });

  it('a million may pass, and no more', async () => {
    const limits = world.limits({ ...NO_LIMITS, [name]: 1_000_000 });
    const { counted } = await ask(limits);
    expect(counted).toHaveLength(1);
    for (const { counter } of counted) {
      const update = `SET n_${counter.windows[0]?.[0]} = :n`;
      await world.table.update({ pk: counter.pk }, { update, values: { ':n': 999_999 } }, NEVER_ABORTED);
    }
    expect(await ask(limits)).toMatchObject({ kind: 'allowed' });
    expect(await ask(limits)).toMatchObject({ kind: 'reached' });
  });
});

describe('The pause between messages to a recipient', () => {
  it.each([
    [1, 60],
    [2, 120],
    [3, 300],
    [4, 900],
    [5, 900],
  ])('is, after message %i of 24 hours, %i s', async (sent, seconds) => {
    const limits = world.limits({ ...NO_LIMITS, resendSeconds: DEFAULT_LIMITS.resendSeconds });
    await fill(limits, sent, () => ({ recipient: ANN }), 15 * MINUTE_MS);
    world.now += (seconds - 1) * SECOND_MS;
    expect(await world.pass(limits, { recipient: ANN })).toMatchObject({ waits: 1 });
    world.now += SECOND_MS - 1;
    expect(await world.pass(limits, { recipient: ANN })).toMatchObject({ kind: 'reached' });
    world.now += 1;
    expect(await world.pass(limits, { recipient: ANN })).toMatchObject({ kind: 'allowed' });
  });

  it('starts with the first step again after 24 hours', async () => {
    const limits = world.limits({ ...NO_LIMITS, resendSeconds: DEFAULT_LIMITS.resendSeconds });
    const first = world.now;
    await fill(limits, 4, () => ({ recipient: ANN }), 15 * MINUTE_MS);
    world.now = first + DAY_MS;
    await world.pass(limits, { recipient: ANN });
    expect(await world.pass(limits, { recipient: ANN })).toMatchObject({ waits: 60 });
  });
});

describe('Requests that the limits count together', () => {
  const asked = (given: string | Recipient): LimitedMessage =>
    typeof given === 'string' ? { source: given } : { recipient: given };
  const american = toPhone('+12125551234', 'sms', 'US');
  const canadian = toPhone('+14165551234', 'sms', 'CA');

  type Row = [keyof Limits, string, boolean, one: string | Recipient, other: string | Recipient];

  it.each<Row>([
    [
      'recipientPerHour',
      'spellings of one mailbox',
      true,
      toEmail('j.ohn@gmail.com'),
      toEmail('john+x@googlemail.com'),
    ],
    ['recipientPerHour', 'a number on another channel', false, MOBILE, toPhone(MOBILE.key, 'call')],
    ['prefixPerHour', 'another end, on another channel', true, MOBILE, toPhone('+447400129999', 'call')],
    ['prefixPerHour', 'a number that differs before', false, MOBILE, toPhone('+447400133456')],
    ['countryPerHour', 'one of another channel', false, MOBILE, toPhone('+447400133456', 'call')],
    ['countryPerHour', 'another one with the same dial code', false, american, canadian],
    ['channelPerDay', 'another country', true, MOBILE, canadian],
    ['channelPerDay', 'another channel', false, MOBILE, toPhone('+447400133456', 'whatsapp')],
    ['mailDomainPerHour', 'a subdomain', true, toEmail('a@x.acme.co.uk'), toEmail('b@y.acme.co.uk')],
    ['mailDomainPerHour', 'its own subdomain', true, toEmail('a@acme.com'), toEmail('b@x.acme.com')],
    ['mailDomainPerHour', 'another one of a public suffix', false, toEmail('a@acme.co.uk'), toEmail('b@other.co.uk')],
    [
      'mailDomainPerHour',
      'a dynamic name, which anybody gets',
      true,
      toEmail('a@x.duckdns.org'),
      toEmail('b@y.duckdns.org'),
    ],
    ['mailDomainPerHour', 'an example, without mailboxes', true, toEmail('a@example.com'), toEmail('b@example.com')],
    ...['gmail.com', 'outlook.com', 'gmx.de', 'qq.com', 'fastmail.com'].map(
      (at): Row => ['mailDomainPerHour', 'a public provider', false, toEmail(`a@${at}`), toEmail(`b@${at}`)],
    ),
    ['sourcePerHour', 'an address of the same /64', true, '2001:db8:1:2::1', '2001:db8:1:2:ffff::9'],
    ['sourcePerHour', 'the next /64', false, '2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['networkSourcesPerHour', 'another /64 of the same /48', true, '2001:db8:1:2::1', '2001:db8:1:3::1'],
    ['networkSourcesPerHour', 'the same /64', false, '2001:db8:1:2::1', '2001:db8:1:2::2'],
    ['networkSourcesPerHour', 'another /48', false, '2001:db8:1:2::1', '2001:db8:2:2::1'],
  ])('for the limit %s, with %s: %s', async (name, _, isOne, one, other) => {
    const limits = world.limits({ ...NO_LIMITS, [name]: 1 });
    await world.pass(limits, asked(one));
    expect((await world.pass(limits, asked(other))).kind === 'reached').toBe(isOne);
  });

  it('of one network count each source once in an hour, however many simultaneous requests the source sends', async () => {
    const limits = world.limits({ ...NO_LIMITS, networkSourcesPerHour: 2 });
    const first = world.now;
    const from = (subnet: number) => ({ source: `2001:db8:1:${subnet}::1` });
    const many = await Promise.all(Array.from({ length: 50 }, () => world.pass(limits, from(1))));
    expect(many.every(({ kind }) => kind === 'allowed')).toBe(true);
    world.now += 40 * MINUTE_MS;
    await world.pass(limits, from(2));
    expect(await world.pass(limits, from(3))).toMatchObject({ waits: 20 * 60 });
    expect(await world.pass(limits, from(1))).toMatchObject({ kind: 'allowed' });
    world.now = first + HOUR_MS;
    await fill(limits, 2, () => from(3));
    expect(await world.pass(limits, from(1))).toMatchObject({ kind: 'allowed' });
    expect(await world.pass(limits, from(2))).toMatchObject({ kind: 'reached' });
  });
});

it.each<[string, (limits: ReturnType<LimitsWorld['limits']>, source: string) => Promise<{ kind: string }>]>([
  ['registers', (limits, source) => world.pass(limits, { source })],
  ['confirms', (limits, source) => limits.countConfirmation(source, world.pepper, NEVER_ABORTED)],
])('A source that %s and has used up its limit is not counted for its network', async (_, ask) => {
  const own = { sourcePer10Minutes: 1, confirmationsPer10Minutes: 1 };
  const limits = world.limits({ ...NO_LIMITS, ...own, networkSourcesPerHour: 1, confirmationNetworkSourcesPerHour: 1 });
  const [one, other] = ['2001:db8:1:1::1', '2001:db8:1:2::1'];
  const first = world.now;
  await ask(limits, one);
  world.now = first + 55 * MINUTE_MS;
  await ask(limits, one);
  world.now = first + HOUR_MS;
  expect(await ask(limits, one)).toMatchObject({ kind: 'reached' });
  expect(await ask(limits, other)).toMatchObject({ kind: 'allowed' });
});

describe('Unknown ids', () => {
  it('are counted by source: after 30 in 10 minutes the source gets 429 for every id, right or wrong', async () => {
    const limits = world.limits();
    const first = world.now;
    const source = '192.0.2.1';
    for (let i = 0; i < 30; i += 1) {
      const admission = await world.admit(limits, { source });
      expect(admission.source.kind).toBe('allowed');
      expect((await admission.countWrongId(NEVER_ABORTED)).kind).toBe('allowed');
      await limits.release(admission.source.counted, NEVER_ABORTED);
      world.now += SECOND_MS;
    }
    expect(await world.pass(limits, { source })).toMatchObject({ waits: 570 });
    expect(await world.pass(limits)).toMatchObject({ kind: 'allowed' });
    world.now = first + 10 * MINUTE_MS;
    expect(await world.pass(limits, { source })).toMatchObject({ kind: 'allowed' });
  });

  it('of 20 different /64 lock the other sources of their /48 for ten minutes, not for an hour', async () => {
    const limits = world.limits();
    const from = (subnet: number) => ({ source: `2001:db8:1:${subnet.toString(16)}::1` });
    const first = world.now;
    for (let subnet = 1; subnet <= 20; subnet += 1) {
      const admission = await world.admit(limits, from(subnet));
      expect((await admission.countWrongId(NEVER_ABORTED)).kind).toBe('allowed');
      await limits.release(admission.source.counted, NEVER_ABORTED);
    }
    expect(await world.pass(limits, from(21))).toMatchObject({ waits: 600 });
    expect(await world.pass(limits, from(20))).toMatchObject({ kind: 'allowed' });
    world.now = first + 10 * MINUTE_MS;
    expect(await world.pass(limits, from(21))).toMatchObject({ kind: 'allowed' });
  });

  it('that come at once are 30 too', async () => {
    const limits = world.limits(OFF_BUT_WRONG);
    const admissions = await Promise.all(
      Array.from({ length: 50 }, () => world.admit(limits, { source: '192.0.2.1' })),
    );
    const counts = await Promise.all(admissions.map((one) => one.countWrongId(NEVER_ABORTED)));
    expect(counts.filter(({ kind }) => kind === 'allowed')).toHaveLength(30);
  });
});
const OFF_BUT_WRONG = { ...NO_LIMITS, wrongIdsPer10Minutes: 30 };

describe('Replays and confirmations', () => {
  it('of one key are 30 an hour', async () => {
    const limits = world.limits();
    const replay = (key: string) => limits.countReplay(['registration', '192.0.2.1', key], world.pepper, NEVER_ABORTED);
    for (let i = 0; i < 30; i += 1) expect((await replay('one')).kind).toBe('allowed');
    expect(await replay('one')).toMatchObject({ kind: 'reached', retryAfterSeconds: 3_600 });
    expect((await replay('other')).kind).toBe('allowed');
  });

  it('of one source are 10 in 10 minutes, of one /48 20 different /64 an hour, apart from its registrations', async () => {
    const limits = world.limits({ sourcePer10Minutes: 1, networkSourcesPerHour: 1 });
    const confirm = (source: string) => limits.countConfirmation(source, world.pepper, NEVER_ABORTED);
    await world.pass(limits, { source: '2001:db8:1:1::1' });
    for (let i = 0; i < 10; i += 1) expect((await confirm('2001:db8:1:1::1')).kind).toBe('allowed');
    expect(await confirm('2001:db8:1:1::2')).toMatchObject({ kind: 'reached', retryAfterSeconds: 600 });
    for (let i = 2; i <= 20; i += 1) expect((await confirm(`2001:db8:1:${i}::1`)).kind).toBe('allowed');
    expect(await confirm('2001:db8:1:21::1')).toMatchObject({ kind: 'reached', retryAfterSeconds: 3_600 });
    expect((await confirm('2001:db8:2:21::1')).kind).toBe('allowed');
  });
});

describe('The table of limits', () => {
  it('holds no address, and each item expires when its windows are over', async () => {
    const limits = world.limits();
    const [one, two] = [
      world.asked({ recipient: MOBILE, source: '192.0.2.77' }),
      world.asked({ recipient: ANN, source: '2001:db8:77::1' }),
    ];
    for (const asked of [one, two]) {
      const { counted } = await world.pass(limits, asked);
      expect(counted.length).toBeGreaterThan(2);
      for (const { counter } of counted) {
        const item = await world.item(counter);
        expect(JSON.stringify(item)).not.toMatch(/447400|192\.0\.2|2001:|@|example/);
        expect(item.expires_at).toBe(Math.ceil((world.now + longestWindow(counter)) / SECOND_MS));
      }
    }
  });

  it('is read once for all counters, and written once for each counter of a request', async () => {
    await world.pass(world.limits(), { recipient: MOBILE });
    expect(world.calls.toSorted()).toEqual(['getMany', ...Array.from({ length: 5 }, () => 'update')]);
  });

  it('is written for its source alone by a request that finds another counter full', async () => {
    const limits = world.limits();
    await world.pass(limits, { recipient: MOBILE });
    world.calls.length = 0;
    const admission = await world.admit(limits, { recipient: MOBILE });
    expect((await admission.countRecipient(NEVER_ABORTED)).kind).toBe('reached');
    expect(world.calls.toSorted()).toEqual(['getMany', 'update']);
  });

  it('that does not answer leaves the limits unchecked, and nothing is thrown', async () => {
    const down = new Error('down');
    const { table } = world;
    const broken: [keyof Table, string[]][] = [
      ['update', ['unchecked', 'unchecked', 'unchecked']],
      ['getMany', ['unchecked', 'allowed', 'allowed']],
    ];
    for (const [call, kinds] of broken) {
      const limits = world.limits({}, { ...table, [call]: () => Promise.reject(down) });
      const admission = await world.admit(limits, { recipient: MOBILE });
      const decisions = [
        admission.source,
        await admission.countRecipient(NEVER_ABORTED),
        await admission.countMessage(NEVER_ABORTED),
      ];
      expect(decisions.map(({ kind }) => kind)).toEqual(kinds);
      const failures = decisions.flatMap((one) => (one.kind === 'unchecked' ? [one.failure] : []));
      expect(failures).toEqual(failures.map(() => down));
    }
  });
});
