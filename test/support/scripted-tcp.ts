import { type AddressInfo, createServer, type Socket } from 'node:net';

export interface ScriptedTcp {
  port: number;
  /** The received bytes of each connection, one character each. */
  received: string[];
  close(): Promise<void>;
}

/** A TCP server on 127.0.0.1 whose script is called once for each connection, when its first bytes have come. */
export async function scriptedTcp(script: (socket: Socket, text: string) => void): Promise<ScriptedTcp> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    const index = received.push('') - 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    socket.on('data', (bytes) => {
      const first = received[index] === '';
      received[index] += bytes.toString('latin1');
      if (first) script(socket, received[index] ?? '');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    received,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
