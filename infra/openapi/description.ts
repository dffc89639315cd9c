import { KEPT_SECONDS } from '../../lib/records/operations.ts';
import { DEFAULT_LIMITS, type Limits } from '../../lib/validators/deployment.ts';
import type { OperationId } from '../routes.ts';
import { list, table } from './json.ts';
import { OPERATIONS, PROBLEM_NOTES, PROBLEM_TYPES, statusesOf } from './problems.ts';

/** What stands above all operations, as Markdown. */
export function description(): string {
  return [
    'Accepts registration requests of new users and sends each a one-time password by e-mail, SMS, call or WhatsApp; takes that password, where the deployment has this extension; opens trading accounts for existing clients on trading-platform servers of version 5 (`tp5`) and version 4 (`tp4`).',
    'Requests and answers are JSON in UTF-8, with an object at the root. A field that is not known is refused. New members may be added to answers: ignore those that you do not know.',
    'Every answer of the service has the headers `x-request-id` (name it when you ask for help), `cache-control: no-store` and `x-content-type-options: nosniff`.',
    '## Safe repeats',
    `Where an operation takes an \`Idempotency-Key\`, send one of your own, one for each thing that you want done, and repeat the very same request with it as often as you like. It is kept for ${KEPT_SECONDS / 3_600} hours, for its route, caller and user.`,
    table(['A repeat', 'is answered'], REPEATS),
    '## Errors',
    'Every error of the service is a problem document (RFC 9457, `application/problem+json`). Switch on `type`, which never changes; `title` and `detail` are for people. `errors` lists every fault of the request at once.',
    '<details>\n<summary>All error types, and the operations that answer them</summary>',
    problemTable(),
    '</details>',
    'The gateway answers some requests by itself, as `application/json` with nothing but a `message` and without the headers of the service: 404 `Not Found` to a path or method that is none of these, 401 and 403 where authorization fails, 429 when it throttles, 413, 500 and 503.',
  ].join('\n\n');
}

const REPEATS: readonly [repeat: string, answer: string][] = [
  ['of a finished request', 'with the first answer again and `idempotent-replayed: true`'],
  ['of one that is still running', '409 `request_in_progress`, with `Retry-After`'],
  ['with another body', '422 `idempotency_key_reused`'],
  ['after the first try failed before anything was created or sent', 'as if it were the first'],
  ['after the first try may have sent the code', '204; the code is never sent again by itself'],
  [
    'after the first try may have opened the account',
    'with that account where the platform can tell, else 409 `account_outcome_unknown`; never with a second account',
  ],
];

const SHORT_NAMES: Readonly<Record<OperationId, string>> = {
  requestRegistration: 'registration',
  confirmRegistration: 'confirmation',
  createTp5Account: 'tp5',
  createTp4Account: 'tp4',
};

function problemTable(): string {
  const rows = PROBLEM_TYPES.flatMap((type) => statusesOf(type).map((status) => ({ type, status })));
  return table(
    ['Status', 'Type', 'Operations', 'When'],
    rows
      .sort((a, b) => a.status - b.status)
      .map(({ type, status }) => {
        const { operations, when, whenSettling = when } = PROBLEM_NOTES[type];
        const by =
          operations.length === OPERATIONS.length ? 'all' : operations.map((one) => SHORT_NAMES[one]).join(', ');
        return [String(status), `\`${type}\``, by, status === statusesOf(type)[0] ? when : whenSettling];
      }),
  );
}

const LIMITS: { readonly [Name in keyof Limits]: (most: Limits[Name]) => string } = {
  resendSeconds: (waits) => `the next message to the same recipient after ${waits.join(', ')} seconds`,
  recipientPerHour: (most) => `${most} messages an hour to a recipient`,
  recipientPerDay: (most) => `${most} messages in 24 hours to a recipient`,
  sourcePer10Minutes: (most) => `${most} requests in 10 minutes from a source address (IPv6: a /64)`,
  sourcePerHour: (most) => `${most} requests an hour from a source address`,
  networkSourcesPerHour: (most) => `${most} source addresses (/64) of one /48 of IPv6 in an hour of the clock`,
  prefixPerHour: (most) => `${most} messages an hour to a phone prefix (the number less its last four digits)`,
  countryPerHour: (most) => `${most} messages an hour to a country, for each phone channel`,
  mailDomainPerHour: (most) => `${most} messages an hour to a mail domain (public mail providers apart)`,
  wrongIdsPer10Minutes: (most) => `${most} unknown form ids and referral codes in 10 minutes from a source address`,
};

/** The limits of the registration, as Markdown. */
export function limits(): string {
  const lines = (Object.keys(LIMITS) as (keyof Limits)[]).map((name) => sentence(name));
  return `Limits (settings of the deployment; these are the defaults):\n\n${list(lines)}`;
}

function sentence<Name extends keyof Limits>(name: Name): string {
  return LIMITS[name](DEFAULT_LIMITS[name]);
}
