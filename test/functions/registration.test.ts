import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SENDING_SERVICES } from '../../infra/local/stand-ins/senders.ts';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { checkEvent } from '../support/events.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import {
  CONFIRM_PATH,
  codeIn,
  type Person,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
  remainingTime,
  visibleAnswer,
} from '../support/registration-world.ts';

/** With everything switched on: a captcha is required, and a proxy is in front. */
let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({ settings: FRONT_SETTINGS });
});
afterAll(() => world.close());
const post = (body: unknown, headers: Record<string, string> = {}) =>
  world.post(body, { ...frontHeaders(world.service), ...headers });

/** The effects of a request for this person: the answer, the calls to the database and to the channel's provider. */
async function observe(person: Person, channel: Channel, isRefused = false) {
  const { service } = world;
  const provider = service.standIns[SENDING_SERVICES[channel]];
  const [sends, questions] = [provider.requests, service.captcha?.requests ?? 0];
  service.database.calls.length = 0;
  if (isRefused) service.faults(SENDING_SERVICES[channel]).set({ kind: 'refused', times: 1 });
  const body = registrationOf(person, { otp_type: channel });
  const reply = await post(body, { 'idempotency-key': `key-${person.email}` });
  return {
    answer: visibleAnswer(reply),
    // Parallel calls arrive in any order, and on a busy machine a client may repeat one.
    database: service.database.calls
      .filter(({ repeated }) => repeated !== true)
      .map(({ operation, table }) => `${operation} ${table}`)
      // Only the form is read by its key, once in half a minute.
      .filter((call) => call !== 'GetItem crm')
      .toSorted(),
    sends: provider.requests - sends,
    questions: (service.captcha?.requests ?? 0) - questions,
  };
}

describe('The answer to a registration request reveals nothing', () => {
  it.each([...OTP_TYPES.map((channel) => [channel, false, 204] as const), ['email', true, 502] as const])(
    'about whether the address is a client’s: %s, refused by the message service: %s',
    async (channel, isRefused, status) => {
      const ours = await observe(world.client(), channel, isRefused);
      const theirs = await observe(world.stranger(), channel, isRefused);
      expect(ours).toEqual(theirs);
      expect([ours.answer.status, ours.questions]).toEqual([status, 1]);
      expect(ours.database).not.toContain('Query crm');
    },
  );
});

it('A request whose database is slower than the function’s deadline gets 500 in time, and the next request works', async () => {
  const person = world.stranger();
  world.service.faults('dynamodb').set({ kind: 'slow', after: 3, times: 1_000, ms: 20_000 });
  const began = Date.now();
  const { status } = await post(registrationOf(person), remainingTime(500));
  expect(Date.now() - began).toBeLessThan(4_500);
  world.service.faults('dynamodb').clear();
  expect([status, world.sentTo('email', person)]).toEqual([500, []]);
  expect((await post(registrationOf(world.stranger()))).status).toBe(204);
});

/** Registers a person. @returns the id of the registration and its code */
async function registered(person: Person, otp_type: Channel) {
  const reply = await post(registrationOf(person, { otp_type }));
  return { reply, registration_id: reply.header('registration-id'), code: codeIn(world.sentTo(otp_type, person)[0]) };
}

const confirm = (body: Record<string, unknown>) => world.postTo(CONFIRM_PATH, body, frontHeaders(world.service));

describe('A confirmation', () => {
  it.each(OTP_TYPES)('by %s is answered with 204, and so is its repeat', async (channel) => {
    const { reply, ...body } = await registered(world.stranger(), channel);
    for (let i = 0; i < 2; i += 1) {
      const confirmed = await confirm(body);
      expect(confirmed).toMatchObject({ status: 204, text: '' });
      expect(confirmed.header('cache-control')).toBe('no-store');
    }
    expect(await world.record(reply)).toMatchObject({ confirmation: { published: true } });
    const events = world.service.bus.list().filter(({ detail }) => detail.id === body.registration_id);
    expect(events).toHaveLength(1);
    for (const event of events) checkEvent(event['detail-type'], event.detail, event.source);
  });

  it('of a client’s address is 409 for whoever has the code, and the same as a stranger’s for every other', async () => {
    const [ours, theirs] = [await registered(world.client(), 'email'), await registered(world.stranger(), 'email')];
    const unknown = { registration_id: '5f0c1f6e-8d3a-8b52-9a57-2f3f8f6f3f10' };
    const wrong = [ours, theirs, unknown].map(({ registration_id }) => confirm({ registration_id, code: '000000' }));
    const [first, ...others] = (await Promise.all(wrong)).map(visibleAnswer);
    expect(first).toMatchObject({ status: 400, body: expect.stringContaining('code_not_accepted') });
    for (const other of others) expect(other).toEqual(first);
    const { registration_id, code } = ours;
    const before = world.service.bus.list().length;
    expect(await confirm({ registration_id, code })).toMatchObject({
      status: 409,
      json: { type: 'already_registered' },
    });
    expect(world.service.bus.list()).toHaveLength(before);
  });
});
