import { readFileSync } from 'node:fs';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { accountConfig, registrationConfig } from '../../lib/config.ts';
import { type CfnResource, EVERYTHING, plain, resources, synthesize } from '../support/stack.ts';

let template: Template;
let full: Template;

beforeAll(() => {
  template = synthesize();
  full = synthesize(EVERYTHING);
});

const ROOT = new URL('../..', import.meta.url);
const STATEFUL = [
  'AWS::ApiGatewayV2::Api',
  'AWS::DynamoDB::Table',
  'AWS::EC2::EIP',
  'AWS::S3::Bucket',
  'AWS::SES::ConfigurationSet',
  'AWS::SES::EmailIdentity',
  'AWS::SNS::Topic',
  'AWS::SecretsManager::Secret',
];

/** Every resource of a template, by logical id. */
function all(of: Template): Record<string, CfnResource> {
  return of.toJSON().Resources as Record<string, CfnResource>;
}

/** The functions by the name of their construct. */
function functions(of: Template): Record<string, CfnResource> {
  const named = Object.entries(resources(of, 'AWS::Lambda::Function')).map(([id, one]) => [
    id.replace(/Function\w+$/, ''),
    one,
  ]);
  return Object.fromEntries(named) as Record<string, CfnResource>;
}

function environmentOf(of: Template, name: string): Record<string, string> {
  const environment = functions(of)[name]?.Properties.Environment as { Variables: unknown } | undefined;
  return plain(environment?.Variables) as Record<string, string>;
}

interface Statement {
  Sid?: string;
  Effect: string;
  Action: string | string[];
  Resource?: string | string[];
  NotResource?: string | string[];
  Condition?: unknown;
}

/** What the role of a function allows: by statement, which actions on what. */
function rightsOf(of: Template, name: string): Record<string, unknown> {
  const policies = Object.entries(resources(of, 'AWS::IAM::Policy')).filter(([id]) => id.startsWith(`${name}Role`));
  const statements = policies.flatMap(
    ([, policy]) => (plain(policy.Properties.PolicyDocument) as { Statement: Statement[] }).Statement,
  );
  return Object.fromEntries(
    statements.map(({ Sid = 'Trace', Effect, Action, Resource, NotResource, Condition }) => [
      Sid,
      {
        [Effect === 'Allow' ? 'may' : Effect]: [Action].flat(),
        ...(Resource === undefined ? {} : { on: [Resource].flat() }),
        ...(NotResource === undefined ? {} : { notOn: [NotResource].flat() }),
        ...(Condition === undefined ? {} : { if: Condition }),
      },
    ]),
  );
}

const ARN = (service: string, rest: string) => `arn:<AWS::Partition>:${service}:<AWS::Region>:<AWS::AccountId>:${rest}`;
const SEND_MAIL = {
  may: ['ses:SendEmail'],
  on: [ARN('ses', 'configuration-set/<MailConfigurationSet>'), ARN('ses', 'identity/acme.example')],
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
    may: ['dynamodb:DeleteItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
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
  RecordAccounts: { may: ['dynamodb:PutItem'], on: ['<AccountsTable.Arn>'] },
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
        on: [ARN('sms-voice', 'configuration-set/calls'), ARN('sms-voice', 'phone-number/phone-0a1b')],
      },
      SendWhatsApp: {
        may: ['social-messaging:SendWhatsAppMessage'],
        on: [ARN('social-messaging', 'phone-number-id/0a1b')],
      },
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
    expect(callsFrom('pool-0a1b')).toMatchObject({ on: [ARN('sms-voice', 'pool/pool-0a1b')] });
    const arn = 'arn:aws:sms-voice:eu-west-1:123456789012:phone-number/phone-0a1b';
    expect(callsFrom(arn)).toMatchObject({ on: [arn] });
  });

  it('has a whole processor, for the hash of a password', () => {
    expect(functions(template).RequestRegistration?.Properties).toMatchObject({ MemorySize: 1769, Timeout: 20 });
  });
});

describe('The account functions', () => {
  it.each(['CreateTp5Account', 'CreateTp4Account'])('may do this and nothing else: %s', (name) => {
    expect(rightsOf(template, name)).toEqual(ACCOUNT_RIGHTS);
  });

  it('may do the same whatever channels are installed, but for joining their network', () => {
    const { JoinNetwork, ...rights } = rightsOf(full, 'CreateTp5Account');
    expect(rights).toEqual(ACCOUNT_RIGHTS);
    expect(JoinNetwork).toMatchObject({ may: expect.arrayContaining(['ec2:CreateNetworkInterface']) });
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
    expect(Object.keys(functions(template))).toEqual(['RequestRegistration', 'CreateTp5Account', 'CreateTp4Account']);
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
    expect(logs).toHaveLength(4);
    for (const { Properties } of logs) expect(Properties.RetentionInDays).toBe(90);
  });

  it('is granted exactly the calls that its code makes on each table', () => {
    const calls = {
      get: 'GetItem',
      getMany: 'BatchGetItem',
      put: 'PutItem',
      update: 'UpdateItem',
      delete: 'DeleteItem',
    };
    const granted: Record<string, unknown> = {
      ...rightsOf(template, 'RequestRegistration'),
      ...rightsOf(template, 'CreateTp5Account'),
    };
    for (const [right, file] of Object.entries({
      ReadCrm: 'lib/records/directory.ts',
      KeepRegistrations: 'lib/records/registrations.ts',
      CountSends: 'lib/records/send-limits.ts',
      KeepOperations: 'lib/records/operations.ts',
      RecordAccounts: 'lib/records/accounts.ts',
    })) {
      const source = readFileSync(new URL(file, ROOT), 'utf8');
      const made = [...source.matchAll(/\btable\s*\.(get|getMany|put|update|delete)\(/g)].map(([, call]) => call ?? '');
      const needed = [...new Set(made)].map((call) => `dynamodb:${calls[call as keyof typeof calls]}`).sort();
      expect(granted[right], file).toMatchObject({ may: needed });
    }
  });

  it('gets an environment that its configuration accepts, and reads the settings in it', () => {
    expect(registrationConfig(environmentOf(template, 'RequestRegistration'))).toMatchObject({
      stage: 'prod',
      channels: ['email'],
      pepperSecret: '<PepperSecret>',
    });
    expect(registrationConfig(environmentOf(full, 'RequestRegistration'))).toMatchObject({
      stage: 'full',
      brand: EVERYTHING.brand,
      email: { senderAddress: 'no-reply@acme.example', configurationSet: '<MailConfigurationSet>' },
      channels: EVERYTHING.channels,
      limits: { resendSeconds: [30, 60], recipientPerHour: 3 },
      sms: { senderId: 'ACME', maxPrice: '0.25', originationNumber: '+15550100123', webOtpDomain: 'www.acme.example' },
      call: { originationIdentity: 'phone-0a1b', configurationSet: 'calls', maxPricePerMinute: '0.30' },
      whatsapp: { phoneNumberId: 'phone-number-id-0a1b', codeTemplate: 'code', noticeTemplate: 'notice' },
      documentsBucket: '<DocumentsBucket>',
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

describe('The API', () => {
  const routes = (of: Template) =>
    Object.values(resources(of, 'AWS::ApiGatewayV2::Route'))
      .map(({ Properties }) => [Properties.RouteKey, Properties.AuthorizationType, Properties.AuthorizationScopes])
      .sort();

  it('has exactly the three routes, of which the account routes need IAM', () => {
    expect(routes(template)).toEqual([
      ['POST /public/v1/account/register/request', 'NONE', undefined],
      ['POST /public/v1/users/{user_id}/tp4/accounts', 'AWS_IAM', undefined],
      ['POST /public/v1/users/{user_id}/tp5/accounts', 'AWS_IAM', undefined],
    ]);
  });

  it('brings the policy that lets callers in', () => {
    template.hasOutput('OpenAccountsPolicy', Match.anyValue());
    const [policy] = Object.values(resources(template, 'AWS::IAM::ManagedPolicy'));
    expect(plain(policy?.Properties.PolicyDocument)).toMatchObject({
      Statement: [
        {
          Action: 'execute-api:Invoke',
          Resource: [
            ARN('execute-api', '<PublicApi>/$default/POST/public/v1/users/*/tp4/accounts'),
            ARN('execute-api', '<PublicApi>/$default/POST/public/v1/users/*/tp5/accounts'),
          ],
        },
      ],
    });
  });

  it('needs a token with the scope accounts:create where an issuer is named', () => {
    const withTokens = synthesize({ jwtIssuer: 'https://login.acme.example/', jwtAudience: 'accounts' });
    expect(routes(withTokens)).toEqual([
      ['POST /public/v1/account/register/request', 'NONE', undefined],
      ['POST /public/v1/users/{user_id}/tp4/accounts', 'JWT', ['accounts:create']],
      ['POST /public/v1/users/{user_id}/tp5/accounts', 'JWT', ['accounts:create']],
    ]);
    withTokens.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
      JwtConfiguration: { Issuer: 'https://login.acme.example/', Audience: ['accounts'] },
      IdentitySource: ['$request.header.Authorization'],
    });
    withTokens.resourceCountIs('AWS::IAM::ManagedPolicy', 0);
  });

  it('answers no browser from elsewhere, unless its origin is named', () => {
    const cors = (of: Template) => resources(of, 'AWS::ApiGatewayV2::Api').PublicApi?.Properties.CorsConfiguration;
    expect(cors(template)).toBeUndefined();
    expect(cors(full)).toEqual({
      AllowOrigins: EVERYTHING.allowedOrigins,
      AllowMethods: ['POST'],
      AllowHeaders: ['content-type', 'authorization', 'idempotency-key'],
      ExposeHeaders: ['x-request-id', 'retry-after', 'idempotent-replayed'],
      MaxAge: 3600,
    });
  });

  it('is throttled, registration by itself', () => {
    const throttled = synthesize({
      throttle: { registrationPerSecond: 2.5, registrationBurst: 5, accountsPerSecond: 7, accountsBurst: 9 },
    });
    throttled.hasResourceProperties('AWS::ApiGatewayV2::Stage', {
      StageName: '$default',
      AutoDeploy: true,
      DefaultRouteSettings: { ThrottlingRateLimit: 7, ThrottlingBurstLimit: 9 },
      RouteSettings: {
        'POST /public/v1/account/register/request': { ThrottlingRateLimit: 2.5, ThrottlingBurstLimit: 5 },
      },
    });
  });

  it('logs each access as JSON, with nothing of the person: no address, no path, no header, no body', () => {
    const [stage] = Object.values(resources(template, 'AWS::ApiGatewayV2::Stage'));
    const settings = stage?.Properties.AccessLogSettings as { Format: string } | undefined;
    expect(Object.values(JSON.parse(settings?.Format ?? '{}') as Record<string, string>).sort()).toEqual([
      '$context.authorizer.error',
      '$context.error.responseType',
      '$context.integration.error',
      '$context.integration.requestId',
      '$context.integrationLatency',
      '$context.requestId',
      '$context.requestTime',
      '$context.responseLatency',
      '$context.routeKey',
      '$context.status',
    ]);
  });

  it('is reached by its own domain only, where it has one, over TLS 1.2 at least', () => {
    full.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: true });
    full.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
      DomainName: 'api.acme.example',
      DomainNameConfigurations: [Match.objectLike({ SecurityPolicy: 'TLS_1_2' })],
    });
    full.hasOutput('ApiUrl', { Value: 'https://api.acme.example' });
    template.resourceCountIs('AWS::ApiGatewayV2::DomainName', 0);
  });
});

describe('What is kept', () => {
  const tables = (of: Template) => resources(of, 'AWS::DynamoDB::Table');

  it('stands in tables on demand, encrypted, restorable, safe from deletion', () => {
    expect(Object.keys(tables(template))).toHaveLength(5);
    for (const [name, table] of Object.entries(tables(template))) {
      expect(table, name).toMatchObject({
        DeletionPolicy: 'Retain',
        UpdateReplacePolicy: 'Retain',
        Properties: {
          BillingMode: 'PAY_PER_REQUEST',
          DeletionProtectionEnabled: true,
          SSESpecification: { SSEEnabled: true },
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        },
      });
    }
  });

  it('disappears by itself where it is to, and from the backups a day later', () => {
    const lasting = Object.fromEntries(
      Object.entries(tables(template)).map(([name, { Properties }]) => [
        name,
        [
          (Properties.TimeToLiveSpecification as { AttributeName: string } | undefined)?.AttributeName,
          (Properties.PointInTimeRecoverySpecification as { RecoveryPeriodInDays: number }).RecoveryPeriodInDays,
        ],
      ]),
    );
    expect(lasting).toEqual({
      CrmTable: [undefined, 35],
      AccountsTable: [undefined, 35],
      OperationsTable: ['expires_at', 1],
      RegistrationsTable: ['expires_at', 1],
      LimitsTable: ['expires_at', 1],
    });
  });

  it('of documents is private, encrypted, sent over TLS only, and gone within two days', () => {
    template.hasResource('AWS::S3::Bucket', {
      DeletionPolicy: 'Retain',
      Properties: {
        PublicAccessBlockConfiguration: {
          BlockPublicAcls: true,
          BlockPublicPolicy: true,
          IgnorePublicAcls: true,
          RestrictPublicBuckets: true,
        },
        BucketEncryption: {
          ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
        },
        OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
        LifecycleConfiguration: { Rules: [Match.objectLike({ ExpirationInDays: 1, Status: 'Enabled' })] },
        VersioningConfiguration: Match.absent(),
      },
    });
    template.hasResourceProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
        ]),
      },
    });
  });

  it('as a secret is generated, in the form that the functions read', () => {
    expect(resources(template, 'AWS::SecretsManager::Secret')).toMatchObject({
      PepperSecret: {
        DeletionPolicy: 'Retain',
        Properties: {
          GenerateSecretString: {
            SecretStringTemplate: '{"current":"1"}',
            GenerateStringKey: '1',
            PasswordLength: 64,
            ExcludePunctuation: true,
          },
        },
      },
      PasswordKeySecret: {
        DeletionPolicy: 'Retain',
        Properties: {
          GenerateSecretString: { SecretStringTemplate: '{}', GenerateStringKey: 'key', PasswordLength: 64 },
        },
      },
    });
  });

  it('goes with a stage that may vanish', () => {
    const passing = synthesize({ retainData: false });
    for (const [name, one] of Object.entries(all(passing))) {
      if (!STATEFUL.includes(one.Type)) continue;
      expect(one.DeletionPolicy ?? 'Delete', name).toBe('Delete');
      expect(one.Properties.DeletionProtectionEnabled ?? false, name).toBe(false);
    }
  });

  it('keeps its logical ids: another id would be another, empty resource', () => {
    const ids = Object.entries(all(full)).filter(([, { Type }]) => STATEFUL.includes(Type));
    expect(Object.fromEntries(ids.map(([id, { Type }]) => [id, Type]))).toEqual({
      AccountsTable: 'AWS::DynamoDB::Table',
      AlarmTopic: 'AWS::SNS::Topic',
      ClientNotificationsTopic: 'AWS::SNS::Topic',
      CrmTable: 'AWS::DynamoDB::Table',
      DocumentsBucket: 'AWS::S3::Bucket',
      EgressAddress: 'AWS::EC2::EIP',
      LimitsTable: 'AWS::DynamoDB::Table',
      MailConfigurationSet: 'AWS::SES::ConfigurationSet',
      MailIdentity: 'AWS::SES::EmailIdentity',
      OperationsTable: 'AWS::DynamoDB::Table',
      PasswordKeySecret: 'AWS::SecretsManager::Secret',
      PepperSecret: 'AWS::SecretsManager::Secret',
      PublicApi: 'AWS::ApiGatewayV2::Api',
      RegistrationsTable: 'AWS::DynamoDB::Table',
    });
  });
});

describe('What is sent', () => {
  it('by mail comes from the sender’s domain, never in clear, and bounces and complaints are counted', () => {
    template.hasResourceProperties('AWS::SES::EmailIdentity', { EmailIdentity: 'acme.example' });
    template.hasResourceProperties('AWS::SES::ConfigurationSet', {
      DeliveryOptions: { TlsPolicy: 'REQUIRE' },
      ReputationOptions: { ReputationMetricsEnabled: true },
      SuppressionOptions: { SuppressedReasons: ['BOUNCE', 'COMPLAINT'] },
    });
    template.hasResourceProperties('AWS::SES::ConfigurationSetEventDestination', {
      EventDestination: {
        MatchingEventTypes: Match.arrayWith(['bounce', 'complaint', 'reject']),
        CloudWatchDestination: Match.anyValue(),
        SnsDestination: Match.absent(),
      },
    });
    for (const number of [1, 2, 3]) template.hasOutput(`MailDnsRecord${number}`, Match.anyValue());
  });

  it.each([
    ['address', 'identity/no-reply@acme.example', 1],
    ['existing-address', 'identity/no-reply@acme.example', 0],
    ['existing-domain', 'identity/acme.example', 0],
  ])('can come from an identity of another kind: %s', (senderIdentity, resource, made) => {
    const other = synthesize({ senderIdentity });
    other.resourceCountIs('AWS::SES::EmailIdentity', made);
    for (const name of ['RequestRegistration', 'CreateTp5Account']) {
      expect(rightsOf(other, name).SendMail).toMatchObject({
        on: [ARN('ses', 'configuration-set/<MailConfigurationSet>'), ARN('ses', resource)],
      });
    }
  });

  it('to clients goes over one encrypted topic', () => {
    const topic = resources(template, 'AWS::SNS::Topic').ClientNotificationsTopic;
    expect(plain(topic?.Properties.KmsMasterKeyId)).toBe(ARN('kms', 'alias/aws/sns'));
  });

  it('to topics is sent over TLS only', () => {
    const policies = Object.values(resources(template, 'AWS::SNS::TopicPolicy')).map(({ Properties }) =>
      plain(Properties),
    );
    for (const topic of ['<ClientNotificationsTopic>', '<AlarmTopic>']) {
      expect(policies).toContainEqual(
        expect.objectContaining({
          Topics: [topic],
          PolicyDocument: expect.objectContaining({
            Statement: expect.arrayContaining([
              expect.objectContaining({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
            ]),
          }),
        }),
      );
    }
  });
});

describe('Fixed egress', () => {
  it('leads every call of the account functions through one address, which is told and outlives the network', () => {
    full.resourceCountIs('AWS::EC2::NatGateway', 1);
    const [nat] = Object.values(resources(full, 'AWS::EC2::NatGateway'));
    expect(plain(nat?.Properties.AllocationId)).toBe('<EgressAddress.AllocationId>');
    full.hasResource('AWS::EC2::EIP', { DeletionPolicy: 'Retain' });
    expect(plain(full.findOutputs('EgressIpAddress').EgressIpAddress?.Value)).toBe('<EgressAddress.PublicIp>');
    for (const name of ['CreateTp5Account', 'CreateTp4Account']) {
      const { SubnetIds } = plain(functions(full)[name]?.Properties.VpcConfig) as { SubnetIds: string[] };
      expect(SubnetIds).toHaveLength(2);
      for (const id of SubnetIds) expect(id).toContain('PrivateSubnet');
    }
  });

  it('leaves registration where it was, and the database off the NAT', () => {
    expect(functions(full).RequestRegistration?.Properties.VpcConfig).toBeUndefined();
    const [endpoint] = Object.values(resources(full, 'AWS::EC2::VPCEndpoint'));
    expect(plain(endpoint?.Properties)).toMatchObject({
      VpcEndpointType: 'Gateway',
      ServiceName: 'com.amazonaws.<AWS::Region>.dynamodb',
    });
  });

  it('lets nobody in', () => {
    full.resourceCountIs('AWS::EC2::SecurityGroupIngress', 0);
    const [group] = Object.values(resources(full, 'AWS::EC2::SecurityGroup'));
    expect(group?.Properties.SecurityGroupIngress).toBeUndefined();
  });

  it('takes the network that is asked for', () => {
    const joined = synthesize({ vpc: true, vpcCidr: '172.20.8.0/22' });
    joined.hasResourceProperties('AWS::EC2::VPC', { CidrBlock: '172.20.8.0/22' });
  });
});

describe('Alarms', () => {
  interface AlarmProperties {
    AlarmName: string;
    AlarmDescription: string;
    AlarmActions: unknown[];
    OKActions: unknown[];
    TreatMissingData: string;
    MetricName: string;
    Dimensions?: { Name: string; Value: unknown }[];
    Threshold: number;
  }
  const alarms = (of: Template) =>
    Object.values(resources(of, 'AWS::CloudWatch::Alarm')).map(
      ({ Properties }) => Properties as unknown as AlarmProperties,
    );
  const names = (of: Template) =>
    alarms(of)
      .map(({ AlarmName }) => AlarmName.replace('broker-api-test-', ''))
      .sort();

  it('are raised for every way in which people are hurt', () => {
    const ofFunctions = ['Crashes', 'InternalErrors', 'NearDeadline', 'NotSettled', 'Throttles'].flatMap((kind) =>
      ['create-tp4-account', 'create-tp5-account', 'request-registration'].map((name) => `${kind}-${name}`),
    );
    const ofAccounts = [
      'AccountNotRecorded',
      'AccountOutcomeUnknown',
      'DepositFailed',
      'NoticeFailed',
      'PlatformRefused',
      'PlatformUnavailable',
    ].flatMap((kind) => [`${kind}-tp4`, `${kind}-tp5`]);
    const others = [
      'CodesInDoubt',
      'CodesNotSent-email',
      'Flood',
      'LimitsUnchecked',
      'MailsBounce',
      'MailsComplainedOf',
    ];
    expect(names(template)).toEqual([...ofFunctions, ...ofAccounts, ...others, 'ServerErrors'].sort());
  });

  it('are raised for the channels that are installed, and for what they cost', () => {
    const more = names(full).filter((name) => !names(template).includes(name));
    expect(more).toEqual([
      'CodesNotSent-call',
      'CodesNotSent-sms',
      'CodesNotSent-whatsapp',
      'Spend-call',
      'Spend-sms',
      'Spend-whatsapp',
    ]);
  });

  it('say who is hurt and where to read on, and are told on one topic, also when they end', () => {
    for (const alarm of alarms(full)) {
      expect(alarm.AlarmDescription).toMatch(/^[A-Z].{20,}\. What to do: infra\/README\.md, Alarms, \w+\.$/);
      expect(alarm.AlarmName).toContain(/README\.md, Alarms, (\w+)/.exec(alarm.AlarmDescription)?.[1]);
      expect(plain(alarm.AlarmActions)).toEqual(['<AlarmTopic>']);
      expect(plain(alarm.OKActions)).toEqual(['<AlarmTopic>']);
      expect(alarm.TreatMissingData).toBe('notBreaching');
    }
    full.hasResourceProperties('AWS::SNS::Subscription', { Protocol: 'email', Endpoint: 'oncall@acme.example' });
    template.resourceCountIs('AWS::SNS::Subscription', 0);
  });

  it('can be told by CloudWatch, of this account only', () => {
    const policies = Object.values(resources(template, 'AWS::SNS::TopicPolicy')).map(({ Properties }) =>
      plain(Properties),
    );
    expect(JSON.stringify(policies)).toContain(
      '"Condition":{"StringEquals":{"aws:SourceAccount":"<AWS::AccountId>"}},"Effect":"Allow","Principal":{"Service":"cloudwatch.amazonaws.com"},"Resource":"<AlarmTopic>"',
    );
  });

  it('count events that the functions know, by dimensions that they write', () => {
    const known = readFileSync(new URL('lib/telemetry.ts', ROOT), 'utf8');
    for (const [, { Properties }] of Object.entries(resources(full, 'AWS::CloudWatch::Alarm'))) {
      if (Properties.Namespace !== 'BrokerApi') continue;
      const { MetricName, Dimensions = [] } = Properties as unknown as AlarmProperties;
      expect(known).toMatch(new RegExp(`^  ${MetricName}: '`, 'm'));
      const dimensions = Object.fromEntries(Dimensions.map(({ Name, Value }) => [Name, Value]));
      expect(dimensions).toMatchObject({ stage: 'full' });
      expect(Object.keys(dimensions).filter((name) => !['service', 'stage', 'channel'].includes(name))).toEqual([]);
    }
  });

  it('come well before the end of a function’s time', () => {
    const near = alarms(template).filter(({ AlarmName }) => AlarmName.includes('NearDeadline'));
    expect(near.map(({ Threshold }) => Threshold).sort()).toEqual([16_000, 23_200, 23_200]);
  });
});

describe('The whole stack', () => {
  it('tells operators what they need', () => {
    expect(Object.keys(template.findOutputs('*')).sort()).toEqual([
      'AlarmTopicArn',
      'ApiUrl',
      'CrmTableName',
      'MailDnsRecord1',
      'MailDnsRecord2',
      'MailDnsRecord3',
      'NotificationsTopicArn',
      'OpenAccountsPolicy',
      'PepperSecretArn',
    ]);
  });

  it('has one page that shows it', () => {
    template.resourceCountIs('AWS::CloudWatch::Dashboard', 1);
  });

  it('asks for no parameter, and looks nothing up in an account', () => {
    for (const one of [template, full]) {
      expect(Object.keys(one.toJSON().Parameters ?? {})).toEqual(['BootstrapVersion']);
    }
  });

  it('keeps every logical id and its type: another id is another resource, and the old one is deleted', () => {
    const { Resources } = template.toJSON() as { Resources: Record<string, CfnResource> };
    // A permission stands in for its route, a version for its code: neither holds anything.
    const kept = Object.entries(Resources).filter(([, { Type }]) => Type !== 'AWS::Lambda::Permission');
    expect(Object.fromEntries(kept.map(([id, { Type }]) => [id, Type]))).toMatchSnapshot();
  });
});
