import { expect, it } from 'vitest';
import { ConfirmedRegistrationSchema } from '../../../lib/records/event-schemas.ts';
import { FIXED_FIELDS } from '../../../lib/validators/form.ts';

/** The fields that the CRM gets by another name: no message has a password. */
const OTHER_NAMES: Record<string, string> = { password: 'password_hash', repeat_password: 'password_hash' };

it.each(FIXED_FIELDS)('The CRM gets the field %s of a registration', (name) => {
  expect(Object.keys(ConfirmedRegistrationSchema.entries)).toContain(OTHER_NAMES[name] ?? name);
});
