import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { type CfnResource, EVERYTHING, synthesize } from '../support/stack.ts';

let template: Template;
let full: Template;

beforeAll(() => {
  template = synthesize();
  full = synthesize(EVERYTHING);
});

describe('The whole stack', () => {
  it('outputs the data for operators', () => {
    expect(Object.keys(template.findOutputs('*')).sort()).toEqual([
      'AccessLogGroup',
      'AlarmTopicArn',
      'ApiUrl',
      ...['Tp4', 'Tp5'].flatMap((one) => [`Create${one}AccountFunction`, `Create${one}AccountLogGroup`]),
      'CrmTableName',
      'EventBusName',
      'MailDnsRecord1',
      'MailDnsRecord2',
      'MailDnsRecord3',
      'NoticeTopicArn',
      'NotificationsTopicArn',
      'OpenAccountsPolicy',
      'OperatorsPolicy',
      'PepperSecretArn',
      'RequestRegistrationFunction',
      'RequestRegistrationLogGroup',
      'SettleOperationsFunction',
      'SettleOperationsLogGroup',
      'UndeliveredEventsQueueArn',
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
    // A permission belongs to its route, a version to its code: neither has data.
    const kept = Object.entries(Resources).filter(([, { Type }]) => !/^AWS::Lambda::(Permission|Version)$/.test(Type));
    expect(Object.fromEntries(kept.map(([id, { Type }]) => [id, Type]))).toMatchSnapshot();
  });
});
