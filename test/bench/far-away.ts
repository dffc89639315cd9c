import { writeFile } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { crmTable } from '../../infra/crm/crm-table.ts';
import { TABLES } from '../../infra/local/database.ts';
import { listenOn } from '../../infra/local/listen.ts';
import { type Certificate, selfSignedCertificate } from '../../infra/local/platforms/web-api-server.ts';
import { localClient } from '../../infra/local-client.ts';
import type { Stage } from './stage.ts';

/** Typical round trips within a region, and to a trading server in another one; in milliseconds. */
export const ROUND_TRIPS_MS = { DYNAMODB: 3, SECRETS_MANAGER: 10, SES: 10, EVENTBRIDGE: 10 };
export const TO_PLATFORM_MS = 20;

/**
 * A local port with the delays of a distant one: every byte takes half a round trip each way, and a connection a whole
 * one before its first byte, like TCP's handshake.
 * @returns its port
 */
function farAway(port: number, roundTripMs: number): Promise<number> {
  const server = createServer({ noDelay: true }, (client) => {
    const service = connect({ host: '127.0.0.1', port, noDelay: true });
    let opensMs = roundTripMs;
    client.on('data', (chunk) => {
      setTimeout(() => service.write(chunk), roundTripMs / 2 + opensMs);
      opensMs = 0;
    });
    service.on('data', (chunk) => setTimeout(() => client.write(chunk), roundTripMs / 2));
    const pairs = [
      [client, service],
      [service, client],
    ] as const;
    for (const [one, other] of pairs) {
      // After all data.
      one.on('end', () => setTimeout(() => other.end(), roundTripMs * 2));
      one.on('error', () => other.destroy());
    }
  });
  return listenOn(server, 0);
}

/** TLS in front of a local port, whose handshake has the same delays if it is far away. @returns its port */
function withTls(port: number, { key, cert }: Certificate): Promise<number> {
  const server = createTlsServer({ key, cert }, (client) => {
    const service = connect({ host: '127.0.0.1', port, noDelay: true });
    client.on('error', () => service.destroy());
    service.on('error', () => client.destroy());
    client.setNoDelay(true).pipe(service).pipe(client);
  });
  return listenOn(server, 0);
}

/** Delays the services of AWS and the trading servers. @returns the variables that lead to the services */
export async function moveFarAway({ service, folder }: Stage): Promise<Record<string, string>> {
  const own = await selfSignedCertificate();
  const environment: Record<string, string> = { NODE_EXTRA_CA_CERTS: join(folder, 'authority.pem') };
  await writeFile(join(folder, 'authority.pem'), own.cert);
  for (const [name, ms] of Object.entries(ROUND_TRIPS_MS)) {
    const variable = `AWS_ENDPOINT_URL_${name}`;
    const { port } = new URL(service.environment[variable] ?? '');
    environment[variable] = `https://localhost:${await farAway(await withTls(Number(port), own), ms)}`;
  }
  const table = crmTable(TABLES.crm, localClient(service.environment, 'AWS_ENDPOINT_URL_DYNAMODB'));
  for (const id of ['tp5-live-1', 'tp4-live-1']) {
    const [item, server] = [await table.read(`connection#${id}`), service.platforms.get(id)];
    if (item === undefined || server === undefined) throw new Error(`There is no trading server ${id}.`);
    const record = { ...(item.record as object), port: await farAway(server.port, TO_PLATFORM_MS) };
    await table.write([{ put: { ...item, record } }]);
  }
  return environment;
}
