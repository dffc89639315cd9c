import { Duration } from 'aws-cdk-lib';
import type { HttpApi } from 'aws-cdk-lib/aws-apigatewayv2';
import { type IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { ILogGroup } from 'aws-cdk-lib/aws-logs';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { COUNTED_EVENTS, type CountedName } from '../../lib/counted-events.ts';
import { type Channel, isPhoneChannel, type PhoneChannel } from '../../lib/validators/otp-types.ts';
import { PHONE_CHANNEL_ROWS } from '../channels.ts';
import { type FunctionName, hasRoute } from '../functions.ts';
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
  /** The queues of the CRM's events. Absent: the CRM is not notified. */
  webhook: { queues: Readonly<Record<'registrations' | 'accounts', Queue>>; undelivered: Queue } | undefined;
}

/**
 * An alarm. One with a fix is a page, at night too: its text has the command that fixes the cause, and one that shows
 * it.
 */
interface AlarmRow {
  /** The heading in infra/docs/operating.md; absent: the event. With `of` the alarm's name. */
  id?: string;
  of?: string;
  /** False: this deployment does not have the alarm. */
  needed?: boolean;
  /** The loss of people while the alarm rings. */
  loss: string;
  when: Condition;
  fix?: string;
  /** The command that shows the cause. Absent: it shows the log lines of the event. */
  show?: string;
  /** The function whose new version is rolled back by this alarm. The dashboard shows it, and it sends no message. */
  rollsBack?: FunctionName;
}

interface Condition {
  /** The counted event (lib/telemetry.ts), of one function or of all. Absent: the alarm has a metric. */
  event?: CountedName;
  service?: FunctionName;
  channel?: Channel;
  metric?: IMetric;
  /**
   * The number of events, within a number of minutes, at which the alarm rings. Absent: one event within five minutes.
   */
  count?: readonly [atLeast: number, minutes: number];
  /** The alarm rings below this number, instead of at a count. No data counts as none. */
  fewerThan?: number;
  /** True: the alarm rings if its condition holds in two of three periods. */
  twice?: true;
  /** The alarm rings if its condition holds in each of this many periods. */
  periods?: number;
  /** The names of other alarms. This alarm rings if one of them rings; it has no condition of its own. */
  anyOf?: readonly string[];
}

export type AlarmDefinition = AlarmRow & { id: string; when: { metric: IMetric; atLeast: number } };

/** The metric of an alarm that combines other alarms. */
const NO_METRIC = new MathExpression({ expression: '0', usingMetrics: {} });

/** Every alarm of the service. Alarms that other ones combine come first. */
export function alarmDefinitions(service: MonitoredService): AlarmDefinition[] {
  const { settings, accessLog, functions } = service;
  const logs = new Map<string, ILogGroup>(functions.map((one) => [one.declared.name, one.logGroup]));
  const rows = [...pages(service), ...notices(service), ...health(service)];
  return rows
    .filter(({ needed }) => needed !== false)
    .map(({ when, ...row }) => {
      const { event, service: name, channel, count: [atLeast, minutes] = [1, 5] } = when;
      const of = { ...(name && { service: name }), ...(channel && { channel }) };
      const show = eventLines(logs.get(name ?? SETTLER) ?? accessLog, event ?? '');
      const metric = when.metric ?? (event && serviceMetric(settings, event, { minutes, of })) ?? NO_METRIC;
      return { id: event ?? '', show, ...row, when: { ...when, metric, atLeast } };
    });
}

/**
 * A metric of the service (`COUNTED_EVENTS`): by default the count of an event. An event that is counted by channel is
 * added over all channels, unless a channel is named.
 */
export function serviceMetric(
  settings: Pick<Settings, 'stage' | 'channels'>,
  metricName: CountedName,
  { statistic = 'Sum', minutes = 5, of = {} }: MetricOptions = {},
): Metric | MathExpression {
  const dimensions: readonly string[] = COUNTED_EVENTS[metricName];
  const { service, channel } = of;
  const period = Duration.minutes(minutes);
  const counted = (one?: Channel) => {
    const known = { service, stage: settings.stage, channel: one };
    const dimensionsMap = Object.fromEntries(Object.entries(known).filter(([name]) => dimensions.includes(name)));
    if (Object.values(dimensionsMap).includes(undefined)) throw new Error(`${metricName} is counted by function.`);
    return new Metric({
      namespace: 'BrokerApi',
      metricName,
      statistic,
      period,
      dimensionsMap: dimensionsMap as Record<string, string>,
    });
  };
  const { channels } = settings;
  if (!dimensions.includes('channel') || channel !== undefined || channels.length === 1)
    return counted(channel ?? channels[0]);
  // Each metric of a graph needs an id of its own, which begins with a small letter.
  const id = (one: Channel) => `${metricName.charAt(0).toLowerCase()}${metricName.slice(1)}_${one}`;
  return new MathExpression({
    expression: channels.map((one) => `FILL(${id(one)}, 0)`).join(' + '),
    usingMetrics: Object.fromEntries(channels.map((one) => [id(one), counted(one)])),
    period,
  });
}

interface MetricOptions {
  statistic?: 'Sum' | 'Maximum' | 'Minimum' | 'p50';
  minutes?: number;
  of?: { service?: FunctionName; channel?: Channel };
}

const DAY_MINUTES = 24 * 60;

/** How long the oldest due operation has waited for the settler, in seconds. */
export const oldestDue = (settings: Settings) =>
  serviceMetric(settings, 'oldest_due_seconds', { statistic: 'Maximum' });

/** The log lines of one kind of the last hour. */
const logLines = (group: ILogGroup, pattern: string) =>
  `aws logs tail ${group.logGroupName} --filter-pattern '${pattern}' --since 1h`;
const eventLines = (group: ILogGroup, event: string) => logLines(group, `{ $.message = "${event}" }`);

/** Makes an earlier version of the function live again, within seconds and without a deployment. */
const rollBack = ({ functionName }: LambdaFunction) =>
  `aws lambda update-alias --function-name ${functionName} --name live --function-version VERSION`;

/** The function that sends one-time passwords. */
export const SENDING_FUNCTION: FunctionName = 'request-registration';
/** The function that confirms registrations. */
export const CONFIRMING_FUNCTION: FunctionName = 'confirm-registration';
const SETTLER: FunctionName = 'settle-operations';
const NOTIFIER: FunctionName = 'notify-crm';

const sum = (minutes: number) => ({ period: Duration.minutes(minutes), statistic: 'Sum' });
const most = (minutes: number) => ({ period: Duration.minutes(minutes), statistic: 'Maximum' });

/** The difference of two counts within some minutes. */
function difference(minutes: number, expression: string, usingMetrics: Record<string, IMetric>): MathExpression {
  return new MathExpression({ expression, usingMetrics, period: Duration.minutes(minutes) });
}

const named = (functions: readonly DeployedFunction[], name: FunctionName) =>
  functions.filter(({ declared }) => declared.name === name);

/** A person acts at once, at night too. At most 15 with every setting, and with the routes that fail. */
function pages(service: MonitoredService): AlarmRow[] {
  const { stackName, settings, functions, api, accessLog } = service;
  const { silenceHours } = settings;
  const doctor = `npm run doctor -- --stack ${stackName}`;
  return [
    {
      id: 'CodesNotSent',
      of: 'email',
      loss: 'People who register by email get no one-time password.',
      when: { event: 'OtpDeliveryFailed', service: SENDING_FUNCTION, channel: 'email', count: [5, 15] },
      fix: doctor,
    },
    ...named(functions, SENDING_FUNCTION).map(
      ({ lambda }): AlarmRow => ({
        id: 'LimitsUnchecked',
        of: SENDING_FUNCTION,
        loss: 'People who register by phone are refused, and emails go out without limits.',
        when: { event: 'LimitUncheckable', service: SENDING_FUNCTION },
        fix: `aws lambda put-function-concurrency --function-name ${lambda.functionName} --reserved-concurrent-executions 1`,
      }),
    ),
    ...openingPages(service),
    ...crmPages(service),
    {
      id: 'ServerErrors',
      loss: 'Callers of any route get 5xx by a failure of ours: an internal error, a crash, a timeout, or the gateway.',
      // Without failures of a provider or a trading server: those have alarms of their own.
      when: {
        metric: difference(5, 'FILL(all, 0) - FILL(dependencies, 0)', {
          all: api.metricServerError(sum(5)),
          dependencies: serviceMetric(settings, 'DependencyFailed'),
        }),
        count: [10, 5],
      },
      show: logLines(accessLog, '{ $.status = "5*" }'),
      fix: doctor,
    },
    {
      // Nothing that counts errors hears of a page that is down.
      id: 'Silence',
      needed: silenceHours !== undefined,
      loss: `Nobody has registered for ${silenceHours} hours.`,
      when: { event: 'OtpSent', service: SENDING_FUNCTION, count: [1, 60], fewerThan: 1, periods: silenceHours ?? 1 },
      show: logLines(accessLog, '{ $.route = "POST /public/v1/account/register/request" }'),
      fix: doctor,
    },
  ];
}

/** The pages about accounts. */
function openingPages({ stackName, functions }: MonitoredService): AlarmRow[] {
  return [
    ...functions.flatMap(({ declared: { name, version } }): AlarmRow[] => {
      if (version === undefined) return [];
      return [
        {
          of: version,
          loss: 'No client gets an account on a trading server that refuses our credentials, rights or address.',
          when: { event: 'PlatformRefused', service: name },
          fix: `npm run ops -- secret put CONNECTION_ID --stack ${stackName}`,
        },
        {
          of: version,
          loss: 'No client gets an account on a trading server that cannot be reached.',
          when: { event: 'PlatformUnavailable', service: name, count: [3, 5], twice: true },
          fix: `npm run doctor -- CONNECTION_ID --stack ${stackName}`,
        },
      ];
    }),
    ...named(functions, SETTLER).map(({ lambda, logGroup }) => ({
      id: 'SettlerFails',
      loss: 'Accounts whose callers did not retry have no record, deposit or event.',
      when: {
        metric: difference(15, 'runs - errors', {
          runs: lambda.metricInvocations(sum(15)),
          errors: lambda.metricErrors(sum(15)),
        }),
        fewerThan: 1,
      },
      show: logLines(logGroup, '{ ($.record.status = "error") || ($.record.status = "timeout") }'),
      fix: rollBack(lambda),
    })),
    {
      when: { event: 'AccountOutcomeUnknown' },
      loss: 'A client may have an account that our records do not show, and only an operator can find out.',
      // Four functions can log the event; the list shows the operations that they left.
      show: `npm run ops -- operations --stack ${stackName}`,
      fix: `npm run ops -- settle OPERATION_ID --login LOGIN --stack ${stackName}`,
    },
  ];
}

function crmPages({ stackName, functions, webhook }: MonitoredService): AlarmRow[] {
  if (webhook === undefined) return [];
  return named(functions, NOTIFIER).map(({ logGroup }) => ({
    id: 'CrmUndelivered',
    loss: 'The CRM did not accept an event, and it is not tried again: the CRM lacks a client or an account.',
    when: { metric: webhook.undelivered.metricApproximateNumberOfMessagesVisible(most(5)) },
    show: eventLines(logGroup, 'CrmNotNotified'),
    fix: `npm run ops -- redeliver --stack ${stackName}`,
  }));
}

/** The alarms that a person reads on the next working day. */
function notices(service: MonitoredService): AlarmRow[] {
  return [...EVENT_NOTICES, ...requestNotices(service), ...crmNotices(service), ...reserveNotices(service)];
}

/** Events of all functions. */
const EVENT_NOTICES: readonly AlarmRow[] = [
  {
    id: 'CodesInDoubt',
    when: { event: 'OtpOutcomeUnknown', service: SENDING_FUNCTION, count: [3, 15] },
    loss: 'People may wait for a one-time password that was never sent.',
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
  { when: { event: 'NoticeFailed' }, loss: 'A client got no email or popup about a new account.' },
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

/** The notices about the failures that requests, and the settler after them, meet. */
function requestNotices({ settings }: MonitoredService): AlarmRow[] {
  const { channels, captcha, front } = settings;
  return [
    ...channels
      .filter((channel) => channel !== 'email')
      .map(
        (channel): AlarmRow => ({
          id: 'CodesNotSent',
          of: channel,
          loss: `People who register by ${channel} get no one-time password.`,
          when: { event: 'OtpDeliveryFailed', service: SENDING_FUNCTION, channel, count: [5, 15] },
        }),
      ),
    {
      of: SETTLER,
      loss: 'The settler cannot ask a trading server that refuses our credentials, rights or address.',
      when: { event: 'PlatformRefused', service: SETTLER },
    },
    {
      id: 'SettlerBehind',
      loss: 'Accounts whose callers did not retry wait for their records, deposits and events.',
      when: { metric: oldestDue(settings), count: [15 * 60, 5] },
    },
    {
      id: 'Flood',
      loss: 'A flood of registrations reaches the limits: people who share a source with it are refused.',
      when: { event: 'LimitReached', service: SENDING_FUNCTION, count: [100, 15] },
    },
    {
      needed: captcha !== undefined,
      loss: 'People who register by phone are refused, and emails go out without a captcha.',
      when: { event: 'CaptchaUnavailable', service: SENDING_FUNCTION, count: [3, 5] },
    },
    {
      needed: front !== undefined,
      loss: 'Requests have no right secret of the front: it has another one, and all people behind it are one source, or programs bypass it.',
      when: { event: 'FrontRefused', count: [20, 15] },
    },
    {
      needed: front !== undefined,
      loss: 'The front names no single address: all people behind it are one source, and soon get 429.',
      when: { event: 'FrontUnreadable', count: [3, 15] },
    },
  ];
}

function crmNotices({ webhook }: MonitoredService): AlarmRow[] {
  if (webhook === undefined) return [];
  return [
    {
      loss: 'The CRM does not accept events: new clients cannot open accounts until it does.',
      when: { event: 'CrmNotNotified', count: [3, 15] },
    },
    {
      loss: 'A new client cannot open accounts: the CRM named an id that is another client’s, or that cannot be read.',
      when: { event: 'ClientNotWritten', count: [1, 15] },
    },
    ...Object.entries(webhook.queues).map(
      ([of, queue]): AlarmRow => ({
        id: 'CrmEventsWait',
        of,
        loss: `The events of ${of} wait for the CRM, which does not know of them yet.`,
        // The age of the oldest event that the CRM has not accepted yet, in seconds.
        when: { metric: queue.metricApproximateAgeOfOldestMessage(most(1)), count: [300, 1] },
      }),
    ),
  ];
}

/** The notices about what runs out: logins, the throttle of the gateway, SES's tolerance of bounces, and money. */
function reserveNotices({ settings, api, configurationSetName }: MonitoredService): AlarmRow[] {
  const { channels, throttle, spend } = settings;
  /** SES reviews an account with 5 % bounces or 0.1 % complaints, and stops it at twice to five times that. */
  const reputation = (metricName: string) =>
    new Metric({
      namespace: 'AWS/SES',
      metricName,
      dimensionsMap: { 'ses:configuration-set': configurationSetName },
      statistic: 'Average',
      period: Duration.hours(1),
    });
  return [
    {
      id: 'Requests',
      loss: 'Soon callers get 429 from the gateway: the requests come close to the throttle.',
      when: { metric: api.metricCount(sum(5)), count: [Math.max(1, throttle.registrationPerSecond * 240), 5] },
    },
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
    ...channels.filter(isPhoneChannel).map((channel) => spendNotice(channel, spend)),
  ];
}

/** A notice about the cost of a channel. A metric of AWS counts for the whole account and region, in US dollars a month. */
function spendNotice(channel: PhoneChannel, settings: Settings['spend']): AlarmRow {
  const { messages, spend } = PHONE_CHANNEL_ROWS[channel];
  const { metric, setting } = spend;
  const atLeast = settings[setting];
  if (metric === undefined) {
    const when: Condition = { event: 'OtpSent', service: SENDING_FUNCTION, channel, count: [atLeast, DAY_MINUTES] };
    return { id: 'Spend', of: channel, loss: `Your bill: ${atLeast} ${messages} were sent within a day.`, when };
  }
  const loss = `Your bill: ${messages} have cost $${atLeast} this month. At the account's own limit AWS sends no more.`;
  const [namespace, metricName] = metric;
  const when = { metric: new Metric({ namespace, metricName, ...most(15) }), count: [atLeast, 15] } as const;
  return { id: 'Spend', of: channel, loss, when };
}

/**
 * The health of each function with a route. An alarm of one function rolls back its new version; an alarm of all
 * functions together pages a person.
 */
function health({ functions, settings: { release } }: MonitoredService): AlarmRow[] {
  const answering = functions.filter(({ declared }) => hasRoute(declared));
  const parts = answering.flatMap(({ declared: { name, timeoutSeconds }, lambda }): AlarmRow[] => [
    {
      id: 'InternalErrors',
      of: name,
      rollsBack: name,
      loss: 'Callers get 500: a bug of ours, or a service of AWS that fails.',
      when: { event: 'InternalError', service: name },
    },
    {
      id: 'Crashes',
      of: name,
      rollsBack: name,
      loss: 'Callers get the bare error of the gateway: the function does not start, or Lambda ends it.',
      when: { metric: lambda.metricErrors(sum(5)) },
    },
    {
      id: 'NearDeadline',
      of: name,
      rollsBack: name,
      needed: release === 'canary',
      loss: `Callers wait nearly ${timeoutSeconds} seconds, and soon time out.`,
      when: { metric: lambda.metricDuration(most(5)), count: [timeoutSeconds * 1_000 * 0.8, 5], twice: true },
    },
  ]);
  const whole = answering.map(({ declared: { name }, lambda, logGroup }) => ({
    id: 'RouteFails',
    of: name,
    loss: `Callers of ${name} get 500: it crashes, or it has an internal error.`,
    when: { anyOf: [`Crashes-${name}`, `InternalErrors-${name}`] },
    show: logLines(
      logGroup,
      '{ ($.message = "InternalError") || ($.record.status = "error") || ($.record.status = "timeout") }',
    ),
    fix: rollBack(lambda),
  }));
  return [...parts, ...whole];
}
