import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceProcess } from './service.ts';

/** Something that goes wrong for a while: faults by their targets. */
type Trouble = Record<string, { kind: string; times: number; ms?: number; code?: number; after?: number }>;

/**
 * Everything that can go wrong at a distance, one after the other and some at once. What stays silent is rare: each
 * keeps a connection busy for as long as its caller waits. Providers and database do not fail together: then it could
 * not be written down that nothing was sent, and a repeated request is told what stands for "may have been sent".
 */
const TROUBLES: readonly Trouble[] = [
  { ses: { kind: 'throttled', times: 30 } },
  { 'tp5-a': { kind: 'reply_lost', times: 5 }, 'tp4-gateway-a': { kind: 'reply_lost', times: 5 } },
  { dynamodb: { kind: 'throttled', times: 60 } },
  { ses: { kind: 'down', times: 30 }, 'tp4-gateway-b': { kind: 'down', times: 20 } },
  { 'tp5-b': { kind: 'session_dropped', times: 5 }, 'tp5-demo': { kind: 'reply_lost', times: 5 } },
  { ses: { kind: 'slow', times: 40, ms: 1_500 }, sns: { kind: 'throttled', times: 10 } },
  { 'tp5-c': { kind: 'slow', times: 4, ms: 1_000 }, 'tp4-plugin': { kind: 'slow', times: 10, ms: 1_500 } },
  { dynamodb: { kind: 'slow', times: 100, ms: 300 } },
  {
    voice: { kind: 'refused', times: 10 },
    whatsapp: { kind: 'down', times: 10 },
    s3: { kind: 'throttled', times: 20 },
  },
  { 'tp5-a': { kind: 'silence', times: 1 }, 'tp4-gateway-a': { kind: 'silence', times: 3 } },
  { 'tp5-b': { kind: 'garbage', times: 3 }, 'tp4-gateway-b': { kind: 'garbage', times: 3 } },
  { dynamodb: { kind: 'down', times: 60 } },
  { ses: { kind: 'refused', times: 30 }, 'tp4-plugin': { kind: 'throttled', times: 5 } },
  { 'tp5-demo': { kind: 'session_dropped', times: 5 }, 'tp5-c': { kind: 'down', times: 10 } },
  { 'tp5-a': { kind: 'retcode', code: 9, times: 3 }, 'tp5-b': { kind: 'throttled', times: 5 } },
  { 'tp4-plugin': { kind: 'reply_lost', times: 2 }, 'tp4-gateway-a': { kind: 'session_dropped', times: 5 } },
  { 'tp5-demo': { kind: 'reply_lost', times: 5, after: 1 }, sns: { kind: 'down', times: 10 } },
];

/** Switches trouble on and off until the signal comes. @returns how many times it did, and what is wrong now */
export function makeTrouble(service: ServiceProcess, everyMs: number, signal: AbortSignal) {
  const state = { count: 0, now: '' };
  const done = (async () => {
    while (!signal.aborted) {
      const trouble = TROUBLES[state.count % TROUBLES.length] ?? {};
      state.count += 1;
      state.now = Object.entries(trouble)
        .map(([target, { kind }]) => `${target} ${kind}`)
        .join(', ');
      await Promise.all(Object.entries(trouble).map(([target, fault]) => service.goWrong(target, fault)));
      await sleep(everyMs * 0.7, undefined, { signal }).catch(() => {});
      await service.allWell();
      state.now = '';
      await sleep(everyMs * 0.3, undefined, { signal }).catch(() => {});
    }
  })();
  return { state, done };
}
