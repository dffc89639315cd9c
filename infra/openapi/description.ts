import { COUNT_LIMIT_NAMES, limitWords } from '../../lib/config/limits.ts';
import { DEFAULT_LIMITS } from '../../lib/config/registration-settings.ts';
import { MAX_DEPTH, MAX_VALUES } from '../../lib/http/json-body.ts';
import { KEY_HOURS } from '../../lib/records/idempotency-keys.ts';
import { MAX_JSON_BYTES } from '../../lib/validators/field-values.ts';
import { MAX_REGISTRATION_BYTES } from '../../lib/validators/registration.ts';
import { markdownList, markdownTable } from './json.ts';
import { problemTable } from './problems.ts';
import { documentSizes } from './schemas.ts';

/** The text above all operations, as Markdown. */
export function apiDescription(): string {
  return [
    'Accepts registration requests of new users, and sends each a one-time password by email or to a phone. Confirms that password, where the deployment has this extension. Opens trading accounts for existing clients on trading-platform servers of version 5 (`tp5`) and version 4 (`tp4`).',
    'All paths are relative to the base URL of the deployment. Requests and answers are JSON in UTF-8, with an object at the root. Unknown fields are refused.',
    'Every answer of the service has the headers `x-request-id` (name it when you ask for help), `cache-control: no-store`, `x-content-type-options: nosniff` and `strict-transport-security`.',
    '## Retries',
    `Where an operation takes an \`Idempotency-Key\`, send your own key, a new one for each registration or account. Then retry with the same key and body. The service keeps a key for its route, caller and user: ${KEY_HOURS} hours, and without end once an account may have been opened.`,
    markdownTable(['The first request', 'The retry gets'], RETRIES),
    '## Errors',
    'Every error of the service is a problem document (RFC 9457, `application/problem+json`). Switch on `type`, which never changes; `title` and `detail` are for people. `errors` lists every violation of the request at once, each with a JSON Pointer, a `rule` and a sentence. No answer holds a value that was sent.',
    problemTable(),
    'The gateway answers some requests itself, as `application/json` with a `message` alone and without the headers of the service: 404 `Not Found` for an unknown path or method, 401 and 403 if authorization fails, 429 when it throttles, 413, 500 and 503. `GatewayMessage` describes them.',
    '## Versions',
    '`v1` is part of every path. Within it the service only adds: routes, optional request fields, members of answers and events, error types, rule words. Ignore those that you do not know. Only a new version of the path removes or changes anything. The old one then stays for at least twelve months, and names its end in the headers `Deprecation` (RFC 9745) and `Sunset` (RFC 8594).',
  ].join('\n\n');
}

const RETRIES: readonly [first: string, retry: string][] = [
  ['ended with 200 or 204', 'the first answer again, with `idempotent-replayed: true`'],
  ['still runs', '409 `request_in_progress`, with `Retry-After`'],
  ['had another body', '422 `idempotency_key_reused`'],
  ['failed before anything was created or sent', 'the answer of a new request'],
  ['may have sent the code', '204; the code is never sent again automatically'],
  [
    'may have opened the account',
    'that account, or `account_outcome_unknown` until the outcome is known; never a second account',
  ],
];

/** The limits of the registration, as Markdown. */
export function registrationLimits(): string {
  const lines = COUNT_LIMIT_NAMES.map((name) => `${DEFAULT_LIMITS[name]} ${limitWords(name)}`);
  const how =
    'Each window starts with its first request. A request counts when it arrives, a message when it is about to leave.';
  return `Limits (settings of the deployment; these are the defaults). ${how}\n\n${markdownList(lines)}`;
}

/** A number of bytes, for people. */
export function formatBytes(count: number): string {
  return `${count.toLocaleString('en')} bytes`;
}

/**
 * The largest body of another type than `application/json`, in bytes. The gateway passes it on in base64, a third longer,
 * and Lambda takes 6 MB.
 */
const MAX_ENCODED_BYTES = 4_600_000;

/** How large a registration may be, as Markdown. */
export function registrationSizes(): string {
  const count = (number: number) => number.toLocaleString('en');
  const sizes = [
    `the body: ${formatBytes(MAX_REGISTRATION_BYTES)} as \`application/json\`. Of any other JSON type, such as \`application/vnd.api+json\`, ${formatBytes(MAX_ENCODED_BYTES)}: the gateway passes it on in base64, and answers a longer one with its own 413`,
    documentSizes(),
    `all other fields of the form together, as JSON: ${formatBytes(MAX_JSON_BYTES)}`,
    `${count(MAX_VALUES)} values in all, and ${MAX_DEPTH} levels of nesting`,
  ];
  return `Sizes, at most:\n\n${markdownList(sizes)}`;
}
