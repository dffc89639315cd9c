import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { type CfnEventBus, EventBus } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue, QueueEncryption, type QueueProps } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { policyStatement } from './policy-statement.ts';
import { output } from './stack-names.ts';

/** How long an event can be replayed to a system that missed it. */
const REPLAY_DAYS = 7;
const KEPT_DAYS = 14;

/** An encrypted queue that keeps its messages for two weeks. */
export function eventQueue(scope: Construct, id: string, more: QueueProps = {}): Queue {
  return new Queue(scope, id, {
    encryption: QueueEncryption.SQS_MANAGED,
    enforceSSL: true,
    retentionPeriod: Duration.days(KEPT_DAYS),
    ...more,
  });
}

/** The bus that publishes events to other systems of the broker, and the queue of events that a target did not accept. */
export class ServiceEvents extends Construct {
  readonly bus: EventBus;
  /** The dead-letter queue for the targets of rules, also of other systems. */
  readonly undelivered: Queue;
  /** To publish events. */
  readonly right: PolicyStatement;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    const { account, stackName } = Stack.of(this);
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: stackName,
      description: 'Registrations that were confirmed, and accounts that were opened.',
    });
    (this.bus.node.defaultChild as CfnEventBus).overrideLogicalId('EventBus');
    this.bus.archive('Archive', {
      description: 'Every event, for a replay.',
      eventPattern: { account: [account] },
      retention: Duration.days(REPLAY_DAYS),
    });
    this.right = policyStatement('PublishEvents', 'events', ['PutEvents'], this.bus.eventBusArn);
    this.undelivered = this.queue();
    output(this, 'EventBusName', 'The bus of events, for the rules of other systems.', this.bus.eventBusName);
    const text = 'The dead-letter queue for the targets of those rules.';
    output(this, 'UndeliveredEventsQueueArn', text, this.undelivered.queueArn);
  }

  private queue(): Queue {
    const queue = eventQueue(this, 'Undelivered');
    const rules = { service: 'events', resource: 'rule', resourceName: `${Stack.of(this).stackName}/*` };
    queue.addToResourcePolicy(
      new PolicyStatement({
        sid: 'RulesOfTheBus',
        principals: [new ServicePrincipal('events.amazonaws.com')],
        actions: ['sqs:SendMessage'],
        resources: [queue.queueArn],
        conditions: { ArnLike: { 'aws:SourceArn': Stack.of(this).formatArn(rules) } },
      }),
    );
    Validations.of(queue).acknowledge({ id: 'AwsSolutions-SQS3', reason: 'It is the dead-letter queue.' });
    return queue;
  }
}
