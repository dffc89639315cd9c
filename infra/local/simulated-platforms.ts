import * as v from 'valibot';
import { type Connection, TextProtocolSecretSchema, WebApiSecretSchema } from '../../lib/records/crm-records.ts';
import type { SimulatedGroup, SimulatedServer } from './platforms/simulated-server.ts';
import { startTextServer } from './platforms/text-server.ts';
import { startWebApiServer } from './platforms/web-api-server.ts';

/** The groups of a simulated server whose connection names none. */
const TP5_GROUPS = ['real\\standard', 'real\\raw', 'real\\strict', 'demo\\standard', 'demo\\forex', 'demoforex'];
const TP4_GROUPS = ['standard', 'raw', 'strict', 'demostandard', 'demoforex'];
/** A group of this name asks for longer passwords than the platform does, so that a rejection can be seen. */
const STRICT = /strict$/;
const STRICT_PASSWORD_LENGTH = 11;

/** Starts the trading server that a connection leads to. @param secrets values by name */
export function startPlatform(connection: Connection, secrets: ReadonlyMap<string, string>): Promise<SimulatedServer> {
  const secret: unknown = JSON.parse(secrets.get(connection.secret) ?? '{}');
  if (connection.protocol === 'web-api') {
    const { login, password } = v.parse(WebApiSecretSchema, secret);
    return startWebApiServer({ manager: { login, password }, groups: simulatedGroups(connection, TP5_GROUPS) });
  }
  const { master } = v.parse(TextProtocolSecretSchema, secret);
  return startTextServer({
    dialect: connection.protocol,
    master,
    groups: simulatedGroups(connection, TP4_GROUPS),
    groupNumbers: connection.groups !== undefined && !Array.isArray(connection.groups),
    codePage: connection.code_page,
    ...(connection.prefix && { prefix: connection.prefix }),
    // Answers come in pieces, as on a slow network, but not byte by byte: each piece is a system call.
    packetBytes: 8,
  });
}

function simulatedGroups({ groups }: Connection, standard: string[]): SimulatedGroup[] {
  let names = groups ?? standard;
  if (!Array.isArray(names)) {
    const byIndex = new Map(Object.entries(names).map(([name, index]) => [index, name]));
    const count = Math.min(Math.max(0, ...byIndex.keys()), 1_000);
    names = Array.from({ length: count }, (_, place) => byIndex.get(place + 1) ?? `group${place + 1}`);
  }
  return names.map((name) => (STRICT.test(name) ? { name, minPasswordLength: STRICT_PASSWORD_LENGTH } : { name }));
}

/** The connection for the functions, with the address of a simulated server on this machine. */
export function resolveAddress(connection: Connection, server: SimulatedServer | undefined): Connection {
  if (server === undefined) return connection;
  const address = { host: '127.0.0.1', port: server.port };
  if (connection.protocol !== 'web-api') return { ...connection, ...address };
  const { fingerprint: _, ...rest } = connection;
  return { ...rest, ...address, ...(server.ca === undefined ? {} : { ca: server.ca }) };
}
