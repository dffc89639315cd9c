import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { type Channel, isPhoneChannel, type PhoneChannel } from '../../lib/validators/otp-types.ts';
import { ALL_FUNCTIONS, type FunctionName, hasRoute, type RouteFunction } from '../functions.ts';
import type { Settings } from '../settings.ts';
import type { DeployedFunction } from './functions.ts';

/** The parts of the service that the alarms and the dashboard monitor. */
export interface MonitoredService {
  stackName: string;
  settings: Settings;
  functions: readonly DeployedFunction[];
  api: HttpApi;
  accessLog: ILogGroup;
  configurationSetName: string;
  /** Absent: the CRM is not notified. */
  webhook: { queues: CrmQueues; undelivered: Queue } | undefined;
}

type CrmQueues = Readonly<Record<'registrations' | 'accounts', Queue>>;

/** A function with callers, who notice its failures. */
type AnsweringFunction = DeployedFunction & { declared: RouteFunction };

const isAnswering = (one: DeployedFunction): one is AnsweringFunction => hasRoute(one.declared);

/** An alarm. With a fix, a person acts at once, at night too: its text has this command, and one that shows the cause. */
interface AlarmRow {
  /** The heading in infra/docs/runbook.md; absent: the event. With `of` the alarm's name. */
  id?: string;
  of?: string;
  /** What a person loses. */
  loss: string;
  when: Condition | AnyOf;
  fix?: string;
  /** Absent: the log lines of the event. */
  show?: string;
  /** The function whose new version is rolled back by this alarm. The dashboard shows it, and it sends no message. */
  rollsBack?: FunctionName;
}

interface Condition {
  /** The event that is counted (lib/telemetry.ts), of one function or of all; absent: there is a metric. */
  event?: string;
  service?: FunctionName;
  channel?: Channel;
  metric?: IMetric;
  /** This many within this many minutes; absent: one in five. */
  count?: readonly [atLeast: number, minutes: number];
  /** Instead of a count. No data counts as none. */
  fewerThan?: number;
  /** In two of three periods. */
  twice?: true;
  /** In each of this many periods. */
  periods?: number;
}

/** Other alarms, by their names. */
interface AnyOf {
  anyOf: readonly string[];
}

export type AlarmDefinition = AlarmRow & {
  id: string;
  when: (Condition & { metric: IMetric; atLeast: number }) | AnyOf;
};

/** Every alarm of the service. */
export function alarmDefinitions(service: MonitoredService): AlarmDefinition[] {
  const { settings, accessLog } = service;
  const logs = new Map<string, ILogGroup>(service.functions.map((one) => [one.declared.name, one.logGroup]));
  const functions = service.functions.filter(isAnswering);
  // The alarms that others are made of come first.
  const health = functions.flatMap((one) => rollbacks(one, settings));
  const rows = [...pages(service), ...notices(service), ...health, ...functions.map(routeFails)];
  return rows.map(({ when, ...row }) => {
    if ('anyOf' in when) return { id: '', ...row, when };
    const { event = '', service: name, channel, count: [atLeast, minutes] = [1, 5] } = when;
    const of = { ...(name && { service: name }), ...(channel && { channel }) };
    const metric = when.metric ?? eventCount(settings.stage, event, minutes, of);
    const show = eventLines(logs.get(name ?? SETTLER) ?? accessLog, event);
    return { id: event, show, ...row, when: { ...when, metric, atLeast } };
  });
}

const MINUTES_5 = { period: Duration.minutes(5), statistic: 'Sum' };

/** The count of an event (lib/telemetry.ts), of one function or of all. */
export function eventCount(
  stage: string,
  name: string,
  minutes: number,
  of: { service?: FunctionName; channel?: Channel } = {},
): Metric {
  return new Metric({
    namespace: 'BrokerApi',
    metricName: name,
    dimensionsMap: { ...of, stage },
    statistic: 'Sum',
    period: Duration.minutes(minutes),
  });
}

/** How long the oldest due operation has waited for the settler, in seconds. */
export function oldestDue(stage: string): Metric {
  return new Metric({
    namespace: 'BrokerApi',
    metricName: 'oldest_due_seconds',
    dimensionsMap: { stage },
    statistic: 'Maximum',
    period: Duration.minutes(5),
  });
}

/** The most logins that an account of the day has tried. */
export function loginTries(stage: string): Metric {
  const period = Duration.days(1);
  return new Metric({
    namespace: 'BrokerApi',
    metricName: 'login_tries',
    dimensionsMap: { stage },
    statistic: 'Maximum',
    period,
  });
}

/** A daily number of the connection whose logins end first: the lowest of all. */
export function scarcestLogins(stage: string, metricName: 'logins_free' | 'login_days_left'): Metric {
  const period = Duration.days(1);
  return new Metric({ namespace: 'BrokerApi', metricName, dimensionsMap: { stage }, statistic: 'Minimum', period });
}

/** The log lines of one kind of the last hour. */
const logLines = (group: ILogGroup, pattern: string) =>
  `aws logs tail ${group.logGroupName} --filter-pattern '${pattern}' --since 1h`;
const eventLines = (group: ILogGroup, event: string) => logLines(group, `{ $.message = "${event}" }`);

/** Makes an earlier version of the function live again, within seconds and without a deployment. */
const rollBack = ({ functionName }: LambdaFunction) =>
  `aws lambda update-alias --function-name ${functionName} --name live --function-version VERSION`;

/** The function with alarms of this kind. Each kind but `opening` has one. */
function functionAlarmedFor(kind: 'sending' | 'confirming' | 'settling' | 'notifying'): FunctionName {
  const found = ALL_FUNCTIONS.find(({ alarms }) => alarms.includes(kind));
  if (found === undefined) throw new Error(`No function has alarms for ${kind}.`);
  return found.name;
}

/** The function that sends one-time passwords. */
export const SENDER = functionAlarmedFor('sending');
/** The function that confirms registrations. */
export const CONFIRMER = functionAlarmedFor('confirming');
const SETTLER = functionAlarmedFor('settling');
const NOTIFIER = functionAlarmedFor('notifying');

/** A person acts at once, at night too. At most 15 with every setting, and with those of `routeFails`. */
function pages(service: MonitoredService): AlarmRow[] {
  const { stackName, settings, functions, api, accessLog, webhook } = service;
  const sender = functions.flatMap(({ declared, lambda }) => (declared.name === SENDER ? [lambda.functionName] : []));
  const doctor = `npm run doctor -- --stack ${stackName}`;
  return [
    {
      id: 'CodesNotSent',
      of: 'email',
      loss: 'People who register by email get no one-time password.',
      when: { event: 'OtpDeliveryFailed', service: SENDER, channel: 'email', count: [5, 15] },
      fix: doctor,
    },
    {
      id: 'LimitsUnchecked',
      of: SENDER,
      loss: 'People who register by phone are refused, and emails go out without limits.',
      when: { event: 'LimitUncheckable', service: SENDER },
      fix: `aws lambda put-function-concurrency --function-name ${sender[0]} --reserved-concurrent-executions 1`,
    },
    ...functions.flatMap(({ declared }) =>
      declared.alarms.includes('opening') ? platformPages(stackName, declared) : [],
    ),
    ...functions
      .filter(({ declared }) => declared.name === SETTLER)
      .map(({ lambda, logGroup }) => settlerFails(lambda, logGroup)),
    {
      when: { event: 'AccountOutcomeUnknown' },
      loss: 'A client may have an account that our records do not show, and only an operator can find out.',
      // Four functions can log the event; the list has what they left.
      show: `npm run crm -- operations --open --stack ${stackName}`,
      fix: `npm run crm -- settle OPERATION_ID --login LOGIN --stack ${stackName}`,
    },
    ...(webhook === undefined
      ? []
      : [
          {
            id: 'CrmUndelivered',
            loss: 'The CRM did not accept an event for a day: a client of it is missing, or an account of theirs.',
            when: { metric: visibleMessages(webhook.undelivered) },
            show: eventLines(logOf(functions, NOTIFIER) ?? accessLog, 'CrmNotNotified'),
            fix: `npm run crm -- redeliver --stack ${stackName}`,
          },
        ]),
    {
      id: 'ServerErrors',
      loss: 'Callers of any route get 5xx by a failure of ours: an internal error, a crash, a timeout, or the gateway.',
      when: { metric: ownFailures(settings.stage, api), count: [10, 5] },
      show: logLines(accessLog, '{ $.status = "5*" }'),
      fix: doctor,
    },
    ...silence(settings, accessLog, doctor),
  ];
}

/** No registration was accepted for hours: nothing that counts errors hears of a page that is down. */
function silence({ silenceHours, stage }: Settings, accessLog: ILogGroup, fix: string): AlarmRow[] {
  if (silenceHours === undefined) return [];
  const when = { metric: eventCount(stage, 'OtpSent', 60, { service: SENDER }), fewerThan: 1, periods: silenceHours };
  const show = logLines(accessLog, '{ $.route = "POST /public/v1/account/register/request" }');
  return [{ id: 'Silence', loss: `Nobody has registered for ${silenceHours} hours.`, when, show, fix }];
}

/** Answers of 5xx without those that a provider or a trading server caused, which have alarms of their own. */
function ownFailures(stage: string, api: HttpApi): MathExpression {
  const usingMetrics = {
    all: api.metricServerError(MINUTES_5),
    dependencies: eventCount(stage, 'DependencyFailed', 5),
  };
  return new MathExpression({
    expression: 'FILL(all, 0) - FILL(dependencies, 0)',
    usingMetrics,
    period: Duration.minutes(5),
  });
}

/** Rings if one of two alarms of the function rings. */
function routeFails({ declared: { name }, lambda, logGroup }: AnsweringFunction): AlarmRow {
  return {
    id: 'RouteFails',
    of: name,
    loss: `Callers of ${name} get 500: it crashes, or it has an internal error.`,
    when: { anyOf: [`Crashes-${name}`, `InternalErrors-${name}`] },
    show: logLines(
      logGroup,
      '{ ($.message = "InternalError") || ($.record.status = "error") || ($.record.status = "timeout") }',
    ),
    fix: rollBack(lambda),
  };
}

function platformPages(stackName: string, { name, version = 'tp5' }: DeployedFunction['declared']): AlarmRow[] {
  return [
    {
      of: version,
      when: { event: 'PlatformRefused', service: name },
      loss: 'No client gets an account on a trading server that refuses our credentials, rights or address.',
      fix: `npm run crm -- secret put CONNECTION_ID --stack ${stackName}`,
    },
    {
      of: version,
      when: { event: 'PlatformUnavailable', service: name, count: [3, 5], twice: true },
      loss: 'No client gets an account on a trading server that cannot be reached.',
      fix: `npm run doctor -- CONNECTION_ID --stack ${stackName}`,
    },
  ];
}

function settlerFails(lambda: LambdaFunction, logGroup: ILogGroup): AlarmRow {
  const period = Duration.minutes(15);
  return {
    id: 'SettlerFails',
    loss: 'Accounts whose callers did not retry have no record, deposit or event.',
    when: {
      metric: new MathExpression({
        expression: 'runs - errors',
        usingMetrics: {
          runs: lambda.metricInvocations({ period, statistic: 'Sum' }),
          errors: lambda.metricErrors({ period, statistic: 'Sum' }),
        },
        period,
      }),
      fewerThan: 1,
    },
    show: logLines(logGroup, '{ ($.record.status = "error") || ($.record.status = "timeout") }'),
    fix: rollBack(lambda),
  };
}

function logOf(functions: readonly DeployedFunction[], name: FunctionName): ILogGroup | undefined {
  return functions.find(({ declared }) => declared.name === name)?.logGroup;
}

function visibleMessages(queue: Queue): Metric {
  return queue.metricApproximateNumberOfMessagesVisible({ period: Duration.minutes(5), statistic: 'Maximum' });
}

/** Events that can wait for the next working day, over all functions. */
const EVENT_NOTICES: readonly AlarmRow[] = [
  {
    id: 'CodesInDoubt',
    when: { event: 'OtpOutcomeUnknown', count: [3, 15] },
    loss: 'People may wait for a one-time password that was never sent.',
  },
  {
    when: { event: 'OwnerNoticeRefused', count: [3, 15] },
    loss: 'Clients who register again get no notice: its template or provider refuses it, and the answers hide that.',
  },
  {
    when: { event: 'RecipientRefused', count: [50, 15] },
    loss: 'Many people get no one-time password: the provider refuses their addresses or numbers. It may be an attack.',
  },
  { when: { event: 'AccountNotRecorded' }, loss: 'A client has an account that our records do not show.' },
  {
    when: { event: 'OperationUnderivable' },
    loss: 'A retry cannot get its account: the key that made its operation is gone.',
  },
  {
    when: { event: 'LoginNotOurs', count: [1, 60] },
    loss: 'Another program opens accounts in our login range: if an answer is lost there, an operator must decide.',
  },
  { when: { event: 'DepositFailed' }, loss: 'A client has a demo account without its money.' },
  {
    when: { event: 'NoticeFailed', count: [3, 15] },
    loss: 'Clients got no email or popup about their new accounts.',
  },
  {
    when: { event: 'EventFailed', count: [3, 15] },
    loss: 'Other systems of the broker learn late of accounts and registrations.',
  },
  {
    id: 'NotSettled',
    when: { event: 'OperationNotSettled', count: [3, 15] },
    loss: 'Callers who retry must wait, because the end of a request could not be written.',
  },
  {
    when: { event: 'CrmItemMalformed', count: [1, 60] },
    loss: 'A form, client or connection counts as absent: its item in the table breaks the rules.',
  },
];

/** A person reads them on the next working day. */
function notices(service: MonitoredService): AlarmRow[] {
  const { settings, api, configurationSetName, functions, webhook } = service;
  const { channels, captcha, front, throttle } = settings;
  const names = functions.map(({ declared }) => declared.name);
  const confirming = names.filter((name) => name === CONFIRMER);
  return [
    ...EVENT_NOTICES,
    ...channels
      .filter((channel) => channel !== 'email')
      .map(
        (channel): AlarmRow => ({
          id: 'CodesNotSent',
          of: channel,
          loss: `People who register by ${channel} get no one-time password.`,
          when: { event: 'OtpDeliveryFailed', service: SENDER, channel, count: [5, 15] },
        }),
      ),
    ...names
      .filter((name) => name === SETTLER)
      .map((name) => ({
        of: name,
        when: { event: 'PlatformRefused', service: name },
        loss: 'The settler cannot ask a trading server that refuses our credentials, rights or address.',
      })),
    {
      id: 'SettlerBehind',
      loss: 'Accounts whose callers did not retry wait for their records, deposits and events.',
      when: { metric: oldestDue(settings.stage), count: [15 * 60, 5] },
    },
    {
      id: 'Flood',
      when: { event: 'LimitReached', service: SENDER, count: [100, 15] },
      loss: 'A flood of registrations reaches the limits: people who share a source with it are refused.',
    },
    ...confirming.map((name) => ({
      id: 'LimitsUnchecked',
      of: name,
      when: { event: 'LimitUncheckable', service: name },
      loss: 'Confirmations are not counted by source: a code still has five guesses.',
    })),
    ...(captcha === undefined ? [] : [CAPTCHA_NOTICE]),
    ...(front === undefined ? [] : [FRONT_NOTICE]),
    ...(webhook === undefined ? [] : [...CRM_NOTICES, ...waitingNotices(webhook.queues)]),
    {
      id: 'LoginsScarce',
      loss: 'The logins of a connection run out, and then no account can be opened there.',
      // Likely when 90 % of a range are used, or earlier if many accounts are opened each day.
      when: { metric: loginTries(settings.stage), count: [30, 24 * 60] },
    },
    {
      id: 'Requests',
      loss: 'Soon callers get 429 from the gateway: the requests come close to the throttle.',
      when: { metric: api.metricCount(MINUTES_5), count: [Math.max(1, throttle.registrationPerSecond * 240), 5] },
    },
    ...mailNotices(configurationSetName),
    ...spendNotices(settings),
  ];
}

const CAPTCHA_NOTICE: AlarmRow = {
  when: { event: 'CaptchaUnavailable', service: SENDER, count: [3, 5] },
  loss: 'People who register by phone are refused, and emails go out without a captcha.',
};

const FRONT_NOTICE: AlarmRow = {
  when: { event: 'FrontRefused', count: [20, 15] },
  loss: 'Requests without the secret of the front are refused: the front has another secret, or programs bypass it.',
};

const CRM_NOTICES: readonly AlarmRow[] = [
  {
    when: { event: 'CrmNotNotified', count: [3, 15] },
    loss: 'The CRM does not accept events: new clients cannot open accounts until it does.',
  },
  {
    when: { event: 'ClientNotWritten', count: [1, 15] },
    loss: 'A new client cannot open accounts: the CRM named an id that is another client’s, or that cannot be read.',
  },
];

/** The oldest event that the CRM has not accepted yet. */
function waitingNotices(queues: CrmQueues): AlarmRow[] {
  const LOSSES = {
    registrations: 'New clients cannot open accounts: the events of their registrations wait for the CRM.',
    accounts: 'The CRM does not know of new accounts: their events wait.',
  } as const;
  return (['registrations', 'accounts'] as const).map((of) => ({
    id: 'CrmEventsWait',
    of,
    when: { metric: oldestMessage(queues[of]), count: [WAIT_SECONDS, 1] },
    loss: LOSSES[of],
  }));
}

/** How old the oldest event for the CRM becomes before a notice. */
const WAIT_SECONDS = 300;

function oldestMessage(queue: Queue): IMetric {
  return queue.metricApproximateAgeOfOldestMessage({ period: Duration.minutes(1), statistic: 'Maximum' });
}

/** SES reviews an account with 5 % bounces or 0.1 % complaints, and stops it at twice to five times that. */
function mailNotices(configurationSet: string): AlarmRow[] {
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
      when: { metric: reputation('Reputation.BounceRate'), count: [0.05, 60] },
    },
    {
      id: 'MailsComplainedOf',
      loss: 'Soon SES stops our emails: too many people call them unwanted.',
      when: { metric: reputation('Reputation.ComplaintRate'), count: [0.001, 60] },
    },
  ];
}

/** The cost of this month's messages, in US dollars, for the whole account and region. */
function monthlySpend(namespace: string, metricName: string): Metric {
  return new Metric({ namespace, metricName, statistic: 'Maximum', period: Duration.minutes(15) });
}

function spendNotices({ channels, spend }: Settings): AlarmRow[] {
  const { smsUsdPerMonth, callUsdPerMonth, whatsappMessagesPerDay } = spend;
  const all: Readonly<Record<PhoneChannel, Pick<AlarmRow, 'loss' | 'when'>>> = {
    sms: {
      loss: `Your bill: texts have cost $${smsUsdPerMonth} this month. At the account's own limit no text is sent.`,
      when: { metric: monthlySpend('AWS/SNS', 'SMSMonthToDateSpentUSD'), count: [smsUsdPerMonth, 15] },
    },
    call: {
      loss: `Your bill: calls have cost $${callUsdPerMonth} this month. At the account's own limit no call is made.`,
      when: { metric: monthlySpend('AWS/SMSVoice', 'VoiceMessageMonthlySpend'), count: [callUsdPerMonth, 15] },
    },
    whatsapp: {
      loss: `Your bill: ${whatsappMessagesPerDay} WhatsApp messages were sent within a day.`,
      when: { event: 'OtpSent', service: SENDER, channel: 'whatsapp', count: [whatsappMessagesPerDay, 24 * 60] },
    },
  };
  return channels.filter(isPhoneChannel).map((of) => ({ id: 'Spend', of, ...all[of] }));
}

/** The health of a function; a new version that harms it is rolled back. */
function rollbacks(
  { declared: { name, timeoutSeconds }, lambda }: AnsweringFunction,
  { release }: Settings,
): AlarmRow[] {
  const own = { of: name, rollsBack: name };
  const nearDeadline: AlarmRow = {
    ...own,
    id: 'NearDeadline',
    loss: `Callers wait nearly ${timeoutSeconds} seconds, and soon time out.`,
    when: {
      metric: lambda.metricDuration({ period: Duration.minutes(5), statistic: 'Maximum' }),
      count: [timeoutSeconds * 1_000 * 0.8, 5],
      twice: true,
    },
  };
  return [
    {
      ...own,
      id: 'InternalErrors',
      loss: 'Callers get 500: a bug of ours, or a service of AWS that fails.',
      when: { event: 'InternalError', service: name },
    },
    {
      ...own,
      id: 'Crashes',
      loss: 'Callers get the bare error of the gateway: the function does not start, or Lambda ends it.',
      when: { metric: lambda.metricErrors(MINUTES_5) },
    },
    ...(release === 'canary' ? [nearDeadline] : []),
  ];
}
