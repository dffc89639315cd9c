import { describe, expect, it } from 'vitest';
import {
  type Answer,
  type BobRequest,
  DAY,
  MINUTE,
  NOW,
  RECIPIENTS,
  RegistrationScene,
  TWO_KEYS,
} from '../../support/registration-scene.ts';
import { faultySteps, overtakenStep } from '../../support/step-faults.ts';

const KEYED = { idempotencyKey: 'key-1' };
/** Other members, and another person, so that no limit stops it. */
const OTHER_BODY = { body: { name: 'Eve', recipient: { ...RECIPIENTS.email, key: 'eve@example.com' } } };
const OTHER_PASSWORD = { body: { password: 'other password' } };

/** A request that stops at a step, as if the function were frozen there. */
function stopsAt(scene: RegistrationScene, step: string) {
  const steps = faultySteps(step, 'killed before');
  return Promise.race([scene.request({ ...KEYED, ...steps }), steps.died]);
}

/** What became of the first request with the key. */
const FIRST = {
  finished: (scene) => scene.request(KEYED),
  running: (scene) => stopsAt(scene, 'send'),
  'running, before it is stored': (scene) => stopsAt(scene, 'update recipient'),
  'dead, and may have sent': async (scene) => {
    await stopsAt(scene, 'send');
    scene.now += MINUTE;
  },
  'dead, before it was stored': async (scene) => {
    await stopsAt(scene, 'update recipient');
    scene.now += MINUTE;
  },
} satisfies Record<string, (scene: RegistrationScene) => Promise<unknown>>;
type First = keyof typeof FIRST;

async function sceneAfter(first: First): Promise<RegistrationScene> {
  const scene = await RegistrationScene.start();
  await FIRST[first](scene);
  scene.sent.length = 0;
  scene.events.length = 0;
  return scene;
}

describe('An Idempotency-Key', () => {
  it.each<[what: string, scope: BobRequest, other: BobRequest, Answer]>([
    ['of the same source', {}, {}, 'replayed'],
    ['of another source', {}, { source: '192.0.2.1' }, 204],
    ['of one /64', { source: '2001:db8::1' }, { source: '2001:db8::ffff' }, 'replayed'],
    ['of another /64', { source: '2001:db8::1' }, { source: '2001:db8:0:1::1' }, 204],
    ['of a named caller', { caller: 'crm' }, { caller: 'crm', source: '192.0.2.1' }, 'replayed'],
    ['of another caller', { caller: 'crm' }, { caller: 'page' }, 204],
  ])('repeated by a request %s gets the answer $3', async (_, scope, other, answer) => {
    const scene = await RegistrationScene.start();
    expect(await scene.request({ ...KEYED, ...scope })).toBe(204);
    const { registrationId } = scene;
    scene.now += 2 * MINUTE;
    expect(await scene.request({ ...KEYED, ...other })).toBe(answer);
    expect(scene.registrationId === registrationId).toBe(answer === 'replayed');
  });

  it.each<[First, what: string, BobRequest, Answer]>([
    ['finished', 'the same body', {}, 'replayed'],
    ['finished', 'another password', OTHER_PASSWORD, 'idempotency_key_reused'],
    ['finished', 'another body', OTHER_BODY, 'idempotency_key_reused'],
    ['running', 'the same body', {}, 'request_in_progress'],
    ['running', 'another password', OTHER_PASSWORD, 'idempotency_key_reused'],
    ['running', 'another body', OTHER_BODY, 'idempotency_key_reused'],
    ['running, before it is stored', 'the same body', {}, 'request_in_progress'],
    ['running, before it is stored', 'another body', OTHER_BODY, 'idempotency_key_reused'],
    ['dead, and may have sent', 'the same body', {}, 'replayed'],
    ['dead, and may have sent', 'another password', OTHER_PASSWORD, 'idempotency_key_reused'],
    ['dead, and may have sent', 'another body', OTHER_BODY, 'idempotency_key_reused'],
    ['dead, before it was stored', 'another body', OTHER_BODY, 204],
  ])('whose request is %s, and is repeated with %s, gets the answer $3', async (first, _, asked, answer) => {
    const scene = await sceneAfter(first);
    expect(await scene.request({ ...KEYED, ...asked })).toBe(answer);
    expect(scene.sent).toHaveLength(answer === 204 ? 1 : 0);
  });

  it('is held for a second longer than the function may run', async () => {
    const scene = await sceneAfter('running, before it is stored');
    scene.now += 20_999;
    expect(await scene.request(KEYED)).toBe('request_in_progress');
    scene.now += MINUTE;
    expect(await scene.request(KEYED)).toBe(204);
  });

  it('of a repeat counts as a request of its source, and asks no captcha', async () => {
    const scene = await sceneAfter('finished');
    for (let repeat = 2; repeat <= 10; repeat += 1)
      expect(await scene.request({ ...KEYED, captcha: 'refused' })).toBe('replayed');
    expect(await scene.counts()).toEqual({ source: 10, recipient: 1, sender: 1 });
    expect(await scene.request(KEYED)).toBe('too_many_requests');
    expect(scene.steps).not.toContain('verify');
  });

  it('of simultaneous requests sends one message, and the other hears that it is in progress, not that it must wait', async () => {
    const scene = await RegistrationScene.start();
    const second: Answer[] = [];
    const step = overtakenStep('put registration', async () => {
      second.push(await scene.twin().request(KEYED));
    });
    expect(await scene.request({ ...KEYED, step })).toBe('request_in_progress');
    expect(second).toEqual([204]);
    expect(await scene.counts()).toMatchObject({ recipient: 1, sender: 1 });
    for (const at of ['hash', 'update recipient', 'put registration 2', 'send']) {
      const running = await RegistrationScene.start();
      const answers: Answer[] = [];
      const overtaking = overtakenStep(at, async () => {
        answers.push(await running.twin().request(KEYED));
      });
      expect(await running.request({ ...KEYED, step: overtaking })).toBe(204);
      expect(answers, at).toEqual(['request_in_progress']);
      expect(running.sent).toHaveLength(1);
    }
  });

  it('of a worker that was overtaken after its lease stores and sends nothing', async () => {
    const scene = await RegistrationScene.start();
    const step = overtakenStep('put registration 2', async () => {
      scene.now += MINUTE;
      const twin = scene.twin();
      twin.now = scene.now;
      expect(await twin.request(KEYED)).toBe(204);
    });
    expect(await scene.request({ ...KEYED, step })).toBe('request_in_progress');
    expect(scene.sent).toEqual([]);
    expect(await scene.request(KEYED)).toBe('replayed');
  });

  it('is found again while the pepper is rotated, and 24 hours later it is new', async () => {
    const scene = await sceneAfter('finished');
    scene.pepper = TWO_KEYS;
    scene.now = NOW + DAY - 1;
    expect(await scene.request(KEYED)).toBe('replayed');
    scene.now = NOW + DAY;
    expect(await scene.request({ ...KEYED, ...OTHER_BODY })).toBe(204);
  });

  it('is stored with a fingerprint of everything but the passwords, which would be faster to guess than a hash', async () => {
    const fingerprintOf = async (asked: BobRequest) => {
      const scene = await RegistrationScene.start();
      await scene.request({ ...KEYED, ...asked });
      return (await scene.items('registrations'))[0]?.fingerprint;
    };
    expect(await fingerprintOf({})).toEqual(expect.any(String));
    expect(await fingerprintOf(OTHER_PASSWORD)).toEqual(await fingerprintOf({}));
    expect(await fingerprintOf(OTHER_BODY)).not.toEqual(await fingerprintOf({}));
  });
});
