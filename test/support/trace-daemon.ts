import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const HOST = '127.0.0.1';
const LAST = 'the last datagram until now';

/** Stands in for X-Ray's daemon: it keeps every datagram that traced functions send. */
export interface TraceDaemon {
  /** What the functions find in their environment when all of their calls are traced. */
  readonly environment: Record<string, string>;
  /** Every datagram that was sent until now. */
  received(): Promise<string[]>;
  close(): void;
}

export async function startTraceDaemon(): Promise<TraceDaemon> {
  const datagrams: string[] = [];
  let lasts = 0;
  const socket = createSocket('udp4').on('message', (bytes) => {
    const datagram = bytes.toString('utf8');
    if (datagram === LAST) lasts += 1;
    else datagrams.push(datagram);
  });
  socket.bind(0, HOST);
  await once(socket, 'listening');
  const { port } = socket.address();

  return {
    environment: {
      AWS_XRAY_DAEMON_ADDRESS: `${HOST}:${port}`,
      _X_AMZN_TRACE_ID: 'Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1',
    },
    async received() {
      // On one machine they arrive in the order in which they were sent: when ours is here, so are all before it.
      const before = lasts;
      while (lasts === before) {
        socket.send(LAST, port, HOST);
        await sleep(5);
      }
      return [...datagrams];
    },
    close: () => socket.close(),
  };
}

/** The annotation by which the trace of a request is found, as it stands in a datagram. */
export function annotationOf(requestId: unknown): string {
  return `"annotations":${JSON.stringify({ request_id: requestId })}`;
}
