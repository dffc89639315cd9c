import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DOOR, FRONT_PROOF } from '../support/door.ts';
import {
  CONFIRM_PATH,
  codeIn,
  newSource,
  PASSWORD,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
} from '../support/registration-world.ts';

const THROUGH = { 'x-front-secret': FRONT_PROOF };

let world: RegistrationWorld;
beforeAll(async () => {
  const front = { ...(JSON.parse(DOOR.FRONT) as object), only: true };
  world = await registrationWorld({ clients: 0, environment: { FRONT: JSON.stringify(front) } });
});
afterAll(() => world.close());

describe('A deployment that takes requests through its front alone', () => {
  it('answers 403 to a request that came past it, whatever its body and type, and sends nothing', async () => {
    const person = world.stranger();
    for (const body of [registrationOf(person), '{', {}]) {
      for (const headers of [{}, { 'x-front-secret': 'wrong' }, { 'content-type': 'text/plain' }]) {
        const { status, json } = await world.post(body, headers);
        expect([status, json.type]).toEqual([403, 'front_required']);
      }
    }
    expect(world.sentTo('email', person)).toEqual([]);
  });

  it('answers a request that came through it, on both open routes', async () => {
    const person = world.stranger();
    expect((await world.post(registrationOf(person), THROUGH)).status).toBe(204);
    const code = codeIn(world.sentTo('email', person)[0]);
    const confirm = (headers: Record<string, string>) =>
      world.send({
        method: 'POST',
        path: CONFIRM_PATH,
        headers: { 'content-type': 'application/json', 'x-forwarded-for': newSource(), ...headers },
        body: JSON.stringify({ otp_type: 'email', email: person.email, code, password: PASSWORD }),
      });
    expect((await confirm({})).json.type).toBe('front_required');
    expect((await confirm(THROUGH)).status).toBe(204);
  });
});
