import { type AccountAnswer, type AccountCall, accountBody, CALLER } from '../account-calls.ts';
import { CONNECTIONS, type ConnectionId, firstRange, isKeyed } from '../account-connections.ts';
import type { WorldClient } from '../account-world.ts';
import { type Tried, unused } from './rounds.ts';

/** The content of a request. */
export interface Shape {
  connection: ConnectionId;
  /** With an `Idempotency-Key`. A request without one is sent once. */
  keyed: boolean;
  /** Its caller repeats it until it is answered. */
  returns: boolean;
  /** A login of the caller's own, inside or outside of the connection's range. */
  login: 'none' | 'outside' | 'inside';
  given: boolean;
  readonly: boolean;
  notices: boolean;
}

/** With a key and only the required fields. */
export const PLAIN_SHAPE: Omit<Shape, 'connection'> = {
  keyed: true,
  returns: true,
  login: 'none',
  given: false,
  readonly: false,
  notices: false,
};

/** A request for an account, with its retries. Each has a client of its own. */
export interface Intent extends Tried {
  shape: Shape;
  client: WorldClient;
  call: AccountCall;
  /** The caller's own login. */
  login: number | undefined;
  /** Every 200 that differs. */
  answers: AccountAnswer[];
  /** The last answer. */
  lastWord: string | undefined;
  /** Its account was given the comment of another operation. */
  isContradicted: boolean;
  /** Its server was restored from a backup without its account. */
  isRestored: boolean;
}

let logins = 0;
/** A login for requests that ask for one of their own. */
export function newLogin({ connection, login }: Shape): number | undefined {
  if (login === 'none') return undefined;
  logins += 1;
  return login === 'inside' && isKeyed(connection) ? firstRange(connection).from + (logins % 2_000) : 700_000 + logins;
}

/** @param now on the world's clock */
export function newIntent(shape: Shape, client: WorldClient, login: number | undefined, now: number): Intent {
  const { connection, keyed, given, readonly, notices } = shape;
  const key = keyed ? `key-${client.id}` : undefined;
  const fields = {
    ...(login === undefined ? {} : { login }),
    ...(given ? { master_password: `Ma5#${client.id}`, investor_password: `Iv6!${client.id}` } : {}),
    ...(readonly ? { enable_readonly: true } : {}),
    ...(notices ? { send_email: true, send_pop_up: true } : {}),
  };
  return {
    key,
    scope: key === undefined ? undefined : [CONNECTIONS[connection].version, CALLER, client.id, key],
    returns: keyed && shape.returns,
    name: `${client.id} ${JSON.stringify(shape)}`,
    shape,
    client,
    call: { userId: client.id, ...(key === undefined ? {} : { key }), body: accountBody(connection, fields) },
    login,
    answers: [],
    lastWord: undefined,
    isContradicted: false,
    isRestored: false,
    ...unused(now),
  };
}
