import * as v from 'valibot';
import { closedObject, documented, normalizedString, readBody, violationMessage } from './primitives.ts';
import { TEXT_READINGS } from './typed-text.ts';

/** Bytes of the largest body of a confirmation. */
export const MAX_CONFIRMATION_BYTES = 10_000;

const NO_ID = violationMessage('format', 'must be the id of a registration');
const NO_CODE = violationMessage('format', 'must be six digits');
const MAX_ID_UNITS = 64;

/** The body of a confirmation: the id that the request's answer named, and the code of its message. */
export const ConfirmationBodySchema = closedObject({
  registration_id: documented(
    v.pipe(
      normalizedString(MAX_ID_UNITS, NO_ID, (typed) => typed.trim().toLowerCase()),
      v.regex(/^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/, NO_ID),
    ),
    'The header `registration-id` of the answer to the registration request.',
    '5f0c1f6e-8d3a-8b52-9a57-2f3f8f6f3f10',
  ),
  code: documented(
    v.pipe(normalizedString(MAX_ID_UNITS, NO_CODE, TEXT_READINGS.code), v.regex(/^[0-9]{6}$/, NO_CODE)),
    'The one-time password of the message. Whatever is neither a digit nor a letter is ignored, and digits of every script are read.',
    '012345',
  ),
});

const FIELDS = Object.keys(ConfirmationBodySchema.entries);

/** A confirmation. All violations are listed at once. */
export const ConfirmationRequestSchema = v.pipe(readBody(FIELDS), ConfirmationBodySchema);
export type ConfirmationRequest = v.InferOutput<typeof ConfirmationRequestSchema>;
