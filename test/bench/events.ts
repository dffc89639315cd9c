import { randomUUID } from 'node:crypto';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import type { FunctionName } from '../../infra/routes.ts';

/**
 * Requests to the demo records, as the gateway hands them to a function. Each comes from another source for another
 * person.
 */

let people = 0;

export interface EventOptions {
  body?: Record<string, unknown>;
  idempotencyKey?: string;
}

/** An event that its function answers with 204 or 200. */
export function eventFor(name: FunctionName, options: EventOptions = {}) {
  people += 1;
  const user = DEMO_RECORDS.clients[0]?.id ?? '';
  const version = name === 'create-tp4-account' ? 'tp4' : 'tp5';
  return name === 'request-registration'
    ? event('/public/v1/account/register/request', {}, { ...registrationBody(people), ...options.body }, options)
    : event(
        `/public/v1/users/{user_id}/${version}/accounts`,
        { user_id: user },
        { ...accountBody(version), ...options.body },
        options,
      );
}

export function registrationBody(person: number) {
  return {
    // A new domain each time: the limit for one domain is low.
    email: `person${person}@mail${person}.example`,
    type: 'trader',
    name: 'Nia Newman',
    password: 'correct horse battery',
    repeat_password: 'correct horse battery',
    form_id: 'FORM0001',
    k3J9xQ: 'some',
    language: 'es',
  };
}

function accountBody(version: 'tp5' | 'tp4') {
  return {
    connection_id: `${version}-live-1`,
    group: version === 'tp5' ? 'real\\standard' : 'standard',
    leverage: 100,
  };
}

/** An address of its own for each of 16 million callers. */
function sourceOf(person: number): string {
  return `10.${(person >> 16) & 255}.${(person >> 8) & 255}.${person & 255}`;
}

function event(
  path: string,
  pathParameters: Record<string, string>,
  body: object,
  { idempotencyKey }: EventOptions,
): Record<string, unknown> {
  const rawPath = path.replace('{user_id}', pathParameters.user_id ?? '');
  return {
    version: '2.0',
    routeKey: `POST ${path}`,
    rawPath,
    rawQueryString: '',
    headers: {
      'content-type': 'application/json',
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    pathParameters,
    requestContext: {
      accountId: '000000000000',
      apiId: 'benchmark',
      http: { method: 'POST', path: rawPath, protocol: 'HTTP/1.1', sourceIp: sourceOf(people), userAgent: 'benchmark' },
      requestId: randomUUID(),
      routeKey: `POST ${path}`,
      stage: '$default',
    },
    body: JSON.stringify(body),
    isBase64Encoded: false,
  };
}
