import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { verifyPassword } from '../../lib/secrets/password-hash.ts';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { longestRow, trace } from '../support/database-trace.ts';
import {
  codeIn,
  newSource,
  PASSWORD,
  PATH,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
} from '../support/registration-world.ts';

/** The smallest PNG and a PDF, as their first bytes tell them. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==',
  'base64',
);
const PDF = Buffer.from('%PDF-1.7\n1 0 obj <<>> endobj\ntrailer <<>>\n%%EOF\n');
const MEGABYTE = 1024 * 1024;

const REGISTRATION_PAGE = 'https://register.example';
let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({ allowedOrigins: [REGISTRATION_PAGE] });
});
afterAll(() => world.close());

describe('A registration request', () => {
  it.each(OTP_TYPES)('on the channel %s is answered with 204, and the code arrives', async (channel) => {
    const person = world.stranger();
    const reply = await world.post(registrationOf(person, { otp_type: channel }));
    expect(reply).toMatchObject({ status: 204, text: '' });
    expect(reply.header('cache-control')).toBe('no-store');
    expect(reply.header('x-content-type-options')).toBe('nosniff');
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
  it('stands beside those before, up to three, each with its own code, password and data', async () => {
    const person = world.stranger();
    const names = ['First', 'Second', 'Third', 'Fourth'];
    for (const name of names) {
      const password = `password of ${name}`;
      await world.post(registrationOf(person, { name, password, repeat_password: password }));
      await world.forgetLimits();
    }
    const records = await world.records('email', person);
    expect(records.map(({ name }) => name)).toEqual(['Fourth', 'Third', 'Second']);
    for (const { name, password_hash } of records) {
      expect(await verifyPassword(password_hash, `password of ${name}`)).toBe(true);
    }
    for (const message of world.sentTo('email', person).slice(1)) {
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

describe('The fields of the form', () => {
  const values = {
    field_text: 'Trader — 取引',
    field_textarea: 'one\ntwo',
    field_description: '',
    field_number: -1.5e300,
    field_number_string: '0012.50',
    field_boolean: false,
    field_radio: 'yes',
    field_select: 'some',
    field_dynamicSelect: { any: [1, null, { deep: 'ly' }] },
    field_multiselect: ['fx', 'metals'],
    field_checkbox: ['terms'],
    field_date: '2024-02-29',
    field_phone: { country_code: '+81', number: '090-1234-5678' },
    field_email: 'zoe@bücher.example',
    field_country: 'GB',
    field_nation: 'JP',
    field_location: { country: 'GB', state: 'England', city: 'Bath' },
    field_participants: [{ id: '1', name: 'A', share: 50 }, {}],
    field_leads: [{ stage: { n: 1 } }],
  };

  it('of every type are kept as they were sent', async () => {
    const person = world.stranger();
    const doc = PNG.toString('base64');
    const documents = { field_document: [{ id: 'd1', name: 'me.png', doc }] };
    const reply = await world.post(registrationOf(person, { form_id: 'FORMFULL', ...values, ...documents }));
    expect(reply.status, reply.text).toBe(204);
    const record = await world.record('email', person);
    expect(JSON.parse(String(record?.custom_fields))).toEqual(values);
  });

  it('are all judged at once, each under its pointer', async () => {
    const reply = await world.post(
      registrationOf(world.stranger(), {
        form_id: 'FORMFULL',
        field_number: '5',
        field_multiselect: ['fx', 'gold'],
        field_date: '2023-02-29',
        field_document: [{ id: '1', name: 'a', doc: 'not base64' }],
        field_location: { country: 'GB', state: '', town: 'Bath' },
        'a/b~c': 1,
      }),
    );
    expect(reply).toMatchObject({ status: 400, json: { type: 'validation_failed' } });
    const faults = (reply.json.errors as { pointer: string; rule: string }[]).map(
      ({ pointer, rule }) => `${pointer} ${rule}`,
    );
    expect(faults.toSorted()).toEqual([
      '#/a~1b~0c unknown_field',
      '#/field_date date',
      '#/field_document/0/doc base64',
      '#/field_location/city required',
      '#/field_location/town unknown_field',
      '#/field_multiselect/1 one_of',
      '#/field_number type',
      '#/field_text required',
    ]);
  });
});

describe('Documents', () => {
  const upload = (...documents: object[]) => ({ form_id: 'FORM0001', k3J9xQ: 'none', d0cUpl: documents });

  it('are stored under the registration’s id with what was typed of them, and never in a row', async () => {
    const person = world.stranger();
    const names = ['../../etc/passwd', 'паспорт\r\nx-amz-acl: public-read.pdf'];
    const reply = await world.post(
      registrationOf(
        person,
        upload(
          { id: 'first', name: names[0], doc: PNG.toString('base64') },
          { id: 'zwei/2', name: names[1], doc: PDF.toString('base64') },
        ),
      ),
    );
    expect(reply.status, reply.text).toBe(204);
    const record = await world.record('email', person);
    const prefix = `registrations/${record?.registration_id}`;
    expect(record?.documents).toMatchObject([
      { field_key: 'd0cUpl', index: 0, id: 'first', key: `${prefix}/1`, media_type: 'image/png', bytes: PNG.length },
      { field_key: 'd0cUpl', index: 1, id: 'zwei/2', key: `${prefix}/2`, media_type: 'application/pdf' },
    ]);
    const { objects } = world.service.standIns.s3;
    for (const [place, bytes] of [PNG, PDF].entries()) {
      const object = objects.get(`documents/${prefix}/${place + 1}`);
      expect(object?.body.equals(bytes)).toBe(true);
      expect(object?.contentDisposition).toBe('attachment');
      expect(decodeURIComponent(object?.metadata['file-name'] ?? '')).toBe(names[place]);
    }
    const row = JSON.stringify(record);
    for (const bytes of [PNG, PDF]) {
      expect(row).not.toContain(bytes.toString('base64').slice(0, 24));
      expect(row).not.toContain(bytes.toString('latin1').slice(0, 16));
    }
    expect(JSON.parse(String(record?.custom_fields))).toEqual({ k3J9xQ: 'none' });
  });

  it('of another kind than the form accepts are refused, whatever their name says', async () => {
    const { objects } = world.service.standIns.s3;
    const before = objects.size;
    const doc = Buffer.from('<script>').toString('base64');
    const reply = await world.post(registrationOf(world.stranger(), upload({ id: '1', name: 'me.png', doc })));
    expect(reply).toMatchObject({
      status: 400,
      json: { type: 'validation_failed', errors: [{ pointer: '#/d0cUpl/0/doc', rule: 'media_type' }] },
    });
    expect(objects.size).toBe(before);
  });

  it('may have 4 MB together', async () => {
    const person = world.stranger();
    const doc = Buffer.concat([PNG, Buffer.alloc(2 * MEGABYTE - PNG.length)]).toString('base64');
    const two = upload({ id: '1', name: 'a.png', doc }, { id: '2', name: 'b.png', doc });
    expect((await world.post(registrationOf(person, two))).status).toBe(204);
    expect((await world.record('email', person))?.documents).toHaveLength(2);
  });

  it('over their size get payload_too_large, with the pointer', async () => {
    const doc = Buffer.concat([PNG, Buffer.alloc(3 * MEGABYTE)]).toString('base64');
    const reply = await world.post(registrationOf(world.stranger(), upload({ id: '1', name: 'a.png', doc })));
    expect(reply).toMatchObject({
      status: 413,
      json: { type: 'payload_too_large', errors: [{ pointer: '#/d0cUpl/0/doc', rule: 'size' }] },
    });
  });
});

describe('On the way to the send', () => {
  const cases = OTP_TYPES.flatMap((channel) => [false, true].map((keyed) => ({ channel, keyed })));
  const providers = { email: 'ses', sms: 'sns', call: 'voice', whatsapp: 'whatsapp' } as const;

  it.each(cases)(
    'three database calls stand one after the other: $channel, with a key: $keyed',
    async ({ channel, keyed }) => {
      const { service } = world;
      // Held up, calls that are made side by side overlap.
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
      expect(before).toHaveLength((channel === 'email' ? 8 : 9) + (keyed ? 2 : 0));
      expect(longestRow(before)).toBe(3);
    },
  );
});

describe('What an integrator tries first', () => {
  const good = () => registrationOf(world.stranger());

  it.each([
    ['nothing', '', 'malformed_json'],
    ['broken JSON', '{"email":', 'malformed_json'],
    ['an array', '[{}]', 'malformed_json'],
    ['null', 'null', 'malformed_json'],
    ['a form', 'email=a%40b.example', 'malformed_json'],
  ])('%s as the body gets 400 %s', async (_, body, type) => {
    const reply = await world.post(body);
    expect(reply).toMatchObject({ status: 400, json: { type } });
    expect(Object.keys(reply.json).toSorted()).toEqual(['request_id', 'status', 'title', 'type']);
  });

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
    'the media type %s gets 415 unsupported_media_type',
    async (type) => {
      const reply = await world.post(good(), { 'content-type': type });
      expect(reply).toMatchObject({ status: 415, json: { type: 'unsupported_media_type' } });
    },
  );

  it.each(['application/json; charset=utf-8', 'application/vnd.api+json', 'Application/JSON'])(
    'the media type %s is fine',
    async (type) => {
      expect((await world.post(good(), { 'content-type': type })).status).toBe(204);
    },
  );

  it('an empty object gets every missing field', async () => {
    const reply = await world.post({});
    expect(reply.json.errors).toEqual(
      ['email', 'type', 'name', 'password', 'repeat_password', 'form_id'].map((field) => ({
        pointer: `#/${field}`,
        rule: 'required',
        detail: 'is required',
      })),
    );
    expect(reply.json.detail).toBe('6 fields need attention.');
  });

  it('a member given twice counts with its last value', async () => {
    const person = world.stranger();
    const body = JSON.stringify(registrationOf(person)).replace('{', '{"otp_type":"fax",');
    expect((await world.post(body)).status).toBe(204);
    expect(world.sentTo('email', person)).toHaveLength(1);
  });

  it.each(['nickname', 'constructor', 'custom_fields'])('the unknown member %s is named', async (name) => {
    const body = JSON.stringify(good()).replace('{', `{"${name}":{"admin":true},`);
    expect(await world.post(body)).toMatchObject({
      status: 400,
      json: { type: 'validation_failed', errors: [{ pointer: `#/${name}`, rule: 'unknown_field' }] },
    });
  });

  it.each(['application/json', 'application/vnd.api+json'])(
    'a password that is no UTF-8 makes the body malformed, as %s: two different ones would be equal',
    async (type) => {
      const [before = '', after = ''] = JSON.stringify(registrationOf(world.stranger())).split(PASSWORD, 2);
      const body = Buffer.concat([Buffer.from(before), Buffer.from([0xff, 0xfe]), Buffer.from(PASSWORD + after)]);
      const { status, json } = await world.post(body, { 'content-type': type });
      expect([status, json.type]).toEqual([400, 'malformed_json']);
    },
  );

  it('a member that would pollute a prototype makes the body malformed', async () => {
    const body = JSON.stringify(good()).replace('{', '{"__proto__":{"admin":true},');
    expect(await world.post(body)).toMatchObject({ status: 400, json: { type: 'malformed_json' } });
  });

  it('a password that is repeated otherwise is told at #/repeat_password', async () => {
    expect(await world.post({ ...good(), repeat_password: 'correct horse batterie' })).toMatchObject({
      status: 400,
      json: { errors: [{ pointer: '#/repeat_password', rule: 'password_mismatch' }] },
    });
  });

  it('an address of 255 characters is too long, one of 254 is fine', async () => {
    const address = (length: number) => `${`${'a'.repeat(60)}@${'b.'.repeat(120)}`.slice(0, length - 8)}.example`;
    const long = await world.post({ ...good(), email: address(255) });
    expect(long).toMatchObject({ status: 400, json: { errors: [{ pointer: '#/email', rule: 'length' }] } });
    expect((await world.post({ ...good(), email: address(254) })).status).toBe(204);
  });

  it('a body over the limit gets 413, by the function or, beyond its own limit, by the gateway', async () => {
    const own = await world.post(JSON.stringify({ ...good(), name: 'x'.repeat(5_900_000) }));
    expect(own).toMatchObject({ status: 413, json: { type: 'payload_too_large' } });
    const gateways = await world.post(JSON.stringify({ ...good(), name: 'x'.repeat(11_000_000) }));
    expect(gateways).toMatchObject({ status: 413, json: { message: 'Request Too Long' } });
  });

  it.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])('the method %s gets the gateway’s 404', async (method) => {
    const reply = await world.send({ method, path: PATH });
    expect(reply).toMatchObject({ status: 404, text: '{"message":"Not Found"}' });
  });

  it('a page of another origin may call it, and may read what it needs', async () => {
    const origin = REGISTRATION_PAGE;
    const preflight = await world.send({
      method: 'OPTIONS',
      path: PATH,
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,idempotency-key',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.header('access-control-allow-methods')).toBe('POST');
    expect(preflight.header('access-control-allow-headers')).toContain('idempotency-key');
    const reply = await world.post(good(), { origin });
    expect(reply.status).toBe(204);
    expect(reply.header('access-control-allow-origin')).toBe(origin);
    expect(reply.header('access-control-expose-headers')).toContain('retry-after');
  });

  it('an Idempotency-Key that is none is told with the other faults', async () => {
    const reply = await world.post({ ...good(), name: '' }, { 'idempotency-key': 'a b' });
    expect(reply.json.errors).toMatchObject([
      { header: 'Idempotency-Key', rule: 'format' },
      { pointer: '#/name', rule: 'length' },
    ]);
  });

  it('no answer quotes what was sent', async () => {
    const marker = 'SENT-BY-SOMEBODY';
    const replies = await Promise.all([
      world.post(`{"email":"${marker}`),
      world.post(
        registrationOf(world.stranger(), { email: marker, type: marker, otp_type: marker, language: `${marker}!` }),
      ),
      world.post(registrationOf(world.stranger(), { form_id: 'FORMFULL', field_radio: marker, field_date: marker })),
      world.post(good(), { 'content-type': `text/${marker}`, 'x-forwarded-for': newSource() }),
    ]);
    for (const reply of replies) {
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify([reply.text, reply.headers])).not.toContain(marker);
    }
  });
});
