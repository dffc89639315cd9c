import { randomUUID } from 'node:crypto';
import type { FunctionName } from '../../infra/functions.ts';
import { DEMO_RECORDS } from '../../infra/local/demo-records.ts';
import type { GatewayEvent } from '../../infra/local/gateway.ts';

interface Sent {
  body: object | string;
  userId?: string;
  /** The `Idempotency-Key`. */
  key?: string | undefined;
  /** The ARN of an IAM caller. */
  caller?: string;
  source?: string;
}

/** The event that API Gateway hands to the function of a route. @param template the path of the route */
export function apiGatewayEvent(
  template: string,
  { body, userId, key, caller, source = '203.0.113.7' }: Sent,
): GatewayEvent {
  const path = template.replace('{user_id}', userId ?? '');
  const routeKey = `POST ${template}`;
  const now = new Date();
  return {
    version: '2.0',
    routeKey,
    rawPath: path,
    rawQueryString: '',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
    requestContext: {
      accountId: '000000000000',
      apiId: 'test',
      domainName: 'api.example.com',
      domainPrefix: 'api',
      http: { method: 'POST', path, protocol: 'HTTP/1.1', sourceIp: source, userAgent: 'test' },
      requestId: randomUUID(),
      routeKey,
      stage: '$default',
      time: now.toUTCString(),
      timeEpoch: now.getTime(),
      ...(caller === undefined ? {} : { authorizer: { iam: { userArn: caller } } }),
    },
    pathParameters: userId === undefined ? {} : { user_id: userId },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    isBase64Encoded: false,
  };
}

let sources = 0;
/** A source address that no other request has: there are 16 million. */
export function newSource(): string {
  sources += 1;
  return `10.${(sources >> 16) & 255}.${(sources >> 8) & 255}.${sources & 255}`;
}

let people = 0;

/** A request to the demo records that a function answers with 204 or 200, of a new person from a new source. */
export function eventFor(name: FunctionName, key?: string): GatewayEvent {
  people += 1;
  const source = newSource();
  if (name === 'request-registration') {
    return apiGatewayEvent('/public/v1/account/register/request', { body: registrationBody(people), key, source });
  }
  const version = name === 'create-tp4-account' ? 'tp4' : 'tp5';
  const group = version === 'tp5' ? 'real\\standard' : 'standard';
  const body = { connection_id: `${version}-live-1`, group, leverage: 100 };
  const userId = DEMO_RECORDS.clients[0]?.id ?? '';
  return apiGatewayEvent(`/public/v1/users/{user_id}/${version}/accounts`, { body, userId, key, source });
}

export function registrationBody(person: number) {
  return {
    email: `person${person}@example.com`,
    type: 'trader',
    name: 'Nia Newman',
    password: 'correct horse battery',
    repeat_password: 'correct horse battery',
    form_id: 'FORM0001',
    k3J9xQ: 'some',
    language: 'es',
  };
}
