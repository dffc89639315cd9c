import { Duration } from 'aws-cdk-lib';
import { type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Channel } from '../../lib/validators/otp-types.ts';
import type { DeployedFunction, DeployedRoute } from '../routes.ts';
import type { Settings } from '../settings.ts';

/** A function as its alarms see it. */
export interface Watched {
  route: DeployedRoute;
  lambda: LambdaFunction;
}

/** What is watched. */
export interface WatchedService {
  settings: Settings;
  functions: readonly Watched[];
  /** The server errors of the gateway. */
  serverErrors: Metric;
  configurationSetName: string;
  /** Where events go that nobody took. */
  undelivered: Queue;
}

/** When an alarm goes off: this much within so many minutes, in so many of the latest spans of that length. */
export interface Watch {
  /** The heading of its paragraph in the README; with `of` its name. */
  id: string;
  /** What it is of, where there are several. */
  of?: string;
  /** Who is hurt, and how. */
  loss: string;
  metric: IMetric;
  atLeast: number;
  spans?: { bad: number; of: number };
  /** The function whose new version is taken back while this alarm rings. */
  takesBack?: DeployedFunction;
}

/** Counts of an event (lib/telemetry.ts) of one function, over so many minutes. */
export function events(
  stage: string,
  service: DeployedFunction,
  name: string,
  minutes: number,
  channel?: Channel,
): Metric {
  return new Metric({
    namespace: 'BrokerApi',
    metricName: name,
    dimensionsMap: { service, stage, ...(channel === undefined ? {} : { channel }) },
    statistic: 'Sum',
    period: Duration.minutes(minutes),
  });
}

/** What the messages of this month have cost, in US dollars, in the whole account and region. */
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

/** All that is watched, each with who is hurt. */
export function watches({
  settings,
  functions,
  serverErrors,
  configurationSetName,
  undelivered,
}: WatchedService): Watch[] {
  return [
    ...ofRegistration(settings),
    ...functions.flatMap(({ route }) => ('version' in route ? ofAccounts(route, settings.stage) : [])),
    ...functions.flatMap((watched) => ofFunction(watched, settings.stage)),
    ...functions.flatMap(({ route }) => ('operation' in route ? [ofRetries(route, settings.stage)] : [])),
    {
      id: 'ServerErrors',
      loss: 'Callers of all routes are answered with errors of ours (5xx).',
      metric: serverErrors.with({ statistic: 'Sum', period: Duration.minutes(5) }),
      atLeast: 10,
    },
    {
      id: 'EventsUndelivered',
      loss: 'Another system of the broker does not know of accounts or registrations: it did not take events.',
      metric: undelivered.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(5),
        statistic: 'Maximum',
      }),
      atLeast: 1,
    },
    ...ofMail(configurationSetName),
    ...ofSpend(settings),
  ];
}

/** The function whose messages are counted. */
export const SENDS_CODES: DeployedFunction = 'request-registration';

function ofRegistration({ stage, channels }: Settings): Watch[] {
  return [
    ...channels.map((channel) => ({
      id: 'CodesNotSent',
      of: channel,
      loss: `People who register by ${channel} get no one-time password: the provider refuses or fails.`,
      metric: events(stage, SENDS_CODES, 'OtpDeliveryFailed', 15, channel),
      atLeast: 5,
    })),
    {
      id: 'CodesInDoubt',
      loss: 'People who register may be waiting for a one-time password that was never sent: the provider did not answer in time.',
      metric: events(stage, SENDS_CODES, 'OtpOutcomeUnknown', 15),
      atLeast: 3,
    },
    {
      id: 'LimitsUnchecked',
      loss: 'People who register by phone are refused, and mails go out without limits: the counters cannot be read.',
      metric: events(stage, SENDS_CODES, 'LimitUncheckable', 5),
      atLeast: 1,
    },
    {
      id: 'Flood',
      loss: 'Somebody asks for one-time passwords without end: the limits hold, but people behind the same address are refused.',
      metric: events(stage, SENDS_CODES, 'LimitReached', 15),
      atLeast: 100,
    },
  ];
}

function ofAccounts(
  { name: service, version: of }: Extract<DeployedRoute, { version: unknown }>,
  stage: string,
): Watch[] {
  const counted = (name: string, minutes: number) => events(stage, service, name, minutes);
  return [
    {
      id: 'AccountOutcomeUnknown',
      of,
      loss: 'A client may have an account that nobody knows of: the trading server did not say in time whether it opened it.',
      metric: counted('AccountOutcomeUnknown', 5),
      atLeast: 1,
    },
    {
      id: 'AccountNotRecorded',
      of,
      loss: 'A client has an account that our records do not show.',
      metric: counted('AccountNotRecorded', 5),
      atLeast: 1,
    },
    {
      id: 'DepositFailed',
      of,
      loss: 'A client has a demo account without its money.',
      metric: counted('DepositFailed', 5),
      atLeast: 1,
    },
    {
      id: 'NoticeFailed',
      of,
      loss: 'Clients were not told of their new accounts, by mail or popup.',
      metric: counted('NoticeFailed', 15),
      atLeast: 3,
    },
    {
      id: 'EventFailed',
      of,
      loss: 'Other systems of the broker do not hear of new accounts: the event bus refuses or fails.',
      metric: counted('EventFailed', 15),
      atLeast: 3,
    },
    {
      id: 'PlatformRefused',
      of,
      loss: 'No client gets an account on a trading server that refuses us: our credentials, our rights or our address.',
      metric: counted('PlatformRefused', 5),
      atLeast: 1,
    },
    {
      id: 'PlatformUnavailable',
      of,
      loss: 'Clients get no account for now: a trading server cannot be reached.',
      metric: counted('PlatformUnavailable', 5),
      atLeast: 3,
      spans: { bad: 2, of: 3 },
    },
  ];
}

function ofFunction({ route, lambda }: Watched, stage: string): Watch[] {
  const { name, timeoutSeconds } = route;
  const of = name;
  const period = Duration.minutes(5);
  return [
    {
      id: 'InternalErrors',
      of,
      takesBack: name,
      loss: 'Callers get 500: a fault of ours, or a service of AWS that fails.',
      metric: events(stage, name, 'InternalError', 5),
      atLeast: 1,
    },
    {
      id: 'Crashes',
      of,
      takesBack: name,
      loss: 'Callers get the bare error of the gateway: the function does not start, or is ended by Lambda.',
      metric: lambda.metricErrors({ period, statistic: 'Sum' }),
      atLeast: 1,
    },
    {
      id: 'Throttles',
      of,
      loss: 'Callers are turned away: more calls at once than the account or the function may have.',
      metric: lambda.metricThrottles({ period, statistic: 'Sum' }),
      atLeast: 1,
    },
    {
      id: 'NearDeadline',
      of,
      takesBack: name,
      loss: `Callers wait nearly ${timeoutSeconds} seconds, and soon for nothing.`,
      metric: lambda.metricDuration({ period, statistic: 'Maximum' }),
      atLeast: timeoutSeconds * 1_000 * 0.8,
      spans: { bad: 2, of: 3 },
    },
  ];
}

/** The routes of the specification work a repeated request once; confirming may be repeated as it is. */
function ofRetries({ name }: DeployedRoute, stage: string): Watch {
  return {
    id: 'NotSettled',
    of: name,
    takesBack: name,
    loss: 'Callers who try again are told to wait, or to ask an operator: a request could not be marked as ended.',
    metric: events(stage, name, 'OperationNotSettled', 15),
    atLeast: 3,
  };
}

/** SES looks at an account with 5 % bounces or 0.1 % complaints, and stops it at twice to five times that. */
function ofMail(configurationSet: string): Watch[] {
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
      loss: 'Soon nobody gets mails: too many addresses do not exist, and SES stops senders for that.',
      metric: reputation('Reputation.BounceRate'),
      atLeast: 0.05,
    },
    {
      id: 'MailsComplainedOf',
      loss: 'Soon nobody gets mails: too many people call them unwanted, and SES stops senders for that.',
      metric: reputation('Reputation.ComplaintRate'),
      atLeast: 0.001,
    },
  ];
}

function ofSpend({ stage, channels, spend }: Settings): Watch[] {
  const watches: Record<Exclude<Channel, 'email'>, Watch> = {
    sms: {
      id: 'Spend',
      of: 'sms',
      loss: `Your bill: texts have cost $${spend.smsUsdPerMonth} this month. At the account's own limit nobody gets texts any more.`,
      metric: SPENT.sms,
      atLeast: spend.smsUsdPerMonth,
    },
    call: {
      id: 'Spend',
      of: 'call',
      loss: `Your bill: calls have cost $${spend.callUsdPerMonth} this month. At the account's own limit nobody gets calls any more.`,
      metric: SPENT.call,
      atLeast: spend.callUsdPerMonth,
    },
    whatsapp: {
      id: 'Spend',
      of: 'whatsapp',
      loss: `Your bill: ${spend.whatsappMessagesPerDay} WhatsApp messages were sent within a day.`,
      metric: events(stage, SENDS_CODES, 'OtpSent', 24 * 60, 'whatsapp'),
      atLeast: spend.whatsappMessagesPerDay,
    },
  };
  return Object.values(watches).filter(({ of }) => channels.some((channel) => channel === of));
}
