import { readFileSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { type AlarmText, alarmsOf } from '../../support/alarms.ts';
import { EVERYTHING, plain, resources, synthesize } from '../../support/stack.ts';

let template: Template;
let full: Template;
let all: AlarmText[];

beforeAll(() => {
  template = synthesize();
  full = synthesize(EVERYTHING);
  all = alarmsOf(full);
});

const ROOT = new URL('../../..', import.meta.url);
const OPENING = ['create-tp5-account', 'create-tp4-account'];
const ROUTES = ['request-registration', 'confirm-registration', ...OPENING];
/** The functions whose error events raise an alarm; `any`: one alarm counts the event of all functions. */
const ALARMED: Record<string, string[]> = {
  OtpDeliveryFailed: ['request-registration'],
  OtpOutcomeUnknown: ['any'],
  LimitUncheckable: ['request-registration', 'confirm-registration'],
  CaptchaUnavailable: ['request-registration'],
  AccountOutcomeUnknown: ['any'],
  AccountNotRecorded: ['any'],
  LoginNotOurs: ['any'],
  DepositFailed: ['any'],
  NoticeFailed: ['any'],
  EventFailed: ['any'],
  CrmNotNotified: ['any'],
  ClientNotWritten: ['any'],
  PlatformRefused: [...OPENING, 'settle-operations'],
  // The settler waits for a server that is unavailable, and no caller waits with it.
  PlatformUnavailable: OPENING,
  OperationNotSettled: ['any'],
  CrmItemMalformed: ['any'],
  InternalError: ROUTES,
};

const PAGES = [
  'AccountOutcomeUnknown',
  'CodesNotSent-email',
  'LimitsUnchecked-request-registration',
  'PlatformRefused-tp4',
  'PlatformRefused-tp5',
  'PlatformUnavailable-tp4',
  'PlatformUnavailable-tp5',
  ...['create-tp4-account', 'create-tp5-account', 'request-registration'].map((name) => `RouteFails-${name}`),
  'ServerErrors',
  'SettlerFails',
];
const NOTICES = [
  'AccountNotRecorded',
  'ClientErrors',
  'CodesInDoubt',
  'CrmItemMalformed',
  'DepositFailed',
  'EventFailed',
  'EventsUndelivered',
  'Flood',
  'LoginNotOurs',
  'MailsBounce',
  'MailsComplainedOf',
  'NotSettled',
  'NoticeFailed',
  'PlatformRefused-settle-operations',
  'Requests',
];

interface AlarmNumbers {
  AlarmName: string;
  Threshold: number;
  /** In seconds. */
  Period?: number;
  EvaluationPeriods?: number;
  Metrics?: { MetricStat?: { Period: number } }[];
}

describe('Alarms', () => {
  const names = (of: Template, topic?: string) =>
    alarmsOf(of)
      .filter(({ actions }) => actions.join() === (topic ?? ''))
      .map(({ name }) => name)
      .sort();

  it('page a person for at most 15 reasons, with every setting', () => {
    expect(names(template, '<AlarmTopic>')).toEqual(PAGES);
    const more = names(full, '<AlarmTopic>').filter((name) => !PAGES.includes(name));
    expect(more).toEqual(['CrmUndelivered', 'RouteFails-confirm-registration']);
    expect(names(full, '<AlarmTopic>').length).toBeLessThanOrEqual(15);
  });

  it('publish everything that can wait until the next working day on another topic', () => {
    expect(names(template, '<NoticeTopic>')).toEqual(NOTICES);
    const more = names(full, '<NoticeTopic>').filter((name) => !NOTICES.includes(name));
    expect(more).toEqual([
      'CaptchaUnavailable',
      'ClientNotWritten',
      'CodesNotSent-call',
      'CodesNotSent-sms',
      'CodesNotSent-whatsapp',
      'CrmNotNotified',
      'Guesses',
      'LimitsUnchecked-confirm-registration',
      'Spend-call',
      'Spend-sms',
      'Spend-whatsapp',
    ]);
  });

  it('send no message about the parts of a page, and about dashboard metrics', () => {
    const kinds = ['Crashes', 'InternalErrors', 'NearDeadline', 'Throttles'];
    expect(names(full)).toEqual(kinds.flatMap((kind) => ROUTES.map((name) => `${kind}-${name}`)).sort());
  });

  it('publish their end on the same topic as their beginning, by email if the settings have an address', () => {
    for (const { actions, okActions } of all) expect(okActions).toEqual(actions);
    const subscriptions = Object.values(resources(full, 'AWS::SNS::Subscription')).map(({ Properties }) =>
      plain(Properties),
    );
    const mail = { Protocol: 'email', Endpoint: 'oncall@acme.example' };
    expect(subscriptions).toEqual([
      { ...mail, TopicArn: '<AlarmTopic>' },
      { ...mail, TopicArn: '<NoticeTopic>' },
    ]);
    template.resourceCountIs('AWS::SNS::Subscription', 0);
  });

  it('fire without data only if an event must happen', () => {
    for (const { name, missingData, comparison } of all.filter(({ rule }) => rule === undefined)) {
      const mustHappen = name === 'SettlerFails';
      expect([name, missingData]).toEqual([name, mustHappen ? 'breaching' : 'notBreaching']);
      expect(comparison).toMatch(mustHappen ? /^LessThan/ : /^GreaterThanOrEqual/);
    }
  });

  it('ring for this much within this many minutes', () => {
    const rows = Object.values(resources(full, 'AWS::CloudWatch::Alarm')).map(({ Properties }) => {
      const { AlarmName, Threshold, Period, EvaluationPeriods = 1, Metrics } = plain(Properties) as AlarmNumbers;
      const seconds = Period ?? Metrics?.flatMap(({ MetricStat }) => MetricStat?.Period ?? [])[0] ?? 0;
      return `${AlarmName.replace('broker-api-test-', '')}: ${Threshold} in ${(seconds * EvaluationPeriods) / 60}`;
    });
    expect(rows.sort()).toMatchInlineSnapshot(`
      [
        "AccountNotRecorded: 1 in 5",
        "AccountOutcomeUnknown: 1 in 5",
        "CaptchaUnavailable: 3 in 5",
        "ClientErrors: 3000 in 5",
        "ClientNotWritten: 1 in 15",
        "CodesInDoubt: 3 in 15",
        "CodesNotSent-call: 5 in 15",
        "CodesNotSent-email: 5 in 15",
        "CodesNotSent-sms: 5 in 15",
        "CodesNotSent-whatsapp: 5 in 15",
        "Crashes-confirm-registration: 1 in 5",
        "Crashes-create-tp4-account: 1 in 5",
        "Crashes-create-tp5-account: 1 in 5",
        "Crashes-request-registration: 1 in 5",
        "CrmItemMalformed: 1 in 60",
        "CrmNotNotified: 3 in 15",
        "CrmUndelivered: 1 in 5",
        "DepositFailed: 1 in 5",
        "EventFailed: 3 in 15",
        "EventsUndelivered: 1 in 5",
        "Flood: 100 in 15",
        "Guesses: 100 in 15",
        "InternalErrors-confirm-registration: 1 in 5",
        "InternalErrors-create-tp4-account: 1 in 5",
        "InternalErrors-create-tp5-account: 1 in 5",
        "InternalErrors-request-registration: 1 in 5",
        "LimitsUnchecked-confirm-registration: 1 in 5",
        "LimitsUnchecked-request-registration: 1 in 5",
        "LoginNotOurs: 1 in 60",
        "MailsBounce: 0.05 in 60",
        "MailsComplainedOf: 0.001 in 60",
        "NearDeadline-confirm-registration: 16000 in 15",
        "NearDeadline-create-tp4-account: 23200 in 15",
        "NearDeadline-create-tp5-account: 23200 in 15",
        "NearDeadline-request-registration: 16000 in 15",
        "NotSettled: 3 in 15",
        "NoticeFailed: 3 in 15",
        "PlatformRefused-settle-operations: 1 in 5",
        "PlatformRefused-tp4: 1 in 5",
        "PlatformRefused-tp5: 1 in 5",
        "PlatformUnavailable-tp4: 3 in 15",
        "PlatformUnavailable-tp5: 3 in 15",
        "Requests: 4800 in 5",
        "ServerErrors: 10 in 5",
        "SettlerFails: 1 in 15",
        "Spend-call: 50 in 15",
        "Spend-sms: 50 in 15",
        "Spend-whatsapp: 500 in 1440",
        "Throttles-confirm-registration: 1 in 5",
        "Throttles-create-tp4-account: 1 in 5",
        "Throttles-create-tp5-account: 1 in 5",
        "Throttles-request-registration: 1 in 5",
      ]
    `);
  });

  it('of a route ring for a crash and for an internal error', () => {
    const rules = all.filter(({ rule }) => rule !== undefined).map(({ name, rule }) => [name, rule]);
    expect(rules).toHaveLength(ROUTES.length);
    expect(rules).toContainEqual([
      'RouteFails-request-registration',
      '(ALARM("<AlarmsCrashesrequestregistration.Arn>") OR ALARM("<AlarmsInternalErrorsrequestregistration.Arn>"))',
    ]);
  });

  it('may be published by CloudWatch, for this account only', () => {
    const policies = Object.values(resources(template, 'AWS::SNS::TopicPolicy')).map(({ Properties }) =>
      plain(Properties),
    );
    for (const topic of ['<AlarmTopic>', '<NoticeTopic>'])
      expect(JSON.stringify(policies)).toContain(
        `"Condition":{"StringEquals":{"aws:SourceAccount":"<AWS::AccountId>"}},"Effect":"Allow","Principal":{"Service":"cloudwatch.amazonaws.com"},"Resource":"${topic}"`,
      );
  });

  it('count events that the functions know, by dimensions that they write', () => {
    const known = readFileSync(new URL('lib/telemetry.ts', ROOT), 'utf8');
    const counting = all.filter(({ namespace }) => namespace === 'BrokerApi');
    expect(counting.length).toBeGreaterThan(20);
    for (const { metric, dimensions } of counting) {
      expect(known).toMatch(new RegExp(`^  ${metric}: '`, 'm'));
      expect(['stage', 'service,stage', 'channel,service,stage']).toContain(Object.keys(dimensions).sort().join());
      expect(dimensions.stage).toBe('full');
    }
  });

  it('are raised for every error event, of each function that only its own alarm covers', () => {
    const counted = all
      .filter(({ namespace }) => namespace === 'BrokerApi')
      .map(({ metric, dimensions }) => `${metric} of ${dimensions.service ?? 'any'}`);
    const source = readFileSync(new URL('lib/telemetry.ts', ROOT), 'utf8');
    const errors = [...source.matchAll(/^ {2}(\w+): '(?:ERROR|CRITICAL)',$/gm)].map(([, name = '']) => name);
    expect(Object.keys(ALARMED)).toEqual(errors);
    const needed = Object.entries(ALARMED).flatMap(([name, services]) => services.map((one) => `${name} of ${one}`));
    expect(needed.filter((one) => !counted.includes(one))).toEqual([]);
  });

  it('of the gateway ring before junk requests use up the throttle', () => {
    const limits = (context: object) =>
      alarmsOf(synthesize({ ...context }))
        .filter(({ name }) => name === 'ClientErrors' || name === 'Requests')
        .map(({ metric, threshold }) => [metric, threshold]);
    // By default 20 a second pass: 6,000 in five minutes.
    expect(limits({})).toEqual([
      ['4xx', 3_000],
      ['Count', 4_800],
    ]);
  });

  it('ring well before the end of a function’s time', () => {
    const near = alarmsOf(template).filter(({ name }) => name.includes('NearDeadline'));
    expect(near.map(({ threshold }) => threshold).sort()).toEqual([16_000, 23_200, 23_200]);
  });
});
