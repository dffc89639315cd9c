import * as v from 'valibot';
import { INVALID_PHONE } from './custom-fields.ts';
import { EmailSchema, emailKey } from './email.ts';
import type { Channel } from './otp-types.ts';
import { RegistrationPasswordSchema } from './passwords.ts';
import { PhoneSchema, parsePhone } from './phone.ts';
import { closedObject, described, issuePath, rule } from './primitives.ts';

/** Bytes of the largest body of a confirmation. */
export const MAX_CONFIRMATION_BYTES = 10_000;

const shared = {
  code: described(
    v.pipe(v.string(), v.regex(/^\d{6}$/, rule('format', 'must be six digits'))),
    'The one-time password of the message.',
    '012345',
  ),
  password: described(RegistrationPasswordSchema, 'The password of the registration.'),
};

const OTP_TYPE = 'The channel that the registration named.';

/** The body of a confirmation: the channel and the address that the code went to, the code, and the password. */
export const ConfirmationBodySchema = v.variant('otp_type', [
  closedObject({
    otp_type: described(v.literal('email'), OTP_TYPE),
    email: described(EmailSchema, 'The email of the registration.', 'ann@example.com'),
    ...shared,
  }),
  closedObject({
    otp_type: described(v.picklist(['sms', 'call', 'whatsapp']), OTP_TYPE),
    phone: described(
      closedObject({
        country_code: v.pipe(PhoneSchema.entries.country_code, v.examples(['44'])),
        number: v.pipe(PhoneSchema.entries.number, v.examples(['07400 123456'])),
      }),
      'The phone of the registration.',
    ),
    ...shared,
  }),
]);

interface Confirmed {
  channel: Channel;
  /** The address in its look-up form, or the number in E.164. */
  address: string;
  code: string;
  password: string;
}

export const ConfirmationRequestSchema = v.pipeAsync(
  ConfirmationBodySchema,
  v.rawTransformAsync(async ({ dataset, addIssue, NEVER }): Promise<Confirmed> => {
    const { otp_type: channel, code, password, ...body } = dataset.value;
    if ('email' in body) return { channel, address: emailKey(body.email), code, password };
    const parsed = await parsePhone(body.phone.country_code, body.phone.number);
    if (parsed !== undefined) return { channel, address: parsed.e164, code, password };
    addIssue({ message: rule(INVALID_PHONE.rule, INVALID_PHONE.detail), path: issuePath('phone', 'number') });
    return NEVER;
  }),
);
export type ConfirmationRequest = v.InferOutput<typeof ConfirmationRequestSchema>;
