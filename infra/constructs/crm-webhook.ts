import { Duration } from 'aws-cdk-lib';
import { Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { EventSourceMapping, type IFunction } from 'aws-cdk-lib/aws-lambda';
import type { CfnQueue, Queue, QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { EVENT_SOURCE, REDELIVERY } from '../../lib/validators/deployment.ts';
import { NOTIFIER } from '../routes.ts';
import { signingSecretName } from '../settings.ts';
import { eventQueue } from './event-bus.ts';
import { constructName, type FunctionContext, ServiceFunction } from './functions.ts';
import {
  acknowledgeDocuments,
  onDocuments,
  onQueue,
  onTable,
  readDocuments,
  readSecretNamed,
  writeClients,
} from './rights.ts';

/** Longer than the function runs: no message is worked on twice at a time. */
const VISIBILITY_SECONDS = 90;
/** The number of parallel events. It spares the CRM and the account's concurrency. */
const AT_ONCE = 5;

/**
 * Posts every event of the bus to the CRM. A rule puts it into a queue. Its function retries for a day; then the event
 * goes to a dead-letter queue. Lambda's own queue would retry twice, and drop it after six hours.
 */
export class CrmWebhook extends Construct {
  readonly deployed: ServiceFunction;
  readonly queue: Queue;
  /** The events that the CRM did not accept for a day. */
  readonly undelivered: Queue;

  constructor(scope: Construct, id: string, context: FunctionContext) {
    super(scope, id);
    const { events } = context;
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
    // For events that cannot reach the queue for a day.
    rule.addTarget(new SqsQueue(this.queue, { deadLetterQueue: events.undelivered }));
    this.deployed = this.notifier(context);
    const mapping = new EventSourceMapping(this, 'Source', {
      // The library's types disagree about optional members.
      target: this.deployed.live as IFunction,
      eventSourceArn: this.queue.queueArn,
      batchSize: 1,
      maxConcurrency: AT_ONCE,
      reportBatchItemFailures: true,
    });
    mapping.node.addDependency(this.deployed);
  }

  private makeQueue(name: string, more: QueueProps): Queue {
    const queue = eventQueue(this, name, more);
    (queue.node.defaultChild as CfnQueue).overrideLogicalId(`${name}Queue`);
    return queue;
  }

  private notifier(context: FunctionContext): ServiceFunction {
    const { stack, settings, data } = context;
    const { scanDocuments = false, stage } = settings;
    const webhookSecret = signingSecretName(stage, 'crmWebhook');
    const made = new ServiceFunction(stack, constructName(NOTIFIER), {
      ...NOTIFIER,
      description: 'Posts events to the CRM, and writes the clients that it makes.',
      memory: settings.memory.accounts,
      logRetention: context.logRetention,
      removalPolicy: context.removalPolicy,
      rights: [
        onQueue(this.queue, 'ReceiveEvents', ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes']),
        onQueue(this.queue, 'PostponeEvents', ['ChangeMessageVisibility']),
        readSecretNamed(stack, 'ReadSigningKeys', webhookSecret),
        onTable(data.tables.Registrations, 'ReadRegistrations', ['GetItem']),
        ...writeClients(data.tables.Crm),
        readDocuments(data, scanDocuments),
        ...(scanDocuments ? [onDocuments(data, 'KeepDocuments', ['GetObjectTagging', 'PutObjectTagging'])] : []),
      ],
      settings,
      resources: {
        webhookSecret,
        crmTable: data.tables.Crm.tableName,
        registrationsTable: data.tables.Registrations.tableName,
        documentsBucket: data.documents.bucketName,
        webhookQueue: this.queue.queueUrl,
      },
    });
    acknowledgeDocuments(made);
    return made;
  }
}
