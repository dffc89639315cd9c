import { ConditionFailed, type Item, type Table } from '../aws/dynamodb.ts';
import type { SealedCode } from '../secrets/one-time-code.ts';
import type { Channel } from '../validators/otp-types.ts';
import type { StoredDocument } from './documents.ts';

/**
 * A pending registration, under the address that its code was sent to: a new request for the same address replaces
 * it, code and all. It disappears 24 hours after the request. It is all that a confirming service needs.
 */
export interface PendingRegistration {
  registration_id: string;
  type: 'trader';
  otp_type: Channel;
  /** Where the code went: the e-mail address in its look-up form, or the phone number in E.164. */
  address: string;
  /** As typed. */
  email: string;
  /** In its look-up form. */
  email_key: string;
  name: string;
  phone?: string | undefined;
  /** PHC string, argon2id. */
  password_hash: string;
  form_id: string;
  referrer_id?: string | undefined;
  /** The client whose referral code it is. */
  referrer_user_id?: string | undefined;
  /** As JSON: the database's own numbers and maps cannot carry all that JSON can. */
  custom_fields: string;
  documents: StoredDocument[];
  language?: string | undefined;
  code: SealedCode;
  /** ISO 8601, UTC. */
  requested_at: string;
}

/** What became of the message, noted after it was sent. */
export interface Delivery {
  /** `owner_notice`: the address is a client's; its record holds no code any more. */
  kind: 'code' | 'owner_notice';
  outcome: 'sent' | 'unknown';
  message_id?: string | undefined;
  /** True: the code proves the phone, but the e-mail address is a client's; the confirming service must refuse it. */
  email_taken: boolean;
}

export interface Registrations {
  /**
   * Keeps a registration in place of the one before.
   * @returns what takes it back: its code was certainly not sent, so the code of the one before goes on being good
   */
  put(
    registration: PendingRegistration,
    requestedAt: number,
    signal: AbortSignal,
  ): Promise<(signal: AbortSignal) => Promise<void>>;
  /** Notes the delivery in the registration, if it still stands; of a client's address the code is taken out. */
  noteDelivery(registration: PendingRegistration, delivery: Delivery, signal: AbortSignal): Promise<void>;
}

const KEPT_SECONDS = 24 * 60 * 60;

/** The key under which a confirming service finds the registration. */
export function registrationKey(otpType: Channel, address: string): { pk: string } {
  return { pk: `${otpType}#${address}` };
}

export function registrationsIn(table: Table): Registrations {
  return {
    async put(registration, requestedAt, signal) {
      const key = registrationKey(registration.otp_type, registration.address);
      const item = { ...key, ...registration, expires_at: Math.floor(requestedAt / 1_000) + KEPT_SECONDS };
      const values = { ':id': registration.registration_id };
      let replaced: Item | undefined;
      try {
        const condition = 'attribute_not_exists(pk) OR registration_id <> :id';
        replaced = await table.put(item, signal, { condition, values });
      } catch (error) {
        // It stands already: the answer to our own write was lost, and the database's client repeated it.
        if (!(error instanceof ConditionFailed)) throw error;
      }
      return async (settling) => {
        const ours = { condition: 'registration_id = :id', values };
        if (replaced === undefined) await table.delete(key, settling, ours);
        else await table.put(replaced, settling, ours);
      };
    },

    async noteDelivery(registration, delivery, signal) {
      await table.update(
        registrationKey(registration.otp_type, registration.address),
        {
          update: `SET delivery = :delivery${delivery.kind === 'owner_notice' ? ' REMOVE code' : ''}`,
          condition: 'registration_id = :id',
          values: { ':delivery': delivery, ':id': registration.registration_id },
        },
        signal,
      );
    },
  };
}
