import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { REDELIVERY } from '../../../lib/config/deployment.ts';
import {
  EVERYTHING,
  lambdaFunctions,
  plainValue,
  propertiesOf,
  resourcesOfType,
  rightsOf,
  synthesize,
  templateArn,
} from '../../support/stack.ts';

const CRM = 'https://crm.acme.example/events';
const template = synthesize();
const notified = synthesize({ confirmation: true, crmWebhook: CRM });
const full = synthesize(EVERYTHING);

describe('A message', () => {
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
    ['address', ['identity/no-reply@acme.example'], 1],
    ['existing-address', ['identity/no-reply@acme.example'], 0],
    ['existing-domain', ['identity/acme.example', 'identity/no-reply@acme.example'], 0],
  ])('can come from an identity of another kind: %s', (senderIdentity, identities, made) => {
    const other = synthesize({ senderIdentity });
    other.resourceCountIs('AWS::SES::EmailIdentity', made);
    for (const name of ['RequestRegistration', 'CreateTp5Account']) {
      expect(rightsOf(other, name).SendMail).toMatchObject({
        on: [
          templateArn('ses', 'configuration-set/<MailConfigurationSet>'),
          ...identities.map((one) => templateArn('ses', one)),
        ],
        if: { StringEquals: { 'ses:FromAddress': 'no-reply@acme.example' } },
      });
    }
  });

  it('by mail leaves from the domain that the settings name, and outputs show the DNS records of this domain', () => {
    const own = synthesize({ mailFromDomain: 'bounce.acme.example' });
    own.hasResourceProperties('AWS::SES::EmailIdentity', {
      MailFromAttributes: { MailFromDomain: 'bounce.acme.example' },
    });
    const outputs = own.toJSON().Outputs as Record<string, { Value: unknown }>;
    expect([1, 2].map((number) => plainValue(outputs[`MailFromDnsRecord${number}`]?.Value))).toEqual([
      'bounce.acme.example MX 10 feedback-smtp.<AWS::Region>.amazonses.com',
      'bounce.acme.example TXT "v=spf1 include:amazonses.com ~all"',
    ]);
  });

  it('to a topic is encrypted on its way, and stored encrypted on the topic of clients', () => {
    const topic = resourcesOfType(template, 'AWS::SNS::Topic').ClientNotificationsTopic;
    expect(plainValue(topic?.Properties.KmsMasterKeyId)).toBe(templateArn('kms', 'alias/aws/sns'));
    const policies = propertiesOf(template, 'AWS::SNS::TopicPolicy');
    const denied = { Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } };
    const Statement = expect.arrayContaining([expect.objectContaining(denied)]);
    for (const name of ['<ClientNotificationsTopic>', '<AlarmTopic>']) {
      const policy = { Topics: [name], PolicyDocument: expect.objectContaining({ Statement }) };
      expect(policies).toContainEqual(expect.objectContaining(policy));
    }
  });
});

describe('Texts and calls', () => {
  type Rules = Record<string, { CountryCode: string; ProtectStatus: string }[]>;
  const rules = (of: Template) =>
    propertiesOf(of, 'AWS::SMSVOICE::ProtectConfiguration').map(({ CountryRuleSet }) => CountryRuleSet as Rules);

  it('are blocked at AWS too to the countries that are not served', () => {
    const [set] = rules(full);
    expect(rules(template)).toEqual([]);
    for (const channel of ['SMS', 'VOICE']) {
      const [served, blocked] = ['ALLOW', 'BLOCK'].map((status) =>
        set?.[channel]?.filter(({ ProtectStatus }) => ProtectStatus === status).map(({ CountryCode }) => CountryCode),
      );
      expect(served).toEqual(['DE', 'GB']);
      expect(blocked).toHaveLength(203);
      expect(blocked).toEqual(expect.arrayContaining(['US', 'LV', 'ID']));
    }
  });

  it('are measured by AWS: the stack makes the role for that, unless the account has it', () => {
    const role = 'AWS::IAM::ServiceLinkedRole';
    full.hasResourceProperties(role, { AWSServiceName: 'sms-voice.amazonaws.com' });
    synthesize({ ...EVERYTHING, voiceMetricsRole: false }).resourceCountIs(role, 0);
    template.resourceCountIs(role, 0);
  });
});

describe('The webhook', () => {
  const { CrmQueue, CrmAccountsQueue, CrmUndeliveredQueue } = resourcesOfType(notified, 'AWS::SQS::Queue');

  it('exists only with the setting', () => {
    expect(lambdaFunctions(template)).not.toHaveProperty('NotifyCrm');
    expect(propertiesOf(template, 'AWS::SQS::Queue')).toEqual([]);
    template.resourceCountIs('AWS::Events::Rule', 0);
  });

  it('gets each kind of event from its queue; if that is unreachable, the queue of undelivered events gets it', () => {
    const rules = [
      ['AccountOpened', '<CrmAccountsQueue.Arn>'],
      ['RegistrationConfirmed', '<CrmQueue.Arn>'],
    ].map(([type, Arn]) => ({
      Description: expect.stringContaining(` ${type} `),
      State: 'ENABLED',
      Tags: expect.any(Array),
      EventBusName: '<EventBus>',
      // A detail here would keep events from the CRM.
      EventPattern: { source: ['broker.api'], 'detail-type': [type] },
      Targets: [{ Id: 'Target0', Arn, DeadLetterConfig: { Arn: '<CrmUndeliveredQueue.Arn>' } }],
    }));
    const found = propertiesOf(notified, 'AWS::Events::Rule').map((rule) => [JSON.stringify(rule.EventPattern), rule]);
    expect(found.sort().map(([, rule]) => rule)).toEqual(rules);
  });

  it('processes events one by one, a few in parallel, and retries until the dead-letter queue gets them', () => {
    for (const [name, queue] of Object.entries({ CrmQueue, CrmAccountsQueue })) {
      notified.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
        EventSourceArn: { 'Fn::GetAtt': [name, 'Arn'] },
        BatchSize: 1,
        ScalingConfig: { MaximumConcurrency: 5 },
        FunctionResponseTypes: ['ReportBatchItemFailures'],
      });
      expect(plainValue(queue?.Properties)).toMatchObject({
        RedrivePolicy: { deadLetterTargetArn: '<CrmUndeliveredQueue.Arn>', maxReceiveCount: REDELIVERY.deliveries },
        SqsManagedSseEnabled: true,
      });
    }
    expect(CrmUndeliveredQueue?.Properties).toMatchObject({ MessageRetentionPeriod: 1_209_600 });
  });

  it('hides an event for longer than the function runs, and keeps it for longer than the retries last', () => {
    const { VisibilityTimeout, MessageRetentionPeriod } = (CrmQueue?.Properties ?? {}) as Record<string, number>;
    expect(VisibilityTimeout).toBeGreaterThanOrEqual(
      3 * Number(lambdaFunctions(notified).NotifyCrm?.Properties.Timeout),
    );
    expect(VisibilityTimeout).toBe(REDELIVERY.everySeconds);
    expect(MessageRetentionPeriod).toBeGreaterThan(2 * REDELIVERY.deliveries * REDELIVERY.everySeconds);
  });

  it('puts events into the queue of undelivered ones, and takes none from there', () => {
    const rights = Object.entries(rightsOf(notified, 'NotifyCrm'));
    expect(rights.filter(([, right]) => JSON.stringify(right).includes('CrmUndelivered'))).toEqual([
      ['SetEventsAside', { may: ['sqs:SendMessage'], on: ['<CrmUndeliveredQueue.Arn>'] }],
    ]);
  });

  it('writes clients, and no other records of the CRM', () => {
    expect(rightsOf(notified, 'NotifyCrm').WriteClients).toMatchObject({
      may: ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem'],
      on: ['<CrmTable.Arn>'],
      if: { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': ['client#*'] } },
    });
  });
});
