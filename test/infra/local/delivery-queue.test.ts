import type { Context } from 'aws-lambda';
import { expect, it } from 'vitest';
import { DeliveryQueue } from '../../../infra/local/delivery-queue.ts';
import type { BusEvent } from '../../../infra/local/outbox.ts';

const EVENT: BusEvent = {
  ...{ version: '0', account: '000000000000', region: 'eu-west-1', resources: [] },
  id: 'event-1',
  source: 'broker-public-api',
  'detail-type': 'AccountOpened',
  time: '2026-11-23T00:00:00Z',
  detail: { id: 'operation-1' },
};

it('An event waits until a function works on the queue', async () => {
  const queue = new DeliveryQueue();
  queue.send(EVENT);
  await queue.settled();
  expect(queue.list()).toMatchObject([{ state: 'waiting', deliveries: 0 }]);
  queue.consume(
    async () => ({ batchItemFailures: [] }),
    () => ({}) as Context,
  );
  await queue.settled();
  expect(queue.list()).toMatchObject([{ state: 'delivered', deliveries: 1 }]);
  queue.close();
});
