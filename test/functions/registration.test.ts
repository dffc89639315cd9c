import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SENDING_SERVICES } from '../../infra/local/stand-ins/senders.ts';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { checkEvent } from '../support/events.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import {
  CONFIRM_PATH,
  codeIn,
  PASSWORD,
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

/** The use case with all its endings: `test/lib/registration/of-clients.test.ts`. */
describe('The answer to a registration request reveals nothing', () => {
  it.each([...OTP_TYPES.map((channel) => [channel, false, 204] as const), ['email', true, 502] as const])(
    'about whether the address is a client’s: %s, refused by the message service: %s',
    async (channel, isRefused, status) => {
      const ours = await observe(world.client(), channel, isRefused);
      const theirs = await observe(world.stranger(), channel, isRefused);
      expect(ours).toEqual(theirs);
      expect([ours.answer.status, ours.questions]).toEqual([status, 1]);
    },
  );
});

it('A request whose database is slower than the function’s deadline gets 500 in time, and the next request works', async () => {
  const person = world.stranger();
  world.service.faults('dynamodb').set({ kind: 'slow', after: 5, times: 1_000, ms: 20_000 });
  const began = Date.now();
  const { status } = await post(registrationOf(person), remainingTime(500));
  expect(Date.now() - began).toBeLessThan(4_500);
  world.service.faults('dynamodb').clear();
  expect([status, world.sentTo('email', person)]).toEqual([500, []]);
  expect((await post(registrationOf(world.stranger()))).status).toBe(204);
});

/** Posts a confirmation from a unique source, through the front. */
function confirm(body: Record<string, unknown>) {
  return world.postTo(CONFIRM_PATH, { password: PASSWORD, ...body }, frontHeaders(world.service));
}

function addressOf(person: Person, otp_type: Channel) {
  return otp_type === 'email' ? { otp_type, email: person.email } : { otp_type, phone: person.phone };
}

describe('A confirmation', () => {
  it.each(OTP_TYPES)('by %s is answered with 204, and so is its repeat', async (channel) => {
    const person = world.stranger();
    await post(registrationOf(person, { otp_type: channel }));
    const code = codeIn(world.sentTo(channel, person)[0]);
    for (let i = 0; i < 2; i += 1) {
      const reply = await confirm({ ...addressOf(person, channel), code });
      expect(reply).toMatchObject({ status: 204, text: '' });
      expect(reply.header('cache-control')).toBe('no-store');
    }
    const record = await world.record(channel, person);
    expect(record).toMatchObject({ confirmation: { published: true, email_taken: false } });
    const events = world.service.bus.list().filter(({ detail }) => detail.id === record?.registration_id);
    expect(events).toHaveLength(1);
    for (const event of events) checkEvent(event['detail-type'], event.detail, event.source);
  });

  it('of a client’s address gets the same answer as a stranger’s, for every code', async () => {
    const people = [world.client(), world.stranger(), world.stranger()];
    for (const person of people.slice(0, 2)) await post(registrationOf(person));
    const replies = await Promise.all(
      people.map((person) => confirm({ ...addressOf(person, 'email'), code: '000000' })),
    );
    const [first, ...others] = replies.map(visibleAnswer);
    expect(first).toMatchObject({ status: 400, body: expect.stringContaining('code_not_accepted') });
    for (const other of others) expect(other).toEqual(first);
  });
});
