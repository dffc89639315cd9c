import { expect } from 'vitest';
import { newPhone, sendRequest } from './caller.ts';
import { breaks, type Case, keeps, ofFields, type Section } from './cases.ts';
import { checkViolations } from './checks.ts';
import { FIELDS, overHttp } from './fields.ts';
import { checkAccepted, registerAndCheck } from './promises.ts';
import { CLIENT, DEMANDING_FORM, keyOf, RECORDS } from './records.ts';
import { ENDPOINTS } from './rows.ts';
import { listed, PHONE_CHANNELS } from './table.ts';

const operation = 'registration' as const;

/** The registration request as a whole, beyond single fields. */
const WHOLE: readonly Case[] = [
  keeps(
    [
      '1 registration: a one-time password through the chosen channel',
      `${ENDPOINTS.registration}: success status 204`,
      `${ENDPOINTS.registration}: no body`,
    ],
    'a code of six digits comes',
    async (world) => {
      const { text, html } = (await registerAndCheck(world, { operation })).message;
      expect(text).toMatch(/^\d{6}$/m);
      expect(html).toContain(/^\d{6}$/m.exec(text)?.[0]);
    },
  ),
  breaks('1 registration: of type trader', 'another type is refused', async (world) => {
    checkViolations(await sendRequest(world, { operation, body: { type: 'partner' } }), listed('one_of@#/type'));
  }),
  keeps(
    '2.1 referrer_id: referral code of the referrer',
    'the referrer is kept with the registration',
    async (world) => {
      const { kept } = await registerAndCheck(world, { operation, body: { referrer_id: CLIENT.referral_code } });
      expect(kept).toMatchObject({ referrer_user_id: CLIENT.id });
    },
  ),
  keeps('2.1 custom_fields: keys of the registration form at the root', 'several are kept as they came', (world) =>
    checkAccepted(world, {
      operation,
      body: { [keyOf('number')]: 12.5, [keyOf('boolean')]: false, [keyOf('date')]: '2024-02-29' },
    }),
  ),
  breaks('2.1 custom_fields: decided: required by the form', 'all missing ones are listed', async (world) => {
    const answer = await sendRequest(world, { operation, body: { form_id: DEMANDING_FORM } });
    const form = RECORDS.forms.find(({ id }) => id === DEMANDING_FORM);
    checkViolations(answer, form?.fields.map(({ key }) => ({ pointer: `#/${key}`, rule: 'required' })) ?? []);
  }),
  // `test/lib/messages/translations.test.ts` has the other languages.
  keeps('2.1 language: language of the message', 'es-MX is spoken', async (world) => {
    const { message } = await registerAndCheck(world, { operation, body: { language: 'es-MX' } });
    expect(message.text).toContain('código');
  }),
];

/** Section 2.1, the channels; all of them are installed. */
const CHANNELS: readonly Case[] = [
  ...(['email', ...PHONE_CHANNELS] as const).map((otp_type) => {
    const available = otp_type === 'email' ? 'always' : 'only when a messaging-provider integration is installed';
    const places = [
      `2.1 OTP type ${otp_type}: ${available}`,
      `${ENDPOINTS.registration}: delivered through the channel named by otp_type`,
    ];
    return keeps(places, 'it brings the code', (world) => checkAccepted(world, { operation, body: { otp_type } }));
  }),
  ...PHONE_CHANNELS.map((otp_type) =>
    keeps(
      '2.1 otp_type: one of email, sms, call, whatsapp',
      `${otp_type} reaches the number however it is typed`,
      async (world) => {
        const { number } = newPhone();
        const phone = { country_code: '+44', number: `0${number.slice(0, 4)} ${number.slice(4)}` };
        const answer = await sendRequest(world, { operation, body: { otp_type, phone } });
        expect(answer.status).toBe(204);
        expect(world.service.outbox.list().at(-1)).toMatchObject({ kind: otp_type, to: `+44${number}` });
      },
    ),
  ),
];

const valuesOf = (section: keyof typeof FIELDS) => ofFields(section, overHttp(FIELDS[section]));

export const REGISTRATION_SECTIONS: readonly Section[] = [
  ...valuesOf('2.1: the registration request'),
  ...valuesOf('2.2: the fields of a form'),
  { title: '1, 2.1 and 4.1: the registration request as a whole', cases: [...WHOLE, ...CHANNELS] },
];
