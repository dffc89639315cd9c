import { randomBytes } from 'node:crypto';
import { type TraceTarget, traceTarget } from './config.ts';

/** How long a call waits for its part of the trace to be written, in milliseconds. The daemon stands on the same machine. */
const WRITE_LIMIT_MS = 50;

/**
 * Writes the gateway's request id into the X-Ray trace of the call, as an annotation: what stands in the answer and in
 * the log (`request_id`) then finds the trace too (`annotation.request_id = "…"`). Without tracing it does nothing; a
 * failure of it changes nothing. (The X-Ray SDK would do this as well, and a fifth more code at every cold start.)
 * @param startedAt epoch milliseconds
 */
export async function annotateTrace(
  requestId: string,
  startedAt: number,
  target: TraceTarget | undefined = traceTarget(),
): Promise<void> {
  if (target === undefined) return;
  const segment = {
    type: 'subsegment',
    name: 'endpoint',
    id: randomBytes(8).toString('hex'),
    trace_id: target.traceId,
    parent_id: target.parentId,
    start_time: startedAt / 1_000,
    end_time: Date.now() / 1_000,
    annotations: { request_id: requestId },
  };
  try {
    await send(`{"format":"json","version":1}\n${JSON.stringify(segment)}`, target);
  } catch {
    // The answer is worth more than its trace.
  }
}

async function send(datagram: string, { host, port }: TraceTarget): Promise<void> {
  // Loaded when the first call is traced.
  const { createSocket } = await import('node:dgram');
  const socket = createSocket('udp4');
  try {
    await new Promise<void>((resolve, reject) => {
      setTimeout(resolve, WRITE_LIMIT_MS).unref();
      socket.once('error', reject);
      socket.send(datagram, port, host, (error) => (error ? reject(error) : resolve()));
    });
  } finally {
    socket.close();
  }
}
