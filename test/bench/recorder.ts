import { createServer, type IncomingMessage, request, Server, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** One call that passed by, with its times on one clock, in milliseconds. */
export interface Call {
  service: string;
  /** Such as `PutItem`, or empty where the request does not name it. */
  operation: string;
  startedAt: number;
  endedAt: number;
  /** Of the bodies. */
  sentBytes: number;
  receivedBytes: number;
}

export interface Recorder {
  readonly url: string;
  readonly calls: Call[];
  close(): Promise<void>;
}

/**
 * Stands before a service of AWS and notes when each call begins and ends. Every call is held up, so that calls which
 * were sent side by side overlap, and calls which wait for each other do not.
 */
export async function recordHttp(service: string, target: string, holdMs: number): Promise<Recorder> {
  const calls: Call[] = [];
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const startedAt = performance.now();
    const operation = String(incoming.headers['x-amz-target'] ?? '').split('.')[1] ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    await sleep(holdMs);
    const sent = request(new URL(incoming.url ?? '/', target), { method: incoming.method, headers: incoming.headers });
    sent.on('error', () => outgoing.destroy());
    sent.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
      let receivedBytes = 0;
      answer.on('data', (chunk: Buffer) => {
        receivedBytes += chunk.length;
      });
      outgoing.on('finish', () => {
        const endedAt = performance.now();
        calls.push({ service, operation, startedAt, endedAt, sentBytes: body.length, receivedBytes });
      });
    });
    sent.end(body);
  }

  return { url: `http://127.0.0.1:${await listen(server)}`, calls, close: () => closed(server) };
}

export interface PlatformRecorder {
  readonly port: number;
  /** How many connections were made. */
  readonly connections: number;
  /** When the client began to speak after the other side had (or first of all): one round trip each. */
  readonly turns: number[];
  reset(): void;
  close(): Promise<void>;
}

/** Stands before a trading server, which may speak TLS, and notes who speaks when. */
export async function recordTcp(targetPort: number): Promise<PlatformRecorder> {
  let connections = 0;
  let turns: number[] = [];
  const sockets = new Set<Socket>();
  const server = createTcpServer((client) => {
    connections += 1;
    const platform = connect({ host: '127.0.0.1', port: targetPort, noDelay: true });
    client.setNoDelay(true);
    let clientsTurn = false;
    client.on('data', () => {
      if (!clientsTurn) turns.push(performance.now());
      clientsTurn = true;
    });
    platform.on('data', () => {
      clientsTurn = false;
    });
    for (const [one, other] of [
      [client, platform],
      [platform, client],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => sockets.delete(one));
    }
  });
  const port = await listen(server);

  return {
    port,
    get connections() {
      return connections;
    },
    get turns() {
      return turns;
    },
    reset() {
      connections = 0;
      turns = [];
    },
    close() {
      for (const socket of sockets) socket.destroy();
      return closed(server);
    },
  };
}

/** How many of these calls stood one after the other: the longest row in which each began after the one before had ended. */
export function depth(calls: readonly Call[]): number {
  let count = 0;
  let freeFrom = Number.NEGATIVE_INFINITY;
  for (const { startedAt, endedAt } of [...calls].sort((a, b) => a.endedAt - b.endedAt)) {
    if (startedAt < freeFrom) continue;
    count += 1;
    freeFrom = endedAt;
  }
  return count;
}

async function listen(server: TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return (server.address() as AddressInfo).port;
}

function closed(server: TcpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    if (server instanceof Server) server.closeAllConnections();
  });
}
