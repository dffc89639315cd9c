import { readFileSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { EVERYTHING, plain, resources, synthesize } from '../../support/stack.ts';

let template: Template;
let full: Template;

beforeAll(() => {
  template = synthesize();
  full = synthesize(EVERYTHING);
});

const ROOT = new URL('../../..', import.meta.url);
const OPENING = ['create-tp5-account', 'create-tp4-account'];
const ACCOUNTS = [...OPENING, 'settle-operations'];
const ROUTES = ['request-registration', 'confirm-registration', ...OPENING];
/** Which functions tell of a fault that nobody else sees to. */
const TOLD_BY: Record<string, string[]> = {
  OtpDeliveryFailed: ['request-registration'],
  OtpOutcomeUnknown: ['request-registration'],
  LimitUncheckable: ['request-registration', 'confirm-registration'],
  CaptchaUnavailable: ['request-registration'],
  // What an opening leaves unknown is settled each minute, or told then.
  AccountOutcomeUnknown: ['settle-operations'],
  AccountNotRecorded: ACCOUNTS,
  DepositFailed: ACCOUNTS,
  NoticeFailed: ACCOUNTS,
  EventFailed: ACCOUNTS,
  PlatformRefused: ACCOUNTS,
  // Settling waits for a server that is away, and is late for nobody.
  PlatformUnavailable: OPENING,
  // A confirmation that was not told is told by the settling.
  OperationNotSettled: ['request-registration', ...ACCOUNTS],
  InternalError: ROUTES,
};

describe('Alarms', () => {
  interface AlarmProperties {
    AlarmName: string;
    AlarmDescription: string;
    AlarmActions: unknown[];
    OKActions: unknown[];
    TreatMissingData: string;
    ComparisonOperator: string;
    Namespace: string;
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
    const ofOpened = ['AccountNotRecorded', 'DepositFailed', 'EventFailed', 'NoticeFailed'];
    const ofAccounts = [...ofOpened, 'PlatformRefused', 'PlatformUnavailable'].flatMap((kind) => [
      `${kind}-tp4`,
      `${kind}-tp5`,
    ]);
    const ofSettlement = [
      'AccountOutcomeUnknown',
      'SettlementFails',
      ...[...ofOpened, 'NotSettled', 'PlatformRefused'].map((kind) => `${kind}-settle-operations`),
    ];
    const others = [
      'CodesInDoubt',
      'CodesNotSent-email',
      'Flood',
      'LimitsUnchecked',
      'MailsBounce',
      'EventsUndelivered',
      'MailsComplainedOf',
    ];
    expect(names(template)).toEqual([...ofFunctions, ...ofAccounts, ...ofSettlement, ...others, 'ServerErrors'].sort());
  });

  it('are raised for the channels that are installed, and for what they cost', () => {
    const more = names(full).filter((name) => !names(template).includes(name));
    expect(more).toEqual([
      'CaptchaUnavailable',
      'CodesNotSent-call',
      'CodesNotSent-sms',
      'CodesNotSent-whatsapp',
      'Crashes-confirm-registration',
      'Guesses',
      'InternalErrors-confirm-registration',
      'LimitsUnchecked-confirm-registration',
      'NearDeadline-confirm-registration',
      'Spend-call',
      'Spend-sms',
      'Spend-whatsapp',
      'Throttles-confirm-registration',
    ]);
  });

  it('say who is hurt and where to read on, and are told on one topic, also when they end', () => {
    for (const alarm of alarms(full)) {
      expect(alarm.AlarmDescription).toMatch(/^[A-Z].{20,}\. What to do: infra\/README\.md, Alarms, \w+\.$/);
      expect(alarm.AlarmName).toContain(/README\.md, Alarms, (\w+)/.exec(alarm.AlarmDescription)?.[1]);
      expect(plain(alarm.AlarmActions)).toEqual(['<AlarmTopic>']);
      expect(plain(alarm.OKActions)).toEqual(['<AlarmTopic>']);
      const shouldHappen = alarm.AlarmName.endsWith('SettlementFails');
      expect(alarm.TreatMissingData).toBe(shouldHappen ? 'breaching' : 'notBreaching');
      expect(alarm.ComparisonOperator).toMatch(shouldHappen ? /^LessThan/ : /^GreaterThanOrEqual/);
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

  it('are raised for every fault that a function tells, by each function that tells it', () => {
    const counted = alarms(full)
      .filter(({ Namespace }) => Namespace === 'BrokerApi')
      .map(({ MetricName, Dimensions = [] }) => {
        const service = Dimensions.find(({ Name }) => Name === 'service')?.Value;
        return `${MetricName} of ${String(service)}`;
      });
    const source = readFileSync(new URL('lib/telemetry.ts', ROOT), 'utf8');
    const faults = [...source.matchAll(/^ {2}(\w+): '(?:ERROR|CRITICAL)',$/gm)].map(([, name = '']) => name);
    expect(Object.keys(TOLD_BY)).toEqual(faults);
    const told = Object.entries(TOLD_BY).flatMap(([name, services]) => services.map((one) => `${name} of ${one}`));
    expect(told.filter((one) => !counted.includes(one))).toEqual([]);
  });

  it('come well before the end of a function’s time', () => {
    const near = alarms(template).filter(({ AlarmName }) => AlarmName.includes('NearDeadline'));
    expect(near.map(({ Threshold }) => Threshold).sort()).toEqual([16_000, 23_200, 23_200]);
  });
});
