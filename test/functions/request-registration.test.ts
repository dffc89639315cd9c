import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import {
  hasCode,
  hurried,
  type Person,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  visibleAnswer,
} from '../support/registration-world.ts';

const PROVIDERS = { email: 'ses', sms: 'sns', call: 'voice', whatsapp: 'whatsapp' } as const;

/** With everything switched on: a captcha is required, and a proxy is in front. */
let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({ settings: FRONT_SETTINGS });
});
afterAll(() => world.close());
const post = (body: unknown, headers: Record<string, string> = {}) =>
  world.post(body, { ...frontHeaders(world.service), ...headers });

let keys = 0;
/** The headers of one caller with a new key. Each request with it has a captcha token of its own. */
function newKey(): Record<string, string> {
  keys += 1;
  const { 'captcha-token': _, ...caller } = frontHeaders(world.service);
  return { ...caller, 'idempotency-key': `key-${keys}` };
}

describe('A registration request', () => {
  it('for a client’s address is a notice without a code on the same channel', async () => {
    const channel = 'sms';
    const person = world.client();
    expect((await post(registrationOf(person, { otp_type: channel }))).status).toBe(204);
    const messages = world.service.outbox.list().filter(({ to }) => to === person.email || to === person.e164);
    expect(messages.map(({ kind }) => kind)).toEqual([channel]);
    expect(messages.some(hasCode)).toBe(false);
    expect(await world.record(channel, person)).toMatchObject({
      delivery: { kind: 'owner_notice', outcome: 'sent', email_taken: true, phone_taken: true },
    });
  });

  it('leaves no trace of the person in the counters and the operation of its key', async () => {
    const person = world.stranger();
    const key = newKey();
    await post(registrationOf(person, { otp_type: 'sms' }), key);
    const rows = JSON.stringify([await world.items('limits'), await world.items('operations')]).toLowerCase();
    expect(rows).toContain('expires_at');
    const typed = [person.email, person.e164, person.phone.number, 'correct horse', 'bob stone', ...Object.values(key)];
    for (const trace of typed) expect(rows).not.toContain(trace.toLowerCase());
  });
});

/** The effects of a request for this person: the answer, the calls to the database and to the channel's provider. */
async function observe(person: Person, channel: Channel, isRefused = false) {
  const { service } = world;
  const provider = service.standIns[PROVIDERS[channel]];
  const [sends, questions] = [provider.requests, service.captcha?.requests ?? 0];
  service.database.calls.length = 0;
  if (isRefused) service.faults(PROVIDERS[channel]).set({ kind: 'refused', times: 1 });
  const body = registrationOf(person, { otp_type: channel });
  const reply = await post(body, { 'idempotency-key': `key-${person.email}` });
  return {
    answer: visibleAnswer(reply),
    // Parallel calls arrive in any order, and on a busy machine a client may repeat one.
    database: service.database.calls
      .filter(({ repeated }) => repeated !== true)
      .map(({ operation, table }) => `${operation} ${table}`)
      .toSorted(),
    sends: provider.requests - sends,
    questions: (service.captcha?.requests ?? 0) - questions,
  };
}

/** The use case with all its endings: `test/lib/registration/of-clients.test.ts`. */
describe('The answer reveals nothing', () => {
  it.each([...OTP_TYPES.map((channel) => [channel, false, 204] as const), ['email', true, 502] as const])(
    'of whether the address is a client’s: %s, refused by its service: %s',
    async (channel, isRefused, status) => {
      const ours = await observe(world.client(), channel, isRefused);
      const theirs = await observe(world.stranger(), channel, isRefused);
      expect(ours).toEqual(theirs);
      expect([ours.answer.status, ours.questions]).toEqual([status, 1]);
    },
  );

  it('also with invalid fields', async () => {
    const faulty = { form_id: 'FORMFULL', field_number: 'x', other: 1 };
    const [ours, theirs] = await Promise.all(
      [world.client(), world.stranger()].map((person) => post(registrationOf(person, faulty))),
    );
    expect(ours && visibleAnswer(ours)).toEqual(theirs && visibleAnswer(theirs));
    expect(ours?.status).toBe(400);
  });
});

describe('A service that is slower than the function has time', () => {
  it('for the database, is answered in time with 500, and the next request works', async () => {
    const person = world.stranger();
    world.service.faults('dynamodb').set({ kind: 'slow', after: 5, times: 1_000, ms: 20_000 });
    const began = Date.now();
    const { status } = await post(registrationOf(person), hurried(500));
    expect(Date.now() - began).toBeLessThan(4_500);
    world.service.faults('dynamodb').clear();
    expect([status, world.sentTo('email', person)]).toEqual([500, []]);
    expect((await post(registrationOf(world.stranger()))).status).toBe(204);
  });

  it.concurrent.each(OTP_TYPES)(
    'for the message, is answered with 204, and a retry sends no other: %s',
    async (channel) => {
      const person = world.stranger();
      const [body, key] = [registrationOf(person, { otp_type: channel }), newKey()];
      world.service.faults(PROVIDERS[channel]).set({ kind: 'slow', times: 1, ms: 6_300 });
      expect((await post(body, { ...key, ...hurried(6_000) })).status).toBe(204);
      await expect.poll(() => world.sentTo(channel, person)).toHaveLength(1);
      expect((await post(body, key)).header('idempotent-replayed')).toBe('true');
      expect(world.sentTo(channel, person)).toHaveLength(1);
    },
  );
});
