import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { type CfnEventBus, EventBus } from 'aws-cdk-lib/aws-events';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { output } from './stack-names.ts';

/** How long an event can be told again to a system that was not there, or forgot it. */
const REPLAY_DAYS = 7;
/** As long as SQS keeps anything. */
const KEPT_DAYS = 14;

/** What other systems of the broker hear events on, and where those go that such a system did not take. */
export class ServiceEvents extends Construct {
  readonly bus: EventBus;
  /** The dead-letter queue for the targets of rules; the operators' page shows such a rule. */
  readonly undelivered: Queue;
  /** To tell of something. */
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
      description: 'Every event, to be told again.',
      eventPattern: { account: [account] },
      retention: Duration.days(REPLAY_DAYS),
    });
    this.right = new PolicyStatement({
      sid: 'TellEvents',
      actions: ['events:PutEvents'],
      resources: [this.bus.eventBusArn],
    });
    this.undelivered = this.queue();
    output(this, 'EventBusName', 'The bus of events, for the rules of other systems.', this.bus.eventBusName);
    const told = 'The dead-letter queue for the targets of those rules.';
    output(this, 'UndeliveredEventsQueueArn', told, this.undelivered.queueArn);
  }

  private queue(): Queue {
    const queue = new Queue(this, 'Undelivered', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(KEPT_DAYS),
    });
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
