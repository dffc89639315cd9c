import { describe, expect, it } from 'vitest';
import { DeliveryFailure } from '../../../lib/messages/message.ts';
import { passwordSalt } from '../../../lib/secrets/one-time-code.ts';
import { OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import {
  CODE,
  DAY,
  DOCUMENTS,
  NOW,
  PASSWORD,
  PEPPER,
  RECIPIENTS,
  RegistrationScene,
  SERVICE_UNAVAILABLE,
} from '../../support/registration-scene.ts';
import { failingSteps, type Step } from '../../support/step-faults.ts';

const KEYED = { idempotencyKey: 'key-1' };
const deliveries = async (scene: RegistrationScene) => (await scene.registrations()).map(({ delivery }) => delivery);

describe('The channel', () => {
  it('is prepared in the language of the request while the password is hashed', async () => {
    const scene = await RegistrationScene.start();
    const prepared: unknown[] = [];
    scene.prepare = async (language) => void prepared.push(language, scene.steps.at(-1));
    await scene.request({ body: { language: 'es' } });
    expect(prepared).toEqual(['es', 'open channel']);
  });

  it('that cannot be prepared is still used', async () => {
    const scene = await RegistrationScene.start();
    scene.prepare = () => Promise.reject(SERVICE_UNAVAILABLE);
    expect(await scene.request()).toBe(204);
    expect(scene.sent).toHaveLength(1);
  });
});

describe('A failure before the send', () => {
  it('waits for running calls: nothing happens after an answer', async () => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ ...KEYED, step: failingSteps({ 'find proven_email': SERVICE_UNAVAILABLE }) })).toBe(
      'internal_error',
    );
    expect(scene.problem?.cause).toBe(SERVICE_UNAVAILABLE);
    for (const step of scene.steps) expect(scene.log).toContain(`${step} done`);
  });

  it('gets the same answer if undoing the request fails too, and each failure is logged', async () => {
    const scene = await RegistrationScene.start();
    const undoing = ['release source', 'delete document', 'delete registration', 'delete key'];
    const failures = Object.fromEntries(['put registration', ...undoing].map((step) => [step, SERVICE_UNAVAILABLE]));
    const asked = { ...KEYED, members: DOCUMENTS, step: failingSteps(failures) };
    expect(await scene.request(asked)).toBe('internal_error');
    expect(scene.events.map(({ name, fields }) => fields.step ?? name).toSorted()).toEqual(
      ['RegistrationRefused', 'documents', 'limits', 'registration', 'release'].toSorted(),
    );
  });

  it('happens when the deadline has passed: then nothing is sent', async () => {
    const ending = new AbortController();
    const step: Step = async (name, call) => {
      const result = await call();
      if (name === 'update address') ending.abort();
      return result;
    };
    const scene = await RegistrationScene.start();
    expect(await scene.request({ ...KEYED, step, signal: ending.signal })).toBe('internal_error');
    expect([scene.sent, await scene.counts(), await scene.registrations()]).toEqual([[], {}, []]);
  });
});

/** The counts of a request that asked a provider, and was undone. */
const KEPT = { source: 1 };

describe('A send', () => {
  const THROTTLED = new DeliveryFailure('throttled', 'Throttling', { left: true });

  it('that is throttled is tried three times in all, as the same message', async () => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ step: failingSteps({ send: THROTTLED, 'send 2': THROTTLED }) })).toBe(204);
    expect(scene.steps.filter((step) => step.startsWith('send'))).toEqual(['send', 'send 2', 'send 3']);
    expect(scene.sent).toMatchObject([{ message: { code: CODE } }]);
  });

  it('that is throttled until the time is up answers otp_delivery_failed, and is undone', async () => {
    const scene = await RegistrationScene.start();
    const time = new AbortController();
    const step: Step = async (name, call) => {
      if (name === 'send 2') time.abort();
      if (name.startsWith('send')) throw THROTTLED;
      return call();
    };
    const asked = { ...KEYED, members: DOCUMENTS, step, signal: time.signal };
    expect(await scene.request(asked)).toBe('otp_delivery_failed');
    expect([await scene.counts(), scene.documents.size, await scene.registrations()]).toEqual([KEPT, 0, []]);
    expect(scene.steps.at(-1)).toBe('delete key');
  });

  it.each([
    ['a named unknown outcome', new DeliveryFailure('unknown_outcome', 'TimeoutError', { left: true })],
    ['any other error', new TypeError('a bug')],
  ])('that may have gone out (%s) is answered like one that went out, and never repeated', async (_, send) => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ ...KEYED, step: failingSteps({ send }) })).toBe(204);
    expect(scene.steps.slice(-3)).toEqual(['send', 'put delivery', 'update key 2']);
    expect(await deliveries(scene)).toMatchObject([{ kind: 'code', outcome: 'unknown', email_taken: false }]);
    expect(scene.events).toMatchObject([{ name: 'OtpOutcomeUnknown', fields: { channel: 'email' } }]);
  });

  it('is noted with the provider’s id', async () => {
    const scene = await RegistrationScene.start();
    await scene.request();
    const sent = { kind: 'code', outcome: 'sent', message_id: 'message-1', sent_at: new Date(NOW).toISOString() };
    expect(await deliveries(scene)).toEqual([{ ...sent, email_taken: false, phone_taken: false }]);
  });

  it.each(['put delivery', 'update key 2'])(
    'is answered with 204 even if its outcome could not be recorded (%s)',
    async (step) => {
      const scene = await RegistrationScene.start();
      expect(await scene.request({ ...KEYED, step: failingSteps({ [step]: SERVICE_UNAVAILABLE }) })).toBe(204);
      expect(scene.events.map(({ name }) => name)).toEqual(['OtpSent', 'OperationNotSettled']);
    },
  );

  it.each(OTP_TYPES)('on %s goes to the address, with the code and the language', async (channel) => {
    const scene = await RegistrationScene.start();
    await scene.request({ by: channel, body: { language: 'pt-BR' } });
    const message = { kind: 'code', code: CODE };
    expect(scene.sent).toEqual([{ channel, to: RECIPIENTS[channel].to, message, language: 'pt-BR' }]);
  });
});

describe('A stored registration', () => {
  it('holds the request, the hash of the password with the salt of the address, and the form’s fields as JSON', async () => {
    const scene = await RegistrationScene.start();
    await scene.addClient({});
    await scene.request({ body: { referrer_id: 'REFANN01', language: 'de' }, members: { k3J9xQ: 'some' } });
    const [{ delivery: _, ...stored } = expect.fail()] = await scene.registrations();
    const salt = passwordSalt(PEPPER.current, 'email', 'bob@example.com').toString('hex');
    expect(stored).toEqual({
      pk: `registration#${stored.registration_id}`,
      expires_at: (NOW + DAY) / 1_000,
      registration_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      type: 'trader',
      otp_type: 'email',
      address: 'bob@example.com',
      email: 'Bob@example.com',
      email_key: 'bob@example.com',
      name: 'Bob',
      phone: '+447400123456',
      phone_valid: true,
      password_hash: `hash of ${PASSWORD} with ${salt}`,
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
    expect(JSON.stringify(await scene.items('registrations'))).not.toContain(CODE);
  });

  it('is the only item that names the person: the counters and the key’s record do not', async () => {
    const scene = await RegistrationScene.start();
    await scene.request({ ...KEYED, by: 'sms' });
    const items = [...(await scene.items('limits')), ...(await scene.items('keys'))];
    expect(items.map(({ expires_at }) => typeof expires_at)).toEqual(items.map(() => 'number'));
    expect(JSON.stringify(items)).not.toMatch(/bob|example|7400|correct|203\.0|key-1/i);
  });

  it('holds at most 256 characters of the User-Agent header', async () => {
    for (const [userAgent, kept] of [
      ['x'.repeat(300), 'x'.repeat(256)],
      [undefined, undefined],
    ]) {
      const scene = await RegistrationScene.start();
      await scene.request({ userAgent });
      expect((await scene.registrations())[0]?.user_agent).toBe(kept);
    }
  });
});
