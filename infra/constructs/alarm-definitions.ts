import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Channel } from '../../lib/validators/otp-types.ts';
import type { DeployedFunction, DeployedRoute, ScheduledFunction } from '../routes.ts';
import type { Settings } from '../settings.ts';

/** The parts of the service that the alarms and the dashboard monitor. */
export interface MonitoredService {
  stackName: string;
  settings: Settings;
  functions: readonly MonitoredFunction[];
  scheduled: readonly { scheduled: ScheduledFunction; lambda: LambdaFunction; logGroup: ILogGroup }[];
  api: HttpApi;
  accessLog: ILogGroup;
  configurationSetName: string;
  /** The events that a target did not accept. */
  undelivered: Queue;
  /** Absent: the CRM is not notified. */
  webhook: { undelivered: Queue; deployed: { logGroup: ILogGroup } } | undefined;
}

export interface MonitoredFunction {
  route: DeployedRoute;
  lambda: LambdaFunction;
  logGroup: ILogGroup;
}

export type AlarmDefinition = Named & (Condition | { anyOf: readonly string[] }) & Severity;

interface Named {
  /** The heading in infra/docs/runbook.md; with `of` the alarm's name. */
  id: string;
  of?: string;
  /** The loss for a person. */
  loss: string;
}

/** A condition on one metric; by default over one period of it. */
type Condition = {
  metric: IMetric;
  periods?: { breaching: number; of: number };
  /** The function whose new version is rolled back by this alarm. */
  rollsBack?: DeployedFunction;
} & ({ atLeast: number } | { fewerThan: number });

type Severity =
  /** A person acts at once, at night too. The alarm's text has the two commands. */
  | { severity: 'page'; show: string; fix: string }
  /** A person reads it on the next working day. */
  | { severity: 'notice' }
  /** Sends no message: the dashboard shows it. */
  | { severity: 'dashboard' };

/** Every alarm of the service. */
export function alarmDefinitions(service: MonitoredService): AlarmDefinition[] {
  const { settings, functions } = service;
  const { stage } = settings;
  return [
    ...pages(service),
    ...notices(service),
    ...functions.flatMap(({ route, lambda }) => functionAlarms(route, lambda, stage)),
  ];
}

const MINUTES_5 = { period: Duration.minutes(5), statistic: 'Sum' };

/** The count of an event (lib/telemetry.ts), of one function or of all. */
export function eventCount(
  stage: string,
  name: string,
  minutes: number,
  of: { service?: DeployedFunction; channel?: Channel } = {},
): Metric {
  return new Metric({
    namespace: 'BrokerApi',
    metricName: name,
    dimensionsMap: { ...of, stage },
    statistic: 'Sum',
    period: Duration.minutes(minutes),
  });
}

/** The log lines of one kind of the last hour. */
const logLines = (group: ILogGroup, pattern: string) =>
  `aws logs tail ${group.logGroupName} --filter-pattern '${pattern}' --since 1h`;
const eventLines = (group: ILogGroup, event: string) => logLines(group, `{ $.message = "${event}" }`);

/** No alarm can stop this deployment. */
const ROLL_BACK = 'git checkout GOOD_COMMIT && npm ci && npm run deploy -- -c release=all';

/** The function that sends one-time passwords. */
export const SENDER = 'request-registration' satisfies DeployedFunction;

/** At most 15, with every setting. */
function pages(service: MonitoredService): AlarmDefinition[] {
  const { stackName, settings, functions, scheduled, api, accessLog } = service;
  const { stage } = settings;
  const groups = new Map(functions.map(({ route, logGroup }) => [route.name, logGroup]));
  const senderLog = groups.get(SENDER) ?? accessLog;
  return [
    {
      id: 'CodesNotSent',
      of: 'email',
      loss: 'People who register by email get no one-time password.',
      metric: eventCount(stage, 'OtpDeliveryFailed', 15, { service: SENDER, channel: 'email' }),
      atLeast: 5,
      severity: 'page',
      show: eventLines(senderLog, 'OtpDeliveryFailed'),
      fix: `npm run doctor -- --stack ${stackName}`,
    },
    {
      id: 'LimitsUnchecked',
      of: SENDER,
      loss: 'People who register by phone are refused, and emails go out without limits.',
      metric: eventCount(stage, 'LimitUncheckable', 5, { service: SENDER }),
      atLeast: 1,
      severity: 'page',
      show: eventLines(senderLog, 'LimitUncheckable'),
      fix: 'npm run setting -- throttle.registrationPerSecond=1 && npm run deploy',
    },
    ...functions.flatMap(({ route, logGroup }) => ('version' in route ? platformPages(service, route, logGroup) : [])),
    ...functions.map(
      ({ route: { name }, logGroup }): AlarmDefinition => ({
        id: 'RouteFails',
        of: name,
        loss: `Callers of ${name} get 500: it crashes, or it has an internal error.`,
        anyOf: [`Crashes-${name}`, `InternalErrors-${name}`],
        severity: 'page',
        show: logLines(
          logGroup,
          '{ ($.message = "InternalError") || ($.record.status = "error") || ($.record.status = "timeout") }',
        ),
        fix: ROLL_BACK,
      }),
    ),
    ...scheduled.flatMap(({ lambda, logGroup }) => settlerPages(service, lambda, logGroup)),
    ...crmPages(service),
    {
      id: 'ServerErrors',
      loss: 'Callers of any route get 5xx.',
      metric: api.metricServerError(MINUTES_5),
      atLeast: 10,
      severity: 'page',
      show: logLines(accessLog, '{ $.status = "5*" }'),
      fix: `npm run doctor -- --stack ${stackName}`,
    },
  ];
}

function platformPages(
  { stackName, settings: { stage } }: MonitoredService,
  { name, version }: Extract<DeployedRoute, { version: unknown }>,
  logGroup: ILogGroup,
): AlarmDefinition[] {
  return [
    {
      id: 'PlatformRefused',
      of: version,
      loss: 'No client gets an account on a trading server that refuses our credentials, rights or address.',
      metric: eventCount(stage, 'PlatformRefused', 5, { service: name }),
      atLeast: 1,
      severity: 'page',
      show: eventLines(logGroup, 'PlatformRefused'),
      fix: `npm run crm -- secret put CONNECTION_ID --stack ${stackName}`,
    },
    {
      id: 'PlatformUnavailable',
      of: version,
      loss: 'No client gets an account on a trading server that cannot be reached.',
      metric: eventCount(stage, 'PlatformUnavailable', 5, { service: name }),
      atLeast: 3,
      periods: { breaching: 2, of: 3 },
      severity: 'page',
      show: eventLines(logGroup, 'PlatformUnavailable'),
      fix: `npm run crm -- check CONNECTION_ID --stack ${stackName}`,
    },
  ];
}

function settlerPages(
  { stackName, settings: { stage } }: MonitoredService,
  lambda: LambdaFunction,
  logGroup: ILogGroup,
): AlarmDefinition[] {
  const period = Duration.minutes(15);
  return [
    {
      id: 'SettlerFails',
      loss: 'Accounts whose callers did not come back stay without record, deposit or event.',
      // Without runs there is no data, which also breaches.
      metric: new MathExpression({
        expression: 'runs - errors',
        usingMetrics: {
          runs: lambda.metricInvocations({ period, statistic: 'Sum' }),
          errors: lambda.metricErrors({ period, statistic: 'Sum' }),
        },
        period,
      }),
      fewerThan: 1,
      severity: 'page',
      show: logLines(logGroup, '{ ($.record.status = "error") || ($.record.status = "timeout") }'),
      fix: ROLL_BACK,
    },
    {
      id: 'AccountOutcomeUnknown',
      loss: 'A client may have an account that our records do not show, and only an operator can find out.',
      metric: eventCount(stage, 'AccountOutcomeUnknown', 5),
      atLeast: 1,
      severity: 'page',
      show: eventLines(logGroup, 'AccountOutcomeUnknown'),
      fix: `npm run crm -- settle OPERATION_ID --login LOGIN --stack ${stackName}`,
    },
  ];
}

function crmPages({ stackName, webhook }: MonitoredService): AlarmDefinition[] {
  if (webhook === undefined) return [];
  return [
    {
      id: 'CrmUndelivered',
      loss: 'The CRM did not accept an event for a day: a client of it is missing, or an account of theirs.',
      metric: visibleMessages(webhook.undelivered),
      atLeast: 1,
      severity: 'page',
      show: eventLines(webhook.deployed.logGroup, 'CrmNotNotified'),
      fix: `npm run crm -- redeliver --stack ${stackName}`,
    },
  ];
}

function visibleMessages(queue: Queue): Metric {
  return queue.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(5), statistic: 'Maximum' });
}

/** Events that can wait for the next working day, over all functions. */
const EVENT_NOTICES: readonly { id: string; event: string; minutes: number; atLeast: number; loss: string }[] = [
  {
    id: 'CodesInDoubt',
    event: 'OtpOutcomeUnknown',
    minutes: 15,
    atLeast: 3,
    loss: 'People may wait for a one-time password that was never sent.',
  },
  {
    id: 'AccountNotRecorded',
    event: 'AccountNotRecorded',
    minutes: 5,
    atLeast: 1,
    loss: 'A client has an account that our records do not show.',
  },
  {
    id: 'LoginNotOurs',
    event: 'LoginNotOurs',
    minutes: 60,
    atLeast: 1,
    loss: 'Somebody else opens accounts in our login range: if an answer is lost there, an operator must decide.',
  },
  {
    id: 'DepositFailed',
    event: 'DepositFailed',
    minutes: 5,
    atLeast: 1,
    loss: 'A client has a demo account without its money.',
  },
  {
    id: 'NoticeFailed',
    event: 'NoticeFailed',
    minutes: 15,
    atLeast: 3,
    loss: 'Clients got no email or popup about their new accounts.',
  },
  {
    id: 'EventFailed',
    event: 'EventFailed',
    minutes: 15,
    atLeast: 3,
    loss: 'Other systems of the broker learn late of accounts and registrations.',
  },
  {
    id: 'NotSettled',
    event: 'OperationNotSettled',
    minutes: 15,
    atLeast: 3,
    loss: 'Callers who retry must wait, because the end of a request could not be written.',
  },
  {
    id: 'CrmItemMalformed',
    event: 'CrmItemMalformed',
    minutes: 60,
    atLeast: 1,
    loss: 'A form, client or connection counts as absent: its item in the table breaks the rules.',
  },
];

function notices(service: MonitoredService): AlarmDefinition[] {
  const { settings, api, undelivered, configurationSetName, functions, scheduled, webhook } = service;
  const { stage, channels, captcha, throttle } = settings;
  const confirming = functions.flatMap(({ route }) => ('setting' in route ? [route.name] : []));
  const all: (Named & Condition)[] = [
    ...EVENT_NOTICES.map(({ id, event, minutes, atLeast, loss }) => ({
      id,
      loss,
      metric: eventCount(stage, event, minutes),
      atLeast,
    })),
    ...channels
      .filter((channel) => channel !== 'email')
      .map((channel) => ({
        id: 'CodesNotSent',
        of: channel,
        loss: `People who register by ${channel} get no one-time password.`,
        metric: eventCount(stage, 'OtpDeliveryFailed', 15, { service: SENDER, channel }),
        atLeast: 5,
      })),
    ...scheduled.map(({ scheduled: { name } }) => ({
      id: 'PlatformRefused',
      of: name,
      loss: 'The settler cannot ask a trading server that refuses our credentials, rights or address.',
      metric: eventCount(stage, 'PlatformRefused', 5, { service: name }),
      atLeast: 1,
    })),
    {
      id: 'Flood',
      loss: 'A flood of registrations reaches the limits: people who share a source with it are refused.',
      metric: eventCount(stage, 'LimitReached', 15, { service: SENDER }),
      atLeast: 100,
    },
    ...confirming.flatMap((name) => [
      {
        id: 'Guesses',
        loss: 'A source guesses codes or passwords of registrations, up to the limits.',
        metric: eventCount(stage, 'LimitReached', 15, { service: name }),
        atLeast: 100,
      },
      {
        id: 'LimitsUnchecked',
        of: name,
        loss: 'Confirmations are not counted by source: a code still has five guesses.',
        metric: eventCount(stage, 'LimitUncheckable', 5, { service: name }),
        atLeast: 1,
      },
    ]),
    ...(captcha === undefined
      ? []
      : [
          {
            id: 'CaptchaUnavailable',
            loss: 'People who register by phone are refused, and emails go out without a captcha.',
            metric: eventCount(stage, 'CaptchaUnavailable', 5, { service: SENDER }),
            atLeast: 3,
          },
        ]),
    ...(webhook === undefined ? [] : crmConditions(stage)),
    {
      id: 'ClientErrors',
      loss: 'Junk requests use up the throttle that callers share.',
      metric: api.metricClientError(MINUTES_5),
      // Half of the throttle.
      atLeast: Math.max(1, throttle.registrationPerSecond * 150),
    },
    {
      id: 'Requests',
      loss: 'Soon callers get 429 from the gateway: the requests come close to the throttle.',
      metric: api.metricCount(MINUTES_5),
      atLeast: Math.max(1, throttle.registrationPerSecond * 240),
    },
    {
      id: 'EventsUndelivered',
      loss: 'Another system of the broker does not know of accounts or registrations: it did not accept their events.',
      metric: visibleMessages(undelivered),
      atLeast: 1,
    },
    ...mailConditions(configurationSetName),
    ...spendConditions(settings),
  ];
  return all.map((one) => ({ ...one, severity: 'notice' }));
}

function crmConditions(stage: string): (Named & Condition)[] {
  return [
    {
      id: 'CrmNotNotified',
      loss: 'The CRM does not accept events: new clients cannot open accounts until it does.',
      metric: eventCount(stage, 'CrmNotNotified', 15),
      atLeast: 3,
    },
    {
      id: 'ClientNotWritten',
      loss: 'A new client cannot open accounts: the CRM named an id, or has an email address, that is another client’s.',
      metric: eventCount(stage, 'ClientNotWritten', 15),
      atLeast: 1,
    },
  ];
}

/** SES reviews an account with 5 % bounces or 0.1 % complaints, and stops it at twice to five times that. */
function mailConditions(configurationSet: string): (Named & Condition)[] {
  const reputation = (metricName: string) =>
    new Metric({
      namespace: 'AWS/SES',
      metricName,
      dimensionsMap: { 'ses:configuration-set': configurationSet },
      statistic: 'Average',
      period: Duration.hours(1),
    });
  return [
    {
      id: 'MailsBounce',
      loss: 'Soon SES stops our emails: too many go to addresses that do not exist.',
      metric: reputation('Reputation.BounceRate'),
      atLeast: 0.05,
    },
    {
      id: 'MailsComplainedOf',
      loss: 'Soon SES stops our emails: too many people call them unwanted.',
      metric: reputation('Reputation.ComplaintRate'),
      atLeast: 0.001,
    },
  ];
}

/** The cost of this month's messages, in US dollars, for the whole account and region. */
export const SPENT = {
  sms: new Metric({
    namespace: 'AWS/SNS',
    metricName: 'SMSMonthToDateSpentUSD',
    statistic: 'Maximum',
    period: Duration.minutes(15),
  }),
  call: new Metric({
    namespace: 'AWS/SMSVoice',
    metricName: 'VoiceMessageMonthlySpend',
    statistic: 'Maximum',
    period: Duration.minutes(15),
  }),
};

function spendConditions({ stage, channels, spend }: Settings): (Named & Condition)[] {
  const all = [
    {
      of: 'sms',
      loss: `Your bill: texts have cost $${spend.smsUsdPerMonth} this month. At the account's own limit no text is sent.`,
      metric: SPENT.sms,
      atLeast: spend.smsUsdPerMonth,
    },
    {
      of: 'call',
      loss: `Your bill: calls have cost $${spend.callUsdPerMonth} this month. At the account's own limit no call is made.`,
      metric: SPENT.call,
      atLeast: spend.callUsdPerMonth,
    },
    {
      of: 'whatsapp',
      loss: `Your bill: ${spend.whatsappMessagesPerDay} WhatsApp messages were sent within a day.`,
      metric: eventCount(stage, 'OtpSent', 24 * 60, { service: SENDER, channel: 'whatsapp' }),
      atLeast: spend.whatsappMessagesPerDay,
    },
  ];
  return all.filter(({ of }) => channels.some((channel) => channel === of)).map((one) => ({ id: 'Spend', ...one }));
}

/** The health of a function; a new version that harms it is rolled back. */
function functionAlarms(
  { name, timeoutSeconds }: DeployedRoute,
  lambda: LambdaFunction,
  stage: string,
): AlarmDefinition[] {
  const own = { of: name, rollsBack: name, severity: 'dashboard' } as const;
  return [
    {
      ...own,
      id: 'InternalErrors',
      loss: 'Callers get 500: a bug of ours, or a service of AWS that fails.',
      metric: eventCount(stage, 'InternalError', 5, { service: name }),
      atLeast: 1,
    },
    {
      ...own,
      id: 'Crashes',
      loss: 'Callers get the bare error of the gateway: the function does not start, or Lambda ends it.',
      metric: lambda.metricErrors(MINUTES_5),
      atLeast: 1,
    },
    {
      ...own,
      id: 'NearDeadline',
      loss: `Callers wait nearly ${timeoutSeconds} seconds, and soon in vain.`,
      metric: lambda.metricDuration({ period: Duration.minutes(5), statistic: 'Maximum' }),
      atLeast: timeoutSeconds * 1_000 * 0.8,
      periods: { breaching: 2, of: 3 },
    },
    {
      id: 'Throttles',
      of: name,
      severity: 'dashboard',
      loss: 'Callers get 503: more calls at once than the account or the setting `concurrency` allows.',
      metric: lambda.metricThrottles(MINUTES_5),
      atLeast: 1,
    },
  ];
}
