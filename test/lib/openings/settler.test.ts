import { expect, it } from 'vitest';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { type AccountDependencies, planTimes } from '../../../lib/openings/dependencies.ts';
import { settleOperations } from '../../../lib/openings/settler.ts';
import type { EventFields, EventName } from '../../../lib/telemetry.ts';
import { recordingTelemetry } from '../../support/openings.ts';

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
