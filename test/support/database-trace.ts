import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest } from 'node:http';
import { performance } from 'node:perf_hooks';

/** One request to a service of this process, on one clock, in milliseconds. */
export interface TracedCall {
  /** Such as `UpdateItem`; empty if the request has none. */
  operation: string;
  startedAt: number;
  endedAt: number;
}

export interface Trace {
  readonly calls: readonly TracedCall[];
  stop(): void;
}

/** Records when this process's HTTP requests to a server begin and end, without changing them. */
export function trace(url: string): Trace {
  const { host } = new URL(url);
  const open = new Map<ClientRequest, TracedCall>();
  const calls: TracedCall[] = [];

  const begin = (message: unknown) => {
    const { request } = message as { request: ClientRequest };
    if (request.getHeader('host') !== host) return;
    const operation = String(request.getHeader('x-amz-target') ?? '').split('.')[1] ?? '';
    const call = { operation, startedAt: performance.now(), endedAt: Number.POSITIVE_INFINITY };
    open.set(request, call);
    calls.push(call);
  };
  const end = (message: unknown) => {
    const call = open.get((message as { request: ClientRequest }).request);
    if (call !== undefined) call.endedAt = performance.now();
  };
  subscribe('http.client.request.start', begin);
  subscribe('http.client.response.finish', end);
  return {
    calls,
    stop() {
      unsubscribe('http.client.request.start', begin);
      unsubscribe('http.client.response.finish', end);
    },
  };
}

/** The longest row of calls of which each began when the one before had ended. */
export function longestRow(calls: readonly TracedCall[]): number {
  let length = 0;
  let freeFrom = Number.NEGATIVE_INFINITY;
  for (const { startedAt, endedAt } of calls.toSorted((a, b) => a.endedAt - b.endedAt)) {
    if (startedAt < freeFrom) continue;
    length += 1;
    freeFrom = endedAt;
  }
  return length;
}
