import { expect, it } from 'vitest';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { type AccountDependencies, planTimes } from '../../../lib/openings/dependencies.ts';
import type { Held } from '../../../lib/openings/ledger.ts';
import type { Life } from '../../../lib/openings/life.ts';
import { settleOperations } from '../../../lib/openings/settler.ts';
import type { EventFields, EventName } from '../../../lib/telemetry.ts';
import { planFor, recordingTelemetry } from '../../support/openings.ts';

it('All times of an opening end when its caller stops waiting', async () => {
  const now = Date.now();
  const { openingEndsAt, platformEndsAt, platformSignal, signal } = planTimes(now, now + 30);
  expect([openingEndsAt, platformEndsAt]).toEqual([now + 30, now + 30]);
  await expect.poll(() => [platformSignal.aborted, signal.aborted]).toEqual([true, true]);
});

it('The settler reports an operation that it cannot acquire, and continues with the next', async () => {
  const acquired: string[] = [];
  const ledger = {
    due: async () => ['one', 'two'],
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
    { name: 'OperationNotSettled', fields: { step: 'settle', reason: 'ServiceUnavailable' } },
  ]);
});

it('A deposit is tried again while the records cannot be read, since certainly nothing was paid', async () => {
  const life: Life = {
    ...{ at: 'open', login: 500_001, opened_at: new Date().toISOString() },
    ...{ recorded: true, deposit: 'due', published: true },
  };
  const held = { life, plan: planFor('operation-1', { deposit: 100, send_email: true }), operationId: 'operation-1' };
  const written: Life[] = [];
  let rests = 0;
  const ledger = {
    due: async () => ['one'],
    acquire: async () => held,
    async write(one: Held, to: Life) {
      written.push(to);
      one.life = to;
    },
    async rest() {
      rests += 1;
    },
  };
  const directory = { readAccountRecords: () => Promise.reject(new AwsFailure('ServiceUnavailable')) };
  const events: { name: EventName; fields: EventFields }[] = [];
  const dependencies = { ledger, directory, now: Date.now } as unknown as AccountDependencies;
  await settleOperations(dependencies, recordingTelemetry(events), Date.now() + 50_000);
  expect(written).toMatchObject([{ deposit: 'sent' }, { deposit: 'again' }]);
  expect(rests).toBe(1);
  expect(events).toMatchObject([{ fields: { step: 'records', reason: 'ServiceUnavailable' } }]);
});
