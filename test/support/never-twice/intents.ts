import { type AccountAnswer, type AccountCall, accountBody, CALLER } from '../account-calls.ts';
import { CONNECTIONS, type ConnectionId } from '../account-connections.ts';
import { type Tried, unused } from './rounds.ts';

/** What a request asks for. */
export interface Shape {
  connection: ConnectionId;
  /** With an `Idempotency-Key`: without one it is sent once. */
  keyed: boolean;
  /** Its caller comes back until it is answered. */
  returns: boolean;
  /** A login of the caller's own, of the connection's range or not. */
  login: 'none' | 'outside' | 'inside';
  given: boolean;
  readonly: boolean;
  notices: boolean;
}

/** With a key and nothing beside what it must have. */
export const PLAIN_SHAPE: Omit<Shape, 'connection'> = {
  keyed: true,
  returns: true,
  login: 'none',
  given: false,
  readonly: false,
  notices: false,
};

/** A request for an account; its accounts are those with its client's e-mail address. */
export interface Intent extends Tried {
  shape: Shape;
  email: string;
  call: AccountCall;
  /** Its own login may be another's. */
  mayBeTaken: boolean;
  /** What became of a lost answer nobody can tell, so that it is left to an operator. */
  isBlind: boolean;
  /** The same where the caller does not come back: with a password of its own nobody else can ask for it. */
  isBlindAlone: boolean;
  /** Every 200 that differs. */
  answers: AccountAnswer[];
  /** What was answered last. */
  lastWord: string | undefined;
}

let logins = 0;
/** A login for requests that ask for one of their own. */
export function newLogin({ connection, login }: Shape): number | undefined {
  if (login === 'none') return undefined;
  logins += 1;
  return login === 'outside' ? 700_000 + logins : (RANGES[connection] ?? 0) + (logins % 2_000);
}

/** Where their ranges begin. */
const RANGES: Partial<Record<ConnectionId, number>> = {
  'tp5-range': 500_000,
  'tp5-range-demo': 502_000,
  'gw-range': 510_000,
  'gw-range-demo': 512_000,
};

/** @param now on the world's clock */
export function newIntent(
  shape: Shape,
  client: { id: string; email: string },
  {
    login,
    isContested,
    knowsPasswords,
    now,
  }: { login: number | undefined; isContested: boolean; knowsPasswords: boolean; now: number },
): Intent {
  const { connection, keyed } = shape;
  const isGateway = connection.startsWith('gw');
  const isOfRange = connection.includes('range') && shape.login !== 'outside';
  const isAsked = shape.login === 'outside' && knowsPasswords;
  const isBlind = connection.startsWith('reg') || (isGateway && !isOfRange && !isAsked);
  const returns = keyed && shape.returns;
  const key = keyed ? `key-${client.id}` : undefined;
  return {
    key,
    scope: key === undefined ? undefined : [CONNECTIONS[connection].version, CALLER, client.id, key],
    returns,
    name: `${client.id} ${JSON.stringify(shape)}`,
    shape,
    email: client.email,
    call: {
      userId: client.id,
      ...(key === undefined ? {} : { key }),
      body: accountBody(connection, fields(shape, client.id, login)),
    },
    mayBeTaken: isContested || shape.login === 'inside',
    isBlind,
    isBlindAlone: isBlind || (isGateway && !isOfRange && shape.given),
    answers: [],
    lastWord: undefined,
    ...unused(now),
  };
}

function fields({ given, readonly, notices }: Shape, id: string, login: number | undefined): Record<string, unknown> {
  return {
    ...(login === undefined ? {} : { login }),
    ...(given ? { master_password: `Ma5#${id}`, investor_password: `Iv6!${id}` } : {}),
    ...(readonly ? { enable_readonly: true } : {}),
    ...(notices ? { send_email: true, send_pop_up: true } : {}),
  };
}
