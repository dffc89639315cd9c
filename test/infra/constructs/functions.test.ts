import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { readSettings, settingsFile } from '../../../infra/settings.ts';
import {
  accountConfig,
  confirmationConfig,
  registrationConfig,
  settlementConfig,
  webhookConfig,
} from '../../../lib/config.ts';
import { PHONE_CHANNELS } from '../../specification/table.ts';
import { functionEnvironment } from '../../support/function-environment.ts';
import {
  EVERYTHING,
  environmentOf,
  lambdaFunctions,
  plainValue,
  propertiesOf,
  resourcesOfType,
  rightsOf,
  SENDER,
  synthesize,
  templateArn,
} from '../../support/stack.ts';

const template = synthesize();
const full = synthesize(EVERYTHING);
const property = (of: Template, name: string, key: string) => lambdaFunctions(of)[name]?.Properties[key];

describe('Every function', () => {
  it('runs on Node 24 and arm64, is traced, logs as JSON into a log of its own that ends', () => {
    const names = ['RequestRegistration', 'CreateTp5Account', 'CreateTp4Account', 'SettleOperations'];
    expect(Object.keys(lambdaFunctions(template))).toEqual(names);
    for (const { Properties } of Object.values(lambdaFunctions(template))) {
      expect(Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
        TracingConfig: { Mode: 'Active' },
        LoggingConfig: { LogFormat: 'JSON', LogGroup: { Ref: expect.stringContaining('Log') } },
      });
    }
    const retention = propertiesOf(template, 'AWS::Logs::LogGroup').map(({ RetentionInDays }) => RetentionInDays);
    expect(retention).toEqual(Array(5).fill(90));
  });

  it.each([
    ['RequestRegistration', { MemorySize: 1769, Timeout: 20 }],
    ['ConfirmRegistration', { MemorySize: 1769, Timeout: 20 }],
    // Within the gateway's 30 seconds.
    ['CreateTp5Account', { Timeout: 29 }],
    ['CreateTp4Account', { Timeout: 29, ReservedConcurrentExecutions: 20 }],
    // It ends before the next call.
    ['SettleOperations', { Timeout: 55 }],
  ])('has the memory and the timeout that it needs: %s', (name, properties) => {
    expect(lambdaFunctions(full)[name]?.Properties).toMatchObject(properties);
  });

  it('gets resources that its configuration accepts, and no others, and the settings', () => {
    const root = functionEnvironment(
      JSON.parse(settingsFile(readSettings({ ...SENDER, ...EVERYTHING }))),
    ).LAMBDA_TASK_ROOT;
    const variables = (name: string): NodeJS.ProcessEnv => ({ ...environmentOf(full, name), LAMBDA_TASK_ROOT: root });
    const { brand, channels, phone, captcha, front, sms } = EVERYTHING;
    const ofChannels = Object.fromEntries(PHONE_CHANNELS.map((channel) => [channel, EVERYTHING[channel]]));
    const shared = {
      stage: 'full',
      brand,
      email: { senderAddress: SENDER.senderAddress, configurationSet: '<MailConfigurationSet>' },
    };
    const registrations = {
      crmTable: '<CrmTable>',
      registrationsTable: '<RegistrationsTable>',
      documentsBucket: '<DocumentsBucket>',
    };
    const open = { pepperSecret: '<PepperSecret>', front: { ...front, only: false } };
    expect(registrationConfig(variables('RequestRegistration'))).toEqual({
      ...{ ...shared, ...registrations, ...open, channels, phone, captcha, ...ofChannels },
      sms: { ...sms, maxPrice: '0.25' },
      limits: expect.objectContaining(EVERYTHING.limits),
      limitsTable: '<LimitsTable>',
      protectConfigurationId: '<ProtectConfiguration.ProtectConfigurationId>',
    });
    expect(confirmationConfig(variables('ConfirmRegistration'))).toEqual({
      ...{ stage: 'full', ...registrations, ...open, confirmedDays: 30 },
      eventBus: '<EventBus>',
    });
    const accounts = {
      ...{ ...shared, crmTable: '<CrmTable>', operationsTable: '<OperationsTable>', accountsTable: '<AccountsTable>' },
      ...{ loginsTable: '<LoginsTable>', eventBus: '<EventBus>' },
      notificationsTopicArn: '<ClientNotificationsTopic>',
    };
    for (const name of ['CreateTp5Account', 'CreateTp4Account']) {
      expect(accountConfig(variables(name))).toEqual({
        ...{ ...accounts, passwordSecret: '<PasswordSecret>' },
      });
    }
    expect(settlementConfig(variables('SettleOperations'))).toEqual({
      ...accounts,
      registrationsTable: '<RegistrationsTable>',
    });
    expect(webhookConfig(variables('NotifyCrm'))).toEqual({
      ...{ stage: 'full', ...registrations, crmWebhook: EVERYTHING.crmWebhook },
      ...{
        webhookSecret: 'broker-api/full/crm-webhook',
        webhookUndeliveredQueue: '<CrmUndeliveredQueue>',
      },
    });
  });
});

describe('The registration function', () => {
  const rights = (of: Template) => rightsOf(of, 'RequestRegistration');

  it('may send by the channels that are installed: texts to numbers and to no topic, calls from one number', () => {
    expect(rights(template)).not.toHaveProperty('SendTexts');
    const { SendTexts, SendCalls, SendWhatsApp } = rights(full);
    expect(SendTexts).toEqual({ may: ['sns:Publish'], notOn: ['arn:<AWS::Partition>:sns:*:*:*'] });
    const rules = 'protect-configuration/<ProtectConfiguration.ProtectConfigurationId>';
    const on = ['phone-number/phone-0a1b', rules].map((resource) => templateArn('sms-voice', resource));
    expect(SendCalls).toEqual({ may: ['sms-voice:SendVoiceMessage'], on });
    expect(SendWhatsApp).toMatchObject({ on: [expect.stringContaining('phone-number-id/0a1b')] });
  });

  it('may read the signing keys of a provider of the broker, and not send its messages by AWS', () => {
    const url = 'https://messages.acme.example/send';
    const own = rights(synthesize({ ...EVERYTHING, provider: { sms: url, call: url } }));
    expect(own).toMatchObject({
      ReadProviderKeys: { on: [templateArn('secretsmanager', 'secret:broker-api/full/provider-??????')] },
      SendWhatsApp: {},
    });
    for (const right of ['SendTexts', 'SendCalls']) expect(own).not.toHaveProperty(right);
    expect(rights(full)).not.toHaveProperty('ReadProviderKeys');
  });
});

describe('The functions that call trading servers', () => {
  it('read the secrets of their own stage', () => {
    const secrets = (of: Template) => rightsOf(of, 'CreateTp5Account').ReadPlatformSecrets;
    expect(secrets(template)).toMatchObject({ on: [templateArn('secretsmanager', 'secret:platform/*')] });
    expect(secrets(full)).toMatchObject({ on: [templateArn('secretsmanager', 'secret:full/platform/*')] });
  });

  it('call from anywhere by default, and with vpc from one address that is an output and outlives the network', () => {
    template.resourceCountIs('AWS::EC2::VPC', 0);
    const [nat, ...more] = propertiesOf(full, 'AWS::EC2::NatGateway');
    expect([nat?.AllocationId, more]).toEqual(['<EgressAddress.AllocationId>', []]);
    expect(plainValue(full.findOutputs('EgressIpAddress').EgressIpAddress?.Value)).toBe('<EgressAddress.PublicIp>');
    expect(propertiesOf(full, 'AWS::EC2::VPCEndpoint')).toMatchObject([
      { VpcEndpointType: 'Gateway', ServiceName: 'com.amazonaws.<AWS::Region>.dynamodb' },
    ]);
    full.resourceCountIs('AWS::EC2::SecurityGroupIngress', 0);
    const again = synthesize({ vpc: true, egressAllocationId: 'eipalloc-0a1b2c3d', vpcCidr: '172.20.8.0/22' });
    again.resourceCountIs('AWS::EC2::EIP', 0);
    again.hasResourceProperties('AWS::EC2::NatGateway', { AllocationId: 'eipalloc-0a1b2c3d' });
    again.hasResourceProperties('AWS::EC2::VPC', { CidrBlock: '172.20.8.0/22' });
  });

  // The settler looks accounts up: a server that lists addresses would refuse it elsewhere.
  it.each(['CreateTp5Account', 'CreateTp4Account', 'SettleOperations'])('are in that network: %s', (name) => {
    expect(plainValue(property(full, name, 'VpcConfig'))).toMatchObject({
      SecurityGroupIds: [expect.stringContaining('EgressFunctions')],
    });
    const { JoinNetwork, DenyNetworkToCode } = rightsOf(full, name) as Record<string, { may: string[] }>;
    // Lambda alone needs the right.
    const ofCode = { Null: { 'lambda:SourceFunctionArn': 'false' } };
    expect(DenyNetworkToCode).toEqual({ Deny: JoinNetwork?.may, on: ['*'], if: ofCode });
  });

  it('are the only ones in it', () => {
    const inside = Object.entries(lambdaFunctions(full)).filter(([, { Properties }]) => Properties.VpcConfig);
    expect(inside.map(([name]) => name).sort()).toEqual(['CreateTp4Account', 'CreateTp5Account', 'SettleOperations']);
  });
});

describe('The function that settles operations', () => {
  it('is called each minute by the schedule and by no route, and a failed call is not repeated', () => {
    const [schedule] = propertiesOf(template, 'AWS::Scheduler::Schedule');
    expect(schedule).toMatchObject({
      ScheduleExpression: 'rate(1 minute)',
      State: 'ENABLED',
      Target: { Arn: expect.stringContaining('SettleOperationsLive'), RetryPolicy: { MaximumRetryAttempts: 0 } },
    });
    const [again] = propertiesOf(template, 'AWS::Lambda::EventInvokeConfig');
    expect(again).toMatchObject({ MaximumRetryAttempts: 0, MaximumEventAgeInSeconds: 60 });
    expect(JSON.stringify(again)).toContain('<SettleOperationsLive');
  });
});

describe('A new version', () => {
  const aliases = (of: Template) => Object.values(resourcesOfType(of, 'AWS::Lambda::Alias'));

  it('serves callers at once, under the alias live, and old versions stay', () => {
    expect(aliases(template).map(({ Properties }) => Properties.Name)).toEqual(Array(4).fill('live'));
    for (const { UpdatePolicy } of aliases(template)) expect(UpdatePolicy).toBeUndefined();
    for (const { DeletionPolicy } of Object.values(resourcesOfType(template, 'AWS::Lambda::Version'))) {
      expect(DeletionPolicy).toBe('Retain');
    }
    template.resourceCountIs('AWS::CodeDeploy::DeploymentGroup', 0);
    const called = propertiesOf(template, 'AWS::ApiGatewayV2::Integration').map(({ IntegrationUri }) => IntegrationUri);
    expect(called).toEqual(Array(3).fill(expect.stringMatching(/Live/)));
  });

  it('takes over step by step with the setting canary, and is rolled back by the alarms of its function', () => {
    const made = full;
    const groups = propertiesOf(made, 'AWS::CodeDeploy::DeploymentGroup');
    expect(groups).toHaveLength(4);
    for (const group of groups) {
      expect(group.DeploymentConfigName).toBe('CodeDeployDefault.LambdaCanary10Percent5Minutes');
      expect(group.AutoRollbackConfiguration).toMatchObject({
        Enabled: true,
        Events: expect.arrayContaining(['DEPLOYMENT_STOP_ON_ALARM', 'DEPLOYMENT_FAILURE']),
      });
      const { Alarms } = group.AlarmConfiguration as { Alarms: { Name: string }[] };
      const names = Alarms.map(({ Name }) => /^<Alarms(InternalErrors|Crashes|NearDeadline)(\w+)\w{8}>$/.exec(Name));
      expect(new Set(names.map((name) => name?.[1])).size).toBe(3);
      expect(new Set(names.map((name) => name?.[2])).size).toBe(1);
    }
    // The settler has no callers who would notice a bad version.
    const policies = aliases(made).map(({ UpdatePolicy }) => UpdatePolicy);
    const shifted = policies.filter((policy) => policy !== undefined);
    expect(policies).toHaveLength(6);
    expect(shifted).toEqual(Array(4).fill(expect.objectContaining({ CodeDeployLambdaAliasUpdate: expect.anything() })));
  });

  it('has as many environments warm as the settings say', () => {
    const warm = (of: Template) => aliases(of).map(({ Properties }) => Properties.ProvisionedConcurrencyConfig);
    expect(warm(template)).toEqual(Array(4).fill(undefined));
    const counts = [1, 1, 2, 2].map((ProvisionedConcurrentExecutions) => ({ ProvisionedConcurrentExecutions }));
    expect(warm(full)).toEqual(expect.arrayContaining(counts));
  });
});
