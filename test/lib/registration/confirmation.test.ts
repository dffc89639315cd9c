import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import { interleave } from '../../support/interleave.ts';
import {
  type BobConfirmation,
  type BobRequest,
  CODE,
  DAY,
  DOCUMENTS,
  MINUTE,
  NOW,
  RegistrationScene,
  SERVICE_UNAVAILABLE,
  TWO_KEYS,
} from '../../support/registration-scene.ts';
import { propertyRuns } from '../../support/runs.ts';
import { failingSteps } from '../../support/step-faults.ts';
import { NO_LIMITS } from '../../support/usual-limits.ts';

let scene: RegistrationScene;
beforeEach(async () => {
  scene = await RegistrationScene.start(NO_LIMITS);
});

/** A registration, whose code is valid for ten minutes. @returns its id */
async function register(asked: BobRequest = {}, code = CODE): Promise<string> {
  scene.code = code;
  expect(await scene.request(asked)).toBe(204);
  return scene.registrationId;
}

const confirm = (given: BobConfirmation = {}) => scene.confirm(given);

describe('The right code', () => {
  it('confirms a registration, and the event is published', async () => {
    await scene.addClient({});
    const id = await register({ body: { referrer_id: 'REFANN01' } });
    scene.now += MINUTE;
    expect(await confirm()).toBe(204);
    expect(scene.published).toEqual([
      {
        id,
        otp_type: 'email',
        verified: 'email',
        form_id: 'FORM0001',
        referrer_user_id: 'CLIENT01',
        requested_at: new Date(NOW).toISOString(),
        confirmed_at: new Date(NOW + MINUTE).toISOString(),
      },
    ]);
  });

  it('is counted once for the channel', async () => {
    await register();
    scene.events.length = 0;
    for (let time = 0; time < 2; time += 1) await confirm();
    expect(scene.events).toEqual([{ name: 'RegistrationConfirmed', fields: { channel: 'email' } }]);
  });

  it('may be repeated within 24 hours, without a second event', async () => {
    await register();
    for (let hour = 0; hour < 24; hour += 6) {
      scene.now = NOW + hour * 60 * MINUTE;
      for (let time = 0; time < 3; time += 1) expect(await confirm()).toBe(204);
    }
    scene.now = NOW + DAY;
    expect(await confirm()).toBe('code_not_accepted');
    expect(scene.published).toHaveLength(1);
  });

  it('keeps the registration 30 days from then on', async () => {
    await register();
    await confirm();
    scene.now = NOW + 30 * DAY - 1_000;
    expect(await scene.registrations()).toMatchObject([{ confirmation: { published: true } }]);
    scene.now = NOW + 30 * DAY;
    expect(await scene.registrations()).toEqual([]);
  });

  it('of each message works with its own registration, whichever arrives first, also while the pepper is rotated', async () => {
    const first = await register({}, '111111');
    scene.pepper = TWO_KEYS;
    const second = await register({}, '222222');
    expect(await confirm({ id: second, code: '111111' })).toBe('code_not_accepted');
    expect(await confirm({ id: first, code: '111111' })).toBe(204);
    expect(scene.published).toMatchObject([{ id: first }]);
  });

  it.each(OTP_TYPES)('of a client’s address is already_registered as long as it is valid: %s', async (by) => {
    // The other address was only typed.
    await scene.addClient({ email: by !== 'email', phone: by === 'email' });
    await register({ by, members: DOCUMENTS });
    await scene.addClient({ email: by === 'email', phone: by !== 'email' });
    for (let time = 0; time < 7; time += 1) expect(await confirm()).toBe('already_registered');
    expect(await confirm({ code: '999999' })).toBe('code_not_accepted');
    expect([scene.published, new Set(scene.documents.values())]).toEqual([[], new Set(['pending'])]);
    scene.now += 10 * MINUTE;
    expect(await confirm()).toBe('code_not_accepted');
  });

  it.each(['email', 'sms'] as const)('of an address that was proven within a day confirms nothing: %s', async (by) => {
    const [first, second] = [await register({ by }, '111111'), await register({ by, members: DOCUMENTS }, '222222')];
    const both = [
      { id: first, code: '111111' },
      { id: second, code: '222222' },
    ];
    const answers = await interleave(
      both.map((given) => (step) => confirm({ ...given, step })),
      (waiting) => waiting - 1,
    );
    expect(answers.toSorted()).toEqual([204, 'already_registered']);
    expect(scene.published).toHaveLength(1);
    for (const [index, given] of both.entries()) expect(await confirm(given)).toBe(answers[index]);
    scene.now = NOW + DAY - MINUTE;
    const third = await register({ by });
    expect(await confirm({ id: third })).toBe('already_registered');
    scene.now = NOW + DAY;
    expect(await confirm({ id: third })).toBe(204);
  });

  it('of an address that a client only typed, or that becomes a client’s later, is 204', async () => {
    await scene.addClient({ phone: true });
    await register();
    expect(await confirm()).toBe(204);
    await scene.addClient({ email: true });
    expect(await confirm()).toBe(204);
  });
});

describe('A refusal', () => {
  const wrong = { code: '999999' };
  const asked = () => register();
  const confirmed = () => register().then(() => confirm());
  const guessed = () => register().then(() => guess('1', '2', '3', '4', '5'));

  it.each<[string, before: () => Promise<unknown>, BobConfirmation, minutes?: number]>([
    ['of a wrong code', () => register({ members: DOCUMENTS }), wrong],
    ['of an unknown registration', async () => {}, { id: '00000000-0000-4000-8000-000000000000' }],
    ['of an expired code', asked, {}, 10],
    ['without guesses left', guessed, {}],
    ['of a registration that was confirmed a day ago', confirmed, {}, 24 * 60],
    ['of a registration that has disappeared', asked, {}, 24 * 60],
    ['of a wrong code of a confirmed registration', confirmed, wrong],
  ])('%s is code_not_accepted, after the same calls as every other', async (_, before, given, minutes = 0) => {
    await before();
    scene.now += minutes * MINUTE;
    expect(await confirm(given)).toBe('code_not_accepted');
    expect(scene.steps).toEqual(['secret', 'read registration', 'update registration']);
  });
});

/** Guesses wrong codes that end with these digits. */
async function guess(...digits: string[]): Promise<void> {
  for (const digit of digits) expect(await confirm({ code: `99999${digit}` })).toBe('code_not_accepted');
}

describe('Guesses', () => {
  it('are limited to five for a registration, and count for no other', async () => {
    const other = await register({}, '111111');
    await register();
    await guess('1', '2', '3', '4');
    await guess('5');
    expect(await confirm()).toBe('code_not_accepted');
    expect(await confirm({ id: other, code: '111111' })).toBe(204);
  });

  it('that are right but could not be confirmed are not used up, however often that fails', async () => {
    await register({ members: DOCUMENTS });
    await guess('1', '2', '3', '4');
    for (const failing of ['find proven_email', 'read address', 'keep document', 'confirm']) {
      const step = failingSteps({ [failing]: SERVICE_UNAVAILABLE });
      for (let time = 0; time < 3; time += 1) expect(await confirm({ step })).toBe('internal_error');
    }
    expect(await confirm()).toBe(204);
  });

  it('that are right are accepted, and published once, when the SDK repeats each write after a lost answer', async () => {
    const repeating: BobConfirmation = {
      step: async (name, call) => {
        if (name.startsWith('update')) await call();
        return call();
      },
    };
    await register();
    await guess('1', '2', '3', '4');
    for (let time = 0; time < 2; time += 1) expect(await confirm(repeating)).toBe(204);
    scene.now += MINUTE;
    await scene.publishPending();
    expect(scene.published).toHaveLength(1);
  });

  it('in parallel: at most five are judged, in any order, and one event is published', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), fc.integer({ min: 0, max: 7 }), async (choices, wrong) => {
        scene = await RegistrationScene.start(NO_LIMITS);
        await register();
        const guesses = [...Array.from({ length: wrong }, (_, index) => `99999${index}`), CODE, CODE];
        const answers = await interleave(
          guesses.map((code) => (step) => confirm({ code, step })),
          (waiting) => (choices.next().value ?? 0) % waiting,
        );
        expect(answers.slice(0, wrong).every((answer) => answer === 'code_not_accepted')).toBe(true);
        const right = answers.slice(wrong);
        expect(scene.published).toHaveLength(right.includes(204) ? 1 : 0);
        if (wrong <= 4) expect(right).toEqual([204, 204]);
        if (right.includes(204)) expect(await confirm()).toBe(204);
        const [{ guesses: counted } = { guesses: 0 }] = await scene.registrations();
        expect(Number(counted)).toBeLessThanOrEqual(6);
      }),
      propertyRuns(5),
    );
  });
});
