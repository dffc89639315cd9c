import * as v from 'valibot';
import { INVALID_PHONE } from './custom-fields.ts';
import { EmailSchema, emailKey } from './email.ts';
import { isPhoneChannel, OTP_TYPES, PHONE_CHANNELS } from './otp-types.ts';
import { RegistrationPasswordSchema } from './passwords.ts';
import { PhoneSchema, readRequestPhone } from './phone.ts';
import {
  closedObject,
  documented,
  isObject,
  issuePath,
  listViolations,
  normalizedString,
  readBody,
  violationMessage,
} from './primitives.ts';
import { TEXT_READINGS } from './typed-text.ts';

/** Bytes of the largest body of a confirmation. */
export const MAX_CONFIRMATION_BYTES = 10_000;

const NO_CODE = violationMessage('format', 'must be six digits');

const shared = {
  code: documented(
    v.pipe(normalizedString(64, NO_CODE, TEXT_READINGS.code), v.regex(/^[0-9]{6}$/, NO_CODE)),
    'The one-time password of the message. Whatever is neither a digit nor a letter is ignored, and digits of every script are read.',
    '012345',
  ),
  password: documented(RegistrationPasswordSchema, 'The password of the registration.'),
};

const OTP_TYPE = 'The channel that the registration named.';

/** The body of a confirmation: the channel and the address that the code went to, the code, and the password. */
export const ConfirmationBodySchema = v.variant('otp_type', [
  closedObject({
    otp_type: documented(v.literal('email'), OTP_TYPE),
    email: documented(EmailSchema, 'The email of the registration.', 'ann@example.com'),
    ...shared,
  }),
  closedObject({
    otp_type: documented(v.picklist(PHONE_CHANNELS), OTP_TYPE),
    phone: documented(PhoneSchema, 'The phone of the registration.'),
    ...shared,
  }),
]);

/** The address of the other channel may be left empty. */
const FIELDS = ConfirmationBodySchema.options.flatMap(({ entries }) => Object.keys(entries));

/** A confirmation, with its address as the index of registrations has it. All violations are listed at once. */
export const ConfirmationRequestSchema = v.pipeAsync(
  v.pipe(readBody(FIELDS), ConfirmationBodySchema, v.rawCheck(checkSharedFields)),
  v.rawCheckAsync(checkPhone),
  v.transformAsync(async ({ otp_type: channel, code, password, ...body }) => {
    const address = 'email' in body ? emailKey(body.email) : (await readRequestPhone(body.phone, channel))?.e164;
    if (address === undefined) throw new TypeError('The rules let no such phone pass.');
    return { channel, address, code, password };
  }),
);
export type ConfirmationRequest = v.InferOutput<typeof ConfirmationRequestSchema>;

type BodyContext = v.RawCheckContext<v.InferOutput<typeof ConfirmationBodySchema>>;

/** Checks the shared fields of a body without a known channel: no channel's schema checks them. */
function checkSharedFields({ dataset, addIssue }: BodyContext): void {
  const body: unknown = dataset.value;
  if (!isObject(body) || v.is(v.picklist(OTP_TYPES), body.otp_type)) return;
  for (const issue of v.safeParse(v.object(shared), body).issues ?? []) {
    const [violation] = listViolations([issue]);
    if (violation !== undefined)
      addIssue({ message: violationMessage(violation.rule, violation.detail), path: issue.path });
  }
}

/** Checks the phone even if other fields break their rules. */
async function checkPhone({ dataset, addIssue }: BodyContext): Promise<void> {
  const body: unknown = dataset.value;
  if (!isObject(body) || !isPhoneChannel(body.otp_type) || !v.is(PhoneSchema, body.phone)) return;
  if ((await readRequestPhone(body.phone, body.otp_type))?.valid === true) return;
  addIssue({ message: violationMessage(INVALID_PHONE.rule, INVALID_PHONE.detail), path: issuePath('phone', 'number') });
}
