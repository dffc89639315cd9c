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
  typeOf,
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
    ['a send without credentials', { failures: { send: new DeliveryFailure('misconfigured', 'AccessDenied') } }],
    ['a country that is blocked', { failures: { send: new DeliveryFailure('blocked_country', 'Blocked') } }],
    ['an unknown outcome', { failures: { send: new DeliveryFailure('unknown_outcome', 'TimeoutError') } }],
    ['a record that could not be kept', { failures: { record: DOWN } }],
    ['a note that could not be written', { failures: { note: DOWN } }],
  ];
  const everyEnding = endings.flatMap(([ending, settings]) =>
    OTP_TYPES.flatMap((channel) => [{}, KEYED].map((key) => ({ ending, settings, channel, key }))),
  );

  it('and a stranger’s get the same answer while the provider throttles', async () => {
    for (const which of [known, stranger]) {
      const fake = fakeRegistration({
        known: which,
        failures: { send: new DeliveryFailure('throttled', 'Throttling') },
      });
      expect(typeOf(await fake.run(registrationRequest(), AbortSignal.timeout(100)))).toBe('otp_delivery_failed');
    }
  });

  it.each(['refused_message', 'refused_recipient', 'opted_out'] as const)(
    'is not revealed by a provider that refuses notices alone: %s',
    async (kind) => {
      const failures = { send: new DeliveryFailure(kind, 'Http400') };
      const fake = fakeRegistration({ known, failures });
      expect(await fake.run(registrationRequest({ recipient: RECIPIENTS.sms }, KEYED))).toEqual({});
      expect(fake.steps().slice(-3)).toEqual(['send', 'note', 'finish']);
      expect(fake.kept.delivery).toMatchObject({ kind: 'owner_notice', outcome: 'refused' });
      expect(fake.events).toMatchObject([{ name: 'OwnerNoticeRefused', fields: { channel: 'sms', kind } }]);
      expect(fake.released).toEqual([]);
    },
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
