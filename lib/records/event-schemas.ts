import * as v from 'valibot';
import { OTP_TYPES } from '../validators/otp-types.ts';

/**
 * The events for other systems of the broker. An event comes at least once, in any order; its `id` identifies the thing
 * for de-duplication. It contains no password, no code and nothing that a person typed.
 */

const id = (what: string) => v.pipe(v.string(), v.minLength(1), v.description(what));
const time = (what: string) => v.pipe(v.string(), v.isoTimestamp(), v.description(`${what}: ISO 8601, UTC.`));
const flag = (what: string) => v.pipe(v.boolean(), v.description(what));

const RegistrationConfirmed = v.pipe(
  v.object({
    id: id('The registration, under which its record and its documents are kept.'),
    otp_type: v.pipe(v.picklist(OTP_TYPES), v.description('The channel of the one-time password.')),
    verified: v.pipe(v.picklist(['email', 'phone']), v.description('The address that the person has proved to own.')),
    form_id: id('The form.'),
    referrer_user_id: v.optional(id('The client who referred the person.')),
    requested_at: time('When it was requested'),
    confirmed_at: time('When the code was entered'),
  }),
  v.title('RegistrationConfirmed'),
  v.description('A person has confirmed a registration, and may become a client.'),
);

const AccountOpened = v.pipe(
  v.object({
    id: id(
      'The operation, whose id is also in the comment of the account; with a number if the event corrects another.',
    ),
    user_id: id('The client.'),
    version: v.pipe(v.picklist(['tp5', 'tp4']), v.description('Of the platform.')),
    connection_id: id('The connection.'),
    login: v.pipe(v.number(), v.integer(), v.minValue(1), v.description('Of the account, on the trading server.')),
    group: id('The group of the account.'),
    leverage: v.pipe(v.number(), v.integer(), v.minValue(1), v.description('As in 1:leverage.')),
    account_type_id: v.optional(id('The account type, where one was named.')),
    enable_readonly: flag('Trading is disabled on the account.'),
    enable_rebate: flag('The account takes part in rebates.'),
    rebate_user_id: v.optional(id('The client who gets the rebates.')),
    opened_at: time('When the account was known to be open'),
    caller: id('The caller: the IAM principal, or the subject or client of the token.'),
    corrects: v.optional(id('The event that named another login of the same operation before: an operator was wrong.')),
  }),
  v.title('AccountOpened'),
  v.description('A trading account was opened for a client, and its record is written.'),
);

/** The schemas of the events, by their `detail-type`. */
export const EVENT_SCHEMAS = { RegistrationConfirmed, AccountOpened } as const;
export type EventType = keyof typeof EVENT_SCHEMAS;
export type EventDetail<T extends EventType> = v.InferOutput<(typeof EVENT_SCHEMAS)[T]>;

const text = (what: string) => v.pipe(v.string(), v.description(what));

/** A document of a registration, with the link to download it. */
export const LinkedDocumentSchema = v.object({
  field_key: text('The key of the form field.'),
  index: v.pipe(v.number(), v.integer(), v.description('The place in the array of that field.')),
  id: text('As the form gave it.'),
  name: text('Of the file, as the person gave it.'),
  media_type: text('As the content shows it.'),
  bytes: v.pipe(v.number(), v.integer(), v.description('The size.')),
  sha256: text('Of the content, base64.'),
  url: text('Where to download it within an hour.'),
});

const Consent = v.object({ key: text('The key of the form field.'), version: text('Of the text that was agreed to.') });

/** A confirmed registration: the event, and all that the person gave. The record has most of its members. */
export const ConfirmedRegistrationSchema = v.object({
  ...RegistrationConfirmed.entries,
  type: v.pipe(v.literal('trader'), v.description('Of the person.')),
  email: v.optional(text('With its domain in Unicode. Absent: it was only typed, and was erased since.')),
  name: text('Of the person.'),
  phone: v.optional(text('A plus and digits, E.164 if `phone_valid` is true.')),
  phone_valid: v.optional(
    flag(
      'A numbering plan knows the phone, where one was given. A phone that got no message may be unknown to the plans.',
    ),
  ),
  language: v.optional(text('BCP 47.')),
  referrer_id: v.optional(text('The referral code that was given.')),
  custom_fields: v.pipe(
    v.record(v.string(), v.unknown()),
    v.description('The values of the form, by key; documents apart.'),
  ),
  consents: v.optional(v.pipe(v.array(Consent), v.description('What the person agreed to, with the versions.'))),
  documents: v.pipe(v.array(LinkedDocumentSchema), v.description('What was uploaded.')),
  password_hash: text('PHC string, argon2id, of the password in Unicode NFC.'),
  source: text('The address that the registration came from.'),
  user_agent: v.optional(text('Of the browser.')),
});
