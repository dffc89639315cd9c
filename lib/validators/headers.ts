import * as v from 'valibot';
import { violationMessage } from './primitives.ts';

const IDEMPOTENCY_KEY_DETAIL = 'must be 1 to 255 visible ASCII characters';

/**
 * The header `Idempotency-Key` of the IETF draft `draft-ietf-httpapi-idempotency-key-header`, without its optional
 * double quotes.
 */
export const IdempotencyKeySchema = v.pipe(
  v.string(),
  v.transform(singleValue),
  v.regex(
    /^(?:"[\x21\x23-\x7e]{1,255}"|[\x21\x23-\x7e][\x21-\x7e]{0,254})$/,
    violationMessage('format', IDEMPOTENCY_KEY_DETAIL),
  ),
  v.description(
    'Makes a request safe to repeat: 1 to 255 visible ASCII characters, optionally in double quotes, such as a UUID.',
  ),
  v.transform((sent) => (sent.startsWith('"') ? sent.slice(1, -1) : sent)),
);

/** The value of a header that was sent twice with one value: the gateway joins both to `k,k` or `k, k`. */
function singleValue(sent: string): string {
  for (const separator of [',', ', ']) {
    const length = (sent.length - separator.length) / 2;
    const value = sent.slice(0, length);
    if (Number.isInteger(length) && length > 0 && sent === value + separator + value) return value;
  }
  return sent;
}

const MAX_TOKEN_CHARACTERS = 8_192;
const TOKEN_FORMAT = violationMessage('format', 'must be 1 to 8,192 visible ASCII characters');

/** The header `captcha-token`: the result of the provider's widget. All headers of a request have 10,240 bytes. */
export const CaptchaTokenSchema = v.pipe(
  v.string(),
  v.regex(/^[\x21-\x7e]+$/, TOKEN_FORMAT),
  v.maxLength(MAX_TOKEN_CHARACTERS, TOKEN_FORMAT),
  v.description('What the widget of the captcha gave the page. Required if the deployment requires a captcha.'),
);
