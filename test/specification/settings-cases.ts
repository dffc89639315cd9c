import { expect } from 'vitest';
import { FRONT_SETTINGS } from '../support/front.ts';
import { sendRequest } from './caller.ts';
import { decided, error, keeps, meets, ofError, type Part, type Section } from './cases.ts';
import { checkProblem } from './checks.ts';
import { checkAccepted } from './promises.ts';
import { listed, PHONE_CHANNELS } from './table.ts';

const operation = 'registration' as const;

const NOT_INSTALLED = PHONE_CHANNELS.map((otp_type) =>
  ofError(
    error(operation, '400 otp_type_unavailable', `${otp_type}, which is not installed,`, {
      body: { otp_type },
      members: { available: ['email'] },
      breaks: `2.1 OTP type ${otp_type}: only when a messaging-provider integration is installed`,
    }),
  ),
);

/** With email as the only channel. */
const EMAIL_ALONE: Part = {
  title: 'The specification, with email as the only channel',
  settings: { channels: ['email'] },
  sections: [
    {
      title: '2.1: the channels',
      cases: [
        keeps('2.1 OTP type email: always', 'a mail comes', (world) => checkAccepted(world, { operation })),
        ...NOT_INSTALLED,
      ],
    },
  ],
};

const captchaToken = (token: string) => ({ operation, headers: { 'captcha-token': token } });

const CAPTCHA = { provider: 'recaptcha', secret: 'local/captcha', hostnames: ['www.acme.example'], minScore: 0.5 };
/** Requests with tokens that their provider gave, and that were not solved by a person on a page of the broker. */
const NO_PERSON = [
  ['of another page', { hostname: 'www.evil.example' }],
  ['with too low a score', { score: 0.4 }],
] as const;

/** With a captcha that is asked for. */
const WITH_CAPTCHA: Part = {
  title: 'The specification, with a captcha',
  settings: { captcha: CAPTCHA },
  sections: [
    {
      title: 'The captcha',
      cases: [
        decided('a token that its provider gave is accepted', async (world) => {
          const token = world.service.captcha?.solve() ?? '';
          expect((await sendRequest(world, captchaToken(token))).status).toBe(204);
        }),
        ofError(
          error(operation, '403 captcha_failed', 'a captcha-token that its provider refuses', {
            headers: { 'captcha-token': 'token-of-nobody' },
          }),
        ),
        ...NO_PERSON.map(([says, solved]) =>
          decided(`a token ${says} is refused`, async (world) => {
            const token = world.service.captcha?.solve(solved) ?? '';
            const { status, body } = await sendRequest(world, captchaToken(token));
            expect([status, body?.type]).toEqual([403, 'captcha_failed']);
          }),
        ),
        ofError(
          error(operation, '400 validation_failed', 'no captcha-token', {
            violations: listed('required@captcha-token'),
          }),
        ),
      ],
    },
  ],
};

/** With a front that every request must come through. */
const WITH_FRONT: Part = {
  title: 'The specification, with a front',
  settings: { front: { ...FRONT_SETTINGS.front, only: true } },
  sections: [
    {
      title: 'The front',
      cases: [ofError(error(operation, '403 front_required', 'a request that did not come through the front'))],
    },
  ],
};

/** Those that need settings of their own. */
export const WITH_SETTINGS: readonly Part[] = [EMAIL_ALONE, WITH_CAPTCHA, WITH_FRONT];

/** `test/lib/limits` has every limit, and `test/functions/wiring.test.ts` shows that they reach the function. */
const TO_A_RECIPIENT = meets(
  {
    operation,
    says: 'a second mail within 60 s to the same address in another spelling',
    answer: '429 too_many_requests',
  },
  async (world) => {
    await sendRequest(world, { operation, body: { email: 'someone@gmail.com' } });
    const again = await sendRequest(world, { operation, body: { email: 'S.o.m.e.One+tag@googlemail.com' } });
    checkProblem(again, '429 too_many_requests');
    const seconds = Number(again.headers.get('retry-after'));
    expect([seconds >= 1, seconds <= 60]).toEqual([true, true]);
  },
);

export const SENDING_SECTIONS: readonly Section[] = [
  { title: 'Limits of sending, where the specification is silent', cases: [TO_A_RECIPIENT] },
];
