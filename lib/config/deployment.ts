import * as v from 'valibot';
import { asciiEmail, EmailSchema } from '../validators/email.ts';
import { closedObject } from '../validators/primitives.ts';
import { patternText, receiverAddress, wholeNumber } from './setting-types.ts';

/**
 * The settings of a deployment that reach a function, with their rules and defaults. Each is declared only here, or in
 * `registration-settings.ts` if only registrations need it. `infra/settings.ts` reads them from cdk.json and the command
 * line, the stack puts them as one file next to a function's code, and `lib/config.ts` reads that file.
 */

const LEGAL_MUST =
  'must be a text, or texts by language such as {"en": "…"}, English among them; each of 1 to 3,000 characters';
/** No legal text begins like an object: JSON with a mistake would be at the end of every mail. */
const legalText = v.pipe(v.string(LEGAL_MUST), v.regex(/^(?!\s*\{)[^\x00-\x09\x0b-\x1f\x7f]{1,3000}$/, LEGAL_MUST));
const legalTexts = v.pipe(
  v.record(patternText(/^[a-z]{2}(-[A-Z][a-z]{3})?$/, LEGAL_MUST), legalText, LEGAL_MUST),
  v.check((texts) => Object.hasOwn(texts, 'en'), LEGAL_MUST),
);

/** How the messages look. */
const BrandSchema = closedObject({
  /** The broker's name as people read it. Absent: the domain of the sender address. */
  name: v.optional(patternText(/^[^\x00-\x1f\x7f]{1,64}$/, 'must be 1 to 64 characters on one line')),
  /** The address for replies. Absent: the sender address. */
  supportEmail: v.optional(v.pipe(EmailSchema, v.transform(asciiEmail))),
  /** The color of the header of mails. */
  color: v.optional(patternText(/^#[0-9a-fA-F]{6}$/, 'must be a color such as #0b5cad'), '#0b5cad'),
  /**
   * The text at the end of every mail that the law requires: registered name, number, address, warning. One text, or
   * one by language.
   */
  legal: v.optional(v.union([legalTexts, legalText], LEGAL_MUST)),
  /** The logo in the header of mails, in place of the name. Mail programs load it from this address. */
  logo: v.optional(
    closedObject({
      url: patternText(/^https:\/\/[^\s\x00-\x1f"<>]{1,500}$/, 'must be an https address of an image'),
      alt: patternText(/^[^\x00-\x1f\x7f]{1,64}$/, 'must be 1 to 64 characters on one line'),
    }),
  ),
});

type BrandSettings = v.InferOutput<typeof BrandSchema>;
/** The brand that sends the messages. */
export type Brand = BrandSettings & { name: string; supportEmail: string };

/** The brand, with defaults from the sender. */
export function completeBrand(brand: BrandSettings, senderAddress: string) {
  const { name = emailDomain(senderAddress), supportEmail = senderAddress, color, legal, logo } = brand;
  return { name, supportEmail, color, legal, logo };
}

/** The domain of an email address. */
export function emailDomain(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/** The default days for which a confirmed registration and its documents are kept for the CRM. */
export const DEFAULT_CONFIRMED_DAYS = 30;

/** The settings that reach a function, in groups: a function reads whole groups, and its bundle has no other one. */
export const stageSettings = {
  /** The name of the deployment in its account; part of the stack's name. */
  stage: v.optional(
    patternText(/^[a-z][a-z0-9-]{0,19}$/, 'must be up to 20 small letters, digits and hyphens'),
    'prod',
  ),
};
export const mailSettings = {
  /** The sender of mails. */
  senderAddress: v.pipe(EmailSchema, v.transform(asciiEmail)),
  brand: v.optional(BrandSchema, {}),
};
export const confirmingSettings = {
  confirmedDays: v.optional(wholeNumber(1, 365), DEFAULT_CONFIRMED_DAYS),
};
export const crmSettings = {
  /** The address of the CRM that every event is posted to. */
  crmWebhook: v.optional(receiverAddress),
};

/** The file with the settings, next to a function's code. */
export const SETTINGS_FILE = 'settings.json';

/** The folder of documents in the bucket. The function may write nowhere else. */
export const DOCUMENTS_FOLDER = 'registrations';
/** The tag of a document whose registration is not confirmed. It disappears after a day. */
export const PENDING_DOCUMENT_TAG = { Key: 'registration', Value: 'pending' } as const;

/** The source of every event of this service. */
export const EVENT_SOURCE = 'broker.api';

/** An event that the CRM did not accept is delivered again every two minutes. The last delivery is a day after the first. */
export const REDELIVERY = { everySeconds: 120, deliveries: 720 } as const;

/**
 * The indexes of the table of CRM records. Each has the name of its attribute, and lists only the items that have it:
 * clients by a proven address and by referral code, all other records by their kind.
 */
export const CRM_INDEXES = ['proven_email', 'proven_phone', 'referral_code', 'kind'] as const;
export type CrmIndex = (typeof CRM_INDEXES)[number];

/** The index over the operations that have not ended, oldest first in each shard (lib/openings/ledger.ts). */
export const DUE_INDEX = { name: 'due', shard: 'due_shard', at: 'due_at' } as const;

/** The index over the reservations of logins, by the id of their operation. */
export const RESERVATION_INDEX = 'operation_id';

/**
 * The index over the confirmed registrations, by their ids, with all attributes. The CRM reads this index, so it sees
 * no unconfirmed registration.
 */
export const CONFIRMED_INDEX = 'confirmed_id';

/** The environment variable that names a resource: `crmTable` is in `CRM_TABLE`. */
export function variableName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}
