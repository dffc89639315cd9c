import { Stack, Validations } from 'aws-cdk-lib';
import {
  Alarm,
  type AlarmBase,
  AlarmRule,
  ComparisonOperator,
  CompositeAlarm,
  TreatMissingData,
} from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { type FunctionName, hasRoute } from '../functions.ts';
import { type AlarmDefinition, alarmDefinitions, type MonitoredService } from './alarm-definitions.ts';
import type { DeployedFunction } from './functions.ts';
import { addOutput, fixLogicalId } from './stack-names.ts';

/** Every alarm, and the two topics that they are published on: pages, and notices. */
export class Alarms extends Construct {
  readonly topics: Readonly<Record<'page' | 'notice', Topic>>;
  readonly all: { name: string; alarm: AlarmBase; severity: Severity; rollsBack: FunctionName | undefined }[] = [];

  constructor(scope: Construct, id: string, service: MonitoredService) {
    super(scope, id);
    const { alarmEmail } = service.settings;
    this.topics = {
      page: this.topic('Alarm', 'Alarms for which a person acts at once.', alarmEmail),
      notice: this.topic('Notice', 'Alarms that a person reads on the next working day.', alarmEmail),
    };
    for (const one of alarmDefinitions(service)) this.add(one);
  }

  /** The alarms that roll a new version of the function back. */
  rollingBack(name: FunctionName): AlarmBase[] {
    return this.all.filter(({ rollsBack }) => rollsBack === name).map(({ alarm }) => alarm);
  }

  private add(definition: AlarmDefinition): void {
    const { id, of, when, rollsBack } = definition;
    const severity = severityOf(definition);
    const name = of === undefined ? id : `${id}-${of}`;
    const alarmName = `${Stack.of(this).stackName}-${name}`;
    const alarmDescription = describe(definition);
    const { anyOf } = when;
    const parts = (anyOf ?? []).flatMap((part) => this.all.filter((one) => one.name === part));
    const alarm =
      anyOf === undefined
        ? new Alarm(this, name, { alarmName, alarmDescription, ...condition(when) })
        : new CompositeAlarm(this, name, {
            compositeAlarmName: alarmName,
            alarmDescription,
            alarmRule: AlarmRule.anyOf(...parts.map((part) => part.alarm)),
          });
    this.all.push({ name, alarm, severity, rollsBack });
    if (severity === 'dashboard') return;
    alarm.addAlarmAction(new SnsAction(this.topics[severity]));
    alarm.addOkAction(new SnsAction(this.topics[severity]));
  }

  /** A topic without encryption: CloudWatch could not publish to it otherwise, and alarms hold no personal data. */
  private topic(name: string, description: string, email: string | undefined): Topic {
    const { stackName, account } = Stack.of(this);
    const topic = new Topic(this, name, { displayName: `${stackName} ${name.toLowerCase()}s`, enforceSSL: true });
    fixLogicalId(topic, `${name}Topic`);
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
    addOutput(this, `${name}TopicArn`, description, topic.topicArn);
    return topic;
  }
}

type Severity = 'page' | 'notice' | 'dashboard';

function severityOf({ fix, rollsBack }: AlarmDefinition): Severity {
  if (rollsBack !== undefined) return 'dashboard';
  return fix === undefined ? 'notice' : 'page';
}

function condition({ metric, atLeast, fewerThan, twice, periods = 1 }: AlarmDefinition['when']) {
  // If an expected event is missing, there is no data.
  const limit =
    fewerThan === undefined
      ? {
          threshold: atLeast,
          comparisonOperator: ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
          treatMissingData: TreatMissingData.NOT_BREACHING,
        }
      : {
          threshold: fewerThan,
          comparisonOperator: ComparisonOperator.LESS_THAN_THRESHOLD,
          treatMissingData: TreatMissingData.BREACHING,
        };
  return { metric, ...limit, evaluationPeriods: twice ? 3 : periods, datapointsToAlarm: twice ? 2 : periods };
}

/** The text of a page: what a person loses, two commands, and the runbook. */
function describe({ id, loss, show, fix }: AlarmDefinition): string {
  const commands = fix === undefined ? ' ' : `\nShow: ${show}\nFix: ${fix}\n`;
  return `${loss}${commands}More: infra/docs/operating.md, ${id}`;
}

/**
 * New versions of the functions take over step by step. An alarm of a function rolls the whole deployment back. A failing
 * trading server or channel does not: it fails without a release too.
 */
export function releaseInSteps(stack: Stack, functions: readonly DeployedFunction[], alarms: Alarms): void {
  const scope = new Construct(stack, 'Canary');
  const application = new LambdaApplication(scope, 'Application');
  for (const { declared, live } of functions.filter((one) => hasRoute(one.declared))) {
    const group = new LambdaDeploymentGroup(scope, declared.name, {
      application,
      alias: live,
      deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
      alarms: alarms.rollingBack(declared.name),
    });
    Validations.of(group).acknowledge({
      id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]',
      reason: 'The narrowest that AWS offers for the deployment of functions.',
    });
  }
}
