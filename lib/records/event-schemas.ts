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
    email_taken: flag(
      "The email address was a client's when the registration was requested, or when the code was entered.",
    ),
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
    id: id('The operation. Its id is also in the comment of the account.'),
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
  }),
  v.title('AccountOpened'),
  v.description('A trading account was opened for a client, and its record is written.'),
);

/** The events by their `detail-type`. */
export const EVENT_SCHEMAS = { RegistrationConfirmed, AccountOpened } as const;
export type EventType = keyof typeof EVENT_SCHEMAS;
export type EventDetail<T extends EventType> = v.InferOutput<(typeof EVENT_SCHEMAS)[T]>;
