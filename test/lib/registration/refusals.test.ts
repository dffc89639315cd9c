import { describe, expect, it } from 'vitest';
import { DeliveryFailure, type DeliveryFailureKind, SEND_FAILURES } from '../../../lib/messages/message.ts';
import type { ProblemType } from '../../../lib/problem.ts';
import { type Channel, OTP_TYPES, PHONE_CHANNELS } from '../../../lib/validators/otp-types.ts';
import type { Limits } from '../../../lib/validators/registration-settings.ts';
import { SMALLEST_FILES } from '../../support/document-files.ts';
import { toEmail, toPhone } from '../../support/limits.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import {
  type BobRequest,
  DOCUMENTS,
  FAILURE_KINDS,
  RegistrationScene,
  SERVICE_UNAVAILABLE,
} from '../../support/registration-scene.ts';
import { failingSteps, overtakenStep, type Step } from '../../support/step-faults.ts';
import { USUAL_LIMITS } from '../../support/usual-limits.ts';

/** The failures after which a request is undone. */
const FAILED = FAILURE_KINDS.filter((kind) => SEND_FAILURES[kind].answer === 502);
const SOURCE = '2001:db8:1:2::1';
const KEYED = { idempotencyKey: 'key-1', source: SOURCE };

/** A request, how the scene differs, and the requests before it. */
interface Given extends BobRequest {
  channels?: Channel[];
  limits?: Partial<Limits>;
  earlier?: BobRequest[];
}

async function sceneOf({ channels, limits, earlier = [] }: Given): Promise<RegistrationScene> {
  const scene = await RegistrationScene.start({ ...USUAL_LIMITS, ...limits });
  if (channels !== undefined) scene.settings = { ...scene.settings, channels };
  for (const asked of earlier) await scene.request({ source: SOURCE, ...asked });
  scene.sent.length = 0;
  return scene;
}

const to = (recipient: ReturnType<typeof toEmail>): BobRequest => ({ body: { recipient } });
const ANN = to(toEmail('ann@example.com'));
const WRONG_FORM: BobRequest = { body: { form_id: 'FORM0009' } };
const WRONG_REFERRER: BobRequest = { body: { referrer_id: 'REFANN01' } };
const WRONG_FIELD: BobRequest = { members: { other: 1 } };
const documents = (doc: string): BobRequest => ({ members: { d0cUpl: [{ id: '1', name: 'a', doc }] } });
const fails = (step: string, error: unknown = SERVICE_UNAVAILABLE) => ({ step: failingSteps({ [step]: error }) });
const sendFails = (kind: DeliveryFailureKind, left = true): BobRequest => ({
  step: (name, call) =>
    /^send( |$)/.test(name) ? Promise.reject(new DeliveryFailure(kind, 'Refused', { left })) : call(),
});
const EXE = documents(SMALLEST_FILES.exe.toString('base64'));
const LARGE = documents('A'.repeat(4_400_000));
const PASSED = { captcha: 'passed' } as const;

/** The steps after which a request may be refused. */
const STEPS = ['read source', 'captcha', 'update wrong', 'put registration', 'send'] as const;
/** The counts that a request keeps if it asked outside, or guessed. */
const [ITS_SOURCE, ITS_GUESS, ITS_BOTH] = [
  'network source',
  'wrong wrong_network',
  'network source wrong wrong_network',
];

/** The answer, the last step of the work, and the counts that are kept. */
type Refusal = [what: string, answer: ProblemType, last: (typeof STEPS)[number], kept: string, Given];
const LIMITED = ['too_many_requests', 'read source', ''] as const;
const NOT_SENT = ['otp_delivery_failed', 'send'] as const;

describe('A request that is refused', () => {
  it.each<Refusal>([
    // Nothing outside was asked.
    ['with a wrong field', 'validation_failed', 'read source', '', WRONG_FIELD],
    ['with a wrong document', 'validation_failed', 'read source', '', EXE],
    ['with large documents', 'payload_too_large', 'read source', '', LARGE],
    ['for its channel', 'otp_type_unavailable', 'read source', '', { by: 'call', channels: ['email'] }],
    ['over a limit of its source', ...LIMITED, { earlier: [ANN], limits: { sourcePerHour: 1 } }],
    ['for a recipient who must wait', ...LIMITED, { earlier: [{}] }],
    ['over a limit that recipients share', ...LIMITED, { earlier: [ANN], limits: { mailDomainPerHour: 1 } }],
    // A guess.
    ['with a wrong form id', 'form_not_found', 'update wrong', ITS_GUESS, WRONG_FORM],
    ['with a wrong referral code', 'referrer_not_found', 'update wrong', ITS_GUESS, WRONG_REFERRER],
    // The captcha's provider was asked.
    ['by its captcha', 'captcha_failed', 'captcha', ITS_SOURCE, { captcha: 'refused' }],
    ['with a captcha, a wrong field', 'validation_failed', 'captcha', ITS_SOURCE, { ...PASSED, ...WRONG_FIELD }],
    ['with a captcha, a wrong form id', 'form_not_found', 'update wrong', ITS_BOTH, { ...PASSED, ...WRONG_FORM }],
    ...PHONE_CHANNELS.map(
      (by): Refusal => [
        ...([`because no captcha works for ${by}`, 'internal_error', 'captcha'] as const),
        ...([ITS_SOURCE, { by, captcha: 'down' }] as const),
      ],
    ),
    [
      'because of our tables',
      'internal_error',
      'put registration',
      ITS_SOURCE,
      { ...PASSED, ...fails('put registration') },
    ],
    // The message's provider was asked, whatever it answered.
    ...FAILED.map((kind): Refusal => [`because the send failed: ${kind}`, ...NOT_SENT, ITS_SOURCE, sendFails(kind)]),
    // Nothing left.
    ...FAILED.map((kind): Refusal => [`because nothing could leave: ${kind}`, ...NOT_SENT, '', sendFails(kind, false)]),
    ['because no captcha could leave', 'internal_error', 'captcha', '', { by: 'sms', captcha: 'unreachable' }],
    ['because of tables', 'internal_error', 'put registration', '', fails('put registration')],
  ])(
    '%s gets %s, stops at that step, and leaves nothing but its counts; its key is freed last',
    async (_, type, last, kept, { channels = [...OTP_TYPES], limits = {}, earlier = [], ...asked }) => {
      const scene = await sceneOf({ channels, limits, earlier });
      const before = { registrations: await scene.registrations(), counts: await scene.counts() };
      expect(await scene.request({ ...KEYED, members: DOCUMENTS, ...asked })).toBe(type);
      expect(STEPS.findLast((step) => scene.steps.includes(step))).toBe(last);
      const counts = await scene.counts();
      const kinds = Object.keys({ ...before.counts, ...counts }).toSorted();
      expect(kinds.filter((kind) => counts[kind] !== before.counts[kind]).join(' ')).toBe(kept);
      expect(await scene.registrations()).toEqual(before.registrations);
      expect([scene.sent, scene.documents.size, await scene.items('keys')]).toEqual([[], 0, []]);
      // Else a retry with the key could see the counts of this request.
      expect(scene.log.slice(-2)).toEqual(['delete key', 'delete key done']);
      const fields = { channel: asked.by ?? 'email', type };
      expect(scene.events.at(-1)).toEqual({ name: 'RegistrationRefused', fields });
    },
  );

  it('with texts larger than any form may have is refused before anything is asked, also with a key', async () => {
    const scene = await sceneOf({});
    const large = { other: ['x'.repeat(200_001)] };
    expect(await scene.request({ ...KEYED, members: large })).toBe('payload_too_large');
    expect(scene.steps).toEqual([]);
  });

  const ITS_MESSAGE = { source: 1, recipient: 1, domain: 1 };
  it.each<[string, asked: BobRequest, other: BobRequest, Partial<Limits>, counts: object]>([
    ['update recipient', {}, {}, {}, ITS_MESSAGE],
    ['update domain', {}, ANN, { mailDomainPerHour: 1 }, ITS_MESSAGE],
    ['update wrong', WRONG_FORM, WRONG_FORM, { wrongIdsPer10Minutes: 1 }, { wrong: 1 }],
  ])(
    'at %s, because another request came first, leaves the counts of that request',
    async (at, asked, other, limits, counts) => {
      const scene = await sceneOf({ limits });
      const step = overtakenStep(at, () => scene.twin().request(other));
      expect(await scene.request({ idempotencyKey: 'key-1', ...asked, step })).toBe('too_many_requests');
      expect([await scene.counts(), scene.sent]).toEqual([counts, []]);
    },
  );

  it('for a field and a document lists both', async () => {
    const scene = await RegistrationScene.start();
    await scene.request({ members: { ...EXE.members, k3J9xQ: 5 } });
    expect(scene.problem?.options.errors?.map(({ rule }) => rule)).toEqual(['type', 'media_type']);
  });

  it('for its channel gets the list of installed channels', async () => {
    const scene = await sceneOf({ channels: ['email', 'sms'] });
    await scene.request({ by: 'whatsapp' });
    expect(scene.problem?.options.members).toEqual({ available: ['email', 'sms'] });
  });

  it('for a limit says when to retry, and is counted as an event', async () => {
    const scene = await sceneOf({ earlier: [{}] });
    scene.events.length = 0;
    await scene.request();
    expect(scene.problem?.options.retryAfterSeconds).toBe(60);
    expect(scene.events.map(({ name }) => name)).toEqual(['LimitReached', 'RegistrationRefused']);
  });
});

describe('The referral code of a request', () => {
  const [KNOWN, UNKNOWN] = ['REFANN01', 'REFANN99'].map((referrer_id): BobRequest => ({ body: { referrer_id } }));

  /** What a request with a code shows and leaves, for Bob, who got a message a moment ago. */
  async function onPause(asked: BobRequest = {}, repeats = 1) {
    const scene = await sceneOf({ earlier: [{}], limits: { wrongIdsPer10Minutes: 3 } });
    await scene.addClient({});
    const answers = [];
    for (let index = 0; index < repeats; index += 1) answers.push(await scene.request({ ...KEYED, ...asked }));
    const { log, problem, events } = scene;
    const names = events.map(({ name }) => name);
    return { answers, log, problem: problem?.toDocument(''), names, counts: await scene.counts() };
  }

  it('is not looked up while the recipient must wait, however often the request is repeated', async () => {
    // More often than a limit allows.
    const known = await onPause(KNOWN, 8);
    expect(known).toEqual(await onPause(UNKNOWN, 8));
    expect(new Set(known.answers)).toEqual(new Set(['too_many_requests']));
  });

  it('is not looked up by two simultaneous requests while the recipient must wait', async () => {
    const scene = await sceneOf({ earlier: [{}] });
    await scene.addClient({});
    const counts = await scene.counts();
    const answers = [
      scene.request({ ...KEYED, ...KNOWN }),
      scene.twin().request({ ...KEYED, idempotencyKey: 'key-2', ...UNKNOWN }),
    ];
    expect(await Promise.all(answers)).toEqual(['too_many_requests', 'too_many_requests']);
    expect(await scene.counts()).toEqual(counts);
  });

  it('costs a guess if it is wrong, also when another request for the recipient comes first', async () => {
    const asked = async (code: BobRequest = {}) => {
      const scene = await sceneOf({});
      await scene.addClient({});
      const step = overtakenStep('read form', () => scene.twin().request());
      return [await scene.request({ ...KEYED, ...code, step }), (await scene.counts()).wrong];
    };
    expect(await asked(UNKNOWN)).toEqual(['referrer_not_found', 1]);
    expect(await asked(KNOWN)).toEqual(['too_many_requests', undefined]);
  });
});

describe('Limits that cannot be checked', () => {
  it.each(['update source', 'update recipient', 'update domain'])('let a mail pass: %s', async (step) => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ ...fails(step) })).toBe(204);
    expect(scene.sent).toHaveLength(1);
    expect(scene.events).toContainEqual({
      name: 'LimitUncheckable',
      fields: expect.objectContaining({ channel: 'email', reason: SERVICE_UNAVAILABLE.reason }),
    });
  });

  it.each(
    PHONE_CHANNELS.flatMap((by) =>
      ['update source', 'update recipient', 'update prefix'].map((step) => [by, step] as const),
    ),
  )('refuse a message to a phone, and every count is released: %s, %s', async (by, step) => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ by, ...KEYED, ...fails(step) })).toBe('internal_error');
    expect([scene.sent, await scene.counts()]).toEqual([[], {}]);
    expect(scene.steps.at(-1)).toBe('delete key');
    expect(scene.events).toContainEqual({
      name: 'LimitUncheckable',
      fields: expect.objectContaining({ channel: by, reason: SERVICE_UNAVAILABLE.reason }),
    });
  });

  it.each<[string, BobRequest[]]>([
    ['source', ['a', 'b', 'c', 'd', 'e'].map((name) => to(toEmail(`${name}@x.example`)))],
    ['recipient', [{}]],
  ])('but were read as reached refuse: %s', async (kind, earlier) => {
    const scene = await sceneOf({ earlier });
    const step = failingSteps({ 'update source': SERVICE_UNAVAILABLE, 'update recipient': SERVICE_UNAVAILABLE });
    const source = kind === 'source' ? SOURCE : '192.0.2.1';
    expect(await scene.request({ source, step })).toBe('too_many_requests');
    expect(scene.sent).toEqual([]);
  });
});

describe('The captcha of a request', () => {
  it('that is refused is logged with its reason', async () => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ captcha: 'refused' })).toBe('captcha_failed');
    expect(scene.events).toContainEqual({
      name: 'CaptchaRefused',
      fields: expect.objectContaining({ reason: 'token' }),
    });
  });

  it.each(['passed', 'down'] as const)('that is %s lets a mail pass', async (captcha) => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ captcha })).toBe(204);
    expect(scene.sent).toHaveLength(1);
    const noted = { name: 'CaptchaUnavailable', fields: { channel: 'email', reason: 'TimeoutError' } };
    expect(scene.events.slice(0, -1)).toEqual(captcha === 'down' ? [noted] : []);
  });

  it('is not verified if the source is over a limit', async () => {
    const scene = await sceneOf({ earlier: [ANN], limits: { sourcePerHour: 1 } });
    expect(await scene.request({ source: SOURCE, captcha: 'refused' })).toBe('too_many_requests');
    expect(scene.steps).not.toContain('captcha');
  });
});

describe('A source whose requests make the service call providers', () => {
  /** Lower than usual, for a short test. A source may send five messages in ten minutes. */
  const LIMITS = { ...USUAL_LIMITS, wrongIdsPer10Minutes: 3, networkSourcesPerHour: 3 };

  /** The answers to as many requests, one after another. */
  async function answersTo(count: number, given: (index: number) => BobRequest, started?: RegistrationScene) {
    const scene = started ?? (await RegistrationScene.start(LIMITS));
    const answers = [];
    for (let index = 0; index < count; index += 1) {
      answers.push(await scene.request({ ...KEYED, idempotencyKey: `key-${index}`, ...given(index) }));
    }
    return answers;
  }
  const times = (count: number, answer: ProblemType) => Array.from({ length: count }, () => answer);
  const number = (index: number) => to(toPhone(`+4474001${String(index).padStart(2, '0')}456`));
  const subnet = (index: number) => ({ source: `2001:db8:1:${index.toString(16)}::1` });

  it.each(FAILURE_KINDS)('is limited in ten minutes if its sends fail (%s)', async (kind) => {
    const scene = await RegistrationScene.start(LIMITS);
    let sends = 0;
    const step: Step = (name, call) => {
      if (name.startsWith('send')) sends += 1;
      return sendFails(kind).step?.(name, call, NEVER_ABORTED) ?? call();
    };
    const answers = await answersTo(8, (index) => ({ step, ...number(index) }), scene);
    const { answer, attempts } = SEND_FAILURES[kind];
    expect(answers.slice(0, 5)).toEqual(
      Array.from({ length: 5 }, () => (answer === 204 ? 204 : 'otp_delivery_failed')),
    );
    expect(answers.slice(5)).toEqual(times(3, 'too_many_requests'));
    expect(sends).toBe(5 * attempts);
  });

  it.each<[string, (index: number) => BobRequest, ProblemType, number]>([
    ['made-up captcha tokens', () => ({ captcha: 'refused' }), 'captcha_failed', 5],
    [
      'a captcha whose provider does not answer',
      (index) => ({ captcha: 'down', ...number(index) }),
      'internal_error',
      5,
    ],
    ['wrong form ids', () => WRONG_FORM, 'form_not_found', 3],
  ])('is limited in ten minutes if its requests have %s', async (_, given, type, count) => {
    expect(await answersTo(count + 3, given)).toEqual([...times(count, type), ...times(3, 'too_many_requests')]);
  });

  it('is not refused while no call leaves: the provider is unreachable for eight requests', async () => {
    const answers = await answersTo(8, () => sendFails('retryable', false));
    expect(answers).toEqual(times(8, 'otp_delivery_failed'));
  });

  it('in three /64 with invalid requests does not lock the other sources of its /48', async () => {
    const scene = await RegistrationScene.start(LIMITS);
    const answers = await answersTo(6, (index) => ({ ...subnet(index), ...WRONG_FIELD }), scene);
    expect(answers).toEqual(times(6, 'validation_failed'));
    expect(await scene.request(subnet(99))).toBe(204);
  });

  it('in three /64 of one /48 with refused captchas locks the other sources of the /48', async () => {
    const answers = await answersTo(6, (index) => ({ ...subnet(index), captcha: 'refused' }));
    expect(answers.slice(3)).toEqual(times(3, 'too_many_requests'));
  });
});
