import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { checkAnswer, LASTING, type Walk, walk } from '../support/registration-walk.ts';
import {
  COLD,
  hurried,
  type RegistrationWorld,
  registrationOf,
  registrationWorld,
} from '../support/registration-world.ts';

let world: RegistrationWorld;
beforeAll(async () => {
  world = await registrationWorld();
  // From here on the secret is cached.
  await world.post(registrationOf(world.stranger()));
});
afterAll(() => world.close());

/** A sending service is called once, with any answer. */
async function walkProvider(target: Walk['target'], channel: Channel): Promise<void> {
  for (const kind of ['throttled', 'refused', 'down'] as const) {
    await walk(world, { target, channel, fault: { kind }, status: 502 });
  }
  await walk(world, { target, channel, fault: { kind: 'slow', ms: 100 }, status: 204 });
  // The message was sent, and a retry gets that answer.
  await walk(world, { target, channel, fault: { kind: 'slow', ms: 3_300 }, status: 204, time: 3_000 });
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
    for (const [fault, status] of repeated) await walk(world, { target: 'secrets', fault, status, headers: COLD });
    const silent = { kind: 'slow', ms: 1_000 } as const;
    await walk(world, { target: 'secrets', fault: silent, status: 500, time: 500, headers: COLD });
  });

  it('S3 gets the contract’s answer', async () => {
    for (const [fault, status] of repeated) await walk(world, { target: 's3', fault, status, document: true });
    const silent = { kind: 'slow', ms: 1_500 } as const;
    await walk(world, { target: 's3', fault: silent, status: 500, time: 1_000, document: true });
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
    { stage: 'at the key, the form and the source', calls: [0, 1, 2, 3], refused: 'what its table decides' },
    { stage: 'at the recipient', calls: [4], refused: 204 },
    { stage: 'at mark, mail domain, look-up and record', calls: [5, 6, 7, 8, 9], refused: 'what its table decides' },
    { stage: 'at the notes of the send', calls: [10, 11], refused: 204 },
  ] as const;
  const LOOK_UP = 5;
  const NOTES = 10;
  const calls = STAGES.flatMap(({ stage, calls: numbers, refused }) =>
    numbers.map((after) => ({ stage, after, refused })),
  );

  /** If limits cannot be checked, a mail is sent. Everything else refuses it. */
  function byTable(after: number): () => 204 | 500 {
    const { database } = world.service;
    database.calls.length = 0;
    return () => (database.calls[after]?.table === 'limits' ? 204 : 500);
  }

  it.each(calls)('$stage (call $after), refused, is answered with $refused', async ({ after, refused }) => {
    const status = typeof refused === 'number' ? refused : byTable(after);
    // An operation whose end could not be written is answered when its lease is over.
    await walk(world, { target: 'dynamodb', fault: { kind: 'refused', after }, status, mayWait: after >= NOTES });
  });

  it.each(calls)('$stage (call $after), throttled or down once, or slow, changes nothing', async ({ after }) => {
    await walk(world, { target: 'dynamodb', fault: { kind: 'throttled', after }, status: 204 });
    await walk(world, { target: 'dynamodb', fault: { kind: 'down', after }, status: 204 });
    await walk(world, { target: 'dynamodb', fault: { kind: 'slow', after, ms: 60 }, status: 204 });
  });

  it.each(calls.filter(({ after }) => after < NOTES))(
    '$stage (call $after), slower than there is time, is answered with 500, and its late writes do no harm',
    async ({ after }) => {
      const fault = { kind: 'slow', after, ms: 900 } as const;
      await walk(world, { target: 'dynamodb', fault, status: 500, time: 500, mayWait: true });
    },
  );

  it('at the notes of the send, slower than there is time, is answered with 204', async () => {
    const fault = { kind: 'slow', after: NOTES, times: 2, ms: 2_500 } as const;
    await walk(world, { target: 'dynamodb', fault, status: 204, mayWait: true });
  });

  it.each([
    ['throttled', LOOK_UP, 500],
    ['refused', 0, 500],
    ['refused', 4, 500],
    ['refused', LOOK_UP, 500],
    ['refused', NOTES, 204],
    ['down', 0, 500],
    ['down', 4, 500],
    ['down', LOOK_UP, 500],
    ['down', NOTES, 204],
  ] as const)(
    'for long (%s) from call %i on is answered with %i, and then all works again',
    async (kind, after, status) => {
      await walk(world, { target: 'dynamodb', fault: { kind, after, times: LASTING }, status, mayWait: true });
      expect((await world.post(registrationOf(world.stranger()))).status).toBe(204);
    },
  );

  it('that never answers again is answered in time', async () => {
    const fault = { kind: 'slow', after: LOOK_UP, times: LASTING, ms: 20_000 } as const;
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

  it('at the limits refuses a text with internal_error, and its counts are released', async () => {
    for (const after of [4, 5, 6, 7, 8]) {
      await walk(world, { target: 'dynamodb', channel: 'sms', fault: { kind: 'refused', after }, status: 500 });
    }
  });

  it('that takes longer than one try is repeated, and a write that arrives twice counts once', async () => {
    const fault = { kind: 'slow', after: LOOK_UP, times: 3, ms: 3_300 } as const;
    await walk(world, { target: 'dynamodb', fault, status: 204 });
  });
});
