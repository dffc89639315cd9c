import type { Connection } from '../records/crm-records.ts';
import type { PlatformVersion } from '../validators/trading-account.ts';

/** The parts that the key of a reservation is made of. */
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

/** The key of a reservation of a protocol that names the login. */
export function namedLoginKey(version: PlatformVersion, login: number): string {
  return reservationKey({ keyed: true, version, connection_id: '' }, login);
}

/** The login of a reservation's key; NaN for another text. @param pk such as `tp5#500001` */
export function reservedLogin(pk: unknown): number {
  return Number(String(pk).split('#').at(-1));
}

/** The place of an account's reservation, as its connection has it now. */
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

/** The address of a trading server as version 1.0.0 stores it in plans and keys: `mt4.example.com:443`. */
export function storedServer({ host, port }: Pick<Connection, 'host' | 'port'>): string {
  return `${host.toLowerCase()}:${port}`;
}
