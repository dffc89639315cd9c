import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { Template } from 'aws-cdk-lib/assertions';
import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import { beforeAll, describe, expect, it } from 'vitest';
import { ENTRY_FILE } from '../../../infra/bundle.ts';
import { ServiceFunction } from '../../../infra/constructs/service-function.ts';
import { legalFileOf } from '../../../infra/settings.ts';
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

describe('The registration function', () => {
  it('may send texts to numbers, and publish on no topic', () => {
    expect(rightsOf(template, 'RequestRegistration')).not.toHaveProperty('SendTexts');
    expect(rightsOf(full, 'RequestRegistration').SendTexts).toEqual({
      may: ['sns:Publish'],
      notOn: ['arn:<AWS::Partition>:sns:*:*:*'],
    });
  });

  it('may call from a pool, or from an ARN', () => {
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

  it('may read the signing keys of a provider of the broker, and not send its messages by AWS', () => {
    const toProvider = (urls: Record<string, string>) =>
      rightsOf(synthesize({ ...EVERYTHING, provider: urls }), 'RequestRegistration');
    const url = 'https://messages.acme.example/send';
    const all = toProvider({ sms: url, call: url, whatsapp: url });
    expect(all.ReadProviderKeys).toMatchObject({ on: [ARN('secretsmanager', 'secret:full/provider-??????')] });
    for (const right of ['SendTexts', 'SendCalls', 'SendWhatsApp']) expect(all).not.toHaveProperty(right);
    expect(toProvider({ call: url })).toMatchObject({ SendTexts: {}, SendWhatsApp: {} });
    expect(rightsOf(synthesize(EVERYTHING), 'RequestRegistration')).not.toHaveProperty('ReadProviderKeys');
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
  it('may join their network if they have one', () => {
    expect(rightsOf(template, 'CreateTp5Account')).not.toHaveProperty('JoinNetwork');
    expect(rightsOf(full, 'CreateTp5Account').JoinNetwork).toMatchObject({
      may: expect.arrayContaining(['ec2:CreateNetworkInterface']),
    });
  });

  it('of another stage read other secrets than those of prod, unless the settings say so', () => {
    expect(rightsOf(full, 'CreateTp5Account').ReadPlatformSecrets).toMatchObject({
      on: [ARN('secretsmanager', 'secret:full/platform/*')],
    });
  });

  it('read the secrets of trading servers alone, with their own key for passwords', () => {
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

  it('gets an environment that its configuration accepts, and reads the settings in it', () => {
    expect(registrationConfig(environmentOf(template, 'RequestRegistration'))).toMatchObject({
      stage: 'prod',
      channels: ['email'],
      pepperSecret: '<PepperSecret>',
    });
    // The stack puts the legal texts next to the code.
    const folder = mkdtempSync(join(tmpdir(), 'functions-'));
    const legal = legalFileOf(EVERYTHING.brand);
    writeFileSync(join(folder, legal?.name ?? ''), legal?.content ?? '');
    const variables = (name: string): NodeJS.ProcessEnv => ({ ...environmentOf(full, name), LAMBDA_TASK_ROOT: folder });
    expect(variables('RequestRegistration').BRAND).not.toContain(EVERYTHING.brand.legal);
    expect(registrationConfig(variables('RequestRegistration'))).toMatchObject({
      stage: 'full',
      brand: EVERYTHING.brand,
      email: { senderAddress: 'no-reply@acme.example', configurationSet: '<MailConfigurationSet>' },
      channels: EVERYTHING.channels,
      limits: { resendSeconds: [30, 60], recipientPerHour: 3 },
      sms: { senderId: 'ACME', maxPrice: '0.25', originationNumber: '+15550100123', webOtpDomain: 'www.acme.example' },
      call: { originationIdentity: 'phone-0a1b' },
      protectConfiguration: '<ProtectConfiguration.ProtectConfigurationId>',
      whatsapp: { phoneNumberId: 'phone-number-id-0a1b', codeTemplate: 'code', noticeTemplate: 'notice' },
      documentsBucket: '<DocumentsBucket>',
      confirmation: true,
    });
    for (const name of ['CreateTp5Account', 'CreateTp4Account']) {
      expect(accountConfig(variables(name))).toMatchObject({
        crmTable: '<CrmTable>',
        accountsTable: '<AccountsTable>',
        passwordSecret: '<PasswordKeySecret>',
        notificationsTopicArn: '<ClientNotificationsTopic>',
      });
    }
  });

  it('is deployed with the files next to its code', () => {
    const outdir = mkdtempSync(join(tmpdir(), 'functions-'));
    const app = new App({ outdir, analyticsReporting: false, builtinCloudFormationValidation: false });
    new ServiceFunction(new Stack(app, 'stack'), 'Function', {
      ...{ name: 'settle-operations', description: '', environment: {}, memory: 128, timeoutSeconds: 10, rights: [] },
      ...{ logRetention: RetentionDays.ONE_DAY, removalPolicy: RemovalPolicy.DESTROY },
      files: { 'legal-1.json': '"Acme Ltd"' },
    });
    const { directory } = app.synth();
    const [asset = ''] = readdirSync(directory).filter((name) => name.startsWith('asset.'));
    expect(readdirSync(join(directory, asset))).toEqual(expect.arrayContaining([ENTRY_FILE, 'legal-1.json']));
  });

  it('runs as often at once as the settings say, else as the account has room', () => {
    expect(functions(template).RequestRegistration?.Properties.ReservedConcurrentExecutions).toBeUndefined();
    expect(functions(full).RequestRegistration?.Properties.ReservedConcurrentExecutions).toBe(50);
    expect(functions(full).CreateTp4Account?.Properties.ReservedConcurrentExecutions).toBe(20);
  });
});
