import { describe, expect, it } from 'vitest';
import { ConditionFailed } from '../../../lib/aws/dynamodb.ts';
import {
  type Answer,
  type BobRequest,
  DAY,
  MINUTE,
  NOW,
  RECIPIENTS,
  RegistrationScene,
  SERVICE_UNAVAILABLE,
} from '../../support/registration-scene.ts';
import { failingSteps, faultySteps } from '../../support/step-faults.ts';
import { USUAL_LIMITS } from '../../support/usual-limits.ts';

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
  finished: (scene: RegistrationScene) => scene.request(KEYED),
  undecided: async (scene: RegistrationScene) => {
    await stopsAt(scene, 'send');
    scene.now += MINUTE;
  },
  running: (scene: RegistrationScene) => stopsAt(scene, 'send'),
  'running, before its mark': (scene: RegistrationScene) => stopsAt(scene, 'update recipient'),
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
    scene.now += 2 * MINUTE;
    expect(await scene.request({ ...KEYED, ...other })).toBe(answer);
  });

  it('is held for a second longer than the function may run', async () => {
    const scene = await RegistrationScene.start();
    await stopsAt(scene, 'update source');
    scene.now += 20_999;
    expect(await scene.request(KEYED)).toBe('request_in_progress');
    scene.now += 1;
    expect(await scene.request(KEYED)).toBe(204);
  });

  it('of a finished request gives the first answer again, sends nothing, and counts as a replay alone', async () => {
    const scene = await sceneAfter('finished');
    const counts = await scene.counts();
    expect(await scene.request(KEYED)).toBe('replayed');
    expect([await scene.counts(), scene.sent, scene.events]).toEqual([{ ...counts, replay: 1 }, [], []]);
  });

  it('that is replayed too often gets too_many_requests, before the password is compared', async () => {
    const scene = await sceneAfter('finished');
    scene.limits = { ...USUAL_LIMITS, replaysPerHour: 1 };
    expect(await scene.request(KEYED)).toBe('replayed');
    expect(await scene.request(KEYED)).toBe('too_many_requests');
    expect(scene.problem?.options.retryAfterSeconds).toBe(3_600);
    expect(scene.steps).not.toContain('verify');
  });

  it('is replayed also by a source that is over its limit, and where replays cannot be counted', async () => {
    const scene = await sceneAfter('finished');
    scene.limits = { ...USUAL_LIMITS, sourcePerHour: 1 };
    expect(await scene.request({ ...KEYED, step: failingSteps({ 'update replay': SERVICE_UNAVAILABLE }) })).toBe(
      'replayed',
    );
  });

  it('of a repeat asks no captcha', async () => {
    for (const first of ['finished', 'undecided'] as const) {
      const scene = await sceneAfter(first);
      expect(await scene.request({ ...KEYED, captcha: 'refused' })).toBe('replayed');
    }
  });

  it.each<[First, what: string, BobRequest, Answer]>([
    ['finished', 'the same body', {}, 'replayed'],
    ['finished', 'another password', OTHER_PASSWORD, 'idempotency_key_reused'],
    ['finished', 'another body', OTHER_BODY, 'idempotency_key_reused'],
    ['undecided', 'the same body', {}, 'replayed'],
    ['undecided', 'another password', OTHER_PASSWORD, 'idempotency_key_reused'],
    ['undecided', 'another body', OTHER_BODY, 'idempotency_key_reused'],
    ['running', 'the same body', {}, 'request_in_progress'],
    ['running', 'another password', OTHER_PASSWORD, 'idempotency_key_reused'],
    ['running', 'another body', OTHER_BODY, 'idempotency_key_reused'],
    ['running, before its mark', 'the same body', {}, 'request_in_progress'],
    ['running, before its mark', 'another password', OTHER_PASSWORD, 'request_in_progress'],
  ])('whose request is %s, and is repeated with %s, gets the answer $3', async (first, what, asked, answer) => {
    const scene = await sceneAfter(first);
    const counts = await scene.counts();
    expect(await scene.request({ ...KEYED, ...asked })).toBe(answer);
    expect(scene.sent).toEqual([]);
    expect({ ...(await scene.counts()), replay: 0 }).toEqual({ ...counts, replay: 0 });
    // Only the answer shows which registration was kept.
    const same = await sceneAfter(first);
    await same.request(KEYED);
    if (what === 'another password') expect(scene.log).toEqual(same.log);
  });

  it.each(['finished', 'undecided'] as const)(
    'whose request is %s is replayed with any password when its registration has disappeared',
    async (first) => {
      const scene = await sceneAfter(first);
      scene.now = NOW + DAY;
      expect(await scene.request({ ...KEYED, ...OTHER_PASSWORD })).toBe('replayed');
      expect(scene.steps).toContain('verify');
    },
  );

  it('is stored with a fingerprint of everything but the passwords, which would be faster to guess than a hash', async () => {
    const fingerprintOf = async (asked: BobRequest) => {
      const scene = await RegistrationScene.start();
      await scene.request({ ...KEYED, ...asked });
      return (await scene.items('keys'))[0]?.fingerprint;
    };
    expect(await fingerprintOf(OTHER_PASSWORD)).toEqual(await fingerprintOf({}));
    expect(await fingerprintOf(OTHER_BODY)).not.toEqual(await fingerprintOf({}));
  });

  it('of a request that may have sent is never worked on again, and finished, so that every later retry is answered', async () => {
    const scene = await sceneAfter('undecided');
    for (let times = 0; times < 2; times += 1) expect(await scene.request(KEYED)).toBe('replayed');
    expect(await scene.items('keys')).toMatchObject([{ state: 'finished' }]);
    expect(scene.sent).toEqual([]);
  });

  it('lost to another try before the send answers request_in_progress; its record and counts are undone, its key is not', async () => {
    const scene = await RegistrationScene.start();
    const step = failingSteps({ 'update key': new ConditionFailed() });
    expect(await scene.request({ ...KEYED, step })).toBe('request_in_progress');
    expect([scene.sent, await scene.counts(), await scene.registrations()]).toEqual([[], {}, []]);
    expect(await scene.items('keys')).toMatchObject([{ state: 'running' }]);
  });
});
