import { readFileSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { accountConfig, confirmationConfig, registrationConfig } from '../../../lib/config.ts';
import {
  ARN,
  EVERYTHING,
  environmentOf,
  functions,
  plain,
  resources,
  rightsOf,
  synthesize,
} from '../../support/stack.ts';

let template: Template;
let full: Template;

beforeAll(() => {
  template = synthesize();
  full = synthesize(EVERYTHING);
});

const ROOT = new URL('../../..', import.meta.url);
const SEND_MAIL = {
  may: ['ses:SendEmail'],
  on: [
    ARN('ses', 'configuration-set/<MailConfigurationSet>'),
    ARN('ses', 'identity/acme.example'),
    ARN('ses', 'identity/no-reply@acme.example'),
  ],
  if: { StringEquals: { 'ses:FromAddress': 'no-reply@acme.example' } },
};
const READ_CRM = { may: ['dynamodb:BatchGetItem'], on: ['<CrmTable.Arn>'] };
const KEEP_OPERATIONS = {
  may: ['dynamodb:DeleteItem', 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
  on: ['<OperationsTable.Arn>'],
};
const TRACE = { may: ['xray:PutTelemetryRecords', 'xray:PutTraceSegments'], on: ['*'] };
const ownLog = {
  may: ['logs:CreateLogStream', 'logs:PutLogEvents'],
  on: [expect.stringMatching(/^<\w+Log\w+\.Arn>$/)],
};

const REGISTRATION_RIGHTS = {
  SendMail: SEND_MAIL,
  ReadCrm: READ_CRM,
  KeepRegistrations: {
    may: ['dynamodb:DeleteItem', 'dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
    on: ['<RegistrationsTable.Arn>'],
  },
  CountSends: {
    may: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem'],
    on: ['<LimitsTable.Arn>'],
  },
  KeepOperations: KEEP_OPERATIONS,
  StoreDocuments: { may: ['s3:PutObject'], on: ['<DocumentsBucket.Arn>/registrations/*'] },
  ReadPepper: { may: ['secretsmanager:GetSecretValue'], on: ['<PepperSecret>'] },
  WriteOwnLog: ownLog,
  Trace: TRACE,
};
const ACCOUNT_RIGHTS = {
  SendMail: SEND_MAIL,
  PublishClientNotifications: { may: ['sns:Publish'], on: ['<ClientNotificationsTopic>'] },
  ReadCrm: READ_CRM,
  KeepOperations: KEEP_OPERATIONS,
  RecordAccounts: { may: ['dynamodb:PutItem', 'dynamodb:Query'], on: ['<AccountsTable.Arn>'] },
  TellEvents: { may: ['events:PutEvents'], on: ['<EventBus.Arn>'] },
  ReadPlatformSecrets: {
    may: ['secretsmanager:GetSecretValue'],
    on: [ARN('secretsmanager', 'secret:platform/*')],
  },
  WriteOwnLog: ownLog,
  Trace: TRACE,
};

describe('The registration function', () => {
  it('may do this and nothing else', () => {
    expect(rightsOf(template, 'RequestRegistration')).toEqual(REGISTRATION_RIGHTS);
  });

  it('may send by the channels that are installed: to numbers but to no topic, from one number', () => {
    expect(rightsOf(full, 'RequestRegistration')).toEqual({
      ...REGISTRATION_RIGHTS,
      SendTexts: { may: ['sns:Publish'], notOn: ['arn:<AWS::Partition>:sns:*:*:*'] },
      SendCalls: {
        may: ['sms-voice:SendVoiceMessage'],
        on: [
          ARN('sms-voice', 'configuration-set/calls'),
          ARN('sms-voice', 'phone-number/phone-0a1b'),
          ARN('sms-voice', 'protect-configuration/<ProtectConfiguration.ProtectConfigurationId>'),
        ],
      },
      SendWhatsApp: {
        may: ['social-messaging:SendWhatsAppMessage'],
        on: [ARN('social-messaging', 'phone-number-id/0a1b')],
      },
      StoreDocuments: {
        may: ['s3:PutObject', 's3:PutObjectTagging'],
        on: ['<DocumentsBucket.Arn>/registrations/*'],
      },
      ReadCaptchaKey: { may: ['secretsmanager:GetSecretValue'], on: [ARN('secretsmanager', 'secret:captcha-??????')] },
      ReadFrontKey: { may: ['secretsmanager:GetSecretValue'], on: [ARN('secretsmanager', 'secret:front-??????')] },
    });
  });

  it('may call from a pool, or from what an ARN names', () => {
    const callsFrom = (originationIdentity: string) => {
      const { SendCalls } = rightsOf(
        synthesize({ channels: 'email,call', 'phone.countries': 'GB', call: { originationIdentity } }),
        'RequestRegistration',
      );
      return SendCalls;
    };
    expect(callsFrom('pool-0a1b')).toMatchObject({ on: expect.arrayContaining([ARN('sms-voice', 'pool/pool-0a1b')]) });
    const arn = 'arn:aws:sms-voice:eu-west-1:123456789012:phone-number/phone-0a1b';
    expect(callsFrom(arn)).toMatchObject({ on: expect.arrayContaining([arn]) });
  });

  it('has a whole processor, for the hash of a password', () => {
    expect(functions(template).RequestRegistration?.Properties).toMatchObject({ MemorySize: 1769, Timeout: 20 });
  });
});

describe('The function that confirms', () => {
  it('is there by the setting alone', () => {
    expect(Object.keys(functions(template)).sort()).toEqual([
      'CreateTp4Account',
      'CreateTp5Account',
      'RequestRegistration',
      'SettleOperations',
    ]);
    expect(functions(full).ConfirmRegistration?.Properties).toMatchObject({ MemorySize: 1769, Timeout: 20 });
  });

  it('may do this and nothing else', () => {
    expect(rightsOf(full, 'ConfirmRegistration')).toEqual({
      TellEvents: { may: ['events:PutEvents'], on: ['<EventBus.Arn>'] },
      ReadCrm: READ_CRM,
      ConfirmRegistrations: {
        may: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:UpdateItem'],
        on: ['<RegistrationsTable.Arn>'],
      },
      CountGuesses: { may: ['dynamodb:GetItem', 'dynamodb:UpdateItem'], on: ['<LimitsTable.Arn>'] },
      KeepDocuments: { may: ['s3:DeleteObjectTagging'], on: ['<DocumentsBucket.Arn>/registrations/*'] },
      ReadPepper: { may: ['secretsmanager:GetSecretValue'], on: ['<PepperSecret>'] },
      ReadFrontKey: { may: ['secretsmanager:GetSecretValue'], on: [ARN('secretsmanager', 'secret:front-??????')] },
      WriteOwnLog: ownLog,
      Trace: TRACE,
    });
  });

  it('gets an environment that its configuration accepts', () => {
    expect(confirmationConfig(environmentOf(full, 'ConfirmRegistration'))).toMatchObject({
      stage: 'full',
      confirmedDays: 30,
      front: EVERYTHING.front,
      registrationsTable: '<RegistrationsTable>',
      documentsBucket: '<DocumentsBucket>',
      eventBus: '<EventBus>',
    });
  });
});

describe('The account functions', () => {
  it.each(['CreateTp5Account', 'CreateTp4Account'])('may do this and nothing else: %s', (name) => {
    expect(rightsOf(template, name)).toEqual(ACCOUNT_RIGHTS);
  });

  it('may do the same whatever channels are installed, but for joining their network', () => {
    const { JoinNetwork, ...rights } = rightsOf(full, 'CreateTp5Account');
    const secrets = { ...ACCOUNT_RIGHTS.ReadPlatformSecrets, on: [ARN('secretsmanager', 'secret:full/platform/*')] };
    expect(rights).toEqual({ ...ACCOUNT_RIGHTS, ReadPlatformSecrets: secrets });
    expect(JoinNetwork).toMatchObject({ may: expect.arrayContaining(['ec2:CreateNetworkInterface']) });
  });

  it('of another stage read other secrets than those of prod, unless the settings say so', () => {
    expect(rightsOf(full, 'CreateTp5Account').ReadPlatformSecrets).toMatchObject({
      on: [ARN('secretsmanager', 'secret:full/platform/*')],
    });
  });

  it('read the secrets of trading servers only, their own key for passwords among them', () => {
    const stage = synthesize({ stage: 'test', platformSecrets: 'platform/test/' });
    expect(rightsOf(stage, 'CreateTp5Account').ReadPlatformSecrets).toMatchObject({
      on: [ARN('secretsmanager', 'secret:platform/test/*')],
    });
    const name = plain(resources(stage, 'AWS::SecretsManager::Secret').PasswordKeySecret?.Properties.Name);
    expect(JSON.stringify(name)).toContain('platform/test/password-derivation-test-');
  });

  it('answer within the gateway’s 30 seconds', () => {
    expect(functions(template).CreateTp5Account?.Properties).toMatchObject({ Timeout: 29 });
    expect(functions(template).CreateTp4Account?.Properties).toMatchObject({ Timeout: 29 });
  });

  it('call from anywhere by default', () => {
    expect(functions(template).CreateTp5Account?.Properties.VpcConfig).toBeUndefined();
    template.resourceCountIs('AWS::EC2::VPC', 0);
  });
});

describe('Every function', () => {
  it('runs on Node 24 and arm64, is traced, logs as JSON into a log of its own that ends', () => {
    expect(Object.keys(functions(template))).toEqual([
      'RequestRegistration',
      'CreateTp5Account',
      'CreateTp4Account',
      'SettleOperations',
    ]);
    for (const { Properties } of Object.values(functions(template))) {
      expect(Properties).toMatchObject({
        Runtime: 'nodejs24.x',
        Architectures: ['arm64'],
        Handler: 'index.handler',
        TracingConfig: { Mode: 'Active' },
        LoggingConfig: { LogFormat: 'JSON', LogGroup: { Ref: expect.stringContaining('Log') } },
      });
    }
    const logs = Object.values(resources(template, 'AWS::Logs::LogGroup'));
    expect(logs).toHaveLength(5);
    for (const { Properties } of logs) expect(Properties.RetentionInDays).toBe(90);
  });

  it('is granted exactly the calls that its code makes on each table', () => {
    const calls = {
      get: 'GetItem',
      getMany: 'BatchGetItem',
      query: 'Query',
      put: 'PutItem',
      update: 'UpdateItem',
      delete: 'DeleteItem',
    };
    const granted = ['RequestRegistration', 'ConfirmRegistration', 'CreateTp5Account'].flatMap((name) =>
      Object.values(rightsOf(full, name) as Record<string, { may: string[]; on?: string[] }>),
    );
    for (const [table, files] of Object.entries({
      Crm: ['crm-table'],
      Registrations: ['registrations'],
      Limits: ['counters', 'networks'],
      Operations: ['operations', 'logins'],
      Accounts: ['accounts'],
    })) {
      const sources = files.map((file) => readFileSync(new URL(`lib/records/${file}.ts`, ROOT), 'utf8'));
      const made = [...sources.join('\n').matchAll(/\btable\s*\.(get|getMany|query|put|update|delete)\(/g)].map(
        ([, call]) => call ?? '',
      );
      const needed = [...new Set(made)].map((call) => `dynamodb:${calls[call as keyof typeof calls]}`).sort();
      const may = granted.filter(({ on }) => on?.includes(`<${table}Table.Arn>`)).flatMap((right) => right.may);
      expect([...new Set(may)].sort(), table).toEqual(needed);
    }
  });

  it('gets an environment that its configuration accepts, and reads the settings in it', () => {
    expect(registrationConfig(environmentOf(template, 'RequestRegistration'))).toMatchObject({
      stage: 'prod',
      channels: ['email'],
      pepperSecret: '<PepperSecret>',
    });
    const told = environmentOf(full, 'RequestRegistration');
    const call = told.CALL?.replace(/<ProtectConfiguration[^>]*>/, 'protect-0a1b');
    expect(registrationConfig({ ...told, CALL: call })).toMatchObject({
      stage: 'full',
      brand: EVERYTHING.brand,
      email: { senderAddress: 'no-reply@acme.example', configurationSet: '<MailConfigurationSet>' },
      channels: EVERYTHING.channels,
      limits: { resendSeconds: [30, 60], recipientPerHour: 3 },
      sms: { senderId: 'ACME', maxPrice: '0.25', originationNumber: '+15550100123', webOtpDomain: 'www.acme.example' },
      call: { originationIdentity: 'phone-0a1b', configurationSet: 'calls', maxPricePerMinute: '0.30' },
      whatsapp: { phoneNumberId: 'phone-number-id-0a1b', codeTemplate: 'code', noticeTemplate: 'notice' },
      documentsBucket: '<DocumentsBucket>',
      confirmation: true,
    });
    for (const name of ['CreateTp5Account', 'CreateTp4Account']) {
      expect(accountConfig(environmentOf(full, name))).toMatchObject({
        crmTable: '<CrmTable>',
        accountsTable: '<AccountsTable>',
        passwordSecret: '<PasswordKeySecret>',
        notificationsTopicArn: '<ClientNotificationsTopic>',
      });
    }
  });

  it('runs as often at once as the settings say, else as the account has room', () => {
    expect(functions(template).RequestRegistration?.Properties.ReservedConcurrentExecutions).toBeUndefined();
    expect(functions(full).RequestRegistration?.Properties.ReservedConcurrentExecutions).toBe(50);
    expect(functions(full).CreateTp4Account?.Properties.ReservedConcurrentExecutions).toBe(20);
  });
});
