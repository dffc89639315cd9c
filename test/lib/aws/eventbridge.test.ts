import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Faults } from '../../../infra/local/faults.ts';
import { Bus } from '../../../infra/local/outbox.ts';
import { startEvents } from '../../../infra/local/stand-ins/events.ts';
import { eventBus, type PutEvent } from '../../../lib/aws/eventbridge.ts';
import { AwsFailure } from '../../../lib/aws/failure.ts';
import { NEVER_ABORTED } from '../../support/outcomes.ts';
import { clientSettings } from '../../support/servers.ts';

const DETAIL = '{"id":"o-1"}';

let faults: Faults;
let bus: Bus;
let url: string;
let put: PutEvent;

beforeEach(async () => {
  [faults, bus] = [new Faults(), new Bus()];
  const events = await startEvents({ faults, buses: ['events'], deliver: bus.deliver.bind(bus) });
  onTestFinished(() => events.close());
  url = events.url;
  put = eventBus('events', clientSettings(url));
});

describe('An event', () => {
  it('is put on the bus with its source, its type and its detail', async () => {
    await put('AccountOpened', DETAIL, NEVER_ABORTED);
    expect(bus.list()).toMatchObject([{ source: 'broker.api', 'detail-type': 'AccountOpened', detail: { id: 'o-1' } }]);
  });

  it('that EventBridge refuses in a 200 answer counts as failed, with the error code of the entry', async () => {
    faults.set({ kind: 'partial', times: 9 });
    const failure = await put('AccountOpened', DETAIL, NEVER_ABORTED).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AwsFailure);
    expect(failure).toMatchObject({ reason: 'InternalFailure' });
    expect(bus.list()).toEqual([]);
  });
});
