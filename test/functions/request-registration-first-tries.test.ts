import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  newSource,
  PASSWORD,
  PATH,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
} from '../support/registration-world.ts';

const REGISTRATION_PAGE = 'https://register.example';
let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({ allowedOrigins: [REGISTRATION_PAGE] });
});
afterAll(() => world.close());

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
      { pointer: '#/name', rule: 'required' },
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
