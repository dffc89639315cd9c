import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { allowingRights, parseRights, type Statement } from '../../../infra/local/rights/policy.ts';
import {
  allResources,
  EVERYTHING,
  plainValue,
  propertiesOf,
  resourcesOfType,
  synthesize,
} from '../../support/stack.ts';

const template = synthesize();
const full = synthesize(EVERYTHING);

const STATEFUL = [
  'AWS::DynamoDB::Table',
  'AWS::EC2::EIP',
  'AWS::S3::Bucket',
  'AWS::SQS::Queue',
  'AWS::SecretsManager::Secret',
];

describe('The stored data', () => {
  const tables = (of: Template) => resourcesOfType(of, 'AWS::DynamoDB::Table');

  it('outlives the stack, but for a failed first deployment and a stage that may vanish', () => {
    const passing = allResources(synthesize({ ...EVERYTHING, retainData: false }));
    const kept = Object.entries(allResources(full)).filter(([, { Type }]) => STATEFUL.includes(Type));
    expect(kept.length).toBeGreaterThan(12);
    for (const [name, one] of kept) {
      const policies = [one.DeletionPolicy, one.UpdateReplacePolicy, passing[name]?.DeletionPolicy ?? 'Delete'];
      expect([name, ...policies]).toEqual([name, 'RetainExceptOnCreate', 'Retain', 'Delete']);
      expect(passing[name]?.Properties.DeletionProtectionEnabled ?? false).toBe(false);
    }
  });

  it('is in on-demand tables, encrypted, restorable for 35 days, and expires where it must', () => {
    const lasting = Object.entries(tables(template)).map(([name, { Properties }]) => {
      expect(Properties).toMatchObject({
        BillingMode: 'PAY_PER_REQUEST',
        DeletionProtectionEnabled: true,
        SSESpecification: { SSEEnabled: true },
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
      });
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

  it.each([
    [
      'CrmTable',
      'a client by proven address and referral code',
      ['proven_email', 'proven_phone', 'referral_code', 'kind'],
    ],
    ['OperationsTable', 'unfinished operations, oldest first', ['due']],
    ['LoginsTable', 'the reservations of an operation', ['operation_id']],
    ['RegistrationsTable', 'confirmed registrations', ['due', 'confirmed_id']],
  ])('in the %s shows %s by an index', (table, _, names) => {
    const indexes = tables(template)[table]?.Properties.GlobalSecondaryIndexes as { IndexName: string }[];
    expect(indexes.map(({ IndexName }) => IndexName)).toEqual(names);
  });

  it('of documents is private, encrypted, and sent over TLS only', () => {
    template.hasResourceProperties('AWS::S3::Bucket', {
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
    });
    template.hasResourceProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
        ]),
      },
    });
  });

  const FUNCTIONS = ['RequestRegistrationRole', 'ConfirmRegistrationRole', 'NotifyCrmRole'];
  it.each([
    [{}, ['RequestRegistrationRole']],
    [
      { ...EVERYTHING, documentRoles: 'arn:aws:iam::123456789012:role/crm' },
      [...FUNCTIONS, 'arn:aws:iam::123456789012:role/crm'],
    ],
  ])('of documents is refused to every role but its functions and the named ones', (settings, allowed) => {
    const [policy] = propertiesOf(synthesize(settings), 'AWS::S3::BucketPolicy');
    const { Statement } = plainValue(policy?.PolicyDocument ?? {}) as { Statement: Statement[] };
    const refused = Statement.find(({ Sid }) => Sid === 'RefuseOthers');
    expect(refused).toMatchObject({ Effect: 'Deny', Principal: { AWS: '*' } });
    expect(refused?.Resource).toEqual(['<DocumentsBucket.Arn>', '<DocumentsBucket.Arn>/*']);
    const named = [refused?.Condition?.ArnNotLike?.['aws:PrincipalArn'] ?? []].flat();
    expect(named.map((arn) => arn.replace(/^<(\w+Role)\w{8}\.Arn>$/, '$1'))).toEqual(allowed);
  });

  // Who switches confirmations off for an hour must not lose the documents of confirmed registrations.
  it.each([template, full])(
    'of documents stays with a confirmed registration, and otherwise expires within two days',
    (of) => {
      const [bucket] = propertiesOf(of, 'AWS::S3::Bucket');
      expect(bucket?.LifecycleConfiguration).toMatchObject({
        Rules: [
          { ExpirationInDays: 1, TagFilters: [{ Key: 'registration', Value: 'pending' }], Status: 'Enabled' },
          { ExpirationInDays: 31, Status: 'Enabled' },
        ],
      });
    },
  );

  it.each(['PepperSecret', 'PasswordSecret'])('has the key %s under the prefix of keys, generated', (id) => {
    const properties = resourcesOfType(full, 'AWS::SecretsManager::Secret')[id]?.Properties;
    expect(properties?.GenerateSecretString).toMatchObject({
      SecretStringTemplate: '{"current":"1"}',
      PasswordLength: 64,
    });
    expect(JSON.stringify(plainValue(properties?.Name))).toMatch(/broker-api-keys\/full\/(pepper|passwords)-/);
  });
});

describe('The policy of a CRM that reads registrations', () => {
  /** Whether a CRM may call this in a deployment with these settings. */
  const may = (of: Template, action: string, resource: string, context: Record<string, string> = {}) => {
    const policies = Object.entries(resourcesOfType(of, 'AWS::IAM::ManagedPolicy'));
    const [, policy] = policies.find(([id]) => id.startsWith('Reader')) ?? [];
    const { Statement } = plainValue(policy?.Properties.PolicyDocument ?? {}) as { Statement: Statement[] };
    return allowingRights(parseRights('crm', Statement), { action, resource, context }).length > 0;
  };
  const [table, document] = ['<RegistrationsTable.Arn>', '<DocumentsBucket.Arn>/registrations/r1/1'];
  const tag = 's3:ExistingObjectTag/registration';

  it('allows to query the confirmed ones, and shows the table in no other way', () => {
    const actions = ['GetItem', 'BatchGetItem', 'Query', 'Scan', 'PartiQLSelect'].map((one) => `dynamodb:${one}`);
    const shown = [table, `${table}/index/due`].filter((on) => actions.some((action) => may(full, action, on)));
    expect([may(full, 'dynamodb:Query', `${table}/index/confirmed_id`), shown]).toEqual([true, []]);
  });

  it('allows to read the documents of confirmed registrations alone', () => {
    const reads = (context: Record<string, string>) => may(full, 's3:GetObject', document, context);
    expect([reads({}), reads({ [tag]: 'pending' })]).toEqual([true, false]);
  });
});
