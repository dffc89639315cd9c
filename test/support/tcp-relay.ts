import { connect, createServer } from 'node:net';
import { listenForTest } from './servers.ts';

export interface TcpRelay {
  port: number;
  /** The number of connections so far. */
  connections: number;
  /** How the client ended its side of each connection: in order, or with a reset, which discards unsent data. */
  endings: ('orderly' | 'reset')[];
}

/** Passes bytes between a client and the server on this port of 127.0.0.1, until the test ends. */
export async function tcpRelay(port: number): Promise<TcpRelay> {
  const relayed: TcpRelay = { port: 0, connections: 0, endings: [] };
  const { endings } = relayed;
  const relay = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    relayed.connections += 1;
    const server = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    client.once('end', () => endings.push('orderly'));
    client.on('error', ({ code }: NodeJS.ErrnoException) => {
      if (code === 'ECONNRESET') endings.push('reset');
      server.resetAndDestroy();
    });
    server.on('error', () => client.resetAndDestroy());
    client.on('close', () => server.destroy());
    client.pipe(server).pipe(client);
  });
  relayed.port = await listenForTest(relay);
  return relayed;
}
