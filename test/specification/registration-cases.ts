import { expect } from 'vitest';
import { call, newEmail, newPhone } from './caller.ts';
import { breaks, type Case, keeps, ofField } from './cases.ts';
import { checkViolations } from './checks.ts';
import { FIELDS, overHttp } from './fields.ts';
import { accepted, register } from './promises.ts';
import { CLIENT, DEMANDING_FORM, FORM, keyOf, RECORDS } from './records.ts';
import { PHONE_CHANNELS } from './table.ts';
import { type Section, sideBySide } from './walk.ts';

const operation = 'registration' as const;

/** Section 1, of the registration. */
const PURPOSE: readonly Case[] = [
  keeps(
    '1 registration',
    'a one-time password through the chosen channel',
    'a code of six digits comes',
    async (world) => {
      const { text, html } = await register(world, { operation });
      expect(text).toMatch(/^\d{6}$/m);
      expect(html).toContain(/^\d{6}$/m.exec(text)?.[0]);
    },
  ),
  breaks('1 registration', 'of type trader', 'another type is refused', async (world) => {
    checkViolations(await call(world, { operation, body: { type: 'partner' } }), [
      { pointer: '#/type', rule: 'one_of' },
    ]);
  }),
];

/** Section 2.1, beyond single fields. */
const WHOLE: readonly Case[] = [
  keeps('2.1 form_id', 'id of the registration form', 'the fields are those of the form', (world) =>
    accepted(world, { operation, body: { form_id: FORM, [keyOf('text')]: 'x' } }),
  ),
  keeps(
    '2.1 referrer_id',
    'referral code of the referrer',
    'the referrer is kept with the registration',
    async (world) => {
      const email = newEmail();
      await accepted(world, { operation, body: { email, referrer_id: CLIENT.referral_code } });
      expect(await world.items.registration('email', email)).toMatchObject({ referrer_user_id: CLIENT.id });
    },
  ),
  keeps('2.1 custom_fields', 'keys of the registration form at the root', 'several are kept as they came', (world) =>
    accepted(world, {
      operation,
      body: { [keyOf('number')]: 12.5, [keyOf('boolean')]: false, [keyOf('date')]: '2024-02-29' },
    }),
  ),
  breaks('2.1 custom_fields', 'decided: required by the form', 'all missing ones are listed', async (world) => {
    const answer = await call(world, { operation, body: { form_id: DEMANDING_FORM } });
    const form = RECORDS.forms.find(({ id }) => id === DEMANDING_FORM);
    checkViolations(answer, form?.fields.map(({ key }) => ({ pointer: `#/${key}`, rule: 'required' })) ?? []);
  }),
];

const SPOKEN = {
  en: 'Confirm your registration',
  'es-MX': 'código',
  'de-AT': 'Registrierung',
  ar: 'صالح',
  tlh: 'Confirm your registration',
};

const LANGUAGES = Object.entries(SPOKEN).map(([language, words]) =>
  keeps('2.1 language', 'language of the message', `${language} is spoken`, async (world) => {
    const { text } = await register(world, { operation, body: { language } });
    expect(text).toContain(words);
  }),
);

/** Section 2.1, the channels; all of them are installed. */
const CHANNELS: readonly Case[] = [
  keeps('2.1 OTP type email', 'always', 'a mail comes', (world) =>
    accepted(world, { operation, body: { otp_type: 'email' } }),
  ),
  ...PHONE_CHANNELS.flatMap((otp_type) => [
    keeps(
      `2.1 OTP type ${otp_type}`,
      'only when a messaging-provider integration is installed',
      'installed, it contains the code',
      async (world) => {
        const message = await register(world, { operation, body: { otp_type } });
        expect(message.kind).toBe(otp_type);
      },
    ),
    keeps(
      '2.1 otp_type',
      'one of email, sms, call, whatsapp',
      `${otp_type} reaches the number however it is typed`,
      async (world) => {
        const { number } = newPhone();
        const phone = { country_code: '+44', number: `0${number.slice(0, 4)} ${number.slice(4)}` };
        const answer = await call(world, { operation, body: { otp_type, phone } });
        expect(answer.status).toBe(204);
        expect(world.service.outbox.list().at(-1)).toMatchObject({ kind: otp_type, to: `+44${number}` });
      },
    ),
  ]),
];

const valuesOf = (section: keyof typeof FIELDS) => sideBySide(section, overHttp(FIELDS[section]).map(ofField));

export const REGISTRATION_SECTIONS: readonly Section[] = [
  { title: '1: what the service does', cases: PURPOSE },
  ...valuesOf('2.1: the registration request'),
  ...valuesOf('2.2: the fields of a form'),
  { title: '2.1: the registration request as a whole', cases: [...WHOLE, ...LANGUAGES, ...CHANNELS] },
];
