import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, RequestListener } from 'node:http';
import { type AddressInfo, Server, type Socket } from 'node:net';
import type { Faults } from './faults.ts';

/**
 * Makes a server listen on this machine alone.
 * @param port 0: a free port
 * @returns the port
 * @throws Error such as `EADDRINUSE`
 */
export async function listenOn(server: Server, port: number, host = '127.0.0.1'): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

/**
 * The names of this machine, with any port. Any other name may be a foreign host name that points here (DNS rebinding).
 */
const OWN_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;

/**
 * True for a request to another host name, or from a foreign web page. Every page in a browser on this machine can
 * reach a local server.
 *
 * @param origins whose pages may call anyway
 */
export function isForeignRequest({ headers }: IncomingMessage, origins: readonly string[] = []): boolean {
  if (!OWN_HOST.test(headers.host ?? '')) return true;
  return headers.origin !== undefined && !origins.includes(headers.origin);
}

/** Answers foreign requests with 403 and passes the others on: for servers that have no pages. */
export function refuseForeignRequests(listener: RequestListener): RequestListener {
  return (request, response) => {
    if (!isForeignRequest(request)) return listener(request, response);
    request.resume();
    response.writeHead(403, { 'content-type': 'application/json' }).end('{"message":"Forbidden"}');
  };
}

/**
 * Makes the fault `down` real: while it is the next one, the port is closed and clients are refused. Only the client
 * notices a refused connection. The clients run in this process, so their sockets are watched, and each refusal
 * consumes one fault. Works for any protocol over TCP.
 *
 * @param server listens already; `faults.next()` is the caller's for connections that do come in, followed by `check()`
 */
export function refuseWhileDown(server: Server, faults: Faults): { check(): void; stop(): void } {
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
