import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type AddressInfo, Server, type Socket } from 'node:net';
import type { Faults } from '../faults.ts';

/**
 * Makes the fault `down` real: while it is the next one, the port is closed and clients are refused. Only the client
 * notices a refused connection. The clients run in this process, so their sockets are watched, and each refusal
 * consumes one fault. Works for any protocol over TCP.
 *
 * @param server listens already; `faults.next()` is the caller's for connections that do come in, followed by `check()`
 */
export function downtime(server: Server, faults: Faults): { check(): void; stop(): void } {
  const { address, port } = server.address() as AddressInfo;
  let open = true;
  let stopped = false;

  function check(): void {
    const down = faults.peek()?.kind === 'down';
    if (stopped || down !== open) return;
    open = !down;
    if (down) {
      subscribe('net.client.socket', watch);
      // Not the HTTP server's own `close`, which also ends idle connections: a call that comes on one of them must be
      // counted.
      Server.prototype.close.call(server);
    } else {
      unsubscribe('net.client.socket', watch);
      server.listen(port, address);
    }
  }

  function watch(message: unknown): void {
    (message as { socket: Socket }).socket.once('error', (error: NodeJS.ErrnoException & { port?: number }) => {
      if (open || error.code !== 'ECONNREFUSED' || error.port !== port) return;
      faults.next();
      check();
    });
  }

  function reopen(error: NodeJS.ErrnoException): void {
    // An outgoing connection may occupy the port for a moment.
    if (error.code === 'EADDRINUSE' && open && !stopped) setTimeout(() => server.listen(port, address), 20);
  }

  server.on('error', reopen);
  faults.onChange = check;
  check();
  return {
    check,
    stop() {
      stopped = true;
      faults.onChange = () => {};
      if (!open) unsubscribe('net.client.socket', watch);
    },
  };
}
