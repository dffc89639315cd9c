import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { StoredRegistration } from '../../../lib/records/registrations.ts';
import { type Answer, DOCUMENTS, MINUTE, RegistrationScene } from '../../support/registration-scene.ts';
import { faultySteps, type StepFault, withFaults } from '../../support/step-faults.ts';

/**
 * Every step of a registration and of its confirmation, with every fault: it is refused, takes too long, is done without
 * an answer, or the function is killed before or after it.
 */

const READS = /^(secret|read|find|hash|open)/;
const isKilled = (fault: StepFault) => fault.startsWith('killed');
const isOutOfTime = (fault: StepFault) => fault === 'slow' || fault === 'unanswered';

/** The first answer, or the end of the function, whose other calls are done. */
async function outcome(answer: Promise<Answer>, { died }: ReturnType<typeof faultySteps>) {
  const end = await Promise.race([answer, died]);
  for (let turn = 0; turn < 50; turn += 1) await setImmediate();
  return end;
}

const ASKED = { idempotencyKey: 'key-1', members: DOCUMENTS };
const REQUEST = [
  ...['secret', 'read form', 'read registration', 'update source', 'read source', 'hash', 'open channel'],
  // The claim of the key.
  'put registration',
  ...['update recipient', 'put document', 'put document 2'],
  // From here on the message may leave.
  ...['put registration 2', 'update sender', 'send'],
  'update registration',
];

/** From the store to the end of the send: the message of a killed function may have left. */
const LEAVING = ['put registration 2', 'update sender', 'send'];
/** A mail is sent without its limits. */
const LIMITS = ['update source', 'read source', 'update recipient', 'update sender'];

function answerToRequest(step: string, fault: StepFault): Answer | 'killed' {
  if (isKilled(fault)) return 'killed';
  if (step === 'send' && fault === 'refused') return 'otp_delivery_failed';
  const isUnchecked = LIMITS.includes(step) && !isOutOfTime(fault);
  return step === 'send' || step === 'update registration' || isUnchecked ? 204 : 'internal_error';
}

describe('A request for a registration', () => {
  it('takes the listed steps, some of them in parallel', async () => {
    const scene = await RegistrationScene.start();
    expect(await scene.request(ASKED)).toBe(204);
    expect(scene.steps.toSorted()).toEqual(REQUEST.toSorted());
  });

  it.each(withFaults(REQUEST, READS))('in which one step fails sends one message: %s, %s', async (step, fault) => {
    const scene = await RegistrationScene.start();
    const steps = faultySteps(step, fault);
    const answer = await outcome(scene.request({ ...ASKED, ...steps }), steps);
    expect(answer).toBe(answerToRequest(step, fault));

    // The lease of a killed function and the pause of the recipient are over.
    scene.now += 2 * MINUTE;
    expect([204, 'replayed']).toContain(await scene.request(ASKED));
    expect(await scene.request(ASKED)).toBe('replayed');

    const mayBeLost = (step === 'send' && fault === 'slow') || (LEAVING.includes(step) && isKilled(fault));
    expect(scene.sent.length).toBeLessThanOrEqual(1);
    if (!mayBeLost) expect(scene.sent).toHaveLength(1);
    if (scene.sent.length > 0) expect(await scene.confirm()).toBe(204);
  });
});

/** Every call of a confirmation, in this order. */
const CONFIRMATION = [
  ...['secret', 'read registration', 'update registration', 'find proven_email', 'read address'],
  ...['keep document', 'keep document 2', 'confirm', 'publish', 'update registration 2'],
];
const PUBLISHING = ['publish', 'update registration 2'];

function answerToConfirmation(step: string, fault: StepFault): Answer | 'killed' {
  if (isKilled(fault)) return 'killed';
  return PUBLISHING.includes(step) ? 204 : 'internal_error';
}

async function registered() {
  const scene = await RegistrationScene.start();
  expect(await scene.request({ members: DOCUMENTS })).toBe(204);
  const item = async () => (await scene.items('registrations')).find((one) => 'registration_id' in one);
  const confirmation = async () => (await item())?.confirmation as StoredRegistration['confirmation'];
  const id = (await item())?.registration_id;
  return { scene, id, confirmation, kept: () => new Set(scene.documents.values()) };
}

const KEPT = new Set(['kept']);

describe('A confirmation with documents', () => {
  it('takes these steps', async () => {
    const { scene, confirmation, kept } = await registered();
    expect(await scene.confirm()).toBe(204);
    expect(scene.steps).toEqual(CONFIRMATION);
    expect(await confirmation()).toMatchObject({ published: true });
    expect(kept()).toEqual(KEPT);
  });

  it.each(withFaults(CONFIRMATION, READS))('in which one step fails can be repeated: %s, %s', async (step, fault) => {
    const { scene, id, confirmation, kept } = await registered();
    const steps = faultySteps(step, fault);
    const answer = await outcome(scene.confirm(steps), steps);
    expect(answer).toBe(answerToConfirmation(step, fault));

    const first = await confirmation();
    const lost = step === 'confirm' && (fault === 'unanswered' || fault === 'answer lost');
    if (answer === 204) expect(first).toBeDefined();
    if (answer === 'internal_error') expect(first !== undefined).toBe(lost);
    if (answer === 'internal_error') expect(scene.published).toEqual([]);
    if (first !== undefined) expect(scene.published.length > 0 || !first.published).toBe(true);
    if (first !== undefined) expect(kept()).toEqual(KEPT);

    for (let repeat = 0; repeat < 2; repeat += 1) {
      scene.now += MINUTE;
      await scene.publishPending();
      expect(await scene.confirm()).toBe(204);
    }
    const { confirmed_at } = first ?? (await confirmation()) ?? {};
    expect(await confirmation()).toMatchObject({ confirmed_at, published: true });
    expect(kept()).toEqual(KEPT);
    expect(scene.published.length).toBeGreaterThanOrEqual(1);
    // Twice only if the first was published but that was not recorded.
    expect(scene.published.length).toBeLessThanOrEqual(PUBLISHING.includes(step) ? 2 : 1);
    for (const detail of scene.published) expect(detail).toMatchObject({ id, confirmed_at });
  });

  const confirmed = withFaults(CONFIRMATION, READS).filter(([step, fault]) =>
    step === 'confirm'
      ? fault === 'killed after' || fault === 'unanswered' || fault === 'answer lost'
      : PUBLISHING.includes(step),
  );
  it.each(confirmed)('that is never repeated is published within two minutes: %s, %s', async (step, fault) => {
    const { scene, id, confirmation, kept } = await registered();
    const steps = faultySteps(step, fault);
    await outcome(scene.confirm(steps), steps);
    for (let minute = 0; minute < 3; minute += 1) {
      scene.now += MINUTE;
      await scene.publishPending();
    }
    expect(await confirmation()).toMatchObject({ published: true });
    expect([1, 2]).toContain(scene.published.length);
    for (const detail of scene.published) expect(detail).toMatchObject({ id });
    expect(kept()).toEqual(KEPT);
  });
});
