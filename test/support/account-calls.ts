import type { GatewayEvent } from '../../infra/local/gateway.ts';
import type { PlatformVersion } from '../../lib/validators/trading-account.ts';
import { CONNECTIONS, type ConnectionId } from './account-connections.ts';
import type { Outcome } from './environments.ts';
import { apiGatewayEvent } from './gateway-events.ts';
import { checkAnswer } from './openapi.ts';

/** The request of a caller. */
export interface AccountCall {
  version?: PlatformVersion;
  userId?: string;
  body: Record<string, unknown> | string;
  key?: string;
  caller?: string;
  /** The function's remaining time, in milliseconds. */
  ms?: number;
}

export interface AccountAnswer {
  status: number;
  headers: Record<string, string>;
  body: Record<string, unknown>;
}

/** The default caller. */
const CRM_ARN = 'arn:aws:iam::000000000000:user/crm';

/** A minimal request for an account. */
export function accountBody(connection: ConnectionId, more: Record<string, unknown> = {}): Record<string, unknown> {
  const { group, account_type_id } = CONNECTIONS[connection];
  const type = account_type_id === undefined ? {} : { account_type_id };
  return { connection_id: connection, group, leverage: 100, ...type, ...more };
}

export function versionOf(body: AccountCall['body']): PlatformVersion {
  const id = typeof body === 'object' ? String(body.connection_id) : '';
  return id in CONNECTIONS ? CONNECTIONS[id as ConnectionId].version : 'tp5';
}

/** The event that API Gateway hands to the function, with an IAM caller. */
export function accountEvent(
  version: PlatformVersion,
  { userId = 'CLIENT01', body, key, caller = CRM_ARN }: AccountCall,
): GatewayEvent {
  return apiGatewayEvent(`/public/v1/users/{user_id}/${version}/accounts`, { body, userId, key, caller });
}

/** @throws Error if the answer is not one of the documented answers */
export function toAnswer(version: PlatformVersion, outcome: Outcome): AccountAnswer | undefined {
  if (outcome.kind !== 'answer') return undefined;
  const { statusCode, headers, body } = outcome.answer as {
    statusCode: number;
    headers: Record<string, string>;
    body: string;
  };
  checkAnswer(`/public/v1/users/{user_id}/${version}/accounts`, statusCode, headers, body);
  return { status: statusCode, headers, body: JSON.parse(body) as Record<string, unknown> };
}

export function statusAndType({ status, body }: AccountAnswer): string {
  return status === 200 ? '200' : `${status} ${body.type}`;
}
