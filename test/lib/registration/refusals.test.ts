import { describe, expect, it } from 'vitest';
import type { ProblemType } from '../../../lib/problem.ts';
import { type Channel, OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import {
  type FakeSettings,
  fakeRegistration,
  KEYED,
  REACHED,
  RECIPIENTS,
  registrationRequest,
  type Step,
  typeOf,
} from '../../support/registration-fakes.ts';

describe('A request that is refused', () => {
  /** What it is refused for, the last step before, and the steps that follow it: what is undone. */
  interface Refusal {
    what: string;
    type: ProblemType;
    steps: Step[];
    settings?: FakeSettings;
    body?: Parameters<typeof registrationRequest>[0];
  }
  const ofTheSource: Step[] = ['admit', 'drop message'];
  const refusals: Refusal[] = [
    { what: 'for its source', type: 'too_many_requests', settings: { ofSource: REACHED }, steps: ofTheSource },
    {
      what: 'for its form',
      type: 'form_not_found',
      settings: { form: undefined },
      steps: ['admit', 'count wrong id'],
    },
    {
      what: 'for its form, as one of too many',
      type: 'too_many_requests',
      settings: { form: undefined, ofWrongId: REACHED },
      steps: ['admit', 'count wrong id', 'drop message'],
    },
    {
      what: 'for a custom field',
      type: 'validation_failed',
      body: { members: { k3J9xQ: 5, other: 'x' } },
      steps: ['admit', 'drop request'],
    },
    {
      what: 'for the size of its documents',
      type: 'payload_too_large',
      settings: { form: { id: 'FORM0001', fields: [{ key: 'd', type: 'document' }] } },
      body: { members: { d: [{ id: '1', name: 'a', doc: 'A'.repeat(4_400_000) }] } },
      steps: ['admit', 'drop request'],
    },
    {
      what: 'for a document’s content',
      type: 'validation_failed',
      settings: { wrongDocuments: [{ pointer: '#/d/0/doc', rule: 'media_type', detail: 'd' }] },
      steps: ['inspect', 'drop request'],
    },
    {
      what: 'for its channel',
      type: 'otp_type_unavailable',
      settings: { deployed: { channels: ['email'] } },
      body: { recipient: RECIPIENTS.call },
      steps: ['inspect', 'drop request'],
    },
    {
      what: 'for its referrer',
      type: 'referrer_not_found',
      body: { referrer_id: 'REFANN01' },
      steps: ['inspect', 'count wrong id'],
    },
    {
      what: 'for a limit of its message',
      type: 'too_many_requests',
      settings: { ofMessage: REACHED },
      steps: ['count', 'drop message'],
    },
  ];

  it.each(refusals)(
    '$what gets $type, and nothing beyond that step is done',
    async ({ type, settings, body, steps }) => {
      const fake = fakeRegistration(settings);
      expect(typeOf(await fake.run(registrationRequest(body)))).toBe(type);
      expect(fake.steps().slice(-steps.length)).toEqual(steps);
      expect(fake.sent).toEqual([]);
    },
  );

  it.each(refusals)('$what lets its Idempotency-Key go, last of all', async ({ type, settings, body, steps }) => {
    const fake = fakeRegistration(settings);
    expect(typeOf(await fake.run(registrationRequest(body, KEYED)))).toBe(type);
    expect(fake.steps().slice(-steps.length - 1)).toEqual([...steps, 'release']);
    // Else a request that comes at once with the key would meet the places of this one.
    const [undone] = steps.slice(-1);
    expect(fake.log.indexOf('release')).toBeGreaterThan(fake.log.indexOf(`${undone} done`));
  });

  it('is told all faults of its custom fields at once', async () => {
    const answer = await fakeRegistration().run(registrationRequest({ members: { k3J9xQ: 5, other: 'x' } }));
    expect(answer).toMatchObject({
      options: {
        errors: [
          { pointer: '#/k3J9xQ', rule: 'type' },
          { pointer: '#/other', rule: 'unknown_field' },
        ],
      },
    });
  });

  it('is told the channels that there are', async () => {
    const answer = await fakeRegistration({ deployed: { channels: ['email', 'sms'] } }).run(
      registrationRequest({ recipient: RECIPIENTS.whatsapp }),
    );
    expect(answer).toMatchObject({ options: { members: { available: ['email', 'sms'] } } });
  });

  it('is told when to come back, and the limit is counted', async () => {
    const fake = fakeRegistration({ ofMessage: REACHED });
    expect(await fake.run(registrationRequest())).toMatchObject({ options: { retryAfterSeconds: 41 } });
    expect(fake.events).toEqual([{ name: 'LimitReached', fields: { channel: 'email' } }]);
  });
});

describe('The limits', () => {
  it.each(OTP_TYPES)('are asked about the recipient and the source: %s', async (channel) => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({ recipient: RECIPIENTS[channel] }));
    const recipient = RECIPIENTS[channel];
    expect(fake.asked.counted).toEqual({ key: undefined, recipient, source: '203.0.113.7' });
  });

  it('that could not be checked let an e-mail go on', async () => {
    const fake = fakeRegistration({ ofMessage: { kind: 'unchecked' } });
    expect(await fake.run(registrationRequest())).toEqual({});
    expect(fake.sent).toHaveLength(1);
    expect(fake.events[0]).toEqual({ name: 'LimitUncheckable', fields: { channel: 'email' } });
  });

  it.each(['sms', 'call', 'whatsapp'] as const)('that could not be checked refuse a %s', async (channel) => {
    const fake = fakeRegistration({ ofMessage: { kind: 'unchecked' } });
    const answer = await fake.run(registrationRequest({ recipient: RECIPIENTS[channel] }, KEYED));
    expect(typeOf(answer)).toBe('internal_error');
    // What could be counted is given back, and the key with it: who retries then finds both free.
    expect(fake.steps().slice(-3)).toEqual(['count', 'drop message', 'release']);
    expect(fake.events[0]).toEqual({ name: 'LimitUncheckable', fields: { channel } });
  });
});

describe('The captcha of a request', () => {
  const outcomes = {
    passed: { kind: 'passed' },
    refused: { kind: 'refused' },
    down: { kind: 'unavailable', reason: 'TimeoutError' },
  } as const;
  const withCaptcha = (outcome: keyof typeof outcomes, channel: Channel = 'email') =>
    registrationRequest({ recipient: RECIPIENTS[channel] }, { ...KEYED, captcha: async () => outcomes[outcome] });

  it('that is passed changes nothing', async () => {
    const fake = fakeRegistration();
    expect(await fake.run(withCaptcha('passed'))).toEqual({});
  });

  it('that is not passed gets captcha_failed, and costs its source a request', async () => {
    const fake = fakeRegistration();
    expect(typeOf(await fake.run(withCaptcha('refused')))).toBe('captcha_failed');
    expect(fake.steps()).toEqual(['pepper', 'form', 'claim', 'admit', 'drop message', 'release']);
  });

  it('that cannot be checked lets an e-mail go on', async () => {
    const fake = fakeRegistration();
    expect(await fake.run(withCaptcha('down'))).toEqual({});
    const fields = { channel: 'email', reason: 'TimeoutError' };
    expect(fake.events[0]).toEqual({ name: 'CaptchaUnavailable', fields });
  });

  it.each(['sms', 'call', 'whatsapp'] as const)('that cannot be checked refuses a %s', async (channel) => {
    const fake = fakeRegistration();
    expect(typeOf(await fake.run(withCaptcha('down', channel)))).toBe('internal_error');
    expect(fake.sent).toEqual([]);
  });

  it.each(['finished', 'undecided'] as const)('is not asked about when the request is a repeat (%s)', async (kind) => {
    const operation = { pk: 'key#1', operationId: 'operation-1', nonce: 'nonce', lease: 'lease', revision: 1 };
    const fake = fakeRegistration({ claim: { kind, operation, item: {} } });
    expect(await fake.run(withCaptcha('refused'))).toEqual({ replayed: true });
  });

  it('is not asked about when the source may not ask at all', async () => {
    const fake = fakeRegistration({ ofSource: REACHED });
    expect(typeOf(await fake.run(withCaptcha('refused')))).toBe('too_many_requests');
  });
});
