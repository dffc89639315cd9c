import { Duration } from 'aws-cdk-lib';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { type Alias, EventSourceMapping, type IFunction } from 'aws-cdk-lib/aws-lambda';
import type { CfnQueue, Queue, QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { EVENT_SOURCE, REDELIVERY } from '../../lib/validators/deployment.ts';
import { eventQueue, type ServiceEvents } from './event-bus.ts';

/** Longer than the function runs: no message is worked on twice at a time. */
const VISIBILITY_SECONDS = 90;
/** The number of parallel events. It spares the CRM and the account's concurrency. */
const AT_ONCE = 5;

/**
 * Posts every event of the bus to the CRM. A rule puts it into a queue. Its function retries for a day; then the event
 * goes to a dead-letter queue. Lambda's own queue would retry twice, and drop it after six hours.
 */
export class CrmWebhook extends Construct {
  readonly queue: Queue;
  /** The events that the CRM did not accept for a day, or that could not reach the queue. */
  readonly undelivered: Queue;

  constructor(scope: Construct, id: string, events: ServiceEvents) {
    super(scope, id);
    this.undelivered = this.makeQueue('CrmUndelivered', {});
    this.queue = this.makeQueue('Crm', {
      visibilityTimeout: Duration.seconds(VISIBILITY_SECONDS),
      deadLetterQueue: { queue: this.undelivered, maxReceiveCount: REDELIVERY.deliveries },
    });
    const rule = new Rule(this, 'Rule', {
      eventBus: events.bus,
      description: 'Every event of the service, for the CRM.',
      eventPattern: { source: [EVENT_SOURCE] },
    });
    // Events that cannot reach the queue for a day go where those go that the CRM does not accept.
    rule.addTarget(new SqsQueue(this.queue, { deadLetterQueue: this.undelivered }));
  }

  /** Makes the function get the events of the queue. */
  deliverTo(notifier: Construct & { live: Alias }): void {
    const mapping = new EventSourceMapping(this, 'Source', {
      // The library's types disagree about optional members.
      target: notifier.live as IFunction,
      eventSourceArn: this.queue.queueArn,
      batchSize: 1,
      maxConcurrency: AT_ONCE,
      reportBatchItemFailures: true,
    });
    mapping.node.addDependency(notifier);
  }

  private makeQueue(name: string, more: QueueProps): Queue {
    const queue = eventQueue(this, name, more);
    (queue.node.defaultChild as CfnQueue).overrideLogicalId(`${name}Queue`);
    return queue;
  }
}
