import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { DOOR, FRONT_PROOF } from '../support/door.ts';
import { newSource, type RegistrationWorld, registrationOf, registrationWorld } from '../support/registration-world.ts';

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({
    clients: 0,
    environment: DOOR,
  });
});
beforeEach(() => world.forgetLimits());
afterAll(() => world.close());

const asked = () => world.service.captcha?.requests ?? Number.NaN;
const token = () => ({ 'captcha-token': world.service.captcha?.solve() ?? '' });
const breakCaptcha = () => world.service.faults('captcha').set({ kind: 'down', times: 1 });

describe('A registration where a captcha is asked for', () => {
  it('is accepted with a token of the provider', async () => {
    const person = world.stranger();
    expect(await world.post(registrationOf(person), token())).toMatchObject({ status: 204 });
    expect(world.sentTo('email', person)).toHaveLength(1);
  });

  it('needs the header captcha-token', async () => {
    const before = asked();
    const { status, json } = await world.post(registrationOf(world.stranger()));
    expect(status).toBe(400);
    expect(json).toMatchObject({
      type: 'validation_failed',
      errors: [{ header: 'captcha-token', rule: 'required' }],
    });
    expect(asked()).toBe(before);
  });

  it('is refused with a token that the provider does not know, or knows from before', async () => {
    const used = token();
    expect(await world.post(registrationOf(world.stranger()), used)).toMatchObject({ status: 204 });
    for (const header of [used, { 'captcha-token': 'wrong' }]) {
      const person = world.stranger();
      const { status, json } = await world.post(registrationOf(person), header);
      expect([status, json.type]).toEqual([403, 'captcha_failed']);
      expect(world.sentTo('email', person)).toEqual([]);
    }
  });

  it('asks the provider once, however often the request is repeated', async () => {
    const headers = { ...token(), 'idempotency-key': 'door-1', 'x-forwarded-for': newSource() };
    const body = registrationOf(world.stranger());
    const before = asked();
    expect(await world.post(body, headers)).toMatchObject({ status: 204 });
    const again = await world.post(body, headers);
    expect([again.status, again.header('idempotent-replayed')]).toEqual([204, 'true']);
    expect(asked()).toBe(before + 1);
  });

  it('goes on by e-mail where the provider is down, and not by phone', async () => {
    const person = world.stranger();
    breakCaptcha();
    expect(await world.post(registrationOf(person), token())).toMatchObject({ status: 204 });
    breakCaptcha();
    const { status, json } = await world.post(registrationOf(world.stranger(), { otp_type: 'sms' }), token());
    expect([status, json.type]).toEqual([500, 'internal_error']);
  });
});

describe('A registration that came through a front', () => {
  /** The statuses of so many requests through one proxy. */
  async function statuses(count: number, headersOf: (index: number) => Record<string, string>): Promise<number[]> {
    const proxy = { 'x-forwarded-for': newSource() };
    const found: number[] = [];
    for (let index = 0; index < count; index += 1) {
      const headers = { ...proxy, ...token(), ...headersOf(index) };
      found.push((await world.post(registrationOf(world.stranger()), headers)).status);
    }
    return found;
  }

  it('counts for the address that the front names beside its secret', async () => {
    const named = await statuses(6, () => ({ 'x-client-address': newSource(), 'x-front-secret': FRONT_PROOF }));
    expect(named).toEqual([204, 204, 204, 204, 204, 204]);
    const one = `${newSource()}:`;
    const ports = await statuses(6, (index) => ({
      'x-client-address': `${one}${5_000 + index}`,
      'x-front-secret': FRONT_PROOF,
    }));
    expect(ports).toEqual([204, 204, 204, 204, 204, 429]);
  });

  it('counts for the address that the gateway saw where the secret is wrong or absent', async () => {
    const wrong = await statuses(6, () => ({ 'x-client-address': newSource(), 'x-front-secret': 'wrong' }));
    expect(wrong).toEqual([204, 204, 204, 204, 204, 429]);
    const absent = await statuses(6, () => ({ 'x-client-address': newSource() }));
    expect(absent).toEqual([204, 204, 204, 204, 204, 429]);
  });
});
