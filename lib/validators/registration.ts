import * as v from 'valibot';
import { ALL_COUNTRIES } from './countries.ts';
import {
  type CheckedDocument,
  checkCustomField,
  decodeDocuments,
  documentViolations,
  IMPOSSIBLE_PHONE,
  INVALID_PHONE,
} from './custom-fields.ts';
import { EmailSchema, emailKey } from './email.ts';
import { MAX_JSON_BYTES } from './field-values.ts';
import { FIXED_FIELDS, type FixedField, type Form, IS_RECORDED_AS_READ } from './form.ts';
import { isPhoneChannel, joinWithOr, OTP_TYPES, PHONE_CHANNELS, type PhoneChannel } from './otp-types.ts';
import { isCommonPassword, MAX_PASSWORD_UNITS, RegistrationPasswordSchema } from './passwords.ts';
import { canReceiveMessages, type ParsedPhone, PhoneSchema, readRequestPhone } from './phone.ts';
import {
  type BodyViolation,
  closedObject,
  documented,
  dropEmpty,
  IdSchema,
  isObject,
  issuePath,
  jsonPointer,
  LanguageSchema,
  MAX_VIOLATIONS,
  openObject,
  personName,
  readBody,
  violationMessage,
} from './primitives.ts';
import { readPassword } from './typed-text.ts';

/** The length of a person's name, in code points. */
const MAX_NAME_CHARACTERS = 128;

/** A longer email or name is refused for its length, and not compared with the password. */
const MAX_PERSONAL_UNITS = 2 * MAX_NAME_CHARACTERS;

/** Bytes of the largest body of a registration. Lambda takes 6 MB, headers and context included. */
export const MAX_REGISTRATION_BYTES = 5_900_000;

/**
 * The body of a registration request (specification, 2.1): the fixed fields, and next to them the fields of the form.
 * This half of the rules is what OpenAPI shows; `registrationRequestSchema` adds those between fields.
 */
export const RegistrationBodySchema = documented(
  openObject({
    email: documented(EmailSchema, 'The email of the user.', 'ann@example.com'),
    type: documented(v.literal('trader'), 'The type of user.'),
    name: documented(personName(MAX_NAME_CHARACTERS), 'The name of the user, with a letter or a digit.', 'Ann Lee'),
    phone: v.exactOptional(
      documented(
        closedObject({
          country_code: v.exactOptional(PhoneSchema.entries.country_code),
          number: v.exactOptional(PhoneSchema.entries.number),
        }),
        `The phone of the user. Both members are required when \`otp_type\` is ${joinWithOr(PHONE_CHANNELS.map((name) => `\`${name}\``))}.`,
      ),
    ),
    otp_type: v.exactOptional(
      documented(
        v.picklist(OTP_TYPES),
        'Channel used to deliver the one-time password. `email` is always available, the others only when a messaging-provider integration is installed.',
      ),
      'email',
    ),
    password: documented(RegistrationPasswordSchema, 'The password of the user.'),
    repeat_password: v.pipe(
      v.string(),
      v.transform(readRepeatedPassword),
      v.description('The password repeated.'),
      v.metadata({ format: 'password' }),
      v.examples(['correct horse battery']),
    ),
    form_id: documented(IdSchema, 'Id of the registration form.', 'FORM0002'),
    referrer_id: v.exactOptional(documented(IdSchema, 'Referral code of the referrer.', 'REFANN01')),
    language: v.exactOptional(
      documented(LanguageSchema, 'Language of the message, a BCP 47 tag; `pt_BR.UTF-8` is read as `pt-BR`.', 'pt-BR'),
    ),
  } satisfies Record<FixedField, v.GenericSchema>),
  'A registration request. Fields of the registration form are at the root too, each under its key in the form. A field that is left empty (`""`, `null`, or an object of these) counts as absent.',
);

/** The repeated password in the form of a password. A longer one than any password stays as typed: reading it takes seconds. */
function readRepeatedPassword(typed: string): string {
  return typed.length <= MAX_PASSWORD_UNITS ? readPassword(typed) : typed;
}

type KeptField = { [Name in FixedField]: (typeof IS_RECORDED_AS_READ)[Name] extends true ? Name : never }[FixedField];
const KEPT_FIELDS = FIXED_FIELDS.filter((name) => IS_RECORDED_AS_READ[name]) as KeptField[];

/** The members of a request that the record keeps unchanged. */
export function keptFields<Body extends { [Name in KeptField]?: unknown }>(body: Body): Pick<Body, KeptField> {
  return Object.fromEntries(KEPT_FIELDS.map((name) => [name, body[name]])) as Pick<Body, KeptField>;
}

/** The channel and address of the message, and the key under which both are looked up and counted. */
export type Recipient =
  | {
      channel: 'email';
      /** The address in its look-up form. */
      key: string;
      /** The address, its domain in Unicode. */
      to: string;
    }
  | {
      channel: PhoneChannel;
      /** The number in E.164. */
      key: string;
      to: string;
      /** The country of the number, ISO 3166-1 alpha-2. */
      country: string;
    };

/** The countries whose numbers get messages, as in the settings; undefined without a phone channel. */
export type ServedCountries = readonly string[] | undefined;

/**
 * A registration request with valid fixed fields. Nothing outside this process is asked. `checkCustomFields` checks the
 * other members once the form is known.
 * @param brandName which no password may be
 */
export function registrationRequestSchema(served: ServedCountries, brandName = '') {
  return v.pipeAsync(
    v.pipe(readBody(FIXED_FIELDS), RegistrationBodySchema, v.rawCheck(checkBetweenFields)),
    v.rawCheckAsync((context) => checkPassword(context, brandName)),
    v.rawCheckAsync((context) => checkPhone(context, served)),
    v.transformAsync(async (body) => {
      const { email, phone, otp_type, password } = body;
      const parsed = phone && (await readRequestPhone(phone, otp_type));
      const key = emailKey(email);
      return {
        /** The address has its domain in Unicode. */
        ...keptFields(body),
        /** The address in its look-up form. */
        emailKey: key,
        /** Undefined unless both parts of a phone were given. */
        phoneE164: parsed?.e164,
        /** Whether a numbering plan knows the phone. A phone that gets no message may be unknown: only its length is checked. */
        phoneValid: parsed?.valid,
        recipient: otp_type === 'email' ? { channel: otp_type, key, to: email } : phoneRecipient(otp_type, parsed),
        password,
        /** All members of the body. The form's members are not checked yet. */
        members: body as Readonly<Record<string, unknown>>,
      };
    }),
  );
}
export type RegistrationRequest = v.InferOutput<ReturnType<typeof registrationRequestSchema>>;

function phoneRecipient(channel: PhoneChannel, phone: ParsedPhone | undefined): Recipient {
  if (phone?.country === undefined) throw new TypeError('The rules let no such phone get a message.');
  return { channel, key: phone.e164, to: phone.e164, country: phone.country };
}

type BodyContext = v.RawCheckContext<v.InferOutput<typeof RegistrationBodySchema>>;

/** Rules between fields are checked also when others are broken, so that all errors are listed at once. */
function checkBetweenFields({ dataset, addIssue }: BodyContext): void {
  const { otp_type, phone = {}, password, repeat_password } = objectMembers(dataset.value);
  if (typeof password === 'string' && typeof repeat_password === 'string' && password !== repeat_password) {
    addIssue({
      message: violationMessage('password_mismatch', 'must equal password'),
      path: issuePath('repeat_password'),
    });
  }
  if (isPhoneChannel(otp_type) && isObject(phone)) {
    for (const member of ['country_code', 'number']) {
      if (phone[member] !== undefined) continue;
      const message = violationMessage('required', `is required when otp_type is ${otp_type}`);
      addIssue({ message, path: issuePath('phone', member) });
    }
  }
}

async function checkPassword({ dataset, addIssue }: BodyContext, brandName: string): Promise<void> {
  const { password, email, name } = objectMembers(dataset.value);
  if (!v.is(RegistrationPasswordSchema, password)) return;
  const [ownEmail, ownName] = [email, name].map((text) =>
    typeof text === 'string' && text.length <= MAX_PERSONAL_UNITS ? text : '',
  ) as [string, string];
  const localPart = ownEmail.slice(0, Math.max(0, ownEmail.lastIndexOf('@')));
  if (!(await isCommonPassword(password, [ownEmail, localPart, ownName, brandName]))) return;
  addIssue({
    message: violationMessage('common', 'must not be a password that is guessed first'),
    path: issuePath('password'),
  });
}

/**
 * A phone with two well-formed parts must be a possible number. One that gets the message must be valid, and of a kind
 * and of a country that get messages.
 */
async function checkPhone({ dataset, addIssue }: BodyContext, served: ServedCountries): Promise<void> {
  const { phone, otp_type } = objectMembers(dataset.value);
  if (phone === undefined || !v.is(PhoneSchema, phone)) return;
  const gets = isPhoneChannel(otp_type);
  const parsed = await readRequestPhone(phone, gets ? otp_type : 'email');
  if (parsed === undefined || (gets && !parsed.valid)) {
    const broken = gets ? INVALID_PHONE : IMPOSSIBLE_PHONE;
    addIssue({ message: violationMessage(broken.rule, broken.detail), path: issuePath('phone', 'number') });
    return;
  }
  if (!gets) return;
  const { country } = parsed;
  if (!canReceiveMessages(parsed, otp_type)) {
    const kinds = otp_type === 'call' ? 'a mobile or a fixed-line' : 'a mobile';
    addIssue({
      message: violationMessage('number_type', `must be ${kinds} number`),
      path: issuePath('phone', 'number'),
    });
  }
  const serves =
    served === undefined || served.includes(ALL_COUNTRIES) || (country !== undefined && served.includes(country));
  if (country !== undefined && !serves) {
    const message = violationMessage('country_not_served', 'must be of a country that is served');
    addIssue({ message, path: issuePath('phone', 'country_code') });
  }
}

function objectMembers(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** A consent that was given: the key of its field, and the version of the text. */
interface Consent {
  key: string;
  version: string;
}

/** The valid values of a form's fields. */
export interface CheckedCustomFields {
  /** The values of all fields but documents, without those that were left empty. */
  fields: Record<string, unknown>;
  documents: CheckedDocument[];
  consents: Consent[];
}

export type CustomFieldsOutcome =
  | ({ ok: true } & CheckedCustomFields)
  | {
      ok: false;
      violations: BodyViolation[];
      /** The documents without violations. Their content is checked too, so that all errors are listed. */
      documents: CheckedDocument[];
      /** True if a value is over its size: the answer is 413, even with other errors. */
      tooLarge: boolean;
    };

/** Checks the members of a request that are not fixed fields against its form. All errors are listed at once. */
export async function checkCustomFields(
  form: Form,
  values: Readonly<Record<string, unknown>>,
): Promise<CustomFieldsOutcome> {
  const violations: BodyViolation[] = [];
  const fields: Record<string, unknown> = {};
  for (const field of form.fields) {
    const checked = await checkCustomField(field, Object.hasOwn(values, field.key) ? values[field.key] : undefined);
    if ('violations' in checked) violations.push(...checked.violations);
    else if (field.type !== 'document' && checked.value !== undefined) fields[field.key] = checked.value;
  }
  const together = documentViolations(form.fields, values);
  violations.push(...unknownFields(form, values), ...together);
  if (violations.length === 0 && Buffer.byteLength(JSON.stringify(fields)) > MAX_JSON_BYTES) {
    violations.push(TOO_LARGE);
  }
  const documents = together.length > 0 ? [] : decodeDocuments(form.fields, values);
  if (violations.length > 0) {
    return {
      ok: false,
      violations: violations.slice(0, MAX_VIOLATIONS),
      documents,
      tooLarge: violations.some((violation) => violation.rule === 'size'),
    };
  }
  return { ok: true, fields, documents, consents: givenConsents(form, fields) };
}

const TOO_LARGE: BodyViolation = {
  pointer: '#',
  rule: 'size',
  detail: `the fields of the form may have at most ${MAX_JSON_BYTES / 1_000} kB together`,
};

const IS_FIXED: ReadonlySet<string> = new Set(FIXED_FIELDS);

function unknownFields({ fields }: Form, values: Readonly<Record<string, unknown>>): BodyViolation[] {
  const known = new Set(fields.map(({ key }) => key));
  return Object.keys(values)
    .filter(
      (key) =>
        !IS_FIXED.has(key) && !known.has(key) && !(key === CUSTOM_FIELDS && dropEmpty(values[key]) === undefined),
    )
    .slice(0, MAX_VIOLATIONS)
    .map((key) => ({
      pointer: jsonPointer([key]),
      rule: 'unknown_field',
      detail: key === CUSTOM_FIELDS ? AT_THE_ROOT : 'is not a field of the form',
    }));
}

/** The specification's name for all fields of the form together. It is not a member of a request. */
const CUSTOM_FIELDS = 'custom_fields';
const AT_THE_ROOT = 'is not a member of the request: put each custom field at the root of the body, under its key';

function givenConsents({ fields }: Form, values: Readonly<Record<string, unknown>>): Consent[] {
  return fields.flatMap(({ key, version }) =>
    version !== undefined && Object.hasOwn(values, key) && values[key] === true ? [{ key, version }] : [],
  );
}
