import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyPassword } from '../../lib/secrets/password-hash.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { longestRow, trace } from '../support/database-trace.ts';
import {
  codeIn,
  PASSWORD,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
} from '../support/registration-world.ts';

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld();
});
afterAll(() => world.close());

describe('A registration request', () => {
  it.each(OTP_TYPES)('on the channel %s is answered with 204, and the code arrives', async (channel) => {
    const person = world.stranger();
    const reply = await world.post(registrationOf(person, { otp_type: channel }));
    expect(reply).toMatchObject({ status: 204, text: '' });
    expect(reply.header('cache-control')).toBe('no-store');
    expect(reply.header('x-content-type-options')).toBe('nosniff');
    expect(reply.header('strict-transport-security')).toBe('max-age=63072000');
    expect(reply.header('x-request-id')).toBeTruthy();
    const messages = world.sentTo(channel, person);
    expect(messages).toHaveLength(1);
    expect(codeIn(messages[0])).toMatch(/^\d{6}$/);
  });

  it.each(OTP_TYPES)('on the channel %s leaves a record that is enough to confirm it', async (channel) => {
    const person = world.stranger();
    const before = Math.floor(Date.now() / 1_000);
    await world.post(registrationOf(person, { otp_type: channel, language: 'de' }));
    const record = await world.record(channel, person);
    expect(record).toMatchObject({
      type: 'trader',
      otp_type: channel,
      address: channel === 'email' ? person.email.toLowerCase() : person.e164,
      email: person.email,
      email_key: person.email.toLowerCase(),
      name: 'Bob Stone',
      phone: person.e164,
      form_id: 'FORM0002',
      custom_fields: '{}',
      documents: [],
      language: 'de',
      delivery: { kind: 'code', outcome: 'sent', message_id: expect.any(String), email_taken: false },
    });
    const rows = await world.items('registrations');
    const row = rows.find(({ registration_id: id }) => id === record?.registration_id);
    expect(Number(row?.expires_at) - before).toBeGreaterThanOrEqual(24 * 60 * 60);
    expect(Number(row?.expires_at) - before).toBeLessThan(24 * 60 * 60 + 30);
    expect(await verifyPassword(String(record?.password_hash), PASSWORD)).toBe(true);
    expect(await verifyPassword(String(record?.password_hash), `${PASSWORD}!`)).toBe(false);
    const code = codeIn(world.sentTo(channel, person)[0]);
    expect(JSON.stringify(record)).not.toContain(PASSWORD);
    expect(await world.isCodeOf(channel, person, code === '000000' ? '000001' : '000000')).toBe(false);
    expect(await world.isCodeOf(channel, person, code)).toBe(true);
  });

  it('without otp_type and phone goes by e-mail, and is kept without a phone', async () => {
    const person = world.stranger();
    const { phone: _, otp_type: __, ...body } = registrationOf(person);
    expect((await world.post(body)).status).toBe(204);
    expect(world.sentTo('email', person)).toHaveLength(1);
    expect(await world.record('email', person)).not.toHaveProperty('phone');
  });

  it('is for one channel: the code of another channel is not its', async () => {
    const person = world.stranger();
    await world.post(registrationOf(person, { otp_type: 'sms' }));
    expect(await world.isCodeOf('call', person, codeIn(world.sentTo('sms', person)[0]))).toBe(false);
  });

  it('goes to an international domain as punycode, and is looked up by it whatever its case', async () => {
    const person = { ...world.stranger(), email: 'Jo.Stone@BÜCHER.example' };
    expect((await world.post(registrationOf(person))).status).toBe(204);
    const ascii = { ...person, email: 'jo.stone@xn--bcher-kva.example' };
    expect(world.sentTo('email', { ...person, email: 'Jo.Stone@xn--bcher-kva.example' })).toHaveLength(1);
    expect(await world.record('email', ascii)).toMatchObject({ email: 'Jo.Stone@BÜCHER.example' });
  });

  it.each([
    ['44', '07400 900-123', '+447400900123'],
    ['+44', '(07400) 900124', '+447400900124'],
    ['1', '+1 206 555 0100', '+12065550100'],
    ['49', '0151 23456789', '+4915123456789'],
    ['39', '312 345 6789', '+393123456789'],
  ])('with the phone %s %s is sent to %s', async (country_code, number, e164) => {
    const person = { ...world.stranger(), phone: { country_code, number }, e164 };
    expect((await world.post(registrationOf(person, { otp_type: 'sms' }))).status).toBe(204);
    expect(world.sentTo('sms', person)).toHaveLength(1);
  });

  it.each([
    ['pt-BR', 'pt'],
    ['de-AT', 'de'],
    ['ar', 'ar'],
    ['zh-Hant-TW', 'zh'],
    ['EN-gb', 'en'],
    ['xx', 'en'],
    [undefined, 'en'],
  ])('in the language %s is answered in %s', async (asked, given) => {
    const person = world.stranger();
    await world.post(registrationOf(person, asked === undefined ? {} : { language: asked }));
    const message = world.sentTo('email', person)[0];
    expect(message?.language?.split('-')[0]).toBe(given);
    expect(message?.html).toContain(given === 'ar' ? 'dir="rtl"' : 'dir="ltr"');
  });

  it('with a referral code is kept with the client whose code it is', async () => {
    const person = world.stranger();
    await world.post(registrationOf(person, { referrer_id: 'REFANN01' }));
    expect(await world.record('email', person)).toMatchObject({
      referrer_id: 'REFANN01',
      referrer_user_id: 'CLIENT01',
    });
  });

  it.each([
    ['form_not_found', { form_id: 'NOFORM00' }],
    ['referrer_not_found', { referrer_id: 'NOBODY00' }],
    // Case matters: ids are exactly 8 visible characters.
    ['form_not_found', { form_id: 'form0002' }],
  ])('is refused with %s for %j', async (type, more) => {
    const person = world.stranger();
    const reply = await world.post(registrationOf(person, more));
    expect(reply).toMatchObject({ status: 400, json: { type, status: 400, request_id: reply.header('x-request-id') } });
    expect(reply.header('content-type')).toBe('application/problem+json');
    expect(world.sentTo('email', person)).toEqual([]);
    expect(await world.record('email', person)).toBeUndefined();
  });
});

describe('Another request for the same address', () => {
  it('is kept next to twelve before it, each with its own code, password and data', async () => {
    const person = world.stranger();
    const names = Array.from({ length: 13 }, (_, index) => `Person ${index}`);
    for (const name of names) {
      const password = `password of ${name}`;
      await world.post(registrationOf(person, { name, password, repeat_password: password }));
      await world.forgetLimits();
    }
    const records = await world.records('email', person);
    expect(records.map(({ name }) => name)).toEqual(names.toReversed());
    for (const { name, password_hash } of records) {
      expect(await verifyPassword(password_hash, `password of ${name}`)).toBe(true);
    }
    for (const message of world.sentTo('email', person)) {
      expect(await world.isCodeOf('email', person, codeIn(message))).toBe(true);
    }
  });

  it('that fails leaves the old code good', async () => {
    const person = world.stranger();
    await world.post(registrationOf(person, { otp_type: 'sms', name: 'First' }));
    await world.forgetLimits();
    world.service.faults('sns').set({ kind: 'throttled', times: 1 });
    const failed = await world.post(registrationOf(person, { otp_type: 'sms', name: 'Second' }));
    expect(failed).toMatchObject({ status: 502, json: { type: 'otp_delivery_failed' } });
    expect(await world.record('sms', person)).toMatchObject({ name: 'First', delivery: { outcome: 'sent' } });
    expect(await world.isCodeOf('sms', person, codeIn(world.sentTo('sms', person)[0]))).toBe(true);
  });
});

describe('On the way to the send', () => {
  const cases = OTP_TYPES.flatMap((channel) => [false, true].map((keyed) => ({ channel, keyed })));
  const providers = { email: 'ses', sms: 'sns', call: 'voice', whatsapp: 'whatsapp' } as const;

  it.each(cases)(
    'at most three database calls follow one another: $channel, with a key: $keyed',
    async ({ channel, keyed }) => {
      const { service } = world;
      // Delayed, so that parallel calls overlap.
      service.faults('dynamodb').set({ kind: 'slow', times: 100, ms: 40 });
      const [database, provider] = [trace(service.database.url), trace(service.standIns[providers[channel]].url)];
      const person = keyed ? world.client() : world.stranger();
      const headers: Record<string, string> = keyed ? { 'idempotency-key': `row-${channel}` } : {};
      const { status } = await world.post(registrationOf(person, { otp_type: channel }), headers);
      for (const one of [database, provider]) one.stop();
      service.faults('dynamodb').clear();
      expect(status).toBe(204);
      const sentAt = provider.calls[0]?.startedAt ?? 0;
      const before = database.calls.filter(({ startedAt }) => startedAt < sentAt);
      expect(before).toHaveLength((channel === 'email' ? 8 : 10) + (keyed ? 2 : 0));
      expect(longestRow(before)).toBe(3);
    },
  );
});
