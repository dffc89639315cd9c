import { describe, expect, it } from 'vitest';
import { DeliveryFailure, type DeliveryFailureKind } from '../../../lib/messages/message.ts';
import { passwordSalt, sealSecrets } from '../../../lib/secrets/one-time-code.ts';
import type { EventName } from '../../../lib/telemetry.ts';
import type { Form } from '../../../lib/validators/form.ts';
import {
  DOWN,
  FORM,
  fakeRegistration,
  KEYED,
  NOW,
  PEPPER,
  RECIPIENTS,
  registrationRequest,
  typeOf,
} from '../../support/registration-fakes.ts';

describe('The order of work', () => {
  /** Steps that begin when all before them have ended, and each side by side with its own. */
  const WORK = ['inspect', 'hash, count recipient, channel', 'documents'];
  const STAGES = ['pepper, form', 'admit', ...WORK, 'lookup, count shared, record', 'send', 'note'];
  const KEYED_STAGES = [
    ...['pepper, form', 'claim, admit', ...WORK, 'lookup, mark, count shared, record'],
    ...['send', 'note, finish'],
  ];

  it.each([
    ['without a key', STAGES, {}],
    ['with an Idempotency-Key, which adds steps in parallel', KEYED_STAGES, KEYED],
  ])(
    'is source and form, media types, recipient next to the hash, documents, shared limits, send and note: %s',
    async (_, stages, key) => {
      const { log, run, steps } = fakeRegistration();
      expect(await run(registrationRequest({}, key))).toEqual({});
      expect(steps()).toEqual(stages.flatMap((stage) => stage.split(', ')));
      let before = -1;
      for (const stage of stages) {
        const began = stage.split(', ').map((step) => log.indexOf(step));
        const ended = stage.split(', ').map((step) => log.indexOf(`${step} done`));
        expect(Math.max(...began), stage).toBeLessThan(Math.min(...ended));
        // The first stage continues during the next one, and the hash while documents are stored.
        if (stage !== stages[1] && stage !== 'documents') expect(Math.min(...began), stage).toBeGreaterThan(before);
        before = Math.max(...ended);
      }
      expect(log.indexOf('inspect')).toBeGreaterThan(log.indexOf('form done'));
      expect(log.indexOf('documents')).toBeGreaterThan(log.indexOf('count recipient done'));
      expect(log.indexOf('admit')).toBeGreaterThan(log.indexOf('pepper done'));
    },
  );
});

describe('The channel', () => {
  it('is prepared in the language of the request while the password is hashed', async () => {
    const prepared: unknown[] = [];
    const fake = fakeRegistration({
      prepare: async (language) => void prepared.push(language, fake.log.includes('hash'), fake.log.includes('lookup')),
    });
    await fake.run(registrationRequest({ language: 'es' }));
    expect(prepared).toEqual(['es', true, false]);
  });

  it('that cannot be prepared is still used', async () => {
    const fake = fakeRegistration({ prepare: () => Promise.reject(DOWN) });
    expect(await fake.run(registrationRequest())).toEqual({});
    expect(fake.sent).toHaveLength(1);
  });
});

describe('A failure before the send', () => {
  it.each(['admit', 'count recipient', 'count shared'] as const)(
    'of the limits themselves (%s), which count without failing, is the error that is logged',
    async (step) => {
      const bug = new TypeError('a bug');
      const answer = await fakeRegistration({ failures: { [step]: bug } }).run(registrationRequest({}, KEYED));
      expect(answer).toMatchObject({ type: 'internal_error', cause: bug });
    },
  );

  it('waits for running calls: nothing happens after an answer', async () => {
    const fake = fakeRegistration({ failures: { lookup: DOWN } });
    await fake.run(registrationRequest({}, KEYED));
    for (const step of fake.steps()) expect(fake.log).toContain(`${step} done`);
  });

  it('has the same answer when nothing can be undone either, and each failure is logged', async () => {
    const failures = { record: DOWN, 'release counts': DOWN, 'undo record': DOWN, release: DOWN };
    const fake = fakeRegistration({ failures });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('internal_error');
    expect(fake.events.map(({ name, fields }) => [name, fields.step])).toEqual([
      ['RegistrationRefused', undefined],
      ['OperationNotSettled', 'limits'],
      ['OperationNotSettled', 'registration'],
      ['OperationNotSettled', 'release'],
    ]);
  });

  it('is also a deadline that has passed: then nothing is sent', async () => {
    const ending = new AbortController();
    const fake = fakeRegistration({ onStep: (step) => step === 'record' && ending.abort() });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED), ending.signal))).toBe('internal_error');
    expect(fake.sent).toEqual([]);
    expect(fake.steps().slice(-3)).toEqual(['release counts', 'undo record', 'release']);
  });
});

describe('A send', () => {
  const all = ['admit', 'count recipient', 'count shared'];

  it.each<[DeliveryFailureKind, EventName, released: string[]]>([
    ['retryable', 'OtpDeliveryFailed', all],
    ['over_budget', 'OtpDeliveryFailed', all],
    ['misconfigured', 'OtpDeliveryFailed', all],
    ['refused_message', 'OtpDeliveryFailed', all],
    ['refused_recipient', 'RecipientRefused', all.slice(1)],
    ['opted_out', 'RecipientRefused', all.slice(1)],
    ['blocked_country', 'RecipientRefused', all.slice(1)],
  ])('that certainly failed (%s) answers otp_delivery_failed, and is undone', async (kind, name, released) => {
    const fake = fakeRegistration({ failures: { send: new DeliveryFailure(kind, 'Refused') } });
    const answer = await fake.run(registrationRequest({ recipient: RECIPIENTS.sms }, KEYED));
    expect(typeOf(answer)).toBe('otp_delivery_failed');
    expect(fake.steps().slice(-4)).toEqual(['send', 'release counts', 'undo record', 'release']);
    expect(fake.released).toEqual(released);
    expect(fake.events).toMatchObject([
      { name, fields: { channel: 'sms', kind, reason: 'Refused' } },
      { name: 'RegistrationRefused', fields: { channel: 'sms', type: 'otp_delivery_failed' } },
    ]);
  });

  const THROTTLED = new DeliveryFailure('throttled', 'Throttling');

  it('that is throttled is tried again, as the same message, until it is sent', async () => {
    const failures: Record<string, unknown> = { send: THROTTLED };
    let sends = 0;
    const onStep = (step: string) => {
      if (step === 'send') sends += 1;
      if (sends === 3) delete failures.send;
    };
    const fake = fakeRegistration({ failures, onStep });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({});
    expect([sends, fake.sent.length, fake.kept.delivery?.outcome]).toEqual([3, 1, 'sent']);
    expect(fake.released).toEqual([]);
  });

  it('that is throttled until the time is up answers otp_delivery_failed, and is undone', async () => {
    const fake = fakeRegistration({ failures: { send: THROTTLED } });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED), AbortSignal.timeout(700)))).toBe(
      'otp_delivery_failed',
    );
    expect(fake.steps().filter((step) => step === 'send').length).toBeGreaterThan(1);
    expect(fake.steps().slice(-3)).toEqual(['release counts', 'undo record', 'release']);
    expect(fake.released).toEqual(all);
  });

  it('that fails removes the documents of the registration', async () => {
    const form: Form = { id: 'FORM0001', fields: [{ key: 'd', type: 'document' }] };
    const members = { d: [{ id: '1', name: 'a', doc: 'AAAA' }] };
    const fake = fakeRegistration({ form, failures: { send: new DeliveryFailure('misconfigured', 'Refused') } });
    await fake.run(registrationRequest({ members }, KEYED));
    expect(fake.steps().slice(-4)).toEqual(['release counts', 'undo record', 'undo documents', 'release']);
  });

  it.each([
    ['a named unknown outcome', new DeliveryFailure('unknown_outcome', 'TimeoutError')],
    ['any other error', new TypeError('a bug')],
  ])('that may have gone out (%s) is answered like one that has, and never repeated', async (_, failure) => {
    const fake = fakeRegistration({ failures: { send: failure } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({});
    expect(fake.steps().slice(-3)).toEqual(['send', 'note', 'finish']);
    expect(fake.kept.delivery).toMatchObject({ kind: 'code', outcome: 'unknown', email_taken: false });
    expect(fake.events).toMatchObject([{ name: 'OtpOutcomeUnknown', fields: { channel: 'email' } }]);
  });

  it('is noted with the provider’s id', async () => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest());
    expect(fake.kept.delivery).toEqual({
      kind: 'code',
      outcome: 'sent',
      message_id: 'message-1',
      sent_at: new Date(NOW).toISOString(),
      email_taken: false,
      phone_taken: false,
    });
  });

  it.each(['note', 'finish'] as const)('answers 204 also when it could not be noted (%s)', async (step) => {
    const fake = fakeRegistration({ failures: { [step]: DOWN } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({});
    expect(fake.events.map(({ name }) => name)).toEqual(['OtpSent', 'OperationNotSettled']);
  });

  it.each([
    ['email', 'Bob@example.com'],
    ['sms', '+447400123456'],
    ['call', '+447400123456'],
    ['whatsapp', '+447400123456'],
  ] as const)('on %s goes to %s, with the code, its life and the language', async (channel, to) => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({ recipient: RECIPIENTS[channel], language: 'pt-BR' }));
    const message = { kind: 'code', code: '987654' };
    expect(fake.sent).toEqual([{ channel, to, message, language: 'pt-BR' }]);
  });
});

describe('A stored registration', () => {
  it('is the request, the password’s hash, the form’s fields as JSON, and the seals of code and password', async () => {
    const fake = fakeRegistration({ form: FORM, referrerId: 'CLIENT01' });
    const request = registrationRequest({
      referrer_id: 'REFANN01',
      language: 'de',
      members: { k3J9xQ: 'some' },
    });
    await fake.run(request);
    const { record } = fake.kept;
    const binding = {
      registrationId: record?.registration_id ?? '',
      channel: 'email' as const,
      address: 'bob@example.com',
    };
    expect(record).toEqual({
      registration_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type: 'trader',
      otp_type: 'email',
      address: 'bob@example.com',
      email: 'Bob@example.com',
      email_key: 'bob@example.com',
      name: 'Bob',
      phone: '+447400123456',
      phone_valid: true,
      password_hash: '$argon2id$fake',
      form_id: 'FORM0001',
      referrer_id: 'REFANN01',
      referrer_user_id: 'CLIENT01',
      custom_fields: '{"k3J9xQ":"some"}',
      documents: [],
      consents: [],
      language: 'de',
      source: '203.0.113.7',
      user_agent: 'Browser/1.0',
      requested_at: new Date(NOW).toISOString(),
    });
    const secrets = { code: '987654', passwordHash: '$argon2id$fake' };
    expect(fake.kept.seals).toEqual(sealSecrets(secrets, binding, PEPPER, NOW));
    expect(fake.asked.salt).toEqual(passwordSalt(PEPPER.current, 'email', 'bob@example.com'));
    expect(JSON.stringify(fake.kept)).not.toContain('correct horse battery');
    expect(JSON.stringify(fake.kept)).not.toContain('987654');
  });

  it('has 256 characters of the user agent, if there is one', async () => {
    for (const [userAgent, kept] of [
      ['x'.repeat(300), 'x'.repeat(256)],
      [undefined, undefined],
    ]) {
      const fake = fakeRegistration();
      await fake.run(registrationRequest({}, { userAgent }));
      expect(fake.kept.record?.user_agent).toBe(kept);
    }
  });
});
