import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { listenOn } from '../../infra/local/listen.ts';

/** The port of a server on 127.0.0.1, which ends with its connections when the test does. */
export async function listenForTest(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  const port = await listenOn(server, 0);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return port;
}

/** A port that refuses connections. */
export async function closedPort(): Promise<number> {
  const server = createServer();
  const port = await listenOn(server, 0);
  server.close();
  await once(server, 'close');
  return port;
}

/** The SDK client settings for a server on this machine. */
export function clientSettings(endpoint: string) {
  return { endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'local', secretAccessKey: 'local' } };
}
