import { describe, expect, it } from 'vitest';
import { DeliveryFailure, type DeliveryFailureKind, SEND_FAILURES } from '../../../lib/messages/message.ts';
import { type Channel, OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import { toEmail, toPhone } from '../../support/limits.ts';
import {
  type BobRequest,
  FAILURE_KINDS,
  RegistrationScene,
  SERVICE_UNAVAILABLE,
} from '../../support/registration-scene.ts';
import { failingSteps, overtakenStep, type Step } from '../../support/step-faults.ts';
import { USUAL_LIMITS } from '../../support/usual-limits.ts';

/** A scene in which these addresses of Bob are a client's. */
async function sceneOf(known: Parameters<RegistrationScene['addClient']>[0]): Promise<RegistrationScene> {
  const scene = await RegistrationScene.start();
  await scene.addClient(known);
  return scene;
}

const CLIENTS = { email: true, phone: true };
const deliveries = async (scene: RegistrationScene) => (await scene.registrations()).map(({ delivery }) => delivery);
/** A request whose every send fails in this way. */
function sendFails(kind: DeliveryFailureKind, left = true): BobRequest {
  const failure = new DeliveryFailure(kind, 'Refused', { left });
  return { step: (name, call) => (/^send( |$)/.test(name) ? Promise.reject(failure) : call()) };
}

/** A request whose message is throttled until its time is up. */
function throttled(): BobRequest {
  const time = new AbortController();
  const step: Step = async (name, call) => {
    if (name !== 'send') return call();
    time.abort();
    throw new DeliveryFailure('throttled', 'Throttling', { left: true });
  };
  return { step, signal: time.signal };
}

describe('A client’s address', () => {
  it.each(OTP_TYPES)('gets a notice without a code on the same channel: %s', async (by) => {
    const scene = await sceneOf(CLIENTS);
    expect(await scene.request({ by })).toBe(204);
    expect(scene.sent).toMatchObject([{ channel: by, message: { kind: 'owner_notice' } }]);
    expect(JSON.stringify(scene.sent)).not.toContain(scene.code);
    expect(await deliveries(scene)).toMatchObject([{ kind: 'owner_notice' }]);
  });

  it.each([
    ['sms', { email_taken: true, phone_taken: false }],
    ['email', { email_taken: false, phone_taken: true }],
  ] as const)('keeps no code from a stranger’s other address: %s', async (by, taken) => {
    const scene = await sceneOf({ email: taken.email_taken, phone: taken.phone_taken });
    await scene.request({ by });
    expect(scene.sent).toMatchObject([{ message: { kind: 'code' } }]);
    expect(await deliveries(scene)).toMatchObject([{ kind: 'code', ...taken }]);
  });

  /** Requests that differ in no more than whose address it is. */
  type Ending = [what: string, asked: (scene: RegistrationScene, by: Channel) => BobRequest];

  it.each<Ending>([
    ['a message sent', () => ({})],
    [
      'a limit of the recipient',
      (scene, by) => ({ step: overtakenStep('update recipient', () => scene.twin().request({ by })) }),
    ],
    [
      'a limit that recipients share',
      (scene, by) => {
        scene.limits = { ...USUAL_LIMITS, prefixPerHour: 1, mailDomainPerHour: 1 };
        const recipient = by === 'email' ? toEmail('ann@example.com') : toPhone('+447400129999', by);
        const at = by === 'email' ? 'update domain' : 'update prefix';
        return { step: overtakenStep(at, () => scene.twin().request({ body: { recipient } })) };
      },
    ],
    ['a captcha that is not passed', () => ({ captcha: 'refused' })],
    ...FAILURE_KINDS.flatMap((kind): Ending[] => [
      [`a send that failed: ${kind}`, () => sendFails(kind)],
      [`a send of which nothing left: ${kind}`, () => sendFails(kind, false)],
    ]),
    ['a send that is throttled until the time is up', throttled],
    ['a record that could not be kept', () => ({ step: failingSteps({ 'put registration': SERVICE_UNAVAILABLE }) })],
    ['a note that could not be written', () => ({ step: failingSteps({ 'put delivery': SERVICE_UNAVAILABLE }) })],
  ])('makes the same calls and gets the same answer as a stranger’s: %s', async (_, asked) => {
    // A request by any phone channel goes the same way; a key adds the same calls to each channel.
    for (const [by, key] of [['email', { idempotencyKey: 'key-1' }] as const, ['sms', {}] as const]) {
      const seen = [CLIENTS, {}].map(async (known) => {
        const scene = await sceneOf(known);
        const first = await scene.request({ by, ...key, ...asked(scene, by) });
        const { log, events, problem } = scene;
        const seenOf = { first, log, events: events.map(({ name }) => name), problem: problem?.toDocument('') };
        // The counts that are left, and what the same request hears then.
        const counts = await scene.counts();
        return { ...seenOf, counts, second: await scene.request({ by, ...key }), secondLog: scene.log };
      });
      const [ours, theirs] = await Promise.all(seen);
      expect(ours, by).toEqual(theirs);
    }
  });
});

const KEPT_OF_SENT = { source: 1, recipient: 1, prefix: 1, country: 1, channel: 1 };
const rows = FAILURE_KINDS.flatMap((kind) =>
  [true, false].flatMap((left) => [CLIENTS, {}].map((known) => [kind, left, known] as const)),
);

describe('A send that fails has the outcome of its row', () => {
  it.each(rows)('%s, asked: %s, of a client: %o', async (kind, left, known) => {
    const rule = SEND_FAILURES[kind];
    const scene = await sceneOf(known);
    const answer = await scene.request({ by: 'sms', idempotencyKey: 'key-1', ...sendFails(kind, left) });
    expect(scene.steps.filter((step) => step.startsWith('send'))).toHaveLength(rule.attempts);
    expect(scene.events[0]).toMatchObject({ name: rule.event, fields: { channel: 'sms', kind, reason: 'Refused' } });
    const stored = await deliveries(scene);
    if (rule.answer === 204) {
      expect([answer, await scene.counts()]).toEqual([204, KEPT_OF_SENT]);
      expect(stored).toMatchObject([{ kind: known === CLIENTS ? 'owner_notice' : 'code', outcome: rule.noted }]);
    } else {
      expect([answer, await scene.counts()]).toEqual(['otp_delivery_failed', left ? { source: 1 } : {}]);
      expect(stored).toEqual([]);
    }
  });
});
