import { RemovalPolicy, Stack, type StackProps, Tags } from 'aws-cdk-lib';
import { CfnServiceLinkedRole } from 'aws-cdk-lib/aws-iam';
import { Alias } from 'aws-cdk-lib/aws-kms';
import { type CfnTopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { Alarms, Release } from './constructs/alarms.ts';
import { countryRules } from './constructs/country-rules.ts';
import { CrmWebhook } from './constructs/crm-webhook.ts';
import { Dashboard } from './constructs/dashboard.ts';
import { DataStores } from './constructs/data-stores.ts';
import { DocumentScan } from './constructs/document-scan.ts';
import { ServiceEvents } from './constructs/event-bus.ts';
import { FixedEgress } from './constructs/fixed-egress.ts';
import {
  constructName,
  createFunction,
  type FunctionContext,
  type ServiceFunction,
  settlement,
} from './constructs/functions.ts';
import { MailSender } from './constructs/mail-sender.ts';
import { CrmWriter, OperatorsPolicy, RegistrationReader } from './constructs/policies.ts';
import { PublicApi } from './constructs/public-api.ts';
import { output } from './constructs/stack-names.ts';
import { type DeployedRoute, EXTENSIONS, NOTIFIER, ROUTES, SCHEDULED, type ScheduledFunction } from './routes.ts';
import type { Settings } from './settings.ts';

type Deployed = Pick<ServiceFunction, 'lambda' | 'live' | 'logGroup'>;
type AnsweredRoute = { route: DeployedRoute } & Deployed;
type Settler = { scheduled: ScheduledFunction } & Deployed;

/** The whole service: routes, functions, data, messages, rights and alarms. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, given: Settings, props: StackProps = {}) {
    // Protected from deletion only after the first success (infra/deploy.ts).
    super(scope, id, { description: "A broker's public API: registration and trading accounts.", ...props });
    Tags.of(this).add('service', 'broker-api');
    Tags.of(this).add('stage', given.stage);

    const context = this.createContext(given);
    const extensions = EXTENSIONS.filter(({ setting }) => given[setting]);
    const functions = [...ROUTES, ...extensions].map((route) => ({ route, ...createFunction(route, context) }));
    const scheduled = SCHEDULED.map((one) => ({ scheduled: one, ...settlement(one, context) }));
    const gateway = new PublicApi(this, 'Gateway', {
      ...context,
      name: this.stackName,
      routes: functions.map(({ route, live }) => ({ ...route, lambda: live })),
    });
    const webhook = given.crmWebhook === undefined ? undefined : new CrmWebhook(this, 'CrmWebhook', context);
    const alarms = this.monitor(context, functions, scheduled, gateway, webhook);
    new OperatorsPolicy(this, 'Operators', {
      ...context,
      topicArns: Object.values(alarms.topics).map(({ topicArn }) => topicArn),
      webhook,
    });
    if (given.confirmation) new RegistrationReader(this, 'Reader', context);
    if (given.scanDocuments) new DocumentScan(this, 'Scan', context.data.documents);
    if (given.crmWriter !== undefined) new CrmWriter(this, 'CrmWriter', context.data, given.crmWriter);

    output(
      this,
      'CrmTableName',
      'The table of CRM records, for the operators’ command.',
      context.data.tables.Crm.tableName,
    );
    output(this, 'PepperSecretArn', 'The secret to rotate.', context.data.pepper.secretArn);
    const { topicArn } = context.notifications;
    output(this, 'NotificationsTopicArn', 'For the system that shows clients their popups.', topicArn);
    output(this, 'AccessLogGroup', 'The log of all requests.', gateway.accessLog.logGroupName);
    for (const one of functions) this.show(constructName(one.route), `of the route ${one.route.path}`, one);
    for (const one of scheduled) this.show(constructName(one.scheduled), 'that completes what no client retries', one);
    if (webhook !== undefined) this.show(constructName(NOTIFIER), 'that notifies the CRM', webhook.deployed);
  }

  private show(name: string, what: string, { lambda, logGroup }: Deployed): void {
    output(this, `${name}Function`, `The function ${what}.`, lambda.functionName);
    output(this, `${name}LogGroup`, 'Its log.', logGroup.logGroupName);
  }

  private createContext(settings: Settings): FunctionContext {
    const logRetention = settings.logRetentionDays;
    const removalPolicy = settings.retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
    if (settings.call !== undefined && settings.voiceMetricsRole) {
      // Without it AWS does not count calls, and the alarm on their cost would never fire.
      const role = new CfnServiceLinkedRole(this, 'VoiceMetrics', { awsServiceName: 'sms-voice.amazonaws.com' });
      role.applyRemovalPolicy(removalPolicy);
    }
    return {
      stack: this,
      settings,
      data: new DataStores(this, 'Data', settings),
      mail: new MailSender(this, 'Mail', settings),
      notifications: this.clientNotifications(),
      events: new ServiceEvents(this, 'Events'),
      protectConfiguration: countryRules(this, settings)?.protectConfiguration,
      egress: settings.vpc ? new FixedEgress(this, 'Egress', { settings, logRetention, removalPolicy }) : undefined,
      logRetention,
      removalPolicy,
    };
  }

  /** The alarms, the dashboard, and the release that an alarm rolls back. */
  private monitor(
    { settings, mail, events }: FunctionContext,
    functions: readonly AnsweredRoute[],
    scheduled: readonly Settler[],
    { api, accessLog }: PublicApi,
    webhook: CrmWebhook | undefined,
  ): Alarms {
    const { configurationSetName } = mail;
    const { stackName } = this;
    const service = { stackName, settings, functions, scheduled, api, accessLog, configurationSetName };
    const monitored = { ...service, undelivered: events.undelivered, webhook };
    const alarms = new Alarms(this, 'Alarms', monitored);
    new Dashboard(this, 'Dashboard', { ...monitored, alarms });
    if (settings.release === 'canary') {
      const released = functions.map(({ route, live }) => ({ name: route.name, live }));
      new Release(this, 'Release', { functions: released, alarms });
    }
    return alarms;
  }

  /** The topic of client notifications: popups of new accounts, with data that the client may see. */
  private clientNotifications(): Topic {
    const topic = new Topic(this, 'ClientNotifications', {
      displayName: 'Client notifications',
      masterKey: Alias.fromAliasName(this, 'SnsKey', 'alias/aws/sns'),
      enforceSSL: true,
    });
    (topic.node.defaultChild as CfnTopic).overrideLogicalId('ClientNotificationsTopic');
    return topic;
  }
}
