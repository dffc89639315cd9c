import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
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

/**
 * Registrations while a service fails: the answer follows the contract and comes in time, a retry gets 204, and one message
 * is sent. What a failure means is tested at the clients (`test/lib/aws`, `test/lib/messages`), and the consequence of a
 * failure at each step in `test/lib/registration`; here each occurs where its effect differs.
 */

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld();
  // From here on the secret is cached.
  await world.post(registrationOf(world.stranger()));
});
afterAll(() => world.close());

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg==';

type Status = 204 | 500 | 502;

/** A request while something is wrong. */
interface Walk {
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

function checkAnswer(reply: Reply, status: Status): void {
  expect(reply.status, reply.text).toBe(status);
  expect(reply.header('cache-control')).toBe('no-store');
  if (status === 204) return;
  expect(reply.header('content-type')).toBe('application/problem+json');
  expect(Object.keys(reply.json).toSorted()).toEqual(['request_id', 'status', 'title', 'type']);
  expect(reply.json.type).toBe(TYPES[status]);
}

/** One request with a fault, and the invariants after it. */
async function walk(one: Walk): Promise<void> {
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

type AnyFault = Walk['fault'];
const throttled: AnyFault = { kind: 'throttled' };
const refused: AnyFault = { kind: 'refused' };
const down: AnyFault = { kind: 'down' };
const lasting = (fault: AnyFault): AnyFault => ({ ...fault, times: LASTING });

/** Of a service that is asked again. */
const REPEATED: readonly [AnyFault, Status][] = [
  [throttled, 204],
  [lasting(throttled), 500],
  [refused, 500],
  [down, 204],
  [lasting(down), 500],
  [{ kind: 'slow', ms: 100 }, 204],
];

/** A sending service is called once, with any answer. Of one that is slow the message was sent, and a retry gets that. */
async function walkProvider(target: Walk['target'], channel: Channel): Promise<void> {
  await walk({ target, channel, fault: throttled, status: 502 });
  await walk({ target, channel, fault: { kind: 'slow', ms: 3_300 }, status: 204, time: 3_000 });
}

/** Services with faults of their own, which none of the others meets, are walked side by side. */
describe.concurrent('A failure of', { timeout: 60_000 }, () => {
  it('Secrets Manager, at the first request of a function, gets the contract’s answer', async () => {
    for (const [fault, status] of REPEATED) await walk({ target: 'secrets', fault, status, headers: COLD });
    const silent = { kind: 'slow', ms: 1_000 } as const;
    await walk({ target: 'secrets', fault: silent, status: 500, time: 500, headers: COLD });
  });

  it('S3 gets the contract’s answer', async () => {
    for (const [fault, status] of REPEATED) await walk({ target: 's3', fault, status, document: true });
    const silent = { kind: 'slow', ms: 1_500 } as const;
    await walk({ target: 's3', fault: silent, status: 500, time: 1_000, document: true });
  });

  it.each([
    ['sns', 'sms'],
    ['voice', 'call'],
    ['whatsapp', 'whatsapp'],
  ] as const)('%s gets the contract’s answer', walkProvider);
});

it('A failure of SES gets the contract’s answer', async () => {
  await walkProvider('ses', 'email');
  for (const fault of [refused, down]) await walk({ target: 'ses', fault, status: 502 });
});

describe('A failure of DynamoDB', () => {
  /** The calls of a request by e-mail with a key: key, form and source; the recipient; and so on. */
  const RECIPIENT = 4;
  const LOOK_UP = 5;
  const LAST_WRITE = 9;
  const NOTES = 10;
  const walkDatabase = (fault: AnyFault, more: Partial<Walk> = {}) =>
    walk({ target: 'dynamodb', fault, status: 204, ...more });

  /** If limits cannot be checked, a mail is sent. A failed note does not change the 204. */
  function whenRefused(after: number): () => Status {
    const { database } = world.service;
    database.calls.length = 0;
    return () => (after >= NOTES || database.calls[after]?.table === 'limits' ? 204 : 500);
  }

  it.each(Array.from({ length: NOTES + 2 }, (_, after) => after))(
    'at call %i, refused, is answered as its table decides',
    // An operation whose end could not be written is answered when its lease is over.
    (after) => walkDatabase({ ...refused, after }, { status: whenRefused(after), mayWait: after >= NOTES }),
  );

  it.each([0, LOOK_UP, NOTES])('at call %i, throttled or down once, or slow, changes nothing', async (after) => {
    for (const fault of [throttled, down, { kind: 'slow', ms: 60 } as const]) await walkDatabase({ ...fault, after });
  });

  it.each([0, RECIPIENT, LOOK_UP, LAST_WRITE])(
    'at call %i, slower than there is time, is answered with 500, and its late writes do no harm',
    (after) => walkDatabase({ kind: 'slow', after, ms: 900 }, { status: 500, time: 500, mayWait: true }),
  );

  it('at the notes of the send, slower than there is time, is answered with 204', () =>
    walkDatabase({ kind: 'slow', after: NOTES, times: 2, ms: 2_500 }, { mayWait: true }));

  it.each<[AnyFault, number, Status]>([
    [refused, 0, 500],
    [refused, RECIPIENT, 500],
    [refused, NOTES, 204],
    [throttled, LOOK_UP, 500],
    [down, LOOK_UP, 500],
  ])('for long (%o) from call %i on is answered with %i, and then all works again', async (fault, after, status) => {
    await walkDatabase(lasting({ ...fault, after }), { status, mayWait: true });
    expect((await world.post(registrationOf(world.stranger()))).status).toBe(204);
  });

  it('that never answers again is answered in time', async () => {
    const person = world.stranger();
    world.service.faults('dynamodb').set({ kind: 'slow', after: LOOK_UP, times: LASTING, ms: 20_000 });
    const began = Date.now();
    const reply = await world.post(registrationOf(person), { 'idempotency-key': 'never', ...hurried(500) });
    expect(Date.now() - began).toBeLessThan(4_500);
    world.service.faults('dynamodb').clear();
    checkAnswer(reply, 500);
    expect(world.sentTo('email', person)).toEqual([]);
    expect((await world.post(registrationOf(world.stranger()))).status).toBe(204);
  });

  it('at the limits refuses a text with internal_error, and its counts are released', async () => {
    for (const after of [4, 5, 6, 7, 8]) await walkDatabase({ ...refused, after }, { channel: 'sms', status: 500 });
  });

  it('that takes longer than one try is repeated, and a write that arrives twice counts once', () =>
    walkDatabase({ kind: 'slow', after: LOOK_UP, times: 3, ms: 3_300 }));
});
