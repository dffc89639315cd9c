import { CfnResource, RemovalPolicy, Stack, type StackProps, Tags } from 'aws-cdk-lib';
import { CfnServiceLinkedRole } from 'aws-cdk-lib/aws-iam';
import { Alias } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { Alarms, releaseInSteps } from './constructs/alarms.ts';
import { blockCountries } from './constructs/country-rules.ts';
import { CrmWebhook } from './constructs/crm-webhook.ts';
import { Dashboard } from './constructs/dashboard.ts';
import { DataStores } from './constructs/data-stores.ts';
import { protectDocuments } from './constructs/documents.ts';
import { ServiceEvents } from './constructs/event-bus.ts';
import { FixedEgress } from './constructs/fixed-egress.ts';
import { createFunction, type DeployedFunction, type FunctionContext } from './constructs/functions.ts';
import { MailSender } from './constructs/mail-sender.ts';
import {
  allowCrmWrites,
  allowKeyRotation,
  allowOperators,
  allowReading,
  allowRestoringRegistrations,
} from './constructs/policies.ts';
import { PublicApi } from './constructs/public-api.ts';
import { addOutput, fixLogicalId } from './constructs/stack-names.ts';
import { constructName, functionsOf } from './functions.ts';
import { SETTINGS_METADATA, type Settings, settingsText } from './settings.ts';

/** The whole service: routes, functions, data, messages, rights and alarms. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, given: Settings, props: StackProps = {}) {
    // Protected from deletion only after the first success (infra/deploy.ts).
    super(scope, id, { description: "A broker's public API: registration and trading accounts.", ...props });
    Tags.of(this).add('service', 'broker-api');
    Tags.of(this).add('stage', given.stage);

    const context = this.createContext(given);
    const functions = functionsOf(given).map((declared) => createFunction(declared, context));
    const gateway = new PublicApi(this, 'Gateway', {
      ...context,
      name: this.stackName,
      routes: functions.flatMap(({ declared: { route }, live }) => (route ? [{ ...route, lambda: live }] : [])),
    });
    // The settings are in a resource: CloudFormation makes no update that changes the template's own metadata alone.
    const { defaultChild: records } = context.data.tables.Crm.node;
    if (records instanceof CfnResource) records.addMetadata(SETTINGS_METADATA, settingsText(given));
    const alarms = this.monitor(context, functions, gateway);
    const topicArns = Object.values(alarms.topics).map((topic) => topic.topicArn);
    allowOperators(this, context, topicArns);
    allowKeyRotation(this, context);
    allowRestoringRegistrations(this, context.data);
    if (given.confirmation) allowReading(this, context);
    protectDocuments(context.data.documents, functions, given);
    if (given.crmWriter !== undefined) allowCrmWrites(this, context.data, given.crmWriter);

    addOutput(
      this,
      'CrmTableName',
      'The table of CRM records, for the operators’ command.',
      context.data.tables.Crm.tableName,
    );
    addOutput(this, 'PepperSecretArn', 'The secret to rotate.', context.data.pepper.secretArn);
    const { topicArn } = context.notifications;
    addOutput(this, 'NotificationsTopicArn', 'For the system that shows clients their popups.', topicArn);
    addOutput(this, 'AccessLogGroup', 'The log of all requests.', gateway.accessLog.logGroupName);
    for (const one of functions) this.show(one);
  }

  private show({ declared, lambda, logGroup }: DeployedFunction): void {
    const name = constructName(declared);
    addOutput(this, `${name}Function`, declared.description, lambda.functionName);
    addOutput(this, `${name}LogGroup`, 'Its log.', logGroup.logGroupName);
  }

  private createContext(settings: Settings): FunctionContext {
    const logRetention = settings.logRetentionDays;
    const removalPolicy = settings.retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;
    if (settings.call !== undefined && settings.voiceMetricsRole) {
      // Without this role AWS does not count calls, and the alarm on their cost would never fire.
      const role = new CfnServiceLinkedRole(this, 'VoiceMetrics', { awsServiceName: 'sms-voice.amazonaws.com' });
      role.applyRemovalPolicy(removalPolicy);
    }
    const events = new ServiceEvents(this, 'Events');
    return {
      stack: this,
      settings,
      data: new DataStores(this, 'Data', settings),
      mail: new MailSender(this, 'Mail', settings),
      notifications: this.clientNotifications(),
      events,
      webhook:
        settings.crmWebhook === undefined
          ? undefined
          : new CrmWebhook(this, 'CrmWebhook', { events, settings, removalPolicy }),
      protectConfigurationId: blockCountries(this, settings),
      egress: settings.vpc ? new FixedEgress(this, 'Egress', { settings, logRetention, removalPolicy }) : undefined,
      logRetention,
      removalPolicy,
    };
  }

  /** The alarms, the dashboard, and the release that an alarm rolls back. */
  private monitor(
    { settings, mail, webhook }: FunctionContext,
    functions: readonly DeployedFunction[],
    { api, accessLog }: PublicApi,
  ): Alarms {
    const { configurationSetName } = mail;
    const { stackName } = this;
    const service = { stackName, settings, functions, api, accessLog, configurationSetName };
    const monitored = { ...service, webhook };
    const alarms = new Alarms(this, 'Alarms', monitored);
    new Dashboard(this, 'Dashboard', { ...monitored, alarms });
    if (settings.release === 'canary') releaseInSteps(this, functions, alarms);
    return alarms;
  }

  /** The topic of client notifications: popups of new accounts, with data that the client may see. */
  private clientNotifications(): Topic {
    const topic = new Topic(this, 'ClientNotifications', {
      displayName: 'Client notifications',
      masterKey: Alias.fromAliasName(this, 'SnsKey', 'alias/aws/sns'),
      enforceSSL: true,
    });
    fixLogicalId(topic, 'ClientNotificationsTopic');
    return topic;
  }
}
