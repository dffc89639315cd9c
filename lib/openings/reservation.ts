import type { Connection } from '../records/crm-records.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';
import type { Life } from './life.ts';

/** Where the logins of an operation are reserved. */
export interface ReservationPlace {
  version: PlatformVersion;
  connection_id: string;
  /** The protocol names the login. */
  keyed: boolean;
  /** The address of the server that the first command went to. */
  server?: string | undefined;
}

/**
 * The key of a login's reservation, for every worker and every command. A login that a protocol names is reserved across
 * all connections of its version. If the server chooses the logins, they are unique on that server, for all its
 * connections.
 */
export function reservationKey({ keyed, version, server, connection_id }: ReservationPlace, login: number): string {
  return `${keyed ? version : (server ?? connection_id)}#${login}`;
}

/** The login of a reservation's key; NaN for another text. @param pk such as `tp5#500001` */
export function reservedLogin(pk: unknown): number {
  return Number(String(pk).split('#').at(-1));
}

/** The place of the reservations of a connection, as it is now. */
export function connectionPlace({ id, platform, protocol, ...server }: Connection): ReservationPlace {
  return {
    version: platform,
    connection_id: id,
    keyed: protocol !== 'web-registration',
    server: storedServer(server),
  };
}

/** Whether a connection has led to another server since the first command of an operation went to `server`. */
export function hasMoved(server: string | undefined, connection: Connection): boolean {
  return server !== undefined && server !== storedServer(connection);
}

/** The address of a trading server, as plans and keys of reservations have it: `mt4.example.com:443`. */
export function storedServer({ host, port }: Pick<Connection, 'host' | 'port'>): string {
  return `${host.toLowerCase()}:${port}`;
}

/**
 * The logins that an operation holds: the one of its state, and those that an operator has closed. If the server chooses
 * the logins, only the login of an open account is known.
 */
export function heldLogins(
  life: Life,
  { plan, closed = [] }: { plan?: ReservationPlace | undefined; closed?: readonly number[] | undefined },
): number[] {
  if (plan === undefined) return [];
  const login = 'login' in life && (plan.keyed || life.at === 'open') ? [life.login ?? []].flat() : [];
  return [...new Set([...login, ...(plan.keyed ? closed : [])])];
}
