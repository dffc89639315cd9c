import { ArnFormat, CfnOutput, RemovalPolicy, Stack, type StackProps, Tags, Validations } from 'aws-cdk-lib';
import type { Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Alias } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { type CfnTopic, Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { AccountEnvironment, environmentOf, RegistrationEnvironment } from '../lib/validators/deployment.ts';
import { Alarms } from './constructs/alarms.ts';
import { ApiFunction } from './constructs/api-function.ts';
import { Dashboard } from './constructs/dashboard.ts';
import { DataStores } from './constructs/data-stores.ts';
import { FixedEgress } from './constructs/fixed-egress.ts';
import { MailSender } from './constructs/mail-sender.ts';
import { PublicApi } from './constructs/public-api.ts';
import type { Settings } from './settings.ts';

/** Below the gateway's 30 seconds, which a cold start counts into; the use cases stop four seconds before. */
const TIMEOUT_SECONDS = { registration: 20, accounts: 29 };

/** The whole service: three routes, the functions behind them, what these keep, send and may do, and who is told when it fails. */
export class ServiceStack extends Stack {
  private readonly settings: Settings;
  private readonly data: DataStores;
  private readonly mail: MailSender;
  private readonly notifications: Topic;
  /** Of all functions. */
  private readonly defaults: { logRetention: RetentionDays; removalPolicy: RemovalPolicy };

  constructor(scope: Construct, id: string, settings: Settings, props: StackProps = {}) {
    super(scope, id, { description: "A broker's public API: registration and trading accounts.", ...props });
    Tags.of(this).add('service', 'broker-api');
    Tags.of(this).add('stage', settings.stage);
    const removalPolicy = settings.retainData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
    this.settings = settings;
    this.defaults = { logRetention: settings.logRetentionDays, removalPolicy };

    this.data = new DataStores(this, 'Data', {
      stage: settings.stage,
      platformSecrets: settings.platformSecrets,
      retain: settings.retainData,
    });
    this.mail = new MailSender(this, 'Mail', settings);
    this.notifications = this.clientNotifications();

    const registration = this.registration();
    const egress = settings.vpc
      ? new FixedEgress(this, 'Egress', { cidr: settings.vpcCidr, ...this.defaults })
      : undefined;
    const tp5 = this.accounts('tp5', egress);
    const tp4 = this.accounts('tp4', egress);

    const { api } = new PublicApi(this, 'Gateway', {
      name: this.stackName,
      settings,
      ...this.defaults,
      routes: [
        { path: '/public/v1/account/register/request', lambda: registration.lambda, access: 'open' },
        { path: '/public/v1/users/{user_id}/tp5/accounts', lambda: tp5.lambda, access: 'accounts:create' },
        { path: '/public/v1/users/{user_id}/tp4/accounts', lambda: tp4.lambda, access: 'accounts:create' },
      ],
    });

    const watched = {
      settings,
      registration,
      accounts: [tp5, tp4],
      configurationSetName: this.mail.configurationSetName,
    };
    const alarms = new Alarms(this, 'Alarms', { ...watched, serverErrors: api.metricServerError() });
    new Dashboard(this, 'Dashboard', {
      ...watched,
      alarms: alarms.all,
      gateway: {
        requests: api.metricCount(),
        clientErrors: api.metricClientError(),
        serverErrors: api.metricServerError(),
        latency: api.metricLatency(),
      },
    });
    this.output('CrmTableName', 'The table of CRM records, for the operators’ command.', this.data.crm.tableName);
    this.output(
      'NotificationsTopicArn',
      'Whoever shows clients their popups subscribes to it.',
      this.notifications.topicArn,
    );
    this.output('AlarmTopicArn', 'Alarms are told on it.', alarms.topic.topicArn);
    this.output('PepperSecretArn', 'The secret to rotate.', this.data.pepper.secretArn);
  }

  /** POST /public/v1/account/register/request */
  private registration(): ApiFunction {
    const { settings, data, mail } = this;
    const made = new ApiFunction(this, 'RequestRegistration', {
      ...this.defaults,
      name: 'request-registration',
      description: 'Keeps a pending registration and sends its one-time password.',
      memory: settings.memory.registration,
      timeoutSeconds: TIMEOUT_SECONDS.registration,
      reservedConcurrency: settings.concurrency.registration,
      rights: [
        mail.right,
        ...rightsOfChannels(this, settings),
        onTable(data.crm, 'ReadCrm', ['BatchGetItem']),
        onTable(data.registrations, 'KeepRegistrations', ['PutItem', 'UpdateItem', 'DeleteItem']),
        onTable(data.limits, 'CountSends', ['GetItem', 'BatchGetItem', 'UpdateItem']),
        onTable(data.operations, 'KeepOperations', OPERATION_STEPS),
        new PolicyStatement({
          sid: 'StoreDocuments',
          actions: ['s3:PutObject'],
          resources: [data.documents.arnForObjects(`${DOCUMENTS_FOLDER}/*`)],
        }),
        new PolicyStatement({
          sid: 'ReadPepper',
          actions: ['secretsmanager:GetSecretValue'],
          resources: [data.pepper.secretArn],
        }),
      ],
      environment: environmentOf(RegistrationEnvironment, {
        ...settings,
        ...this.commonResources(),
        registrationsTable: data.registrations.tableName,
        limitsTable: data.limits.tableName,
        documentsBucket: data.documents.bucketName,
        pepperSecret: data.pepper.secretArn,
      }),
    });
    Validations.of(made).acknowledge({
      id: `AwsSolutions-IAM5[Resource::<DocumentsBucket.Arn>/${DOCUMENTS_FOLDER}/*]`,
      reason: 'Documents are named by their registration: their names are not known beforehand.',
    });
    return made;
  }

  /** POST /public/v1/users/{user_id}/{tp5|tp4}/accounts */
  private accounts(version: 'tp5' | 'tp4', network: FixedEgress | undefined): ApiFunction {
    const { settings, data, mail, notifications } = this;
    const made = new ApiFunction(this, `Create${version === 'tp5' ? 'Tp5' : 'Tp4'}Account`, {
      ...this.defaults,
      name: `create-${version}-account`,
      description: `Opens an account of platform version ${version.slice(2)} for a client.`,
      memory: settings.memory.accounts,
      timeoutSeconds: TIMEOUT_SECONDS.accounts,
      reservedConcurrency: settings.concurrency.accounts,
      network,
      rights: [
        mail.right,
        new PolicyStatement({
          sid: 'PublishClientNotifications',
          actions: ['sns:Publish'],
          resources: [notifications.topicArn],
        }),
        onTable(data.crm, 'ReadCrm', ['BatchGetItem']),
        onTable(data.operations, 'KeepOperations', OPERATION_STEPS),
        onTable(data.accounts, 'RecordAccounts', ['PutItem']),
        new PolicyStatement({
          sid: 'ReadPlatformSecrets',
          actions: ['secretsmanager:GetSecretValue'],
          resources: [
            this.formatArn({
              service: 'secretsmanager',
              resource: 'secret',
              resourceName: `${settings.platformSecrets}*`,
              arnFormat: ArnFormat.COLON_RESOURCE_NAME,
            }),
          ],
        }),
      ],
      environment: environmentOf(AccountEnvironment, {
        ...settings,
        ...this.commonResources(),
        accountsTable: data.accounts.tableName,
        passwordSecret: data.passwordKey.secretArn,
        notificationsTopicArn: notifications.topicArn,
      }),
    });
    const secrets = `secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:${settings.platformSecrets}*`;
    Validations.of(made).acknowledge({
      id: `AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:${secrets}]`,
      reason: 'Operators add trading servers, each with a secret of its own, without a deployment.',
    });
    return made;
  }

  private commonResources() {
    return {
      crmTable: this.data.crm.tableName,
      operationsTable: this.data.operations.tableName,
      sesConfigurationSet: this.mail.configurationSetName,
    };
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

/** What the keys of documents begin with (lib/records/documents.ts). */
const DOCUMENTS_FOLDER = 'registrations';

const OPERATION_STEPS = ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'];

function onTable(table: Table, sid: string, actions: string[]): PolicyStatement {
  return new PolicyStatement({
    sid,
    actions: actions.map((action) => `dynamodb:${action}`),
    resources: [table.tableArn],
  });
}

/** To send by the channels that are installed, and by no other. */
function rightsOfChannels(stack: Stack, { channels, call, whatsapp }: Settings): PolicyStatement[] {
  const rights: PolicyStatement[] = [];
  if (channels.includes('sms')) {
    // A text goes to a number, which is no resource; this way of saying so leaves out every topic.
    rights.push(
      new PolicyStatement({ sid: 'SendTexts', actions: ['sns:Publish'], notResources: ['arn:aws:sns:*:*:*'] }),
    );
  }
  if (call !== undefined) {
    const { originationIdentity: identity, configurationSet } = call;
    const arn = (resource: string, resourceName: string) =>
      stack.formatArn({ service: 'sms-voice', resource, resourceName });
    rights.push(
      new PolicyStatement({
        sid: 'SendCalls',
        actions: ['sms-voice:SendVoiceMessage'],
        resources: [
          identity.startsWith('arn:')
            ? identity
            : arn(identity.startsWith('pool-') ? 'pool' : 'phone-number', identity),
          ...(configurationSet === undefined ? [] : [arn('configuration-set', configurationSet)]),
        ],
      }),
    );
  }
  if (whatsapp !== undefined) {
    rights.push(
      new PolicyStatement({
        sid: 'SendWhatsApp',
        actions: ['social-messaging:SendWhatsAppMessage'],
        resources: [
          stack.formatArn({
            service: 'social-messaging',
            resource: 'phone-number-id',
            resourceName: whatsapp.phoneNumberId.replace(/^phone-number-id-/, ''),
          }),
        ],
      }),
    );
  }
  return rights;
}
