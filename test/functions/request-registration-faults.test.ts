import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import type { Channel } from '../../lib/otp/channel.ts';
import {
  COLD,
  codeIn,
  hurried,
  newSource,
  type RegistrationWorld,
  type Reply,
  registrationOf,
  registrationWorld,
  until,
} from '../support/registration-world.ts';

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==';

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld();
  // From here on the secret is at hand.
  expect((await world.post(registrationOf(world.stranger()))).status).toBe(204);
});
afterAll(() => world.close());

interface Walk {
  target: 'ses' | 'sns' | 'voice' | 'whatsapp' | 'dynamodb' | 's3' | 'secrets';
  fault: Omit<Fault, 'times'> & { times?: number };
  status: 204 | 500 | 502;
  channel?: Channel;
  /** Milliseconds that the work may take; absent: as deployed. */
  time?: number;
  headers?: Record<string, string>;
  document?: boolean;
  /** What a retry with the same key may have to wait for: the end of the dead try's lease, or of a limit. */
  mayWait?: boolean;
}

const LASTING = 1_000_000;
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

function checkAnswer(reply: Reply, status: Walk['status']): void {
  expect(reply.status, reply.text).toBe(status);
  expect(reply.header('cache-control')).toBe('no-store');
  if (status === 204) return;
  expect(reply.header('content-type')).toBe('application/problem+json');
  expect(Object.keys(reply.json).toSorted()).toEqual(['request_id', 'status', 'title', 'type']);
  expect(reply.json.type).toBe(TYPES[status]);
}

/** One request while something is wrong, and what must hold after it. */
async function walk(one: Walk): Promise<void> {
  const { target, fault, status, channel = 'email' } = one;
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
  checkAnswer(first, status);
  expect(took).toBeLessThan((one.time ?? 16_000) + 4_000);
  const sent = () => world.sentTo(channel, person);
  // What was on its way arrives.
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
  expect(await world.guess(channel, person, codeIn(sent()[0]))).toBe('right');
}

/** A service that sends is asked once, whatever it answers. */
async function walkProvider(target: Walk['target'], channel: Channel): Promise<void> {
  for (const kind of ['throttled', 'refused', 'down'] as const) {
    await walk({ target, channel, fault: { kind }, status: 502 });
  }
  await walk({ target, channel, fault: { kind: 'slow', ms: 100 }, status: 204 });
  // It may have gone out, and has: whoever retries is told so.
  await walk({ target, channel, fault: { kind: 'slow', ms: 3_300 }, status: 204, time: 3_000 });
}

/** Services with faults of their own, which none of the others meets, are walked side by side. */
describe.concurrent('A failure of', { timeout: 60_000 }, () => {
  /** Of a service that is asked again. */
  const repeated = [
    [{ kind: 'throttled' }, 204],
    [{ kind: 'throttled', times: LASTING }, 500],
    [{ kind: 'refused' }, 500],
    [{ kind: 'down' }, 204],
    [{ kind: 'down', times: LASTING }, 500],
    [{ kind: 'slow', ms: 100 }, 204],
  ] as const;

  it('Secrets Manager, at the first request of a function, gets the contract’s answer', async () => {
    for (const [fault, status] of repeated) await walk({ target: 'secrets', fault, status, headers: COLD });
    const silent = { kind: 'slow', ms: 1_000 } as const;
    await walk({ target: 'secrets', fault: silent, status: 500, time: 500, headers: COLD });
  });

  it('S3 gets the contract’s answer', async () => {
    for (const [fault, status] of repeated) await walk({ target: 's3', fault, status, document: true });
    const silent = { kind: 'slow', ms: 1_500 } as const;
    await walk({ target: 's3', fault: silent, status: 500, time: 1_000, document: true });
  });

  it.each([
    ['sns', 'sms'],
    ['voice', 'call'],
    ['whatsapp', 'whatsapp'],
  ] as const)('%s gets the contract’s answer', walkProvider);
});

describe('A failure of SES', () => {
  it('gets the contract’s answer', () => walkProvider('ses', 'email'));
});

describe('A failure of DynamoDB', () => {
  /** The calls of a request by e-mail with a key, stage by stage. */
  const STAGES = [
    { stage: 'at the key and the form', calls: [0, 1], refused: 500 },
    { stage: 'at the limits', calls: [2, 3], refused: 204 },
    { stage: 'at look-up, record and mark', calls: [4, 5, 6], refused: 500 },
    { stage: 'at the notes of the send', calls: [7, 8], refused: 204 },
  ] as const;
  const calls = STAGES.flatMap(({ stage, calls: numbers, refused }) =>
    numbers.map((after) => ({ stage, after, refused })),
  );

  it.each(calls)('$stage (call $after), refused, is answered with $refused', async ({ after, refused: status }) => {
    // Whose end could not be written down is settled when its time is over.
    await walk({ target: 'dynamodb', fault: { kind: 'refused', after }, status, mayWait: after >= 7 });
  });

  it.each(calls)('$stage (call $after), throttled or down once, or slow, changes nothing', async ({ after }) => {
    await walk({ target: 'dynamodb', fault: { kind: 'throttled', after }, status: 204 });
    await walk({ target: 'dynamodb', fault: { kind: 'down', after }, status: 204 });
    await walk({ target: 'dynamodb', fault: { kind: 'slow', after, ms: 60 }, status: 204 });
  });

  it.each(calls.filter(({ after }) => after < 7))(
    '$stage (call $after), slower than there is time, is answered with 500, and its late writes do no harm',
    async ({ after }) => {
      const fault = { kind: 'slow', after, ms: 900 } as const;
      await walk({ target: 'dynamodb', fault, status: 500, time: 500, mayWait: true });
    },
  );

  it('at the notes of the send, slower than there is time, is answered with 204', async () => {
    const fault = { kind: 'slow', after: 7, times: 2, ms: 2_500 } as const;
    await walk({ target: 'dynamodb', fault, status: 204, mayWait: true });
  });

  it.each([
    ['throttled', 4, 500],
    ['refused', 0, 500],
    ['refused', 2, 500],
    ['refused', 4, 500],
    ['refused', 7, 204],
    ['down', 0, 500],
    ['down', 2, 500],
    ['down', 4, 500],
    ['down', 7, 204],
  ] as const)(
    'for long (%s) from call %i on is answered with %i, and then all works again',
    async (kind, after, status) => {
      await walk({ target: 'dynamodb', fault: { kind, after, times: LASTING }, status, mayWait: true });
      expect((await world.post(registrationOf(world.stranger()))).status).toBe(204);
    },
  );

  it('that never answers again is answered in time', async () => {
    const fault = { kind: 'slow', after: 4, times: LASTING, ms: 20_000 } as const;
    const person = world.stranger();
    world.service.faults('dynamodb').set(fault);
    const began = Date.now();
    const reply = await world.post(registrationOf(person), { 'idempotency-key': 'never', ...hurried(500) });
    expect(Date.now() - began).toBeLessThan(4_500);
    world.service.faults('dynamodb').clear();
    checkAnswer(reply, 500);
    expect(world.sentTo('email', person)).toEqual([]);
    expect((await world.post(registrationOf(world.stranger()))).status).toBe(204);
  });

  it('at the limits refuses a text with internal_error, with what could be counted given back', async () => {
    for (const after of [2, 3, 4]) {
      await walk({ target: 'dynamodb', channel: 'sms', fault: { kind: 'refused', after }, status: 500 });
    }
  });

  it('that takes longer than one try is repeated, and a write that arrives twice counts once', async () => {
    const fault = { kind: 'slow', after: 4, times: 3, ms: 3_300 } as const;
    await walk({ target: 'dynamodb', fault, status: 204 });
  });
});
