import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import {
  codeIn,
  hurried,
  newSource,
  type RegistrationWorld,
  type Reply,
  registrationOf,
  until,
} from './registration-world.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==';

type Status = 204 | 500 | 502;

/** A request while something is wrong. */
export interface Walk {
  target: 'ses' | 'sns' | 'voice' | 'whatsapp' | 'dynamodb' | 's3' | 'secrets';
  fault: Omit<Fault, 'times'> & { times?: number };
  /** The first answer; of parallel calls it is determined afterwards. */
  status: Status | (() => Status);
  channel?: Channel;
  /** Milliseconds that the work may take; absent: as deployed. */
  time?: number;
  headers?: Record<string, string>;
  document?: boolean;
  /** The reasons why a retry may have to wait: the lease of the killed attempt, or a limit. */
  mayWait?: boolean;
}

/** For every call. */
export const LASTING = 1_000_000;
const TYPES = { 500: 'internal_error', 502: 'otp_delivery_failed' } as const;
let walks = 0;

function settings({ time, headers }: Walk): Record<string, string> {
  walks += 1;
  return {
    'idempotency-key': `walk-${walks}`,
    'x-forwarded-for': newSource(),
    ...(time === undefined ? {} : hurried(time)),
    ...headers,
  };
}

export function checkAnswer(reply: Reply, status: Status): void {
  expect(reply.status, reply.text).toBe(status);
  expect(reply.header('cache-control')).toBe('no-store');
  if (status === 204) return;
  expect(reply.header('content-type')).toBe('application/problem+json');
  expect(Object.keys(reply.json).toSorted()).toEqual(['request_id', 'status', 'title', 'type']);
  expect(reply.json.type).toBe(TYPES[status]);
}

/** One request with a fault, and the invariants after it. */
export async function walk(world: RegistrationWorld, one: Walk): Promise<void> {
  const { target, fault, channel = 'email' } = one;
  const person = world.stranger();
  const documents = one.document === true ? { d0cUpl: [{ id: '1', name: 'me.png', doc: PNG }] } : {};
  const body = registrationOf(person, { otp_type: channel, form_id: 'FORM0001', k3J9xQ: 'none', ...documents });
  const headers = settings(one);
  const { times = 1 } = fault;
  world.service.faults(target).set({ ...fault, times });

  const began = Date.now();
  const first = await world.post(body, headers);
  const took = Date.now() - began;
  world.service.faults(target).clear();
  const status = typeof one.status === 'function' ? one.status() : one.status;
  checkAnswer(first, status);
  expect(took).toBeLessThan((one.time ?? 16_000) + 4_000);
  const sent = () => world.sentTo(channel, person);
  // Pending calls arrive.
  if (fault.kind === 'slow' && status !== 204) await sleep((fault.ms ?? 0) - took + 100);
  if (status === 204) await until(() => sent().length > 0);
  expect(sent()).toHaveLength(status === 204 ? 1 : 0);

  const { 'x-remaining-ms': _, 'x-cold': __, ...patient } = headers;
  let again = await world.post(body, patient);
  if (one.mayWait === true && [409, 429].includes(again.status)) {
    expect(Number(again.header('retry-after'))).toBeGreaterThanOrEqual(1);
    await world.endLeases();
    await world.forgetLimits();
    again = await world.post(body, patient);
  }
  checkAnswer(again, 204);
  expect(sent()).toHaveLength(1);
  const record = await world.record(channel, person);
  if (one.document === true) {
    const kept = record?.documents as { key: string }[] | undefined;
    expect(world.service.standIns.s3.objects.has(`documents/${kept?.[0]?.key}`)).toBe(true);
  }
  expect(await world.isCodeOf(channel, person, codeIn(sent()[0]))).toBe(true);
}
