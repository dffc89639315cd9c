import { readFileSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { PHONE_CHANNELS } from '../../specification/table.ts';
import { alarmsOf } from '../../support/alarms.ts';
import { EVERYTHING, propertiesOf, synthesize } from '../../support/stack.ts';

const template = synthesize();
const full = synthesize(EVERYTHING);
const all = alarmsOf(full);

const TELEMETRY = readFileSync(new URL('../../../lib/telemetry.ts', import.meta.url), 'utf8');
interface AlarmNumbers {
  Threshold?: number;
  /** In seconds. */
  Period?: number;
  EvaluationPeriods?: number;
  DatapointsToAlarm?: number;
  Metrics?: { Expression?: string; MetricStat?: { Period: number } }[];
}

describe('Alarms', () => {
  const TOPICS: Record<string, string> = { '<AlarmTopic>': 'page', '<NoticeTopic>': 'notice' };
  /** The topic, metric, threshold and minutes of each alarm. */
  const rows = (of: Template) =>
    alarmsOf(of)
      .map(({ name, actions, metric, dimensions, properties }) => {
        const { Threshold = 'any', Period, EvaluationPeriods = 1, Metrics = [], ...more } = properties as AlarmNumbers;
        const often = (more.DatapointsToAlarm ?? 1) > 1 ? ` (${more.DatapointsToAlarm} of ${EvaluationPeriods})` : '';
        const seconds = Period ?? Metrics.flatMap(({ MetricStat }) => MetricStat?.Period ?? [])[0] ?? 0;
        const service = dimensions.service === undefined ? '' : ` of ${dimensions.service}`;
        const counted = `${metric ?? Metrics[0]?.Expression ?? 'other alarms'}${service}`;
        const topic = TOPICS[actions.join()] ?? 'dashboard';
        return `${topic} ${name}: ${Threshold} ${counted} in ${(seconds * EvaluationPeriods) / 60}${often}`;
      })
      .sort();

  it('page a person for at most 15 reasons, and have the topic, metric, threshold and minutes of the table', () => {
    const inFull = rows(full);
    expect(inFull).toMatchInlineSnapshot(`
      [
        "dashboard Crashes-confirm-registration: 1 Errors in 5",
        "dashboard Crashes-create-tp4-account: 1 Errors in 5",
        "dashboard Crashes-create-tp5-account: 1 Errors in 5",
        "dashboard Crashes-request-registration: 1 Errors in 5",
        "dashboard InternalErrors-confirm-registration: 1 InternalError of confirm-registration in 5",
        "dashboard InternalErrors-create-tp4-account: 1 InternalError of create-tp4-account in 5",
        "dashboard InternalErrors-create-tp5-account: 1 InternalError of create-tp5-account in 5",
        "dashboard InternalErrors-request-registration: 1 InternalError of request-registration in 5",
        "dashboard NearDeadline-confirm-registration: 16000 Duration in 15 (2 of 3)",
        "dashboard NearDeadline-create-tp4-account: 23200 Duration in 15 (2 of 3)",
        "dashboard NearDeadline-create-tp5-account: 23200 Duration in 15 (2 of 3)",
        "dashboard NearDeadline-request-registration: 16000 Duration in 15 (2 of 3)",
        "notice AccountNotRecorded: 1 AccountNotRecorded in 5",
        "notice CaptchaUnavailable: 3 CaptchaUnavailable of request-registration in 5",
        "notice ClientNotWritten: 1 ClientNotWritten in 15",
        "notice CodesInDoubt: 3 FILL(otpOutcomeUnknown_email, 0) + FILL(otpOutcomeUnknown_sms, 0) + FILL(otpOutcomeUnknown_call, 0) + FILL(otpOutcomeUnknown_whatsapp, 0) in 15",
        "notice CodesNotSent-call: 5 OtpDeliveryFailed of request-registration in 15",
        "notice CodesNotSent-sms: 5 OtpDeliveryFailed of request-registration in 15",
        "notice CodesNotSent-whatsapp: 5 OtpDeliveryFailed of request-registration in 15",
        "notice CrmEventsWait-accounts: 300 ApproximateAgeOfOldestMessage in 1",
        "notice CrmEventsWait-registrations: 300 ApproximateAgeOfOldestMessage in 1",
        "notice CrmItemMalformed: 1 CrmItemMalformed in 60",
        "notice CrmNotNotified: 3 CrmNotNotified in 15",
        "notice DepositFailed: 1 DepositFailed in 5",
        "notice EventFailed: 3 EventFailed in 15",
        "notice Flood: 100 LimitReached of request-registration in 15",
        "notice FrontRefused: 20 FrontRefused in 15",
        "notice FrontUnreadable: 3 FrontUnreadable in 15",
        "notice LimitsUnchecked-confirm-registration: 1 LimitUncheckable of confirm-registration in 5",
        "notice LoginNotOurs: 1 LoginNotOurs in 60",
        "notice LoginsScarce: 30 login_tries in 1440",
        "notice MailsBounce: 0.05 Reputation.BounceRate in 60",
        "notice MailsComplainedOf: 0.001 Reputation.ComplaintRate in 60",
        "notice MessageRefused: 3 MessageRefused in 15",
        "notice NotSettled: 3 OperationNotSettled in 15",
        "notice NoticeFailed: 3 NoticeFailed in 15",
        "notice OperationUnderivable: 1 OperationUnderivable in 5",
        "notice PlatformRefused-settle-operations: 1 PlatformRefused of settle-operations in 5",
        "notice RecipientRefused: 50 RecipientRefused in 15",
        "notice Requests: 4800 Count in 5",
        "notice SettlerBehind: 900 oldest_due_seconds in 5",
        "notice Spend-call: 50 VoiceMessageMonthlySpend in 15",
        "notice Spend-sms: 50 SMSMonthToDateSpentUSD in 15",
        "notice Spend-whatsapp: 500 OtpSent of request-registration in 1440",
        "page AccountOutcomeUnknown: 1 AccountOutcomeUnknown in 5",
        "page CodesNotSent-email: 5 OtpDeliveryFailed of request-registration in 15",
        "page CrmUndelivered: 1 ApproximateNumberOfMessagesVisible in 5",
        "page LimitsUnchecked-request-registration: 1 LimitUncheckable of request-registration in 5",
        "page PlatformRefused-tp4: 1 PlatformRefused of create-tp4-account in 5",
        "page PlatformRefused-tp5: 1 PlatformRefused of create-tp5-account in 5",
        "page PlatformUnavailable-tp4: 3 PlatformUnavailable of create-tp4-account in 15 (2 of 3)",
        "page PlatformUnavailable-tp5: 3 PlatformUnavailable of create-tp5-account in 15 (2 of 3)",
        "page RouteFails-confirm-registration: any other alarms in 0",
        "page RouteFails-create-tp4-account: any other alarms in 0",
        "page RouteFails-create-tp5-account: any other alarms in 0",
        "page RouteFails-request-registration: any other alarms in 0",
        "page ServerErrors: 10 FILL(all, 0) - FILL(dependencies, 0) in 5",
        "page SettlerFails: 1 runs - errors in 15",
        "page Silence: 1 FILL(otpSent_email, 0) + FILL(otpSent_sms, 0) + FILL(otpSent_call, 0) + FILL(otpSent_whatsapp, 0) in 720 (12 of 12)",
      ]
    `);
    expect(inFull.filter((row) => row.startsWith('page')).length).toBeLessThanOrEqual(15);
  });

  it('about slow functions exist only if they can roll a new version back', () => {
    const slow = (of: Template) => alarmsOf(of).filter(({ name }) => name.startsWith('NearDeadline'));
    expect([slow(template).length, slow(full).length]).toEqual([0, 4]);
  });

  it('publish their end on the same topic as their beginning, by email if the settings have an address', () => {
    for (const { actions, okActions } of all) expect(okActions).toEqual(actions);
    const mail = { Protocol: 'email', Endpoint: 'oncall@acme.example' };
    expect(propertiesOf(full, 'AWS::SNS::Subscription')).toEqual([
      { ...mail, TopicArn: '<AlarmTopic>' },
      { ...mail, TopicArn: '<NoticeTopic>' },
    ]);
    template.resourceCountIs('AWS::SNS::Subscription', 0);
  });

  it('fire without data only if an event must happen', () => {
    for (const { name, missingData, comparison } of all.filter(({ rule }) => rule === undefined)) {
      const isExpected = ['SettlerFails', 'Silence'].includes(name);
      expect([name, missingData]).toEqual([name, isExpected ? 'breaching' : 'notBreaching']);
      expect(comparison).toMatch(isExpected ? /^LessThan/ : /^GreaterThanOrEqual/);
    }
  });

  it('of a route ring for a crash and for an internal error', () => {
    const rules = all.filter(({ rule }) => rule !== undefined).map(({ name, rule }) => [name, rule]);
    expect(rules).toHaveLength(4);
    expect(rules).toContainEqual([
      'RouteFails-request-registration',
      '(ALARM("<AlarmsCrashesrequestregistration.Arn>") OR ALARM("<AlarmsInternalErrorsrequestregistration.Arn>"))',
    ]);
  });

  it('may be published by CloudWatch, for this account only', () => {
    const policies = propertiesOf(template, 'AWS::SNS::TopicPolicy');
    for (const topic of ['<AlarmTopic>', '<NoticeTopic>'])
      expect(JSON.stringify(policies)).toContain(
        `"Condition":{"StringEquals":{"aws:SourceAccount":"<AWS::AccountId>"}},"Effect":"Allow","Principal":{"Service":"cloudwatch.amazonaws.com"},"Resource":"${topic}"`,
      );
  });

  it('count events that the functions know, by dimensions that they write', () => {
    const counting = all.filter(({ namespace }) => namespace === 'BrokerApi');
    expect(counting.length).toBeGreaterThan(20);
    for (const { metric, dimensions } of counting) {
      expect(TELEMETRY).toMatch(new RegExp(`^  ${metric}: '`, 'm'));
      expect(['stage', 'service,stage', 'channel,service,stage']).toContain(Object.keys(dimensions).sort().join());
      expect(dimensions.stage).toBe('full');
    }
  });

  // The rows above show for which functions.
  it('are raised for every error event', () => {
    const counted = new Set(all.map(({ metric }) => metric));
    const errors = [...TELEMETRY.matchAll(/^ {2}(\w+): '(?:ERROR|CRITICAL)',$/gm)].map(([, name = '']) => name);
    expect(errors.length).toBeGreaterThan(15);
    // One that is counted by channel is added in an expression.
    const added = JSON.stringify(all);
    const isAdded = (name: string) => added.includes(`${name.charAt(0).toLowerCase()}${name.slice(1)}_`);
    expect(errors.filter((name) => !counted.has(name) && !isAdded(name))).toEqual([]);
  });
});

describe('The dashboard', () => {
  /** The graphs of the page, each with its metrics: name, dimensions and options. */
  function graphs(of: Template): { title: string; metrics: unknown[][] }[] {
    const [dashboard] = propertiesOf(of, 'AWS::CloudWatch::Dashboard');
    const { widgets } = JSON.parse(String(dashboard?.DashboardBody)) as {
      widgets: { properties: { title: string; metrics?: unknown[][] } }[];
    };
    return widgets.map(({ properties: { title, metrics = [] } }) => ({ title, metrics }));
  }

  it('has a graph for each channel, from the request to the confirmation', () => {
    const found = graphs(full).filter(({ title }) => title.startsWith('Registrations by'));
    expect(found.map(({ title }) => title.split(' ').at(-1))).toEqual(['email', ...PHONE_CHANNELS]);
    const ends = ['OtpSent', 'RegistrationRefused', 'OtpOutcomeUnknown'];
    const confirmations = ['RegistrationConfirmed', 'seconds_to_confirm'];
    for (const {
      title,
      metrics: [requested, ...metrics],
    } of found) {
      expect(requested).toMatchObject([
        { label: 'requested', expression: 'FILL(sent, 0) + FILL(refused, 0) + FILL(unknown, 0)' },
      ]);
      expect(metrics.map(([, name]) => name)).toEqual([...ends, ...confirmations]);
      for (const metric of metrics)
        expect(metric).toEqual(expect.arrayContaining(['channel', title.split(' ').at(-1)]));
    }
    expect(JSON.stringify(graphs(template))).not.toMatch(/Confirmed|seconds_to_confirm/);
  });

  it('shows events that the functions know', () => {
    const ours = graphs(full).flatMap(({ metrics }) => metrics.filter(([namespace]) => namespace === 'BrokerApi'));
    expect(ours.length).toBeGreaterThan(20);
    for (const [, name] of ours) expect(TELEMETRY).toMatch(new RegExp(`^  ${name}: '`, 'm'));
  });
});
