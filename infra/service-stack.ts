import { CfnOutput, RemovalPolicy, Stack, type StackProps, Tags } from 'aws-cdk-lib';
import { Alias } from 'aws-cdk-lib/aws-kms';
import { type CfnTopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { Alarms } from './constructs/alarms.ts';
import { callsWithin, countryRules } from './constructs/country-rules.ts';
import { Dashboard } from './constructs/dashboard.ts';
import { DataStores } from './constructs/data-stores.ts';
import { FixedEgress } from './constructs/fixed-egress.ts';
import { functionOf } from './constructs/functions.ts';
import { MailSender } from './constructs/mail-sender.ts';
import { PublicApi } from './constructs/public-api.ts';
import { ROUTES } from './routes.ts';
import type { Settings } from './settings.ts';

/** The whole service: its routes, the functions behind them, what these keep, send and may do, and who is told when it fails. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, given: Settings, props: StackProps = {}) {
    super(scope, id, { description: "A broker's public API: registration and trading accounts.", ...props });
    Tags.of(this).add('service', 'broker-api');
    Tags.of(this).add('stage', given.stage);
    const removalPolicy = given.retainData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    const defaults = { logRetention: given.logRetentionDays, removalPolicy };

    const rules = countryRules(this, given);
    const settings = { ...given, call: callsWithin(rules, given.call) };
    const data = new DataStores(this, 'Data', settings);
    const mail = new MailSender(this, 'Mail', settings);
    const notifications = this.clientNotifications();
    const egress = settings.vpc ? new FixedEgress(this, 'Egress', { cidr: settings.vpcCidr, ...defaults }) : undefined;

    const around = { stack: this, settings, data, mail, notifications, egress, ...defaults };
    const functions = ROUTES.map((route) => ({ route, lambda: functionOf(route, around).lambda }));
    const { api } = new PublicApi(this, 'Gateway', {
      name: this.stackName,
      settings,
      routes: functions.map(({ route, lambda }) => ({ ...route, lambda })),
      ...defaults,
    });

    const watched = { settings, functions, configurationSetName: mail.configurationSetName };
    const alarms = new Alarms(this, 'Alarms', { ...watched, serverErrors: api.metricServerError() });
    new Dashboard(this, 'Dashboard', { ...watched, alarms: alarms.all, api });
    this.output('CrmTableName', 'The table of CRM records, for the operators’ command.', data.crm.tableName);
    this.output(
      'NotificationsTopicArn',
      'Whoever shows clients their popups subscribes to it.',
      notifications.topicArn,
    );
    this.output('AlarmTopicArn', 'Alarms are told on it.', alarms.topic.topicArn);
    this.output('PepperSecretArn', 'The secret to rotate.', data.pepper.secretArn);
  }

  /** The topic of client notifications: popups of new accounts, with nothing in them but what the client may see. */
  private clientNotifications(): Topic {
    const topic = new Topic(this, 'ClientNotifications', {
      displayName: 'Client notifications',
      masterKey: Alias.fromAliasName(this, 'SnsKey', 'alias/aws/sns'),
      enforceSSL: true,
    });
    (topic.node.defaultChild as CfnTopic).overrideLogicalId('ClientNotificationsTopic');
    return topic;
  }

  private output(name: string, description: string, value: string): void {
    new CfnOutput(this, name, { description, value });
  }
}
