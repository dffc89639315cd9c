import { describe, expect, it } from 'vitest';
import { DeliveryFailure } from '../../../lib/messages/message.ts';
import type { ProblemType } from '../../../lib/problem.ts';
import { type Channel, OTP_TYPES, PHONE_CHANNELS } from '../../../lib/validators/otp-types.ts';
import { SMALLEST_FILES } from '../../support/document-files.ts';
import { toEmail, toPhone } from '../../support/limits.ts';
import {
  type BobRequest,
  CODE,
  DAY,
  DOCUMENTS,
  FAILURE_KINDS,
  NOW,
  PASSWORD,
  RECIPIENTS,
  RegistrationScene,
  SERVICE_UNAVAILABLE,
} from '../../support/registration-scene.ts';
import { failingSteps, type Step } from '../../support/step-faults.ts';
import { USUAL_LIMITS } from '../../support/usual-limits.ts';

const to = (recipient: ReturnType<typeof toEmail>): BobRequest => ({ body: { recipient } });
const ANN = to(toEmail('ann@example.com'));
const KEYED = { idempotencyKey: 'key-1' };
const fails = (...steps: string[]) => ({
  step: failingSteps(Object.fromEntries(steps.map((step) => [step, SERVICE_UNAVAILABLE]))),
});
const documents = (doc: string): BobRequest => ({ members: { d0cUpl: [{ id: '1', name: 'a', doc }] } });
const EXE = documents(SMALLEST_FILES.exe.toString('base64'));

describe('An address that is a client’s', () => {
  it.each(OTP_TYPES)('gets the same message after the same calls as any other: %s', async (by) => {
    const [ours, theirs] = [await RegistrationScene.start(), await RegistrationScene.start()];
    await ours.addClient({ email: true, phone: true });
    for (const scene of [ours, theirs]) expect(await scene.request({ by, ...KEYED })).toBe(204);
    expect(ours.log).toEqual(theirs.log);
    expect(ours.sent).toEqual(theirs.sent);
    expect(ours.steps.filter((step) => step.startsWith('find'))).toEqual([]);
  });
});

describe('A send', () => {
  it.each(OTP_TYPES)('on %s goes to the address, with the code and the language, and is counted', async (channel) => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ by: channel, body: { language: 'pt-BR' } })).toBe(204);
    expect(scene.sent).toEqual([{ channel, to: RECIPIENTS[channel].to, code: CODE, language: 'pt-BR' }]);
    const fields = { channel, registration_id: scene.registrationId, message_id: 'message-1' };
    expect(scene.events).toEqual([{ name: 'OtpSent', fields }]);
  });

  it.each(FAILURE_KINDS)('that fails as %s is 204 only if the message may have left', async (kind) => {
    const scene = await RegistrationScene.start();
    const step: Step = (name, call) =>
      name.startsWith('send') ? Promise.reject(new DeliveryFailure(kind, 'Refused')) : call();
    const answer = await scene.request({ ...KEYED, members: DOCUMENTS, step });
    expect(answer).toBe(kind === 'unknown_outcome' ? 204 : 'otp_delivery_failed');
    expect(scene.steps.filter((name) => name.startsWith('send'))).toHaveLength(kind === 'throttled' ? 3 : 1);
    expect(scene.events[0]?.fields).toMatchObject({ kind, channel: 'email', reason: 'Refused' });
    // Counts stay, and only the key is free.
    expect(await scene.counts()).toEqual({ source: 1, recipient: 1, sender: 1 });
    expect(scene.documents.size).toBe(2);
    expect(await scene.registrations()).toHaveLength(kind === 'unknown_outcome' ? 1 : 0);
  });

  it('that fails in a way that nobody foresaw may have left, and is never repeated', async () => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ step: failingSteps({ send: new TypeError('a bug') }) })).toBe(204);
    expect(scene.events.map(({ name }) => name)).toEqual(['OtpOutcomeUnknown']);
  });

  it('that is throttled until the time is up has certainly not left', async () => {
    const scene = await RegistrationScene.start();
    const time = new AbortController();
    const step: Step = async (name, call) => {
      if (name === 'send 2') time.abort();
      if (name.startsWith('send')) throw new DeliveryFailure('throttled', 'Throttling');
      return call();
    };
    expect(await scene.request({ step, signal: time.signal })).toBe('otp_delivery_failed');
    expect(scene.steps).not.toContain('send 3');
  });

  it('is prepared in the language of the request while the password is hashed, and needs no preparation', async () => {
    const scene = await RegistrationScene.start();
    const prepared: unknown[] = [];
    scene.prepare = async (language) => void prepared.push(language, scene.steps.at(-1));
    await scene.request({ body: { language: 'es' } });
    expect(prepared).toEqual(['es', 'open channel']);
    scene.prepare = () => Promise.reject(SERVICE_UNAVAILABLE);
    expect(await scene.request(ANN)).toBe(204);
  });
});

/** The answer of a request that is refused, the last of these steps, and what it has counted. */
const STEPS = ['read form', 'captcha', 'hash', 'send'] as const;
type Given = BobRequest & { channels?: Channel[]; earlier?: BobRequest[]; limits?: Partial<typeof USUAL_LIMITS> };
type Refusal = [what: string, answer: ProblemType, last: (typeof STEPS)[number], counted: string, Given];

describe('A request that is refused', () => {
  it.each<Refusal>([
    ['with a wrong form id', 'form_not_found', 'read form', 'source', { body: { form_id: 'FORM0009' } }],
    ['with a wrong referral code', 'referrer_not_found', 'read form', 'source', { body: { referrer_id: 'REFANN01' } }],
    ['with a wrong field', 'validation_failed', 'read form', 'source', { members: { other: 1 } }],
    ['with a wrong document', 'validation_failed', 'read form', 'source', EXE],
    ['with large documents', 'payload_too_large', 'read form', 'source', documents('A'.repeat(4_400_000))],
    ['with large texts', 'validation_failed', 'read form', 'source', { members: { other: ['x'.repeat(200_001)] } }],
    ['for its channel', 'otp_type_unavailable', 'read form', 'source', { by: 'call', channels: ['email'] }],
    ['for a recipient who must wait', 'too_many_requests', 'read form', 'source', { earlier: [{}] }],
    [
      ...(['over a limit of its source', 'too_many_requests', 'read form', ''] as const),
      { earlier: [ANN], limits: { sourceRequestsPerHour: 1 } },
    ],
    [
      ...(['over the messages of its source', 'too_many_requests', 'read form', 'source'] as const),
      { earlier: [ANN], limits: { sourceMessagesPerHour: 1 } },
    ],
    ['by its captcha', 'captcha_failed', 'captcha', 'source', { captcha: 'refused' }],
    ...PHONE_CHANNELS.map(
      (by): Refusal => [`by ${by} without a captcha`, 'internal_error', 'captcha', 'source', { by, captcha: 'down' }],
    ),
    ['by our table', 'internal_error', 'hash', 'recipient sender source', fails('put registration 2')],
    [
      'by our documents',
      'internal_error',
      'hash',
      'recipient source',
      { members: DOCUMENTS, ...fails('put document') },
    ],
  ])(
    '%s gets %s, calls nothing after that step, sends nothing, and frees its key',
    async (_, type, last, counted, { channels = [...OTP_TYPES], limits, earlier = [], ...asked }) => {
      const scene = await RegistrationScene.start({ ...USUAL_LIMITS, ...limits });
      scene.settings = { ...scene.settings, channels };
      for (const one of earlier) await scene.request(one);
      scene.sent.length = 0;
      const before = await scene.counts();
      expect(await scene.request({ ...KEYED, ...asked })).toBe(type);
      expect(STEPS.findLast((step) => scene.steps.includes(step))).toBe(last);
      const counts = await scene.counts();
      const kinds = Object.keys(counts).filter((kind) => counts[kind] !== before[kind]);
      expect(kinds.toSorted().join(' ')).toBe(counted);
      expect(scene.sent).toEqual([]);
      expect((await scene.items('registrations')).filter(({ fingerprint }) => fingerprint !== undefined)).toEqual([]);
      const fields = { channel: asked.by ?? 'email', type };
      expect(scene.events.at(-1)).toEqual({ name: 'RegistrationRefused', fields });
    },
  );

  it('says which fields, which channels and when', async () => {
    const scene = await RegistrationScene.start();
    await scene.request({ members: { ...EXE.members, k3J9xQ: 5 } });
    expect(scene.problem?.options.errors?.map(({ rule }) => rule)).toEqual(['type', 'media_type']);
    scene.settings = { ...scene.settings, channels: ['email', 'sms'] };
    await scene.request({ by: 'whatsapp' });
    expect(scene.problem?.options.members).toEqual({ available: ['email', 'sms'] });
    await scene.request();
    await scene.request();
    expect(scene.problem?.options.retryAfterSeconds).toBe(60);
    expect(scene.events.slice(-2).map(({ name }) => name)).toEqual(['LimitReached', 'RegistrationRefused']);
  });

  it('for a recipient who must wait does not show whether its referral code exists', async () => {
    for (const referrer_id of ['REFANN01', 'REFANN99']) {
      const scene = await RegistrationScene.start();
      await scene.addClient({});
      await scene.request();
      expect(await scene.request({ body: { referrer_id } })).toBe('too_many_requests');
    }
  });

  it('because of a failure waits for running calls: nothing happens after an answer', async () => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ ...KEYED, ...fails('put registration 2') })).toBe('internal_error');
    expect(scene.problem?.cause).toBe(SERVICE_UNAVAILABLE);
    for (const step of scene.steps) expect(scene.log).toContain(`${step} done`);
  });

  it('when the deadline has passed sends nothing, and a key that cannot be freed is logged', async () => {
    const ending = new AbortController();
    const step: Step = async (name, call) => {
      if (name === 'delete registration') throw SERVICE_UNAVAILABLE;
      const result = await call();
      if (name === 'update sender') ending.abort();
      return result;
    };
    const scene = await RegistrationScene.start();
    expect(await scene.request({ ...KEYED, step, signal: ending.signal })).toBe('internal_error');
    expect(scene.sent).toEqual([]);
    expect(scene.events.map(({ name }) => name)).toEqual(['OperationNotSettled', 'RegistrationRefused']);
  });
});

/** A source may make ten requests in ten minutes, and send five messages. */
describe('A source that sends 25 requests', () => {
  const number = (index: number) => to(toPhone(`+4474001${String(index).padStart(2, '0')}456`));
  const COSTS = ['captcha', 'hash', 'put document', 'send'] as const;
  /** The calls that cost something, by their names, and how often one request makes them. */
  const countCosts = (steps: readonly string[]) =>
    COSTS.map((name) => steps.filter((step) => step === name || step.startsWith(`${name} `)).length);

  it.each([
    ...FAILURE_KINDS.map((kind) => [kind, 'passed'] as const),
    ['sent', 'passed'] as const,
    ['sent', 'refused'] as const,
    ['sent', 'down'] as const,
  ])('costs no more than its limits, one after another and at once: %s, captcha %s', async (kind, captcha) => {
    const step: Step = (name, call) =>
      name.startsWith('send') && kind !== 'sent' ? Promise.reject(new DeliveryFailure(kind, 'Refused')) : call();
    for (const isAtOnce of [false, true]) {
      const scene = await RegistrationScene.start();
      const costs = [0, 0, 0, 0];
      const ask = async (index: number) => {
        const twin = scene.twin();
        const key = { idempotencyKey: `key-${index}` };
        await twin.request({ ...number(index), ...key, members: DOCUMENTS, captcha, step });
        for (const [at, count] of countCosts(twin.steps).entries()) costs[at] = (costs[at] ?? 0) + count;
      };
      if (isAtOnce) await Promise.all(Array.from({ length: 25 }, (_, index) => ask(index)));
      else for (let index = 0; index < 25; index += 1) await ask(index);
      const [captchas = 0, hashes = 0, uploads = 0, sends = 0] = costs;
      const [requests, messages] = [10, captcha === 'passed' ? 5 : 0];
      expect(captchas).toBe(requests);
      // A counter that was read as full refuses before the hash.
      expect(hashes).toBe(isAtOnce && messages > 0 ? requests : messages);
      expect(uploads).toBe(2 * hashes);
      expect(sends).toBe(messages * (kind === 'throttled' ? 3 : 1));
    }
  });
});

describe('Limits that cannot be checked', () => {
  const STEPS = ['update source', 'update recipient', 'update sender'];
  it.each(STEPS)('let a mail pass: %s', async (step) => {
    const scene = await RegistrationScene.start();
    expect(await scene.request(fails(step))).toBe(204);
    expect(scene.events[0]).toMatchObject({ name: 'LimitUncheckable', fields: { channel: 'email' } });
  });

  it.each(PHONE_CHANNELS.flatMap((by) => STEPS.map((step) => [by, step] as const)))(
    'refuse a message to a phone: %s, %s',
    async (by, step) => {
      const scene = await RegistrationScene.start();
      expect(await scene.request({ by, ...fails(step) })).toBe('internal_error');
      expect(scene.sent).toEqual([]);
      expect(scene.events[0]).toMatchObject({ name: 'LimitUncheckable', fields: { channel: by } });
    },
  );

  it('but were read as reached refuse', async () => {
    const scene = await RegistrationScene.start();
    await scene.request();
    expect(await scene.request({ source: '192.0.2.1', ...fails('update source') })).toBe('too_many_requests');
  });
});

describe('The captcha of a request', () => {
  it('that is refused is logged with its reason', async () => {
    const scene = await RegistrationScene.start();
    await scene.request({ captcha: 'refused' });
    expect(scene.events[0]).toMatchObject({ name: 'CaptchaRefused', fields: { reason: 'token' } });
  });

  it.each(['passed', 'down'] as const)('that is %s lets a mail pass', async (captcha) => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ captcha })).toBe(204);
    const noted = { name: 'CaptchaUnavailable', fields: { channel: 'email', reason: 'TimeoutError' } };
    expect(scene.events.slice(0, -1)).toEqual(captcha === 'down' ? [noted] : []);
  });
});

describe('A stored registration', () => {
  it('holds the request, the hash of the password, the sealed code, and the form’s fields as JSON', async () => {
    const scene = await RegistrationScene.start();
    await scene.addClient({});
    await scene.request({ body: { referrer_id: 'REFANN01', language: 'de' }, members: { k3J9xQ: 'some' } });
    const [stored = expect.fail()] = await scene.items('registrations');
    expect(stored).toEqual({
      pk: `registration#${scene.registrationId}`,
      expires_at: (NOW + DAY) / 1_000,
      lease: expect.any(String),
      guesses: 0,
      code_seal: expect.any(String),
      code_expires_at_ms: NOW + 600_000,
      pepper_version: '1',
      registration_id: scene.registrationId,
      type: 'trader',
      otp_type: 'email',
      address: 'bob@example.com',
      email: 'Bob@example.com',
      email_key: 'bob@example.com',
      name: 'Bob',
      phone: '+447400123456',
      phone_valid: true,
      password_hash: `hash of ${PASSWORD}`,
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
    expect(scene.registrationId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(JSON.stringify(stored)).not.toContain(CODE);
  });

  it('is the only item, and the counters do not name the person', async () => {
    const scene = await RegistrationScene.start();
    await scene.request({ ...KEYED, by: 'sms' });
    expect(await scene.items('registrations')).toHaveLength(1);
    expect(JSON.stringify(await scene.items('limits'))).not.toMatch(/bob|example|7400|correct|203\.0|key-1/i);
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
