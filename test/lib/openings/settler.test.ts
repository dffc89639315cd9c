import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { type AccountDependencies, planTimes } from '../../../lib/openings/dependencies.ts';
import { deriveIdentity } from '../../../lib/openings/derivation.ts';
import type { DueOperation, NextState } from '../../../lib/openings/ledger.ts';
import type { Life } from '../../../lib/openings/life.ts';
import { settleOperations } from '../../../lib/openings/settler.ts';
import type { HeldOperation } from '../../../lib/openings/stored-operation.ts';
import type { Sighting } from '../../../lib/platform/platform.ts';
import type { EventFields, EventName } from '../../../lib/telemetry.ts';
import { CLIENT_ANN, DEMO, DERIVATION_KEY, planFor, recordingTelemetry } from '../../support/openings.ts';

/** By the clock of `vi`. */
const sleep = <T>(ms: number, value: T) => new Promise<T>((resolve) => void setTimeout(() => resolve(value), ms));
const dueNow = (pk: string, connectionId?: string): DueOperation => ({
  pk,
  isReadable: true,
  dueAt: Date.now(),
  connectionId,
});

it('All times of an opening end when its caller stops waiting', async () => {
  const now = Date.now();
  const { openingEndsAt, platformEndsAt, platformSignal, signal } = planTimes(now, now + 30);
  expect([openingEndsAt, platformEndsAt]).toEqual([now + 30, now + 30]);
  await Promise.all([platformSignal, signal].map((one) => one.aborted || once(one, 'abort')));
});

it('The settler reports an operation that it cannot acquire, and continues with the next', async () => {
  const acquired: string[] = [];
  const ledger = {
    due: async () => [dueNow('one'), dueNow('two')],
    async acquire(pk: string) {
      acquired.push(pk);
      if (pk === 'one') throw new AwsFailure('ServiceUnavailable');
      return undefined;
    },
  };
  const events: { name: EventName; fields: EventFields }[] = [];
  const dependencies = { ledger, now: Date.now } as unknown as AccountDependencies;
  await settleOperations(dependencies, recordingTelemetry(events), Date.now() + 50_000);
  expect(acquired).toEqual(['one', 'two']);
  expect(events).toMatchObject([
    { name: 'OperationsDue' },
    { name: 'OperationNotSettled', fields: { step: 'settle', reason: 'ServiceUnavailable' } },
  ]);
});

describe('A run of the settler', () => {
  /** The time of a deployed run, and of a trip to the database, in milliseconds. */
  const RUN_MS = 55_000;
  const TRIP_MS = 20;
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const SENT: Life = { at: 'sent', login: 500_001, commands: 'many' };
  const OPEN: Life = {
    ...{ at: 'open', login: 500_001, opened_at: '2026-11-22T00:00:00.000Z' },
    ...{ recorded: false, published: false, mail: 'none', deposit: 'none' },
  };
  type Look = (login: number, operationId: string, signal: AbortSignal) => Promise<Sighting>;
  const silent: Look = (_, __, signal) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('no answer'))));
  const healthy: Look = () => sleep(300, { is: 'ours' });

  /** Runs the settler over operations, by connection. @returns the ends of each, and the events */
  async function run(
    due: { connectionId?: string; life: Life; count: number; dueAt?: number }[],
    servers: Record<string, Look>,
  ) {
    const operations = due.flatMap(({ connectionId, life, count, dueAt = Date.now() }, index) =>
      Array.from({ length: count }, (_, number) => ({
        ...{ pk: `${index}-${number}`, isReadable: true },
        connectionId,
        dueAt,
        life,
      })),
    );
    const ends = new Map<string, Life['at'] | 'rest'>();
    const looks = new Map<string, number>();
    const trip = () => sleep(TRIP_MS, undefined);
    const ledger = {
      due: () => sleep(TRIP_MS, operations),
      async acquire(pk: string) {
        await trip();
        const found = operations.find((one) => one.pk === pk);
        return {
          ...deriveIdentity(DERIVATION_KEY, pk, 'body'),
          operationId: pk,
          life: found?.life,
          event: 0,
          leaseUntil: 1,
          plan: planFor(pk, { connection_id: found?.connectionId ?? 'none' }),
        };
      },
      async write(held: HeldOperation, { life }: NextState) {
        await trip();
        held.life = life;
        ends.set(held.pk, life.at);
      },
      async rest({ pk }: HeldOperation) {
        await trip();
        ends.set(pk, 'rest');
      },
    };
    const directory = {
      readAccountRecords: ({ connection_id: connectionId }: { connection_id: string }) =>
        sleep(TRIP_MS, { client: CLIENT_ANN, connection: { ...DEMO, id: connectionId } }),
    };
    const platform = async ({ id }: { id: string }) => ({
      ready: async () => {},
      look(login: number, operationId: string, signal: AbortSignal) {
        looks.set(id, (looks.get(id) ?? 0) + 1);
        return servers[id]?.(login, operationId, signal);
      },
    });
    const events: { name: EventName; fields: EventFields }[] = [];
    const dependencies = {
      ...{ ledger, directory, platform, now: Date.now },
      accounts: { put: trip, read: trip },
      events: { publish: trip },
    } as unknown as AccountDependencies;
    const running = settleOperations(dependencies, recordingTelemetry(events), Date.now() + RUN_MS);
    await vi.advanceTimersByTimeAsync(RUN_MS);
    await running;
    const count = (index: number, end: Life['at'] | 'rest') =>
      [...ends].filter(([pk, one]) => pk.startsWith(`${index}-`) && one === end).length;
    return { count, looks, events };
  }

  it('completes all operations of a healthy server next to those of silent ones', async () => {
    const silentOnes = ['silent-1', 'silent-2', 'silent-3'];
    const { count } = await run(
      [
        ...silentOnes.map((connectionId) => ({ connectionId, life: SENT, count: 200 })),
        { connectionId: 'healthy', life: SENT, count: 20 },
      ],
      { healthy, ...Object.fromEntries(silentOnes.map((id) => [id, silent])) },
    );
    expect(count(3, 'open')).toBe(20);
  });

  it('asks a server that was silent twice no more, and postpones its operations', async () => {
    const { count, looks } = await run([{ connectionId: 'silent', life: SENT, count: 200 }], { silent });
    expect(looks.get('silent')).toBeLessThanOrEqual(4);
    expect(count(0, 'rest')).toBe(200);
  });

  it('asks a server again after one lost answer', async () => {
    let calls = 0;
    const shaky: Look = (...asked) =>
      ++calls % 3 === 0 ? sleep(300, undefined).then(() => Promise.reject(new Error('lost'))) : healthy(...asked);
    const { count } = await run([{ connectionId: 'shaky', life: SENT, count: 60 }], { shaky });
    expect([count(0, 'open'), count(0, 'rest')]).toEqual([40, 20]);
  });

  it('completes 1,000 operations that need no server', async () => {
    const { count } = await run([{ life: OPEN, count: 1_000 }], {});
    expect(count(0, 'open')).toBe(1_000);
  });

  it('measures how long the oldest operation has been due', async () => {
    const at = Date.now();
    const { events } = await run(
      [
        { life: OPEN, count: 1, dueAt: at - 90_000 },
        { life: OPEN, count: 1 },
      ],
      {},
    );
    expect(events[0]).toEqual({ name: 'OperationsDue', fields: { oldest_due_seconds: 90 } });
  });
});
