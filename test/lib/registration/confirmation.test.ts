import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { interleave } from '../../support/interleave.ts';
import {
  type BobConfirmation,
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
import { NO_LIMITS, USUAL_LIMITS } from '../../support/usual-limits.ts';

let scene: RegistrationScene;
beforeEach(async () => {
  scene = await RegistrationScene.start(NO_LIMITS);
});

/** A registration by email, whose code is valid for ten minutes. */
async function register({ code = CODE, password = 'right password', members = {} } = {}): Promise<void> {
  scene.code = code;
  expect(await scene.request({ body: { password }, members })).toBe(204);
}

const confirm = (given: BobConfirmation = {}) => scene.confirm({ password: 'right password', ...given });
/** The hashes of the last use case. */
const hashes = () => scene.steps.filter((step) => step.startsWith('hash')).length;

describe('The right code and password', () => {
  it('confirm a registration, and the event is published', async () => {
    await scene.addClient({});
    await scene.request({ body: { password: 'right password', referrer_id: 'REFANN01' } });
    scene.now += MINUTE;
    expect(await confirm()).toBe(204);
    expect(scene.published).toEqual([
      {
        id: (await scene.registrations())[0]?.registration_id,
        otp_type: 'email',
        verified: 'email',
        email_taken: false,
        phone_taken: false,
        form_id: 'FORM0001',
        referrer_user_id: 'CLIENT01',
        requested_at: new Date(NOW).toISOString(),
        confirmed_at: new Date(NOW + MINUTE).toISOString(),
      },
    ]);
  });

  it('are counted once for the channel, with the time since the message was sent', async () => {
    await register();
    scene.now += MINUTE;
    scene.events.length = 0;
    for (let time = 0; time < 2; time += 1) await confirm();
    const fields = { channel: 'email', seconds_to_confirm: 60 };
    expect(scene.events).toEqual([{ name: 'RegistrationConfirmed', fields }]);
  });

  it('may be repeated within 24 hours, without a second event, however many newer registrations there are', async () => {
    await register();
    expect(await confirm()).toBe(204);
    for (let i = 0; i < 12; i += 1) {
      await register({ code: `${200_000 + i}`, password: `password ${i}` });
      scene.now += 115 * MINUTE;
      expect(await confirm()).toBe(204);
    }
    scene.now = NOW + DAY;
    expect(await confirm()).toBe('code_not_accepted');
    expect(scene.published).toHaveLength(1);
  });

  it('keep the registration 30 days from then on', async () => {
    await register();
    await confirm();
    scene.now = NOW + 30 * DAY - 1_000;
    expect(await scene.registrations()).toMatchObject([{ confirmation: { published: true } }]);
    scene.now = NOW + 30 * DAY;
    expect(await scene.registrations()).toEqual([]);
  });

  it.each([
    ['email', 'sms', 'then'],
    ['email', 'sms', 'when it was asked for'],
    ['phone', 'email', 'then'],
    ['phone', 'email', 'when it was asked for'],
  ] as const)('publish, for the CRM alone, that a client has proven the %s, by %s, %s', async (kind, by, when) => {
    await scene.addClient({ [kind]: when !== 'then' });
    expect(await scene.request({ by })).toBe(204);
    await scene.addClient({ [kind]: when === 'then' });
    expect(await scene.confirm({ by })).toBe(204);
    const verified = by === 'email' ? 'email' : 'phone';
    const taken = { email_taken: kind === 'email', phone_taken: kind === 'phone' };
    expect(scene.published).toMatchObject([{ otp_type: by, verified, ...taken }]);
  });

  it('publish whether a client has proven the person’s own address since the request', async () => {
    await register();
    await scene.addClient({ email: true });
    expect(await confirm()).toBe(204);
    expect(scene.published).toMatchObject([{ email_taken: true, phone_taken: false }]);
  });

  it('find their registration among twenty of the address, at the cost of one hash', async () => {
    for (let index = 0; index < 20; index += 1) {
      await register({ code: `${100_000 + index}`, password: `password of ${index}` });
    }
    expect(await confirm({ code: '100001', password: 'password of 0' })).toBe('code_not_accepted');
    for (const index of [0, 10, 19]) {
      expect(await confirm({ code: `${100_000 + index}`, password: `password of ${index}` })).toBe(204);
      expect(hashes()).toBe(1);
    }
    const ids = (await scene.registrations()).map(
      ({ registration_id: id, password_hash: hash }) => [hash.split(' with ')[0], id] as const,
    );
    const published = [0, 10, 19].map((index) => ({ id: new Map(ids).get(`hash of password of ${index}`) }));
    expect(scene.published).toMatchObject(published);
  });

  it('are accepted while the pepper is rotated, at the cost of a hash for each key', async () => {
    await register({ code: '111111' });
    scene.pepper = TWO_KEYS;
    await register({ code: '222222' });
    for (const code of ['111111', '222222']) {
      expect(await confirm({ code })).toBe(204);
      expect(hashes()).toBe(2);
    }
  });

  it('are accepted from the first message even if it arrives after the second, with one password', async () => {
    await register({ code: '111111' });
    const [first = expect.fail()] = await scene.registrations();
    await register({ code: '222222' });
    expect(await confirm({ code: '111111' })).toBe(204);
    expect(scene.published).toMatchObject([{ id: first.registration_id }]);
  });
});

describe('A refusal', () => {
  const wrong = { code: '999999' };
  const asked = () => register();
  const confirmed = () => register().then(() => confirm());
  const guessed = () => register().then(() => guess('1', '2', '3', '4', '5'));
  const others = () => register({ password: 'other password' }).then(() => register({ code: '222222' }));
  const clients = async () => {
    await scene.addClient({ email: true });
    return register();
  };

  it.each<[string, before: () => Promise<unknown>, BobConfirmation, minutes?: number]>([
    ['of a wrong code', () => register({ members: DOCUMENTS }), wrong],
    ['of a wrong password and code', asked, { ...wrong, password: 'wrong password' }],
    ['of a wrong password', asked, { password: 'wrong password' }],
    ['where nothing was asked for', async () => {}, {}],
    ['of an owner’s notice', clients, {}],
    ['of an expired code', asked, {}, 10],
    ['without guesses left', guessed, {}],
    ['of the code of another registration', others, {}],
    ['of a registration that was confirmed a day ago', confirmed, {}, 24 * 60],
    ['of a registration that has disappeared', asked, {}, 24 * 60],
    ['of a wrong code of a confirmed registration', confirmed, wrong],
  ])(
    '%s is code_not_accepted, after the same calls and as many hashes as every other',
    async (_, before, given, minutes = 0) => {
      await before();
      scene.now += minutes * MINUTE;
      expect(await confirm(given)).toBe('code_not_accepted');
      expect(scene.steps).toEqual(['secret', 'read address', 'hash', 'update address', 'read registration']);
    },
  );

  it('for a wrong password uses up no guess', async () => {
    await register();
    for (let i = 0; i < 8; i += 1) await confirm({ password: 'wrong password' });
    expect(await confirm()).toBe(204);
  });

  it('by the source comes before any hash', async () => {
    scene.limits = { ...NO_LIMITS, confirmationsPer10Minutes: 1 };
    await register();
    await confirm(wrong);
    expect(await confirm()).toBe('too_many_requests');
    expect(scene.steps).toEqual(['secret', 'read address', 'update confirmation', 'read confirmation']);
  });

  it('does not happen because the source could not be counted', async () => {
    scene.limits = USUAL_LIMITS;
    await register();
    expect(await confirm({ step: failingSteps({ 'update confirmation': SERVICE_UNAVAILABLE }) })).toBe(204);
    expect(scene.events).toContainEqual({
      name: 'LimitUncheckable',
      fields: expect.objectContaining({ channel: 'email', reason: SERVICE_UNAVAILABLE.reason }),
    });
  });
});

/** Guesses wrong codes that end with these digits. */
async function guess(...digits: string[]): Promise<void> {
  for (const digit of digits) expect(await confirm({ code: `99999${digit}` })).toBe('code_not_accepted');
}

describe('Guesses', () => {
  it('are limited to five different codes: a repeated guess is free', async () => {
    await register();
    await guess('1', '1', '2', '3', '3', '4', '4');
    expect(await confirm()).toBe(204);
  });

  it('count for every registration with that password, and for no other', async () => {
    await register({ code: '111111' });
    await register({ code: '222222' });
    await register({ code: '333333', password: 'other password' });
    await guess('1', '2', '3', '4', '5');
    for (const code of ['111111', '222222']) expect(await confirm({ code })).toBe('code_not_accepted');
    expect(await confirm({ code: '333333', password: 'other password' })).toBe(204);
  });

  it('count once, and one event is published, when the SDK repeats each write after a lost answer', async () => {
    const repeating: BobConfirmation = {
      step: async (name, call) => {
        if (name.startsWith('update')) await call();
        return call();
      },
    };
    await register();
    for (let i = 0; i < 4; i += 1) await confirm({ code: `99999${i}`, ...repeating });
    for (let i = 0; i < 2; i += 1) expect(await confirm(repeating)).toBe(204);
    expect(scene.published).toHaveLength(1);
  });

  it('that are right but could not be written are not used up, however often that fails', async () => {
    await register({ members: DOCUMENTS });
    await guess('1', '2', '3', '4');
    const step = failingSteps({ 'update registration': SERVICE_UNAVAILABLE });
    for (let i = 0; i < 7; i += 1) expect(await confirm({ step })).toBe('internal_error');
    expect(await confirm()).toBe(204);
  });

  it('that arrive at the same time and are right are all answered with 204, with one event for twenty', async () => {
    await register();
    const answers = await Promise.all(Array.from({ length: 20 }, () => confirm()));
    expect(new Set(answers)).toEqual(new Set([204]));
    expect(scene.published).toHaveLength(1);
  });

  it('in parallel: at most five are compared, in any order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat()), fc.integer({ min: 0, max: 7 }), async (choices, wrong) => {
        scene = await RegistrationScene.start(NO_LIMITS);
        await register();
        const guesses = [...Array.from({ length: wrong }, (_, index) => `99999${index}`), CODE, CODE];
        const answers = await interleave(
          guesses.map((code) => (step) => confirm({ code, step })),
          (waiting) => (choices.next().value ?? 0) % waiting,
        );
        const counted = (await scene.items('registrations')).find(({ pk }) => pk === 'email#bob@example.com');
        const { guesses: kept } = Object.values(counted ?? {}).find((one) => typeof one === 'object') as {
          guesses: string[];
        };
        expect(kept.length).toBe(Math.min(5, wrong + 1));
        expect(scene.published).toHaveLength(answers.includes(204) ? 1 : 0);
        expect(answers.slice(0, wrong).every((answer) => answer === 'code_not_accepted')).toBe(true);
        if (wrong <= 4) expect(answers.slice(wrong)).toEqual([204, 204]);
      }),
      propertyRuns(5),
    );
  });
});
