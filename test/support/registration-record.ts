import type { PendingRegistration } from '../../lib/records/registrations.ts';

/** A stored registration by email. */
export function registrationRecord(
  registration_id: string,
  address = 'bob@example.com',
  more: Partial<PendingRegistration> = {},
): PendingRegistration {
  return {
    registration_id,
    type: 'trader',
    otp_type: 'email',
    address,
    email: address,
    email_key: address,
    name: 'Bob',
    password_hash: '$argon2id$',
    form_id: 'FORM0001',
    custom_fields: '{}',
    source: '203.0.113.7',
    documents: [],
    requested_at: new Date(1_800_000_000_000).toISOString(),
    ...more,
  };
}
