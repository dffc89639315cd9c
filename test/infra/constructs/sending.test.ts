import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { ARN, environmentOf, plain, resources, rightsOf, synthesize } from '../../support/stack.ts';

const CALL = { originationIdentity: 'phone-0a1b' };

let template: Template;

beforeAll(() => {
  template = synthesize();
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
    ['address', ['identity/no-reply@acme.example'], 1],
    ['existing-address', ['identity/no-reply@acme.example'], 0],
    ['existing-domain', ['identity/acme.example', 'identity/no-reply@acme.example'], 0],
  ])('can come from an identity of another kind: %s', (senderIdentity, identities, made) => {
    const other = synthesize({ senderIdentity });
    other.resourceCountIs('AWS::SES::EmailIdentity', made);
    for (const name of ['RequestRegistration', 'CreateTp5Account']) {
      expect(rightsOf(other, name).SendMail).toMatchObject({
        on: [ARN('ses', 'configuration-set/<MailConfigurationSet>'), ...identities.map((one) => ARN('ses', one))],
        if: { StringEquals: { 'ses:FromAddress': 'no-reply@acme.example' } },
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

describe('Texts and calls', () => {
  const rules = (of: Template) =>
    Object.values(resources(of, 'AWS::SMSVOICE::ProtectConfiguration')).map(
      ({ Properties }) => Properties.CountryRuleSet as Record<string, { CountryCode: string; ProtectStatus: string }[]>,
    );

  it('are blocked at AWS too to the countries that are not served', () => {
    const [set] = rules(synthesize({ channels: 'email,sms,call', 'phone.countries': 'GB,DE', call: CALL }));
    for (const channel of ['SMS', 'VOICE']) {
      const [served, blocked] = ['ALLOW', 'BLOCK'].map((status) =>
        set?.[channel]?.filter(({ ProtectStatus }) => ProtectStatus === status).map(({ CountryCode }) => CountryCode),
      );
      expect(served).toEqual(['DE', 'GB']);
      expect(blocked).toHaveLength(203);
      expect(blocked).toEqual(expect.arrayContaining(['US', 'LV', 'ID']));
    }
  });

  it('know the rules: calls by naming them, texts once a person has made them the default of the account', () => {
    const made = synthesize({ channels: 'email,sms,call', 'phone.countries': 'GB', call: CALL });
    const { PROTECT_CONFIGURATION: rules } = environmentOf(made, 'RequestRegistration');
    expect(rules).toBe('<ProtectConfiguration.ProtectConfigurationId>');
    const { SendCalls } = rightsOf(made, 'RequestRegistration');
    expect(SendCalls).toMatchObject({
      on: expect.arrayContaining([
        ARN('sms-voice', 'protect-configuration/<ProtectConfiguration.ProtectConfigurationId>'),
      ]),
    });
    const { ProtectConfigurationId: output } = made.findOutputs('ProtectConfigurationId');
    expect(output?.Description).toContain('set-account-default-protect-configuration');
  });

  it('are measured by AWS: the stack makes the role for that, unless the account has it', () => {
    const calls = { channels: 'email,call', 'phone.countries': 'GB', call: CALL };
    const role = 'AWS::IAM::ServiceLinkedRole';
    synthesize(calls).hasResourceProperties(role, { AWSServiceName: 'sms-voice.amazonaws.com' });
    synthesize({ ...calls, voiceMetricsRole: false }).resourceCountIs(role, 0);
    template.resourceCountIs(role, 0);
  });

  it('have no rules if nothing is sent, or if all countries are served', () => {
    expect(rules(template)).toEqual([]);
    expect(rules(synthesize({ channels: 'email,sms', 'phone.countries': 'all' }))).toEqual([]);
  });
});
