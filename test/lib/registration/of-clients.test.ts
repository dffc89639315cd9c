import { describe, expect, it } from 'vitest';
import { DeliveryFailure } from '../../../lib/messages/message.ts';
import { Problem } from '../../../lib/problem.ts';
import { OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import {
  DOWN,
  type FakeSettings,
  fakeRegistration,
  KEYED,
  REACHED,
  RECIPIENTS,
  registrationRequest,
} from '../../support/registration-fakes.ts';

describe('A client’s address', () => {
  const known = { email: true, phone: true };
  const stranger = { email: false, phone: false };

  it.each(OTP_TYPES)('gets a notice without a code on the same channel: %s', async (channel) => {
    const fake = fakeRegistration({ known });
    expect(await fake.run(registrationRequest({ recipient: RECIPIENTS[channel] }))).toEqual({});
    expect(fake.sent).toMatchObject([{ channel, message: { kind: 'owner_notice' } }]);
    expect(JSON.stringify(fake.sent)).not.toContain('987654');
    expect(fake.kept.delivery).toMatchObject({ kind: 'owner_notice' });
  });

  it('is on a phone channel the number: a client’s email address does not keep the code from a stranger’s phone', async () => {
    const fake = fakeRegistration({ known: { email: true, phone: false } });
    await fake.run(registrationRequest({ recipient: RECIPIENTS.sms }));
    expect(fake.sent).toMatchObject([{ message: { kind: 'code' } }]);
    expect(fake.kept.delivery).toMatchObject({ kind: 'code', email_taken: true, phone_taken: false });
  });

  it('is for email the address: a client’s phone does not keep the code from a stranger’s address', async () => {
    const fake = fakeRegistration({ known: { email: false, phone: true } });
    await fake.run(registrationRequest());
    expect(fake.sent).toMatchObject([{ message: { kind: 'code' } }]);
    expect(fake.kept.delivery).toMatchObject({ kind: 'code', email_taken: false, phone_taken: true });
  });

  const endings: [string, FakeSettings][] = [
    ['a message sent', {}],
    ['a limit of the recipient reached', { limits: { 'count recipient': REACHED } }],
    ['a shared limit reached', { limits: { 'count shared': REACHED } }],
    ['a send that failed', { failures: { send: new DeliveryFailure('retryable', 'Throttling') } }],
    ['an unknown outcome', { failures: { send: new DeliveryFailure('unknown_outcome', 'TimeoutError') } }],
    ['a record that could not be kept', { failures: { record: DOWN } }],
    ['a note that could not be written', { failures: { note: DOWN } }],
  ];
  const everyEnding = endings.flatMap(([ending, settings]) =>
    OTP_TYPES.flatMap((channel) => [{}, KEYED].map((key) => ({ ending, settings, channel, key }))),
  );

  it.each(everyEnding)(
    'makes the same calls and gets the same answer as a stranger’s: $ending, $channel, $key',
    async ({ settings, channel, key }) => {
      const [ours, theirs] = [known, stranger].map((which) => fakeRegistration({ ...settings, known: which }));
      const request = registrationRequest({ recipient: RECIPIENTS[channel] }, key);
      const answers = [await ours?.run(request), await theirs?.run(request)];
      expect(ours?.log).toEqual(theirs?.log);
      expect(ours?.events.map(({ name }) => name)).toEqual(theirs?.events.map(({ name }) => name));
      const [first, second] = answers.map((one) => (one instanceof Problem ? one.toDocument('') : one));
      expect(first).toEqual(second);
    },
  );
});
