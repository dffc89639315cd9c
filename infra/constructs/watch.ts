import { Duration } from 'aws-cdk-lib';
import { type IMetric, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import type { Channel } from '../../lib/validators/otp-types.ts';
import type { DeployedFunction, DeployedRoute, ScheduledFunction } from '../routes.ts';
import type { Settings } from '../settings.ts';

/** A function as its alarms see it. */
export interface Watched {
  route: DeployedRoute;
  lambda: LambdaFunction;
}

/** A function that the clock calls, as its alarms see it. */
interface WatchedSchedule {
  scheduled: ScheduledFunction;
  lambda: LambdaFunction;
}

/** What is watched. */
export interface WatchedService {
  settings: Settings;
  functions: readonly Watched[];
  scheduled: readonly WatchedSchedule[];
  /** The server errors of the gateway. */
  serverErrors: Metric;
  configurationSetName: string;
  /** Where events go that nobody took. */
  undelivered: Queue;
}

/** When an alarm goes off: this much within so many minutes, in so many of the latest spans of that length. */
export type Watch = Watching & ({ atLeast: number } | { fewerThan: number });

interface Watching {
  /** The heading of its paragraph in the README; with `of` its name. */
  id: string;
  /** What it is of, where there are several. */
  of?: string;
  /** Who is hurt, and how. */
  loss: string;
  metric: IMetric;
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

/** The function whose messages are counted. */
export const SENDS_CODES: DeployedFunction = 'request-registration';
