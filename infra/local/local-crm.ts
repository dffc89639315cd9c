import { randomBytes } from 'node:crypto';
import type { Client } from '../../lib/records/crm-records.ts';
import { type CrmItem, serializeItems } from '../crm/crm-items.ts';
import { emptyRecords } from '../crm/kinds.ts';
import type { BusEvent } from './stand-ins/events.ts';

/** The data of a confirmed registration that make a client. */
export interface ConfirmedRegistration {
  email: string;
  name: string;
  /** E.164. */
  phone?: string | undefined;
  language?: string | undefined;
}

/** A client that the local CRM made, as its page shows it. */
export interface LocalClient extends Pick<Client, 'id' | 'name' | 'email'> {
  /** The registration that it was. */
  registration_id: string;
  /** ISO 8601. */
  at: string;
}

export interface LocalCrmOptions {
  /** Undefined if it has expired. */
  read: (registrationId: string) => Promise<ConfirmedRegistration | undefined>;
  write: (items: CrmItem[]) => Promise<void>;
}

/**
 * The stand-in of the broker's CRM: it receives confirmed registrations and adds clients to the table of CRM records,
 * which this service reads. An event may come twice, so it first looks for the client.
 */
export class LocalCrm {
  readonly #options: LocalCrmOptions;
  readonly #clients = new Map<string, LocalClient>();

  constructor(options: LocalCrmOptions) {
    this.#options = options;
  }

  /** Those that were made since the start, oldest first. */
  clients(): LocalClient[] {
    return [...this.#clients.values()];
  }

  /**
   * Takes the event `RegistrationConfirmed`. Whose address is a client's already needs a person to decide: nothing is
   * made.
   */
  async receive({ detail, time }: BusEvent): Promise<void> {
    const registration_id = String(detail.id);
    if (this.#clients.has(registration_id) || detail.email_taken === true) return;
    const registration = await this.#options.read(registration_id);
    if (registration === undefined) throw new Error('The registration is gone.');
    const { email, name, language } = registration;
    const id = `C${randomBytes(4).toString('hex').slice(1).toUpperCase()}`;
    const phone = await clientPhone(registration.phone);
    const client = { id, email, name, ...(language === undefined ? {} : { language }), ...phone };
    this.#clients.set(registration_id, { id, name, email, registration_id, at: time });
    await this.#options.write(await serializeItems({ ...emptyRecords(), clients: [client] }));
  }
}

/** A number of E.164 as CRM records have it, with the country that it is of. */
async function clientPhone(e164: string | undefined): Promise<Pick<Client, 'phone' | 'country'>> {
  if (e164 === undefined) return {};
  const { parsePhoneNumberFromString } = await import('../../lib/validators/phone-numbers.ts');
  const parsed = parsePhoneNumberFromString(e164);
  if (parsed === undefined) return {};
  const phone = { country_code: parsed.countryCallingCode, number: parsed.nationalNumber };
  return parsed.country === undefined ? { phone } : { phone, country: parsed.country };
}
