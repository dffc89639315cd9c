import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { FILES } from '../support/document-files.ts';
import { FRONT_SETTINGS, frontHeaders } from '../support/front.ts';
import {
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
      // Only the form is read by its key, once in half a minute.
      .filter((call) => call !== 'GetItem crm')
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
});

it('A registration whose recipient is refused leaves no document', async () => {
  const doc = { id: 'passport', name: 'passport.png', doc: FILES.png.toString('base64') };
  const body = registrationOf(world.stranger(), { form_id: 'FORM0001', k3J9xQ: 'none', d0cUpl: [doc, doc] });
  world.service.faults('ses').set({ kind: 'refused_recipient', times: 1 });
  expect((await post(body)).status).toBe(502);
  expect([...world.service.standIns.s3.objects.keys()]).toEqual([]);
});

it('A database that is slower than the function has time is answered in time with 500, and the next request works', async () => {
  const person = world.stranger();
  world.service.faults('dynamodb').set({ kind: 'slow', after: 5, times: 1_000, ms: 20_000 });
  const began = Date.now();
  const { status } = await post(registrationOf(person), hurried(500));
  expect(Date.now() - began).toBeLessThan(4_500);
  world.service.faults('dynamodb').clear();
  expect([status, world.sentTo('email', person)]).toEqual([500, []]);
  expect((await post(registrationOf(world.stranger()))).status).toBe(204);
});
