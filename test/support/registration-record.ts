import { randomUUID } from 'node:crypto';
import type { Lease, PendingRegistration } from '../../lib/records/registrations.ts';
import type { SealedCode } from '../../lib/secrets/one-time-code.ts';

type Sealed = PendingRegistration & SealedCode;

/** A stored registration by email. */
export function registrationRecord(
  registration_id: string,
  address = 'bob@example.com',
  more: Partial<Sealed> = {},
): Sealed {
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
    code_seal: 'sealed',
    pepper_version: '1',
    ...more,
  };
}

/** The lease of a request. @param fingerprint of a request with a key */
export function leaseOf(registrationId: string, until: number, fingerprint?: string): Lease {
  return { registrationId, lease: randomUUID(), until, fingerprint };
}
