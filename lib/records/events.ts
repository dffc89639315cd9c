import * as v from 'valibot';
import type { PutEvent } from '../aws/eventbridge.ts';
import { OTP_TYPES } from '../validators/otp-types.ts';
import type { AccountRecord } from './accounts.ts';

/**
 * What other systems of the broker are told of, each with its `detail`. An event comes at least once, in any order: its
 * `id` names what it is about. Nothing that a person typed stands in it, no password and no code.
 */

const id = (what: string) => v.pipe(v.string(), v.minLength(1), v.description(what));
const time = (what: string) => v.pipe(v.string(), v.isoTimestamp(), v.description(`${what}: ISO 8601, UTC.`));
const flag = (what: string) => v.pipe(v.boolean(), v.description(what));

const RegistrationConfirmed = v.pipe(
  v.object({
    id: id('The registration, under which its record and its documents are kept.'),
    otp_type: v.pipe(v.picklist(OTP_TYPES), v.description('The channel of the one-time password.')),
    verified: v.pipe(v.picklist(['email', 'phone']), v.description('Which address the person has shown to hold.')),
    email_taken: flag(
      "The e-mail address was a client's when the registration was asked for, or when the code was given.",
    ),
    form_id: id('The form.'),
    referrer_user_id: v.optional(id('The client who referred the person.')),
    requested_at: time('When it was asked for'),
    confirmed_at: time('When the code was given'),
  }),
  v.title('RegistrationConfirmed'),
  v.description('A person has confirmed a registration, and may become a client.'),
);

const AccountOpened = v.pipe(
  v.object({
    id: id('The operation, which also stands in the comment of the account.'),
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
  }),
  v.title('AccountOpened'),
  v.description('A trading account was opened for a client, and its record is written.'),
);

/** The events by their `detail-type`. */
export const EVENT_SCHEMAS = { RegistrationConfirmed, AccountOpened } as const;
type EventType = keyof typeof EVENT_SCHEMAS;
export type EventDetail<T extends EventType> = v.InferOutput<(typeof EVENT_SCHEMAS)[T]>;

/** Of every event of this service. */
export const EVENT_SOURCE = 'broker.api';

export interface Events {
  /** Something is about to happen: what telling of it takes is made ready meanwhile. */
  prepare(): void;
  /** Tells of something that has happened, at least once, by the members of its schema alone. @throws Error; it may be told all the same */
  tell<T extends EventType>(type: T, detail: EventDetail<T>, signal: AbortSignal): Promise<void>;
}

/** @param open opens the bus; called once, before the first event */
export function eventsOn(open: () => Promise<PutEvent>): Events {
  let bus: Promise<PutEvent> | undefined;
  const theBus = () => {
    bus ??= open();
    return bus;
  };
  return {
    prepare() {
      theBus().catch(() => {});
    },

    async tell(detailType, detail, signal) {
      const put = await theBus();
      const told = v.parse(EVENT_SCHEMAS[detailType], detail);
      await put({ source: EVENT_SOURCE, detailType, detail: JSON.stringify(told) }, signal);
    },
  };
}

/** An opened account as others hear of it. */
export function accountOpened({ operation_id, ...record }: AccountRecord): EventDetail<'AccountOpened'> {
  return { id: operation_id, ...record };
}
