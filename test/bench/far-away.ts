import { connect, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { crmTable } from '../../infra/crm/crm-table.ts';
import { TABLES } from '../../infra/local/database.ts';
import { listen } from '../../infra/local/listen.ts';
import type { Certificate } from '../../infra/local/platforms/web-api-server.ts';
import { localClient } from '../../infra/local-client.ts';
import type { Stage } from './stage.ts';

/** A distant service, optionally with TLS. */
interface FarAway {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * A local service with the delays of a distant one: every byte takes half a round trip each way, and a connection a
 * whole one before its first byte, like TCP's handshake. With a certificate it uses TLS, whose handshake has the same
 * delays.
 * @param roundTripMs between the client and the service
 */
async function farAway(targetPort: number, roundTripMs: number, tls?: Certificate): Promise<FarAway> {
  const servers: Server[] = [];
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.setNoDelay(true);
    socket.on('close', () => sockets.delete(socket));
    return socket;
  };
  let nearPort = targetPort;
  if (tls !== undefined) {
    const terminator = createTlsServer({ key: tls.key, cert: tls.cert }, (client) => {
      join(keep(client), keep(connect(targetPort, '127.0.0.1')), 0);
    });
    servers.push(terminator);
    nearPort = await listen(terminator, 0);
  }
  const server = createServer((client) => {
    join(keep(client), keep(connect(nearPort, '127.0.0.1')), roundTripMs);
  });
  servers.push(server);
  const port = await listen(server, 0);
  return {
    port,
    async close() {
      for (const socket of sockets) socket.destroy();
      await Promise.all(servers.map((one) => new Promise((resolve) => one.close(resolve))));
    },
  };
}

/** Forwards the data of two sockets half a round trip later; the client's first data another round trip later. */
function join(client: Socket, service: Socket, roundTripMs: number): void {
  let opensMs = roundTripMs;
  const after = (ms: number, work: () => void) => (ms === 0 ? work() : void setTimeout(work, ms));
  client.on('data', (chunk) => {
    after(roundTripMs / 2 + opensMs, () => service.write(chunk));
    opensMs = 0;
  });
  service.on('data', (chunk) => after(roundTripMs / 2, () => client.write(chunk)));
  for (const [one, other] of [
    [client, service],
    [service, client],
  ] as const) {
    one.on('end', () => after(roundTripMs * 2, () => other.end()));
    one.on('error', () => other.destroy());
  }
}

/**
 * Delays services of AWS, by their names in `AWS_ENDPOINT_URL_…`.
 * @returns the variables that lead to them
 */
export async function servicesFarAway(
  { service }: Stage,
  roundTripsMs: Readonly<Record<string, number>>,
  tls?: Certificate,
) {
  const environment: Record<string, string> = {};
  const places: FarAway[] = [];
  for (const [name, ms] of Object.entries(roundTripsMs)) {
    const variable = `AWS_ENDPOINT_URL_${name}`;
    const place = await farAway(Number(new URL(service.environment[variable] ?? '').port), ms, tls);
    places.push(place);
    environment[variable] = tls === undefined ? `http://127.0.0.1:${place.port}` : `https://localhost:${place.port}`;
  }
  return { environment, close: () => Promise.all(places.map((place) => place.close())) };
}

/** The demo connections whose servers the benchmarks put something in front of. */
const CONNECTIONS = ['tp5-live-1', 'tp4-live-1'] as const;

/**
 * Delays each trading server, by changing its address in the CRM. @returns restores the addresses
 */
export async function platformsFarAway({ service }: Stage, roundTripMs: number): Promise<() => Promise<void>> {
  const table = crmTable(TABLES.crm, localClient(service.environment, 'AWS_ENDPOINT_URL_DYNAMODB'));
  const restores: (() => Promise<void>)[] = [];
  for (const id of CONNECTIONS) {
    const item = await table.read(`connection#${id}`);
    const port = service.platforms.get(id)?.port;
    if (item === undefined || port === undefined) throw new Error(`There is no trading server ${id}.`);
    const place = await farAway(port, roundTripMs);
    await table.write([{ put: { ...item, record: { ...(item.record as object), port: place.port } } }]);
    restores.push(async () => {
      await table.write([{ put: item }]);
      await place.close();
    });
  }
  return async () => {
    for (const restore of restores) await restore();
    table.close();
  };
}
