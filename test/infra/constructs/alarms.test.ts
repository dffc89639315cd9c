import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { COUNTED_EVENTS } from '../../../lib/counted-events.ts';
import { EVERYTHING, propertiesOf, synthesize } from '../../support/stack.ts';

const template = synthesize();
const full = synthesize(EVERYTHING);
const TELEMETRY = readFileSync(new URL('../../../lib/telemetry.ts', import.meta.url), 'utf8');

interface Alarm {
  AlarmName: string;
  AlarmActions?: string[];
  OKActions?: string[];
  Namespace?: string;
  MetricName?: string;
  Dimensions?: { Name: string; Value: string }[];
  TreatMissingData?: string;
  ComparisonOperator?: string;
  AlarmRule?: string;
}
const metricAlarms = propertiesOf(full, 'AWS::CloudWatch::Alarm') as unknown as Alarm[];
const compositeAlarms = propertiesOf(full, 'AWS::CloudWatch::CompositeAlarm') as unknown as Alarm[];
const all = [...metricAlarms, ...compositeAlarms];
const nameOf = ({ AlarmName }: Alarm) => AlarmName.replace('broker-api-test-', '');

describe('Alarms', () => {
  it('page a person at night for these reasons, and for no others', () => {
    const pages = all.filter(({ AlarmActions = [] }) => AlarmActions.includes('<AlarmTopic>'));
    expect(pages.map(nameOf).sort()).toEqual([
      'AccountOutcomeUnknown',
      'CodesNotSent-email',
      'CrmUndelivered',
      'LimitsUnchecked-request-registration',
      'PlatformRefused-tp4',
      'PlatformRefused-tp5',
      'PlatformUnavailable-tp4',
      'PlatformUnavailable-tp5',
      'RouteFails-confirm-registration',
      'RouteFails-create-tp4-account',
      'RouteFails-create-tp5-account',
      'RouteFails-request-registration',
      'ServerErrors',
      'SettlerFails',
      'Silence',
    ]);
  });

  it('publish their end on the same topic as their beginning, by email if the settings have an address', () => {
    for (const { AlarmActions, OKActions } of all) expect(OKActions).toEqual(AlarmActions);
    const mail = { Protocol: 'email', Endpoint: 'oncall@acme.example' };
    expect(propertiesOf(full, 'AWS::SNS::Subscription')).toEqual([
      { ...mail, TopicArn: '<AlarmTopic>' },
      { ...mail, TopicArn: '<NoticeTopic>' },
    ]);
    template.resourceCountIs('AWS::SNS::Subscription', 0);
    const policies = JSON.stringify(propertiesOf(template, 'AWS::SNS::TopicPolicy'));
    for (const topic of ['<AlarmTopic>', '<NoticeTopic>'])
      expect(policies).toContain(
        `"Condition":{"StringEquals":{"aws:SourceAccount":"<AWS::AccountId>"}},"Effect":"Allow","Principal":{"Service":"cloudwatch.amazonaws.com"},"Resource":"${topic}"`,
      );
  });

  it('fire without data only if an event must happen', () => {
    for (const alarm of metricAlarms) {
      const isExpected = ['SettlerFails', 'Silence'].includes(nameOf(alarm));
      expect([nameOf(alarm), alarm.TreatMissingData]).toEqual([
        nameOf(alarm),
        isExpected ? 'breaching' : 'notBreaching',
      ]);
      expect(alarm.ComparisonOperator).toMatch(isExpected ? /^LessThan/ : /^GreaterThanOrEqual/);
    }
  });

  it('of a route ring for a crash and for an internal error', () => {
    expect(compositeAlarms).toHaveLength(4);
    for (const { AlarmRule } of compositeAlarms)
      expect(AlarmRule).toMatch(
        /^\(ALARM\("<AlarmsCrashes\w+\.Arn>"\) OR ALARM\("<AlarmsInternalErrors\w+\.Arn>"\)\)$/,
      );
  });

  it('and graphs count events that the functions log, by dimensions that they write', () => {
    const dimensions = (counted: readonly string[]) => ['stage', ...counted].sort();
    const counting = metricAlarms.filter(({ Namespace }) => Namespace === 'BrokerApi');
    expect(counting.length).toBeGreaterThan(15);
    for (const { MetricName = '', Dimensions = [] } of counting)
      expect([MetricName, Dimensions.map(({ Name }) => Name).sort()]).toEqual([
        MetricName,
        [...new Set(dimensions(COUNTED_EVENTS[MetricName as keyof typeof COUNTED_EVENTS] ?? ['is not counted']))],
      ]);
    const [dashboard] = propertiesOf(full, 'AWS::CloudWatch::Dashboard');
    const shown = [...String(dashboard?.DashboardBody).matchAll(/\["BrokerApi","(\w+)"/g)].map(([, name]) => name);
    expect(shown.length).toBeGreaterThan(15);
    expect(shown.filter((name = '') => !Object.hasOwn(COUNTED_EVENTS, name))).toEqual([]);
  });

  it('are raised for every error event', () => {
    const text = JSON.stringify(all);
    const errors = [...TELEMETRY.matchAll(/^ {2}(\w+): '(?:ERROR|CRITICAL)',$/gm)].map(([, name = '']) => name);
    expect(errors.length).toBeGreaterThan(10);
    // One that is counted by channel is added in an expression.
    const isAdded = (name: string) => text.includes(`${name.charAt(0).toLowerCase()}${name.slice(1)}_`);
    expect(errors.filter((name) => !text.includes(`"MetricName":"${name}"`) && !isAdded(name))).toEqual([]);
  });
});
