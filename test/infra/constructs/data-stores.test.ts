import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { all, EVERYTHING, resources, synthesize } from '../../support/stack.ts';

const template = synthesize();
const full = synthesize(EVERYTHING);

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

describe('What is kept', () => {
  const tables = (of: Template) => resources(of, 'AWS::DynamoDB::Table');

  it('is in on-demand tables, encrypted, restorable, and outlives the stack except after a failed first deployment', () => {
    expect(Object.keys(tables(template))).toHaveLength(6);
    for (const [name, table] of Object.entries(tables(template))) {
      expect(table, name).toMatchObject({
        DeletionPolicy: 'RetainExceptOnCreate',
        UpdateReplacePolicy: 'Retain',
        Properties: {
          BillingMode: 'PAY_PER_REQUEST',
          SSESpecification: { SSEEnabled: true },
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        },
      });
    }
  });

  it('of operations lists only unfinished ones, oldest first', () => {
    expect(tables(template).OperationsTable?.Properties.GlobalSecondaryIndexes).toEqual([
      {
        IndexName: 'due',
        KeySchema: [
          { AttributeName: 'due_shard', KeyType: 'HASH' },
          { AttributeName: 'due_at', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'KEYS_ONLY' },
      },
    ]);
  });

  it('expires if it must, and can be restored for 35 days, except counters', () => {
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
      LoginsTable: [undefined, 35],
      OperationsTable: ['expires_at', 35],
      RegistrationsTable: ['expires_at', 35],
      LimitsTable: ['expires_at', 1],
    });
  });

  it('of documents is private, encrypted, sent over TLS only, and gone within two days', () => {
    template.hasResource('AWS::S3::Bucket', {
      DeletionPolicy: 'RetainExceptOnCreate',
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

  it('of documents is kept with a registration that is confirmed, and gone within two days else', () => {
    const [bucket] = Object.values(resources(synthesize({ confirmation: true, confirmedDays: 60 }), 'AWS::S3::Bucket'));
    expect(bucket?.Properties.LifecycleConfiguration).toMatchObject({
      Rules: [
        { ExpirationInDays: 1, TagFilters: [{ Key: 'registration', Value: 'pending' }] },
        { ExpirationInDays: 61, AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 } },
      ],
    });
  });

  it('as a secret is generated, in the form that the functions read', () => {
    expect(resources(template, 'AWS::SecretsManager::Secret')).toMatchObject({
      PepperSecret: {
        DeletionPolicy: 'RetainExceptOnCreate',
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
        DeletionPolicy: 'RetainExceptOnCreate',
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
      LoginsTable: 'AWS::DynamoDB::Table',
      MailConfigurationSet: 'AWS::SES::ConfigurationSet',
      MailIdentity: 'AWS::SES::EmailIdentity',
      NoticeTopic: 'AWS::SNS::Topic',
      OperationsTable: 'AWS::DynamoDB::Table',
      PasswordKeySecret: 'AWS::SecretsManager::Secret',
      PepperSecret: 'AWS::SecretsManager::Secret',
      PublicApi: 'AWS::ApiGatewayV2::Api',
      RegistrationsTable: 'AWS::DynamoDB::Table',
    });
  });
});
