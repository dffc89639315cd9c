import { Stack } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmBase,
  AlarmRule,
  ComparisonOperator,
  CompositeAlarm,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { type CfnTopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import type { DeployedFunction } from '../routes.ts';
import { type AlarmDefinition, alarmDefinitions, type MonitoredService } from './alarm-definitions.ts';
import { output } from './stack-names.ts';

/** Every alarm, and the two topics that they are published on: pages, and notices. */
export class Alarms extends Construct {
  readonly topics: Readonly<Record<'page' | 'notice', Topic>>;
  readonly all: { alarm: AlarmBase; severity: AlarmDefinition['severity'] }[];
  private readonly made = new Map<string, AlarmBase>();
  private readonly rollbacks: { name: DeployedFunction; alarm: Alarm }[] = [];

  constructor(scope: Construct, id: string, service: MonitoredService) {
    super(scope, id);
    const { alarmEmail } = service.settings;
    this.topics = {
      page: this.topic('Alarm', 'Alarms for which a person acts at once.', alarmEmail),
      notice: this.topic('Notice', 'Alarms that a person reads on the next working day.', alarmEmail),
    };
    const definitions = alarmDefinitions(service);
    // The alarms that others are made of come first.
    const ordered = [...definitions.filter((one) => !('anyOf' in one)), ...definitions.filter((one) => 'anyOf' in one)];
    this.all = ordered.map((one) => ({ alarm: this.alarm(one), severity: one.severity }));
  }

  /** Those that roll a new version of the function back. */
  rollingBack(name: DeployedFunction): Alarm[] {
    return this.rollbacks.filter((one) => one.name === name).map(({ alarm }) => alarm);
  }

  private alarm(definition: AlarmDefinition): AlarmBase {
    const { id, of, severity } = definition;
    const name = of === undefined ? id : `${id}-${of}`;
    const text = { alarmName: `${Stack.of(this).stackName}-${name}`, alarmDescription: describe(definition) };
    const alarm =
      'anyOf' in definition
        ? new CompositeAlarm(this, name, {
            compositeAlarmName: text.alarmName,
            alarmDescription: text.alarmDescription,
            alarmRule: AlarmRule.anyOf(...definition.anyOf.map((part) => this.find(part))),
          })
        : this.metricAlarm(name, definition, text);
    this.made.set(name, alarm);
    if (severity !== 'dashboard') {
      alarm.addAlarmAction(new SnsAction(this.topics[severity]));
      alarm.addOkAction(new SnsAction(this.topics[severity]));
    }
    return alarm;
  }

  private metricAlarm(
    name: string,
    definition: Exclude<AlarmDefinition, { anyOf: unknown }>,
    text: { alarmName: string; alarmDescription: string },
  ): Alarm {
    const { metric, periods = { breaching: 1, of: 1 }, rollsBack } = definition;
    // An event that must happen and does not leaves no data.
    const limit =
      'atLeast' in definition
        ? {
            threshold: definition.atLeast,
            comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treatMissingData: TreatMissingData.NOT_BREACHING,
          }
        : {
            threshold: definition.fewerThan,
            comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
            treatMissingData: TreatMissingData.BREACHING,
          };
    const { of: evaluationPeriods, breaching: datapointsToAlarm } = periods;
    const alarm = new Alarm(this, name, { ...text, metric, ...limit, evaluationPeriods, datapointsToAlarm });
    if (rollsBack !== undefined) this.rollbacks.push({ name: rollsBack, alarm });
    return alarm;
  }

  private find(name: string): AlarmBase {
    const alarm = this.made.get(name);
    if (alarm === undefined) throw new Error(`No alarm is named ${name}.`);
    return alarm;
  }

  private topic(name: string, description: string, email: string | undefined): Topic {
    const { stackName, account } = Stack.of(this);
    const topic = new Topic(this, name, { displayName: `${stackName} ${name.toLowerCase()}s`, enforceSSL: true });
    (topic.node.defaultChild as CfnTopic).overrideLogicalId(`${name}Topic`);
    topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsOfThisAccount',
        principals: [new ServicePrincipal('cloudwatch.amazonaws.com')],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions: { StringEquals: { 'aws:SourceAccount': account } },
      }),
    );
    if (email !== undefined) topic.addSubscription(new EmailSubscription(email));
    output(this, `${name}TopicArn`, description, topic.topicArn);
    return topic;
  }
}

/** The text of a page: the loss for a person, two commands, and the runbook. */
function describe(definition: AlarmDefinition): string {
  const { id, loss } = definition;
  const commands = definition.severity === 'page' ? `\nShow: ${definition.show}\nFix: ${definition.fix}\n` : ' ';
  return `${loss}${commands}More: infra/docs/runbook.md, ${id}`;
}
