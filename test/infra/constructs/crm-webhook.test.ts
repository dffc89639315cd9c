import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { secondsUntilNext } from '../../../lib/crm-webhook/delivery.ts';
import { REDELIVERY } from '../../../lib/validators/deployment.ts';
import { environmentOf, functions, plain, resources, rightsOf, synthesize } from '../../support/stack.ts';

const URL = 'https://crm.acme.example/events';
let template: Template;
let scanned: Template;
beforeAll(() => {
  template = synthesize({ confirmation: true, crmWebhook: URL });
  scanned = synthesize({ confirmation: true, crmWebhook: URL, scanDocuments: true });
});

describe('Without the setting', () => {
  it('there is no such function, queue, rule or scan', () => {
    const without = synthesize();
    expect(functions(without)).not.toHaveProperty('NotifyCrm');
    expect(Object.keys(resources(without, 'AWS::SQS::Queue'))).toHaveLength(1);
    without.resourceCountIs('AWS::Events::Rule', 0);
    template.resourceCountIs('AWS::GuardDuty::MalwareProtectionPlan', 0);
  });
});

describe('The events of the bus', () => {
  it('go to a queue; if it is unreachable, to the dead-letter queue of the bus', () => {
    const [rule] = Object.values(resources(template, 'AWS::Events::Rule'));
    expect(plain(rule?.Properties)).toMatchObject({
      EventBusName: '<EventBus>',
      EventPattern: { source: ['broker.api'] },
      Targets: [{ Arn: '<CrmQueue.Arn>', DeadLetterConfig: { Arn: expect.stringMatching(/^<EventsUndelivered/) } }],
    });
  });

  it('are processed one by one, a few in parallel, and retried until the dead-letter queue gets them', () => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      EventSourceArn: { 'Fn::GetAtt': ['CrmQueue', 'Arn'] },
      BatchSize: 1,
      ScalingConfig: { MaximumConcurrency: 5 },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    });
    const { CrmQueue, CrmUndeliveredQueue } = resources(template, 'AWS::SQS::Queue');
    expect(plain(CrmQueue?.Properties)).toMatchObject({
      RedrivePolicy: { deadLetterTargetArn: '<CrmUndeliveredQueue.Arn>', maxReceiveCount: REDELIVERY.deliveries },
      SqsManagedSseEnabled: true,
    });
    expect(CrmUndeliveredQueue?.Properties).toMatchObject({ MessageRetentionPeriod: 1_209_600 });
  });

  it('stay invisible for longer than the function runs, and are kept for longer than they come again', () => {
    const { Timeout = 0 } = (functions(template).NotifyCrm?.Properties ?? {}) as { Timeout?: number };
    const queue = resources(template, 'AWS::SQS::Queue').CrmQueue?.Properties as Record<string, number>;
    expect(queue.VisibilityTimeout).toBeGreaterThanOrEqual(3 * Timeout);
    const day = Array.from({ length: REDELIVERY.deliveries }, (_, index) => secondsUntilNext(index + 1));
    expect(queue.MessageRetentionPeriod).toBeGreaterThan(2 * day.reduce((sum, seconds) => sum + seconds, 0));
  });
});

describe('The function', () => {
  it('knows the CRM, the secret of its stage and the queue', () => {
    expect(environmentOf(template, 'NotifyCrm')).toEqual({
      STAGE: 'prod',
      CRM_WEBHOOK: URL,
      WEBHOOK_SECRET: 'prod/crm-webhook',
      CRM_TABLE: '<CrmTable>',
      REGISTRATIONS_TABLE: '<RegistrationsTable>',
      DOCUMENTS_BUCKET: '<DocumentsBucket>',
      WEBHOOK_QUEUE: '<CrmQueue>',
    });
    expect(environmentOf(scanned, 'NotifyCrm')).toMatchObject({ SCAN_DOCUMENTS: 'true' });
  });

  it('writes clients, and no other records of the CRM', () => {
    expect(rightsOf(template, 'NotifyCrm')).toMatchObject({
      WriteClients: {
        may: ['dynamodb:PutItem'],
        on: ['<CrmTable.Arn>'],
        if: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['client#*', 'email#*', 'phone#*'] } },
      },
    });
  });

  it('and the CRM read scanned documents only if no malware was found', () => {
    const clean = { StringEquals: { 's3:ExistingObjectTag/GuardDutyMalwareScanStatus': 'NO_THREATS_FOUND' } };
    expect(rightsOf(scanned, 'NotifyCrm')).toMatchObject({ ReadDocuments: { may: ['s3:GetObject'], if: clean } });
    scanned.hasResourceProperties('AWS::IAM::ManagedPolicy', {
      PolicyDocument: { Statement: Match.arrayWith([Match.objectLike({ Sid: 'ReadDocuments', Condition: clean })]) },
    });
  });
});

describe('The scan', () => {
  it('is of new documents, leaves its verdict in their tags, and may do nothing else', () => {
    scanned.hasResourceProperties('AWS::GuardDuty::MalwareProtectionPlan', {
      ProtectedResource: { S3Bucket: { BucketName: { Ref: 'DocumentsBucket' }, ObjectPrefixes: ['registrations/'] } },
      Actions: { Tagging: { Status: 'ENABLED' } },
    });
    scanned.hasResourceProperties('AWS::IAM::Role', {
      AssumeRolePolicyDocument: {
        Statement: [Match.objectLike({ Principal: { Service: 'malware-protection-plan.guardduty.amazonaws.com' } })],
      },
    });
    const rights = Object.values(rightsOf(scanned, 'Scan')) as { may: string[] }[];
    const allowed = rights.flatMap(({ may }) => may);
    expect(allowed.length).toBeGreaterThan(10);
    expect(allowed.filter((action) => /Delete|Acl|Policy/.test(action))).toEqual(['events:DeleteRule']);
  });
});
