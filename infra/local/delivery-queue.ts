import { randomUUID } from 'node:crypto';
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { REDELIVERY } from '../../lib/config/deployment.ts';
import type { BusEvent } from './outbox.ts';
import { queueArn } from './rights/arn.ts';

type Consumer = (event: SQSEvent, context: Context) => Promise<SQSBatchResponse>;

interface Message {
  event: BusEvent;
  state: 'delivering' | 'waiting' | 'delivered' | 'undelivered';
  receiptHandle: string;
  /** The number of deliveries of the message so far. */
  deliveries: number;
  /** Epoch milliseconds. */
  visibleAt: number;
}

/** The maximum number of events of each kind that are delivered at the same time. */
const AT_ONCE = 5;

/**
 * The queues between the bus and the function that notifies the CRM, one for each kind of event, their dead-letter queue,
 * and Lambda that reads them.
 */
export class DeliveryQueue {
  #messages: Message[] = [];
  #timer: NodeJS.Timeout | undefined;
  #consume: ((message: Message) => Promise<boolean>) | undefined;
  /** The deliveries that are running, with the kind of their event. */
  readonly #working = new Map<Promise<void>, string>();

  /** Sets the function that works on the messages from now on. */
  consume(consumer: Consumer, contextOf: () => Context): void {
    this.#consume = async (message) => {
      const { batchItemFailures } = await consumer({ Records: [sqsRecord(message)] }, contextOf());
      return batchItemFailures.length === 0;
    };
    this.#work();
  }

  send(event: BusEvent): void {
    this.#messages.push({ event, state: 'waiting', receiptHandle: '', deliveries: 0, visibleAt: Date.now() });
    this.#work();
  }

  /** Puts the event of a message that is being worked on into the dead-letter queue. */
  setAside(body: string): void {
    const { id } = JSON.parse(body) as BusEvent;
    for (const one of this.#messages) if (one.event.id === id) one.state = 'undelivered';
  }

  /** Moves all messages of the dead-letter queue back. */
  redeliver(): void {
    const moved = this.#messages.filter(({ state }) => state === 'undelivered');
    for (const one of moved) Object.assign(one, { state: 'waiting', deliveries: 0, visibleAt: Date.now() });
    this.#work();
  }

  /** Oldest first. */
  list() {
    return this.#messages.map(({ event, state, deliveries, visibleAt }) => ({
      /** The id of the registration or account. */
      id: String(event.detail.id),
      type: event['detail-type'],
      at: event.time,
      state,
      deliveries,
      next_at: state === 'waiting' ? new Date(visibleAt).toISOString() : undefined,
    }));
  }

  /** Delivers all waiting messages at once. Ends when nothing is worked on. */
  async deliverNow(): Promise<void> {
    for (const one of this.#messages) if (one.state === 'waiting') one.visibleAt = 0;
    this.#work();
    await this.settled();
  }

  /** Ends when nothing is worked on. */
  async settled(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working.keys());
  }

  close(): void {
    this.#consume = undefined;
    clearTimeout(this.#timer);
  }

  #work(): void {
    const consume = this.#consume;
    if (consume === undefined) return;
    const waiting = this.#messages.filter(({ state }) => state === 'waiting');
    const due = waiting.filter(({ visibleAt }) => visibleAt <= Date.now());
    for (const message of due) {
      const kind = message.event['detail-type'];
      if ([...this.#working.values()].filter((one) => one === kind).length >= AT_ONCE) continue;
      const work = this.#deliver(message, consume).finally(() => {
        this.#working.delete(work);
        this.#work();
      });
      this.#working.set(work, kind);
    }
    clearTimeout(this.#timer);
    const next = Math.min(...waiting.filter(({ visibleAt }) => visibleAt > Date.now()).map((one) => one.visibleAt));
    if (!Number.isFinite(next)) return;
    this.#timer = setTimeout(() => this.#work(), next - Date.now()).unref();
  }

  async #deliver(message: Message, consume: (message: Message) => Promise<boolean>): Promise<void> {
    message.state = 'delivering';
    message.deliveries += 1;
    message.receiptHandle = randomUUID();
    message.visibleAt = Date.now() + REDELIVERY.everySeconds * 1_000;
    const done = await consume(message).catch(() => false);
    if (done && message.state === 'delivering') message.state = 'delivered';
    else if (!done) message.state = message.deliveries >= REDELIVERY.deliveries ? 'undelivered' : 'waiting';
  }
}

function sqsRecord({ event, receiptHandle, deliveries }: Message): SQSEvent['Records'][number] {
  return {
    messageId: event.id,
    receiptHandle,
    body: JSON.stringify(event),
    attributes: {
      ApproximateReceiveCount: String(deliveries),
      SentTimestamp: String(Date.now()),
      SenderId: 'local',
      ApproximateFirstReceiveTimestamp: String(Date.now()),
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: queueArn(event['detail-type'] === 'AccountOpened' ? 'crm-accounts' : 'crm'),
    awsRegion: 'eu-west-1',
  };
}
