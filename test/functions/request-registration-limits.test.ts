import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import type { Person } from '../support/persons.ts';
import {
  newSource,
  type RegistrationWorld,
  type Reply,
  registrationOf,
  registrationWorld,
} from '../support/registration-world.ts';

let world: RegistrationWorld;

function times<T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => make(index)));
}

function statuses(replies: readonly Reply[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

function waitOf(reply: Reply | undefined): number {
  return Number(reply?.header('retry-after'));
}

/** Another person whose phone has the same prefix: all but its last four digits. */
function neighbourOf(person: Person, index: number): Person {
  const number = `${person.phone.number.slice(0, -4)}${5_000 + index}`;
  return { email: world.stranger().email, phone: { country_code: '44', number }, e164: `+44${number}` };
}

describe('The limits as they are', () => {
  beforeAll(async () => {
    world = await registrationWorld();
  });
  afterAll(() => world.close());

  it.each(['email', 'sms'] as const)(
    'let exactly one of 20 simultaneous requests for one recipient through: %s',
    async (channel) => {
      const person = world.stranger();
      const body = registrationOf(person, { otp_type: channel });
      const replies = await times(20, () => world.post(body));
      expect(statuses(replies)).toEqual({ 204: 1, 429: 19 });
      expect(world.sentTo(channel, person)).toHaveLength(1);
      for (const reply of replies.filter(({ status }) => status === 429)) {
        expect(reply.json.type).toBe('too_many_requests');
        expect(waitOf(reply)).toBeGreaterThanOrEqual(1);
        expect(waitOf(reply)).toBeLessThanOrEqual(60);
      }
    },
  );

  it('let exactly one of 20 from one source address through too', async () => {
    const person = world.stranger();
    const source = { 'x-forwarded-for': newSource() };
    const replies = await times(20, () => world.post(registrationOf(person), source));
    expect(statuses(replies)).toEqual({ 204: 1, 429: 19 });
    expect(world.sentTo('email', person)).toHaveLength(1);
  });

  it('count all spellings that one mailbox receives as one recipient', async () => {
    const spellings = ['jo.hn.stone@gmail.com', 'John.Stone+broker@googlemail.com', 'JOHNSTONE@gmail.com'];
    const replies = await Promise.all(
      spellings.map((email) => world.post(registrationOf({ ...world.stranger(), email }))),
    );
    expect(statuses(replies)).toEqual({ 204: 1, 429: 2 });
  });

  it('count each channel by itself', async () => {
    const person = world.stranger();
    const replies = await Promise.all(
      OTP_TYPES.map((channel) => world.post(registrationOf(person, { otp_type: channel }))),
    );
    expect(statuses(replies)).toEqual({ 204: 4 });
  });

  it('let five requests of one source through in ten minutes, and tell how long the sixth has to wait', async () => {
    const source = { 'x-forwarded-for': newSource() };
    const replies = await times(5, () => world.post(registrationOf(world.stranger()), source));
    expect(statuses(replies)).toEqual({ 204: 5 });
    const sixth = await world.post(registrationOf(world.stranger()), source);
    expect(sixth.status).toBe(429);
    expect(waitOf(sixth)).toBeGreaterThan(590);
    expect(waitOf(sixth)).toBeLessThanOrEqual(600);
    expect((await world.post(registrationOf(world.stranger()))).status).toBe(204);
  });

  it('take all addresses of an IPv6 /64 for one source, and the next /64 for another', async () => {
    const from = (address: string) =>
      world.post(registrationOf(world.stranger()), { 'x-forwarded-for': `2001:db8:0:${address}` });
    expect(statuses(await times(5, (index) => from(`a::${index}`)))).toEqual({ 204: 5 });
    expect((await from('a:ffff:1:2:3')).status).toBe(429);
    expect((await from('b::1')).status).toBe(204);
  });

  it('do not count requests that are refused for their own faults', async () => {
    const source = { 'x-forwarded-for': newSource() };
    const person = world.stranger();
    const faulty = [{ name: '' }, { form_id: 'NOFORM00' }, { other: 1 }, { referrer_id: 'NOBODY00' }];
    for (const more of [...faulty, ...faulty]) {
      expect((await world.post(registrationOf(person, more), source)).status).toBe(400);
    }
    expect((await world.post(registrationOf(person), source)).status).toBe(204);
  });

  it('let other people’s first requests through while a source that is over its limit asks for them too', async () => {
    const source = { 'x-forwarded-for': newSource() };
    await times(5, () => world.post(registrationOf(world.stranger()), source));
    const people = Array.from({ length: 6 }, () => world.stranger());
    const [attacks, own] = await Promise.all([
      Promise.all(
        people.flatMap((person) => [person, person]).map((person) => world.post(registrationOf(person), source)),
      ),
      Promise.all(people.map((person) => world.post(registrationOf(person)))),
    ]);
    expect(statuses(attacks)).toEqual({ 429: 12 });
    expect(statuses(own)).toEqual({ 204: 6 });
  });

  it('answer a source 429 after 30 wrong form ids and referral codes, whether right or wrong', async () => {
    const source = { 'x-forwarded-for': newSource() };
    const guess = (index: number) =>
      index % 2 === 0 ? { form_id: `NOFORM${10 + index}` } : { referrer_id: `NOBODY${10 + index}` };
    for (let index = 0; index < 30; index += 1) {
      const reply = await world.post(registrationOf(world.stranger(), guess(index)), {
        ...source,
        'idempotency-key': 'one',
      });
      expect(reply.json.type).toBe(index % 2 === 0 ? 'form_not_found' : 'referrer_not_found');
    }
    for (const more of [guess(30), {}]) {
      const reply = await world.post(registrationOf(world.stranger(), more), source);
      expect(reply.status).toBe(429);
      expect(waitOf(reply)).toBeGreaterThan(500);
    }
    expect((await world.post(registrationOf(world.stranger()))).status).toBe(204);
  });

  it.each([
    ['email', 'ses'],
    ['sms', 'sns'],
    ['call', 'voice'],
    ['whatsapp', 'whatsapp'],
  ] as const)('give back what a send that certainly failed had taken: %s', async (channel, provider) => {
    const person = world.stranger();
    const body = registrationOf(person, { otp_type: channel });
    world.service.faults(provider).set({ kind: 'throttled', times: 1 });
    expect((await world.post(body)).status).toBe(502);
    expect((await world.post(body)).status).toBe(204);
    expect((await world.post(body)).status).toBe(429);
    expect(world.sentTo(channel, person)).toHaveLength(1);
  });

  it('name nobody in the database', async () => {
    const person = world.stranger();
    const source = newSource();
    await world.post(registrationOf(person, { otp_type: 'sms' }), { 'x-forwarded-for': source });
    const rows = JSON.stringify(await world.items('limits'));
    for (const trace of [person.e164, person.phone.number, person.email.toLowerCase(), source]) {
      expect(rows).not.toContain(trace);
    }
  });
});

describe('The limits and channels as a deployment sets them', () => {
  beforeAll(async () => {
    const limits = {
      resendSeconds: [2, 3],
      recipientPerHour: 3,
      recipientPerDay: 4,
      sourcePer10Minutes: 2,
      sourcePerHour: 3,
      prefixPerHour: 2,
      countryPerHour: 6,
      mailDomainPerHour: 3,
      networkSourcesPerHour: 2,
    };
    // Set before the service starts, which takes the clock that there is.
    vi.useFakeTimers({ toFake: ['Date'] });
    world = await registrationWorld({
      environment: { LIMITS: JSON.stringify(limits), CHANNELS: 'email,sms' },
    });
  });
  afterAll(() => {
    vi.useRealTimers();
    return world.close();
  });

  /** Asks again as soon as it is told to, by a clock that is set. @returns the waits that it was told */
  async function insist(channel: Channel, person: Person, sends: number): Promise<number[]> {
    const body = registrationOf(person, { otp_type: channel });
    const waits: number[] = [];
    for (let send = 0; send < sends; send += 1) {
      expect((await world.post(body)).status).toBe(204);
      const refused = await world.post(body);
      expect(refused.status).toBe(429);
      waits.push(waitOf(refused));
      if (send < sends - 1) vi.setSystemTime(Date.now() + waitOf(refused) * 1_000);
    }
    return waits;
  }

  it('make a recipient wait longer each time, and then for the hour; who waits as told gets through', async () => {
    const [byMail, bySms] = [world.stranger(), world.stranger()];
    expect(await insist('email', byMail, 3)).toEqual([2, 3, 3_600 - 2 - 3]);
    // Two texts are all that the prefix may have.
    expect(await insist('sms', bySms, 2)).toEqual([2, 3_600 - 2]);
    expect(world.sentTo('email', byMail)).toHaveLength(3);
    expect(world.sentTo('sms', bySms)).toHaveLength(2);
  });

  it('count phones of one prefix together, on every phone channel, and e-mail apart', async () => {
    const person = world.stranger();
    const replies = await times(6, (index) =>
      world.post(registrationOf(neighbourOf(person, index), { otp_type: 'sms' })),
    );
    expect(statuses(replies)).toEqual({ 204: 2, 429: 4 });
    const refused = replies.find(({ status }) => status === 429);
    expect(waitOf(refused)).toBeGreaterThan(3_500);
    expect((await world.post(registrationOf(neighbourOf(person, 9)))).status).toBe(204);
  });

  it('count texts to one country together, also where its dial code is that of others', async () => {
    const texts = (area: string, count: number) =>
      times(count, (index) => {
        const phone = { country_code: '1', number: `${area}5${50 + index}0123` };
        return world.post(registrationOf({ ...world.stranger(), phone }, { otp_type: 'sms' }));
      });
    expect(statuses(await texts('416', 8))).toEqual({ 204: 6, 429: 2 });
    expect(statuses(await texts('212', 1))).toEqual({ 204: 1 });
  });

  it('count mails to one domain together, and none to a public provider', async () => {
    const mails = (domain: string) =>
      times(5, (index) => world.post(registrationOf({ ...world.stranger(), email: `person${index}@${domain}` })));
    expect(statuses(await mails('flooded.example'))).toEqual({ 204: 3, 429: 2 });
    expect(statuses(await mails('gmail.com'))).toEqual({ 204: 5 });
  });

  it('let only so many networks of one IPv6 /48 ask', async () => {
    const replies = await times(5, (index) =>
      world.post(registrationOf(world.stranger()), { 'x-forwarded-for': `2001:db8:77:${index}::1` }),
    );
    expect(statuses(replies)).toEqual({ 204: 2, 429: 3 });
  });

  it('do not hold a recipient’s slot for a request that the source or the prefix denied', async () => {
    const source = { 'x-forwarded-for': newSource() };
    await times(2, () => world.post(registrationOf(world.stranger()), source));
    const person = world.stranger();
    expect((await world.post(registrationOf(person), source)).status).toBe(429);
    expect((await world.post(registrationOf(person))).status).toBe(204);
  });

  it.each(['call', 'whatsapp'])(
    'answer otp_type_unavailable for %s, with the channels that there are',
    async (channel) => {
      const reply = await world.post(registrationOf(world.stranger(), { otp_type: channel }));
      expect(reply).toMatchObject({
        status: 400,
        json: { type: 'otp_type_unavailable', available: ['email', 'sms'] },
      });
    },
  );
});
