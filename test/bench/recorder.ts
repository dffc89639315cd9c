import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** One recorded call. */
export interface Call {
  service: string;
  /** Such as `PutItem`, or empty if the request has none. */
  operation: string;
  /** Of the bodies. */
  sentBytes: number;
  receivedBytes: number;
}

export interface Recorder {
  readonly url: string;
  readonly calls: Call[];
  close(): void;
}

/** A proxy in front of a service of AWS, which notes each call and delays it. */
export async function recordHttp(service: string, target: string, delayMs: number): Promise<Recorder> {
  const calls: Call[] = [];
  const server = createServer((incoming, outgoing) => {
    pass(incoming, outgoing).catch(() => outgoing.destroy());
  });

  async function pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const operation = String(incoming.headers['x-amz-target'] ?? '').split('.')[1] ?? '';
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    await sleep(delayMs);
    const sent = request(new URL(incoming.url ?? '/', target), { method: incoming.method, headers: incoming.headers });
    sent.on('error', () => outgoing.destroy());
    sent.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
      let receivedBytes = 0;
      answer.on('data', (chunk: Buffer) => {
        receivedBytes += chunk.length;
      });
      outgoing.on('finish', () => calls.push({ service, operation, sentBytes: body.length, receivedBytes }));
    });
    sent.end(body);
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, calls, close: () => server.close().closeAllConnections() };
}
