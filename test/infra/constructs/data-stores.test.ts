import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import type { Statement } from '../../../infra/local/rights/policy.ts';
import { allResources, plainValue, propertiesOf, resourcesOfType, synthesize } from '../../support/stack.ts';

const template = synthesize();

const CRM_ROLE = 'arn:aws:iam::123456789012:role/crm-reader';
const CONFIRMED = {
  confirmation: true,
  crmWebhook: 'https://crm.acme.example/events',
  scanDocuments: true,
  documentRoles: CRM_ROLE,
};
const USERS = ['RequestRegistrationOwnRole', 'RequestRegistrationRole', 'ConfirmRegistrationRole', 'NotifyCrmRole'];

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

describe('The stored data', () => {
  const tables = (of: Template) => resourcesOfType(of, 'AWS::DynamoDB::Table');

  it('is in on-demand tables, encrypted, restorable, and outlives the stack except after a failed first deployment', () => {
    expect(Object.keys(tables(template))).toHaveLength(6);
    for (const [name, table] of Object.entries(tables(template))) {
      expect(table, name).toMatchObject({
        DeletionPolicy: 'RetainExceptOnCreate',
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

  it('of operations have an index of the unfinished ones, oldest first', () => {
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

  it('of logins are found by the operation that reserved a login', () => {
    expect(tables(template).LoginsTable?.Properties.GlobalSecondaryIndexes).toMatchObject([
      { IndexName: 'operation_id', KeySchema: [{ AttributeName: 'operation_id' }, { AttributeName: 'pk' }] },
    ]);
  });

  it('of registrations have an index of the confirmed ones, for the CRM', () => {
    const confirmed = {
      IndexName: 'confirmed_id',
      KeySchema: [{ AttributeName: 'confirmed_id', KeyType: 'HASH' }],
      Projection: { ProjectionType: 'ALL' },
    };
    const indexes = tables(template).RegistrationsTable?.Properties.GlobalSecondaryIndexes;
    expect(indexes).toEqual([expect.objectContaining({ IndexName: 'due' }), confirmed]);
  });

  it('of clients are found by proven addresses only', () => {
    const indexes = ['proven_email', 'proven_phone', 'referral_code', 'kind'];
    expect(tables(template).CrmTable?.Properties.GlobalSecondaryIndexes).toEqual(
      indexes.map((IndexName) => ({
        IndexName,
        KeySchema: [
          { AttributeName: IndexName, KeyType: 'HASH' },
          { AttributeName: 'pk', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'KEYS_ONLY' },
      })),
    );
  });

  it('expire if they must, and can be restored for 35 days, except counters', () => {
    const lasting = Object.entries(tables(template)).map(([name, { Properties }]) => {
      const expiry = Properties.TimeToLiveSpecification as { AttributeName: string } | undefined;
      const recovery = Properties.PointInTimeRecoverySpecification as { RecoveryPeriodInDays: number };
      return [name, expiry?.AttributeName, recovery.RecoveryPeriodInDays];
    });
    expect(lasting).toEqual([
      ['CrmTable', undefined, 35],
      ['AccountsTable', undefined, 35],
      ['LoginsTable', undefined, 35],
      ['OperationsTable', 'expires_at', 35],
      ['RegistrationsTable', 'expires_at', 35],
      ['LimitsTable', 'expires_at', 1],
    ]);
  });

  it('of documents is private, encrypted, and sent over TLS only', () => {
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

  it.each([
    ['are not scanned', {}, ['RequestRegistrationOwnRole', 'RequestRegistrationRole']],
    ['are confirmed, posted and scanned', CONFIRMED, [...USERS, 'ScanRole', CRM_ROLE]],
  ])(
    'of documents can be read only by their functions and the named roles, if documents %s',
    (_, settings, allowed) => {
      const [policy] = propertiesOf(synthesize(settings), 'AWS::S3::BucketPolicy');
      const { Statement } = plainValue(policy?.PolicyDocument ?? {}) as { Statement: Statement[] };
      const refused = Statement.find(({ Sid }) => Sid === 'RefuseOthers');
      expect(refused).toEqual({
        Sid: 'RefuseOthers',
        Effect: 'Deny',
        Principal: { AWS: '*' },
        Action: ['s3:DeleteObject*', 's3:GetObject*', 's3:ListBucket*', 's3:PutObject*'],
        Resource: ['<DocumentsBucket.Arn>', '<DocumentsBucket.Arn>/*'],
        Condition: { ArnNotLike: { 'aws:PrincipalArn': expect.anything() } },
      });
      const named = [refused?.Condition?.ArnNotLike?.['aws:PrincipalArn'] ?? []].flat();
      expect(named.map((arn) => arn.replace(/^<(\w+Role)\w{8}\.Arn>$/, '$1'))).toEqual(allowed);
    },
  );

  // Who switches confirmations off for an hour must not lose the documents of confirmed registrations.
  it.each([true, false])(
    'of documents stay with a confirmed registration, and otherwise expire within two days, with confirmation=%s',
    (confirmation) => {
      const [bucket] = propertiesOf(synthesize({ confirmation, confirmedDays: 60 }), 'AWS::S3::Bucket');
      expect(bucket?.LifecycleConfiguration).toMatchObject({
        Rules: [
          { ExpirationInDays: 1, TagFilters: [{ Key: 'registration', Value: 'pending' }], Status: 'Enabled' },
          {
            ExpirationInDays: 61,
            AbortIncompleteMultipartUpload: { DaysAfterInitiation: 1 },
            Status: 'Enabled',
          },
        ],
      });
    },
  );

  it.each([
    ['PepperSecret', '{"current":"1"}', '1'],
    ['PasswordSecret', '{"current":"1"}', '1'],
  ])('as the secret %s is generated, in the form that the functions read', (id, text, key) => {
    const generated = {
      SecretStringTemplate: text,
      GenerateStringKey: key,
      PasswordLength: 64,
      ExcludePunctuation: true,
    };
    expect(resourcesOfType(template, 'AWS::SecretsManager::Secret')[id]).toMatchObject({
      DeletionPolicy: 'RetainExceptOnCreate',
      Properties: { GenerateSecretString: generated },
    });
  });

  it.each(['PepperSecret', 'PasswordSecret'])('has the secret %s under the prefix of keys', (id) => {
    const name = plainValue(
      resourcesOfType(synthesize({ stage: 'test' }), 'AWS::SecretsManager::Secret')[id]?.Properties.Name,
    );
    expect(JSON.stringify(name)).toMatch(/broker-api-keys\/test\/(pepper|passwords)-/);
  });

  it('are deleted together with a stage that does not retain data', () => {
    const passing = synthesize({ retainData: false });
    for (const [name, one] of Object.entries(allResources(passing))) {
      if (!STATEFUL.includes(one.Type)) continue;
      expect(one.DeletionPolicy ?? 'Delete', name).toBe('Delete');
      expect(one.Properties.DeletionProtectionEnabled ?? false, name).toBe(false);
    }
  });
});
