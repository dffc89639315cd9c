import type { Server as HttpServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';

/**
 * Has a server listen on this machine alone.
 * @param port 0: a free one
 * @returns the port
 * @throws Error such as `EADDRINUSE`
 */
export async function listen(server: Server, port: number, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/** Closes a server with all its connections. */
export async function closed(server: HttpServer): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
