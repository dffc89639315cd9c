import { describe, expect, it } from 'vitest';
import type { Problem, ProblemType } from '../../../lib/problem.ts';
import { type Channel, OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import {
  type FakeSettings,
  fakeRegistration,
  HELD_KEY,
  KEYED,
  REACHED,
  RECIPIENTS,
  registrationRequest,
  typeOf,
} from '../../support/registration-fakes.ts';

const PHONES = ['sms', 'call', 'whatsapp'] as const;
const reached = (...steps: (keyof NonNullable<FakeSettings['limits']>)[]): FakeSettings => ({
  limits: Object.fromEntries(steps.map((step) => [step, REACHED])),
});

describe('A request that is refused', () => {
  /** The reason of the refusal, its last steps, and the released counts. */
  type Refusal = [
    what: string,
    type: ProblemType,
    steps: string,
    released: string,
    settings?: FakeSettings,
    body?: Parameters<typeof registrationRequest>[0],
  ];
  const documents: FakeSettings = { form: { id: 'FORM0001', fields: [{ key: 'd', type: 'document' }] } };
  const large = { members: { d: [{ id: '1', name: 'a', doc: 'A'.repeat(4_400_000) }] } };
  const wrong: FakeSettings = { wrongDocuments: [{ pointer: '#/d/0/doc', rule: 'media_type', detail: 'd' }] };
  const wrongId = 'count wrong id, release counts';

  it.each<Refusal>([
    ['for its source', 'too_many_requests', 'admit', '', reached('admit')],
    ['for its form', 'form_not_found', `admit, ${wrongId}`, 'admit', { form: undefined }],
    [
      'for its form, as one of too many',
      'too_many_requests',
      `admit, ${wrongId}`,
      'admit',
      { form: undefined, ...reached('count wrong id') },
    ],
    [
      'for a custom field',
      'validation_failed',
      'inspect, release counts',
      'admit',
      {},
      { members: { k3J9xQ: 5, other: 'x' } },
    ],
    ['for the size of its documents', 'payload_too_large', 'inspect, release counts', 'admit', documents, large],
    ['for a document’s content', 'validation_failed', 'inspect, release counts', 'admit', wrong],
    [
      'for its channel',
      'otp_type_unavailable',
      'inspect, release counts',
      'admit',
      { deployed: { channels: ['email'] } },
      { recipient: RECIPIENTS.call },
    ],
    ['for its referrer', 'referrer_not_found', `inspect, ${wrongId}`, 'admit', {}, { referrer_id: 'REFANN01' }],
    ['for a limit that was read as reached', 'too_many_requests', 'inspect, release counts', 'admit', reached('room')],
    [
      'for its recipient’s limit, as one of several at once',
      'too_many_requests',
      'hash, count recipient, channel, release counts',
      'admit',
      reached('count recipient'),
    ],
    [
      'for a limit that recipients share',
      'too_many_requests',
      'lookup, count shared, record, release counts, undo record',
      'admit, count recipient',
      reached('count shared'),
    ],
  ])(
    '%s gets %s, stops at that step, and its counts are released, its Idempotency-Key last of all',
    async (_, type, last, released, settings, body) => {
      const fake = fakeRegistration(settings);
      expect(typeOf(await fake.run(registrationRequest(body)))).toBe(type);
      const steps = last.split(', ');
      expect(fake.steps().slice(-steps.length)).toEqual(steps);
      expect(fake.released.join(', ')).toBe(released);
      expect(fake.sent).toEqual([]);

      const keyed = fakeRegistration(settings);
      expect(typeOf(await keyed.run(registrationRequest(body, KEYED)))).toBe(type);
      expect(keyed.steps().at(-1)).toBe('release');
      // Else a retry with the key could see the counts of this request.
      expect(keyed.log.indexOf('release')).toBeGreaterThan(keyed.log.indexOf(`${steps.at(-1)} done`));
    },
  );

  it('for a custom field and a document’s content lists both', async () => {
    const answer = await fakeRegistration(wrong).run(registrationRequest({ members: { k3J9xQ: 5 } }));
    const { errors = [] } = (answer as Problem).options;
    expect(errors.map(({ rule }) => rule)).toEqual(['type', 'media_type']);
  });

  it('lists the available channels', async () => {
    const answer = await fakeRegistration({ deployed: { channels: ['email', 'sms'] } }).run(
      registrationRequest({ recipient: RECIPIENTS.whatsapp }),
    );
    expect(answer).toMatchObject({ options: { members: { available: ['email', 'sms'] } } });
  });

  it('for a limit says when to retry, and is counted as an event', async () => {
    const fake = fakeRegistration({ limits: { 'count recipient': REACHED } });
    expect(await fake.run(registrationRequest())).toMatchObject({ options: { retryAfterSeconds: 41 } });
    expect(fake.events).toEqual([
      { name: 'LimitReached', fields: { channel: 'email' } },
      { name: 'RegistrationRefused', fields: { channel: 'email', type: 'too_many_requests' } },
    ]);
  });
});

describe('The limits', () => {
  it.each(OTP_TYPES)('are checked for the recipient and the source: %s', async (channel) => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({ recipient: RECIPIENTS[channel] }));
    expect(fake.asked.counted).toEqual({ recipient: RECIPIENTS[channel], source: '203.0.113.7' });
  });

  describe.each(['admit', 'count recipient', 'count shared'] as const)('that could not be checked (%s)', (step) => {
    const settings: FakeSettings = { limits: { [step]: { kind: 'unchecked' } } };

    it('let a mail pass', async () => {
      const fake = fakeRegistration(settings);
      expect(await fake.run(registrationRequest())).toEqual({});
      expect(fake.sent).toHaveLength(1);
      expect(fake.events).toContainEqual({ name: 'LimitUncheckable', fields: { channel: 'email' } });
    });

    it.each(PHONES)('refuse a %s, and all that was counted is released', async (channel) => {
      const fake = fakeRegistration(settings);
      const answer = await fake.run(registrationRequest({ recipient: RECIPIENTS[channel] }, KEYED));
      expect(typeOf(answer)).toBe('internal_error');
      expect(fake.sent).toEqual([]);
      const counts = fake.steps().filter((one) => one === 'admit' || one.startsWith('count '));
      expect(fake.released).toEqual(counts);
      expect(fake.steps().at(-1)).toBe('release');
      expect(fake.events).toContainEqual({ name: 'LimitUncheckable', fields: { channel } });
    });
  });
});

describe('The captcha of a request', () => {
  const outcomes = {
    passed: { kind: 'passed' },
    refused: { kind: 'refused' },
    down: { kind: 'unavailable', reason: 'TimeoutError' },
  } as const;
  type Checked = [string, keyof typeof outcomes, ProblemType | 'answered', FakeSettings?, Channel?];
  const again = { held: HELD_KEY, registrationId: undefined };
  const withCaptcha = (outcome: keyof typeof outcomes, channel: Channel = 'email') =>
    registrationRequest({ recipient: RECIPIENTS[channel] }, { ...KEYED, captcha: async () => outcomes[outcome] });

  it.each<Checked>([
    ['that is passed changes nothing', 'passed', 'answered'],
    ['that is not passed refuses it', 'refused', 'captcha_failed'],
    ['that cannot be checked lets a mail pass', 'down', 'answered'],
    ...PHONES.map((on): Checked => ['that cannot be checked refuses it', 'down', 'internal_error', {}, on]),
    ['is not asked about when it is a repeat', 'refused', 'answered', { claim: { kind: 'finished', ...again } }],
    ['is not asked about when it may have sent', 'refused', 'answered', { claim: { kind: 'undecided', ...again } }],
    ['is not asked about when its source is over a limit', 'refused', 'too_many_requests', reached('admit')],
  ])('%s: %s, %s', async (_, outcome, expected, settings = {}, channel = 'email') => {
    const fake = fakeRegistration(settings);
    expect(typeOf(await fake.run(withCaptcha(outcome, channel)))).toBe(expected);
    const isSent = expected === 'answered' && settings.claim === undefined;
    expect(fake.sent).toHaveLength(isSent ? 1 : 0);
  });

  it('stops a request before any work, or is noted as unavailable', async () => {
    const [refused, unchecked] = [fakeRegistration(), fakeRegistration()];
    await refused.run(withCaptcha('refused'));
    expect(refused.steps()).toEqual(['pepper', 'form', 'claim', 'admit', 'release']);
    await unchecked.run(withCaptcha('down'));
    const fields = { channel: 'email', reason: 'TimeoutError' };
    expect(unchecked.events).toContainEqual({ name: 'CaptchaUnavailable', fields });
  });
});
