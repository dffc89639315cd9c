import { describe, expect, it } from 'vitest';
import { DatabaseFailure } from '../../lib/aws/dynamodb.ts';
import { Problem, type ProblemType } from '../../lib/http/problem.ts';
import { DeliveryFailure, type DeliveryFailureKind } from '../../lib/messages/message.ts';
import { LeaseLost } from '../../lib/records/operations.ts';
import { sealCode } from '../../lib/secrets/one-time-code.ts';
import { type Channel, OTP_TYPES } from '../../lib/validators/otp-types.ts';
import {
  type FakeSettings,
  FORM,
  fakeRegistration,
  NOW,
  PEPPER,
  RECIPIENTS,
  registrationRequest,
  type Step,
} from '../support/registration-fakes.ts';

const KEYED = { idempotencyKey: 'key-1' };
const DOWN = new DatabaseFailure('ServiceUnavailable');

function typeOf(answer: unknown): ProblemType | 'answered' {
  return answer instanceof Problem ? answer.type : 'answered';
}

/** Which of the steps were under way when one of them began. */
function besideEachOther(log: readonly string[], steps: readonly Step[]): boolean {
  const begun = steps.map((step) => log.indexOf(step));
  const ended = steps.map((step) => log.indexOf(`${step} done`));
  return begun.every((at) => at !== -1 && at < Math.min(...ended));
}

describe('The order of work', () => {
  it('is source and form, documents’ media types, other limits, hash and documents, look-up and record, send, note', async () => {
    const fake = fakeRegistration();
    expect(await fake.run(registrationRequest())).toEqual({});
    expect(fake.steps()).toEqual([
      'pepper',
      'form',
      'admit',
      'inspect',
      'count',
      'hash',
      'documents',
      'channel',
      'lookup',
      'record',
      'send',
      'note',
    ]);
    expect(besideEachOther(fake.log, ['hash', 'documents', 'channel'])).toBe(true);
    expect(besideEachOther(fake.log, ['lookup', 'record'])).toBe(true);
  });

  it('has, with an Idempotency-Key, its steps beside those of the request', async () => {
    const fake = fakeRegistration();
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({});
    expect(fake.steps()).toEqual([
      'pepper',
      'form',
      'claim',
      'admit',
      'inspect',
      'count',
      'hash',
      'documents',
      'channel',
      'lookup',
      'record',
      'mark',
      'send',
      'note',
      'finish',
    ]);
    expect(besideEachOther(fake.log, ['pepper', 'form'])).toBe(true);
    expect(besideEachOther(fake.log, ['claim', 'admit'])).toBe(true);
    expect(besideEachOther(fake.log, ['lookup', 'record', 'mark'])).toBe(true);
    expect(besideEachOther(fake.log, ['note', 'finish'])).toBe(true);
  });

  it('lets a step begin only when all before it have ended', async () => {
    const { log, run } = fakeRegistration();
    await run(registrationRequest({}, KEYED));
    const stages: Step[][] = [
      ['pepper'],
      ['claim', 'admit'],
      ['inspect'],
      ['count'],
      ['hash', 'documents', 'channel'],
      ['lookup', 'record', 'mark'],
      ['send'],
      ['note', 'finish'],
    ];
    for (const [index, stage] of stages.entries()) {
      const next = stages[index + 1] ?? [];
      const ends = stage.map((step) => log.indexOf(`${step} done`));
      for (const step of next) expect(log.indexOf(step), step).toBeGreaterThan(Math.max(...ends));
    }
    expect(log.indexOf('inspect')).toBeGreaterThan(log.indexOf('form done'));
  });
});

const REACHED = { kind: 'reached', retryAfterSeconds: 41 } as const;

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
      body: { customFields: { k3J9xQ: 5, other: 'x' } },
      steps: ['admit', 'drop request'],
    },
    {
      what: 'for the size of its documents',
      type: 'payload_too_large',
      settings: { form: { id: 'FORM0001', fields: [{ key: 'd', type: 'document' }] } },
      body: { customFields: { d: [{ id: '1', name: 'a', doc: 'A'.repeat(4_400_000) }] } },
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
      settings: { available: ['email'] },
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
    const answer = await fakeRegistration().run(registrationRequest({ customFields: { k3J9xQ: 5, other: 'x' } }));
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
    const answer = await fakeRegistration({ available: ['email', 'sms'] }).run(
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

describe('A failure before the send', () => {
  const before: Step[] = ['hash', 'documents', 'channel', 'lookup', 'record', 'mark'];

  it.each(before)('at %s answers internal_error, sends nothing, and takes everything back', async (step) => {
    const fake = fakeRegistration({ failures: { [step]: DOWN } });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('internal_error');
    expect(fake.sent).toEqual([]);
    // A record that failed may stand there all the same.
    const wasKept = step === 'lookup' || step === 'mark' || step === 'record';
    const undone = fake.steps().slice(fake.steps().indexOf('drop message'));
    expect(undone).toEqual(['drop message', ...(wasKept ? ['undo record'] : []), 'release']);
  });

  it.each(['pepper', 'claim'] as const)('at %s answers internal_error and does nothing more', async (step) => {
    const fake = fakeRegistration({ failures: { [step]: DOWN } });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('internal_error');
    expect(fake.steps()).not.toContain('count');
  });

  it('at the form lets the Idempotency-Key go, and the source has its place back', async () => {
    const fake = fakeRegistration({ failures: { form: DOWN } });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('internal_error');
    expect(fake.steps()).toEqual(['pepper', 'form', 'claim', 'admit', 'drop request', 'release']);
  });

  it('waits for what goes on beside it: nothing happens behind an answer', async () => {
    const fake = fakeRegistration({ failures: { lookup: DOWN } });
    await fake.run(registrationRequest({}, KEYED));
    for (const step of fake.steps()) expect(fake.log).toContain(`${step} done`);
  });

  it('is answered alike when nothing can be taken back either, and each is logged', async () => {
    const failures = { record: DOWN, 'drop message': DOWN, release: DOWN };
    const fake = fakeRegistration({ failures });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('internal_error');
    expect(fake.events.map(({ name, fields }) => [name, fields.step])).toEqual([
      ['OperationNotSettled', 'limits'],
      ['OperationNotSettled', 'release'],
    ]);
  });

  it('is also the end of its time: after it nothing is sent', async () => {
    const ending = new AbortController();
    const fake = fakeRegistration({ onStep: (step) => step === 'record' && ending.abort() });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED), ending.signal))).toBe('internal_error');
    expect(fake.sent).toEqual([]);
    expect(fake.steps().slice(-3)).toEqual(['drop message', 'undo record', 'release']);
  });
});

describe('A send', () => {
  const certain: DeliveryFailureKind[] = [
    'retryable',
    'refused_recipient',
    'opted_out',
    'blocked_country',
    'over_budget',
    'misconfigured',
  ];

  it.each(certain)('that certainly failed (%s) answers otp_delivery_failed and takes everything back', async (kind) => {
    const fake = fakeRegistration({ failures: { send: new DeliveryFailure(kind, 'Throttling') } });
    const answer = await fake.run(registrationRequest({ recipient: RECIPIENTS.sms }, KEYED));
    expect(typeOf(answer)).toBe('otp_delivery_failed');
    expect(fake.steps().slice(-4)).toEqual(['send', 'drop message', 'undo record', 'release']);
    expect(fake.events).toMatchObject([
      { name: 'OtpDeliveryFailed', fields: { channel: 'sms', kind, reason: 'Throttling' } },
    ]);
  });

  it.each([
    ['a named unknown outcome', new DeliveryFailure('unknown_outcome', 'TimeoutError')],
    ['any other error', new TypeError('a bug')],
  ])('that may have gone out (%s) is answered like one that has, and never made again', async (_, failure) => {
    const fake = fakeRegistration({ failures: { send: failure } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({});
    expect(fake.steps().slice(-3)).toEqual(['send', 'note', 'finish']);
    expect(fake.kept.delivery).toEqual({ kind: 'code', outcome: 'unknown', email_taken: false });
    expect(fake.events).toMatchObject([{ name: 'OtpOutcomeUnknown' }]);
  });

  it('is noted with the provider’s id', async () => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest());
    expect(fake.kept.delivery).toEqual({
      kind: 'code',
      outcome: 'sent',
      message_id: 'message-1',
      email_taken: false,
    });
  });

  it.each(['note', 'finish'] as const)('answers 204 also when it could not be noted (%s)', async (step) => {
    const fake = fakeRegistration({ failures: { [step]: DOWN } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({});
    expect(fake.events.map(({ name }) => name)).toEqual(['OtpSent', 'OperationNotSettled']);
  });

  it.each([
    ['email', 'Bob@Example.com'],
    ['sms', '+447400123456'],
    ['call', '+447400123456'],
    ['whatsapp', '+447400123456'],
  ] as const)('on %s goes to %s, with the code, its life and the language', async (channel, to) => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({ recipient: RECIPIENTS[channel], language: 'pt-BR' }));
    const message = { kind: 'code', code: '987654', validMinutes: 10 };
    expect(fake.sent).toEqual([{ channel, to, message, language: 'pt-BR' }]);
  });
});

describe('What is kept of a registration', () => {
  it('is the request, the password’s hash, the form’s fields as JSON and the sealed code', async () => {
    const fake = fakeRegistration({ form: FORM, referrerId: 'CLIENT01' });
    const request = registrationRequest({
      referrer_id: 'REFANN01',
      language: 'de',
      customFields: { k3J9xQ: 'some' },
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
      email: 'Bob@Example.com',
      email_key: 'bob@example.com',
      name: 'Bob',
      phone: '+447400123456',
      password_hash: '$argon2id$fake',
      form_id: 'FORM0001',
      referrer_id: 'REFANN01',
      referrer_user_id: 'CLIENT01',
      custom_fields: '{"k3J9xQ":"some"}',
      documents: [],
      language: 'de',
      code: sealCode('987654', binding, PEPPER, NOW),
      requested_at: new Date(NOW).toISOString(),
    });
    expect(JSON.stringify(record)).not.toContain('correct horse battery');
    expect(JSON.stringify(record)).not.toContain('987654');
  });
});

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

  it('is on a phone channel the number: a client’s e-mail address does not keep the code from a stranger’s phone', async () => {
    const fake = fakeRegistration({ known: { email: true, phone: false } });
    await fake.run(registrationRequest({ recipient: RECIPIENTS.sms }));
    expect(fake.sent).toMatchObject([{ message: { kind: 'code' } }]);
    expect(fake.kept.delivery).toMatchObject({ kind: 'code', email_taken: true });
  });

  it('is for e-mail the address: a client’s phone does not keep the code from a stranger’s address', async () => {
    const fake = fakeRegistration({ known: { email: false, phone: true } });
    await fake.run(registrationRequest());
    expect(fake.sent).toMatchObject([{ message: { kind: 'code' } }]);
    expect(fake.kept.delivery).toMatchObject({ kind: 'code', email_taken: false });
  });

  const endings: [string, FakeSettings][] = [
    ['a message sent', {}],
    ['a limit reached', { ofMessage: REACHED }],
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

describe('An Idempotency-Key', () => {
  const operation = { pk: 'key#1', operationId: 'operation-1', nonce: 'nonce', lease: 'lease', revision: 0 };

  it('is claimed for this route and caller, for as long as the function may run, with the body’s fingerprint', async () => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({}, KEYED));
    expect(fake.asked).toMatchObject({ scope: ['registration', '203.0.113.7', 'key-1'], leaseMs: 21_000 });
    expect(fake.asked.fingerprints).toHaveLength(1);
  });

  it('is marked before the send with what an operator needs, and nothing personal', async () => {
    const fake = fakeRegistration();
    await fake.run(registrationRequest({}, KEYED));
    expect(fake.kept.mark).toEqual({ registration_id: fake.kept.record?.registration_id });
  });

  it('of a finished request gives the first answer again, and sends nothing', async () => {
    const fake = fakeRegistration({ claim: { kind: 'finished', operation, item: {} } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
    expect(fake.steps()).toEqual(['pepper', 'form', 'claim', 'admit', 'drop repeat', 'verify']);
  });

  describe.each(['finished', 'undecided'] as const)('of a request that is %s', (kind) => {
    const item = { details: { registration_id: 'r-1' } };
    const claim = { kind, operation, item };

    it('and another password gets idempotency_key_reused, by the hash that was kept', async () => {
      const fake = fakeRegistration({ claim, keptHash: 'hash of another password' });
      expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('idempotency_key_reused');
      expect(fake.sent).toEqual([]);
    });

    it('and the same password gets the first answer, with the same steps', async () => {
      const [same, other] = ['correct horse battery', 'another password'].map((password) =>
        fakeRegistration({ claim, keptHash: `hash of ${password}` }),
      );
      expect(await same?.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
      await other?.run(registrationRequest({}, KEYED));
      expect(same?.log).toEqual(other?.log);
      expect(same?.steps()).toContain('verify');
    });

    it('whose registration is gone counts as the same, after as much work', async () => {
      const fake = fakeRegistration({ claim });
      expect(await fake.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
      expect(fake.steps().slice(-2)).toEqual(['get record', 'verify']);
    });
  });

  it('of a request that is under way, and another password, gets idempotency_key_reused', async () => {
    const known = { operation, item: { details: { registration_id: 'r-1' } } };
    const claim = { kind: 'in_progress', retryAfterSeconds: 5, known } as const;
    const other = fakeRegistration({ claim, keptHash: 'hash of another password' });
    expect(typeOf(await other.run(registrationRequest({}, KEYED)))).toBe('idempotency_key_reused');
    const same = fakeRegistration({ claim, keptHash: 'hash of correct horse battery' });
    expect(typeOf(await same.run(registrationRequest({}, KEYED)))).toBe('request_in_progress');
  });

  it('is told apart by everything but the passwords', async () => {
    const fingerprintOf = async (sentBody: object) => {
      const fake = fakeRegistration();
      await fake.run(registrationRequest({}, { ...KEYED, sentBody }));
      return fake.asked.fingerprints;
    };
    const body = { email: 'bob@example.com', password: 'one', repeat_password: 'one' };
    const first = await fingerprintOf(body);
    expect(await fingerprintOf({ ...body, password: 'two', repeat_password: 'two' })).toEqual(first);
    expect(await fingerprintOf({ ...body, email: 'eve@example.com' })).not.toEqual(first);
  });

  it('of a request that may have sent is never worked on again, and finished, so that every later retry is answered', async () => {
    const fake = fakeRegistration({ claim: { kind: 'undecided', operation, item: {} } });
    expect(await fake.run(registrationRequest({}, KEYED))).toEqual({ replayed: true });
    expect(fake.steps()).toEqual(['pepper', 'form', 'claim', 'admit', 'drop repeat', 'finish', 'verify']);
  });

  it.each([
    ['request_in_progress', { kind: 'in_progress', retryAfterSeconds: 5 }],
    ['idempotency_key_reused', { kind: 'reused' }],
  ] as const)('that is taken answers %s and does nothing', async (type, claim) => {
    const fake = fakeRegistration({ claim });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe(type);
    expect(fake.steps().slice(0, 5)).toEqual(['pepper', 'form', 'claim', 'admit', 'drop repeat']);
    expect(fake.sent).toEqual([]);
  });

  it('lost to another try before the send answers request_in_progress; nothing is sent, and the key is not let go', async () => {
    const fake = fakeRegistration({ failures: { mark: new LeaseLost('lost') } });
    expect(typeOf(await fake.run(registrationRequest({}, KEYED)))).toBe('request_in_progress');
    expect(fake.sent).toEqual([]);
    // The places are now those of the other one.
    expect(fake.steps().slice(-1)).toEqual(['undo record']);
    expect(fake.steps()).not.toContain('drop message');
  });
});
