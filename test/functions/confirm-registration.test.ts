import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OTP_TYPES } from '../../lib/validators/otp-types.ts';
import { FILES } from '../support/document-files.ts';
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
  visibleAnswer,
} from '../support/registration-world.ts';

const PNG = FILES.png.toString('base64');

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld({ settings: { front: FRONT_SETTINGS.front } });
});
afterAll(() => world.close());

/** Posts a confirmation from a unique source, through the front. */
function confirm(body: Record<string, unknown>) {
  return world.postTo(CONFIRM_PATH, { password: PASSWORD, ...body }, frontHeaders(world.service));
}

function addressOf(person: Person, otp_type: (typeof OTP_TYPES)[number]) {
  return otp_type === 'email' ? { otp_type, email: person.email } : { otp_type, phone: person.phone };
}

describe('A confirmation', () => {
  it.each(OTP_TYPES)('by %s answers 204, and again', async (channel) => {
    const person = world.stranger();
    await world.post(registrationOf(person, { otp_type: channel }));
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

  it('keeps the documents', async () => {
    const person = world.stranger();
    const doc = { id: 'passport', name: 'passport.png', doc: PNG };
    await world.post(registrationOf(person, { form_id: 'FORM0001', k3J9xQ: 'none', d0cUpl: [doc, doc] }));
    const tags = () => [...world.service.standIns.s3.objects.values()].map((object) => object.tags);
    expect(tags()).toEqual([{ registration: 'pending' }, { registration: 'pending' }]);
    const code = codeIn(world.sentTo('email', person)[0]);
    expect((await confirm({ ...addressOf(person, 'email'), code })).status).toBe(204);
    expect(tags()).toEqual([{}, {}]);
  });

  it('of a client’s address and of a stranger’s gets the same answer to every code', async () => {
    const people = [world.client(), world.stranger(), world.stranger()];
    for (const person of people.slice(0, 2)) await world.post(registrationOf(person));
    const replies = await Promise.all(
      people.map((person) => confirm({ ...addressOf(person, 'email'), code: '000000' })),
    );
    const [first, ...others] = replies.map(visibleAnswer);
    expect(first).toMatchObject({ status: 400, body: expect.stringContaining('code_not_accepted') });
    for (const other of others) expect(other).toEqual(first);
  });
});
