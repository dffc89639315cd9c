import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { DeployedRoute, ScheduledFunction } from '../routes.ts';
import { events, type Watch, type Watched } from './watch.ts';

/** How a function fares, whatever it is for. */
export function ofFunction({ route, lambda }: Watched, stage: string): Watch[] {
  const { name } = route;
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
    nearDeadline(route, lambda.metricDuration({ period, statistic: 'Maximum' })),
  ];
}

function nearDeadline({ name, timeoutSeconds }: DeployedRoute, metric: IMetric): Watch {
  return {
    id: 'NearDeadline',
    of: name,
    takesBack: name,
    loss: `Callers wait nearly ${timeoutSeconds} seconds, and soon for nothing.`,
    metric,
    atLeast: timeoutSeconds * 1_000 * 0.8,
    spans: { bad: 2, of: 3 },
  };
}

/** The routes of the specification work a repeated request once; confirming may be repeated as it is. */
export function ofRetries({ name }: DeployedRoute, stage: string): Watch {
  return {
    id: 'NotSettled',
    of: name,
    takesBack: name,
    loss: 'Callers who try again are told to wait, or to ask an operator: a request could not be marked as ended.',
    metric: events(stage, name, 'OperationNotSettled', 15),
    atLeast: 3,
  };
}

/** What becomes of accounts, and of the trading servers that open them. */
export function ofAccounts(route: Extract<DeployedRoute, { version: unknown }>, stage: string): Watch[] {
  const counted = (name: string, minutes: number) => events(stage, route.name, name, minutes);
  return [...ofOpenedAccounts(route.version, counted), ...ofPlatforms(route.version, counted)];
}

/** What becomes of accounts whose callers did not come back. */
export function ofSettlement({ name }: ScheduledFunction, lambda: LambdaFunction, stage: string): Watch[] {
  const counted = (event: string, minutes: number) => events(stage, name, event, minutes);
  const period = Duration.minutes(15);
  return [
    {
      id: 'AccountOutcomeUnknown',
      loss: 'A client may have an account that nobody knows of: the trading server did not say whether it opened it, and cannot be asked.',
      metric: counted('AccountOutcomeUnknown', 5),
      atLeast: 1,
    },
    ...ofOpenedAccounts(name, counted),
    refusal(name, counted),
    {
      id: 'SettlementFails',
      loss: 'Accounts whose callers did not come back stay without record, deposit or event: the function that sees to them fails, or does not run.',
      metric: new MathExpression({
        expression: 'calls - errors',
        usingMetrics: {
          calls: lambda.metricInvocations({ period, statistic: 'Sum' }),
          errors: lambda.metricErrors({ period, statistic: 'Sum' }),
        },
        period,
      }),
      fewerThan: 1,
    },
    {
      id: 'NotSettled',
      of: name,
      loss: 'Accounts whose callers did not come back stay without record, deposit or event: single ones cannot be worked on.',
      metric: counted('OperationNotSettled', 15),
      atLeast: 3,
    },
  ];
}

type Counted = (name: string, minutes: number) => IMetric;

function ofOpenedAccounts(of: string, counted: Counted): Watch[] {
  return [
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
  ];
}

function ofPlatforms(of: string, counted: Counted): Watch[] {
  return [
    refusal(of, counted),
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

/** Whoever asks a trading server may be the first that it refuses. */
function refusal(of: string, counted: Counted): Watch {
  return {
    id: 'PlatformRefused',
    of,
    loss: 'No client gets an account on a trading server that refuses us: our credentials, our rights or our address.',
    metric: counted('PlatformRefused', 5),
    atLeast: 1,
  };
}
