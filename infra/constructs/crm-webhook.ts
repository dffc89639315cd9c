import { Duration, type RemovalPolicy } from 'aws-cdk-lib';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { type Alias, EventSourceMapping, type IFunction } from 'aws-cdk-lib/aws-lambda';
import { Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { EVENT_SOURCE, REDELIVERY } from '../../lib/config/deployment.ts';
import type { Settings } from '../settings.ts';
import type { BusEventType, ServiceEvents } from './event-bus.ts';
import { fixLogicalId } from './stack-names.ts';

const KEPT_DAYS = 14;

interface CrmWebhookProps {
  events: ServiceEvents;
  settings: Settings;
  removalPolicy: RemovalPolicy;
}

/**
 * Posts every event of the bus to the CRM. A rule puts each event into the queue of its kind. Their function retries
 * for a day; then the event goes to a dead-letter queue, at once if the CRM says that its address is gone. Lambda's own
 * queue would retry twice, and drop the event after six hours.
 */
export class CrmWebhook extends Construct {
  /** The queues, one for each kind of event: events of many accounts do not delay a new client. */
  readonly queues: Readonly<Record<'registrations' | 'accounts', Queue>>;
  /** The events that the CRM did not accept for a day or will never accept, or that could not reach their queue. */
  readonly undelivered: Queue;
  readonly #atOnce: number;
  /** A queue may hold events when its setting is removed, or an older version is deployed. */
  readonly #removalPolicy: RemovalPolicy;

  constructor(scope: Construct, id: string, { events, settings, removalPolicy }: CrmWebhookProps) {
    super(scope, id);
    this.#atOnce = settings.crmWebhookAtOnce;
    this.#removalPolicy = removalPolicy;
    this.undelivered = this.makeQueue('CrmUndelivered', {});
    this.queues = {
      registrations: this.fedQueue('Crm', 'RegistrationConfirmed', events),
      accounts: this.fedQueue('CrmAccounts', 'AccountOpened', events),
    };
  }

  /** Makes the function get the events of the queues. */
  deliverTo(notifier: Construct, live: Alias): void {
    for (const [kind, queue] of Object.entries(this.queues)) {
      const mapping = new EventSourceMapping(this, `${kind}Source`, {
        // The library's types disagree about optional members.
        target: live as IFunction,
        eventSourceArn: queue.queueArn,
        batchSize: 1,
        maxConcurrency: this.#atOnce,
        reportBatchItemFailures: true,
      });
      mapping.node.addDependency(notifier);
    }
  }

  /** A queue with the events of one kind. */
  private fedQueue(name: string, event: BusEventType, { bus }: ServiceEvents): Queue {
    const queue = this.makeQueue(name, {
      visibilityTimeout: Duration.seconds(REDELIVERY.everySeconds),
      deadLetterQueue: { queue: this.undelivered, maxReceiveCount: REDELIVERY.deliveries },
    });
    const rule = new Rule(this, `${name}Rule`, {
      eventBus: bus,
      description: `Every event ${event} of the service, for the CRM.`,
      eventPattern: { source: [EVENT_SOURCE], detailType: [event] },
    });
    // Events that cannot reach the queue for a day go to the queue of events that the CRM does not accept.
    rule.addTarget(new SqsQueue(queue, { deadLetterQueue: this.undelivered }));
    return queue;
  }

  private makeQueue(name: string, more: QueueProps): Queue {
    const queue = new Queue(this, name, {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(KEPT_DAYS),
      removalPolicy: this.#removalPolicy,
      ...more,
    });
    fixLogicalId(queue, `${name}Queue`);
    return queue;
  }
}
