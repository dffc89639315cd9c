import { Stack } from 'aws-cdk-lib';
import { Alarm, ComparisonOperator, TreatMissingData } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type CfnTopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { DeployedFunction } from '../routes.ts';
import type { Watch, WatchedService } from './watch.ts';
import { watches } from './watches.ts';

/** Every alarm, and the topic that it is told on. Each says who is hurt; the README says what to do. */
export class Alarms extends Construct {
  readonly topic: Topic;
  readonly all: Alarm[];
  private readonly versions = new Map<Alarm, DeployedFunction>();

  constructor(scope: Construct, id: string, service: WatchedService) {
    super(scope, id);
    this.topic = alarmTopic(this, service.settings.alarmEmail);
    this.all = watches(service).map((watch) => this.alarm(watch));
  }

  /** Those that take a new version of the function back. */
  takingBack(name: DeployedFunction): Alarm[] {
    return this.all.filter((alarm) => this.versions.get(alarm) === name);
  }

  private alarm(watch: Watch): Alarm {
    const { id, of, loss, metric, spans = { bad: 1, of: 1 }, takesBack } = watch;
    // Of what should happen and does not, nothing is counted.
    const limit =
      'atLeast' in watch
        ? {
            threshold: watch.atLeast,
            comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treatMissingData: TreatMissingData.NOT_BREACHING,
          }
        : {
            threshold: watch.fewerThan,
            comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
            treatMissingData: TreatMissingData.BREACHING,
          };
    const alarm = new Alarm(this, `${id}${of === undefined ? '' : `-${of}`}`, {
      alarmName: [Stack.of(this).stackName, id, of].filter((part) => part !== undefined).join('-'),
      alarmDescription: `${loss} What to do: infra/README.md, Alarms, ${id}.`,
      metric,
      ...limit,
      evaluationPeriods: spans.of,
      datapointsToAlarm: spans.bad,
    });
    alarm.addAlarmAction(new SnsAction(this.topic));
    alarm.addOkAction(new SnsAction(this.topic));
    if (takesBack !== undefined) this.versions.set(alarm, takesBack);
    return alarm;
  }
}

function alarmTopic(scope: Construct, email: string | undefined): Topic {
  const topic = new Topic(scope, 'Topic', { displayName: `${Stack.of(scope).stackName} alarms`, enforceSSL: true });
  (topic.node.defaultChild as CfnTopic).overrideLogicalId('AlarmTopic');
  topic.addToResourcePolicy(
    new PolicyStatement({
      sid: 'AlarmsOfThisAccount',
      principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
      actions: ['sns:Publish'],
      resources: [topic.topicArn],
      conditions: { StringEquals: { 'aws:SourceAccount': Stack.of(scope).account } },
    }),
  );
  if (email !== undefined) topic.addSubscription(new EmailSubscription(email));
  return topic;
}
