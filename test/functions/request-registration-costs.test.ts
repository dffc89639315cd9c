import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FILES } from '../support/document-files.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import {
  type Person,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  visibleAnswer,
} from '../support/registration-world.ts';

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({ settings: { ...FRONT_SETTINGS, provider: { sms: 'local' } } });
});
afterAll(() => world.close());

const solved = () => world.service.captcha?.solve() ?? '';

/** The statuses of seven requests from one source, each for another person. */
async function answersTo(more: Record<string, unknown>, token: () => string): Promise<number[]> {
  const source = frontHeaders(world.service);
  const statuses: number[] = [];
  for (let index = 0; index < 7; index += 1) {
    const body = registrationOf(world.stranger(), more);
    statuses.push((await world.post(body, { ...source, 'captcha-token': token() })).status);
  }
  return statuses;
}

/** The counts of every ending: `test/lib/registration/refusals.test.ts`. */
describe('A source that makes us ask a provider', () => {
  it('with made-up captcha tokens does so five times in ten minutes', async () => {
    const asked = world.service.captcha?.requests ?? 0;
    expect(await answersTo({}, () => 'made-up')).toEqual([403, 403, 403, 403, 403, 429, 429]);
    expect((world.service.captcha?.requests ?? 0) - asked).toBe(5);
  });

  it('with numbers that it refuses does so five times in ten minutes, and leaves no document', async () => {
    const doc = { id: 'passport', name: 'passport.png', doc: FILES.png.toString('base64') };
    const more = { otp_type: 'sms', form_id: 'FORM0001', k3J9xQ: 'none', d0cUpl: [doc, doc] };
    world.service.faults('provider').set({ kind: 'refused_recipient', times: 5 });
    expect(await answersTo(more, solved)).toEqual([502, 502, 502, 502, 502, 429, 429]);
    expect([...world.service.standIns.s3.objects.keys()]).toEqual([]);
  });
});

it('A provider that refuses messages without a code does not reveal who is a client', async () => {
  const answerTo = async (person: Person) =>
    visibleAnswer(await world.post(registrationOf(person, { otp_type: 'sms' }), frontHeaders(world.service)));
  const [stranger, client] = [world.stranger(), world.client()];
  const answer = await answerTo(stranger);
  expect(await world.record('sms', stranger)).toMatchObject({ delivery: { kind: 'code', outcome: 'sent' } });
  world.service.faults('provider').set({ kind: 'refused_recipient', times: 1 });
  expect(await answerTo(client)).toEqual(answer);
  expect(await world.record('sms', client)).toMatchObject({ delivery: { kind: 'owner_notice', outcome: 'refused' } });
});
