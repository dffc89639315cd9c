import { Duration, Stack } from 'aws-cdk-lib';
import {
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IMetric,
  MathExpression,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { CountedName } from '../../lib/validators/counted-events.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { type FunctionName, hasRoute } from '../functions.ts';
import type { Settings } from '../settings.ts';
import {
  CONFIRMING_FUNCTION,
  loginTries,
  type MonitoredService,
  oldestDue,
  SENDING_FUNCTION,
  serviceMetric,
} from './alarm-definitions.ts';
import type { Alarms } from './alarms.ts';
import type { DeployedFunction } from './functions.ts';

const PERIOD = Duration.minutes(5);

/** One page for the whole service, in the order in which a request passes through it. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, props: MonitoredService & { alarms: Alarms }) {
    super(scope, id);
    const page = new CloudWatchDashboard(this, 'Page', {
      dashboardName: Stack.of(this).stackName,
      defaultInterval: Duration.hours(12),
    });
    const { api, settings } = props;
    const functions = props.functions.filter(({ declared }) => hasRoute(declared));
    const status = (title: string, pages: boolean) =>
      new AlarmStatusWidget({
        title,
        width: 24,
        height: 3,
        alarms: props.alarms.all.filter(({ severity }) => (severity === 'page') === pages).map(({ alarm }) => alarm),
      });
    page.addWidgets(status('Alarms: act at once', true));
    page.addWidgets(status('Alarms: next working day', false));
    page.addWidgets(
      graph('Requests', [
        api.metricCount({ statistic: 'Sum', label: 'requests' }),
        api.metricClientError({ statistic: 'Sum', label: '4xx' }),
        api.metricServerError({ statistic: 'Sum', label: '5xx' }),
      ]),
      graph('How long callers wait, ms', [
        api.metricLatency({ statistic: 'p50', label: 'p50' }),
        api.metricLatency({ statistic: 'p99', label: 'p99' }),
      ]),
    );
    page.addWidgets(...settings.channels.map((channel) => conversion(channel, settings)));
    page.addWidgets(unsentGraph(settings), accountGraph(functions, settings));
    page.addWidgets(
      graph(
        'Functions, ms (p99)',
        functions.map(({ lambda, declared }) => lambda.metricDuration({ statistic: 'p99', label: declared.name })),
      ),
      graph('Functions, crashes and throttles', [
        ...functions.map(({ lambda, declared }) => lambda.metricErrors({ label: `${declared.name} crashes` })),
        ...functions.map(({ lambda, declared }) => lambda.metricThrottles({ label: `${declared.name} throttles` })),
      ]),
      graph('Settler', [oldestDue(settings).with({ label: 'oldest due operation, seconds' })]),
      loginGraph(settings),
    );
  }
}

/** The outcomes of a channel's registrations, and the time until confirmation. */
function conversion(channel: Channel, settings: Settings): GraphWidget {
  const { channels, confirmation } = settings;
  const counted = (event: CountedName, label: string, service: FunctionName = SENDING_FUNCTION) =>
    serviceMetric(settings, event, { of: { service, channel } }).with({ label });
  const sent = counted('OtpSent', 'sent');
  const refused = counted('RegistrationRefused', 'refused');
  const unknown = counted('OtpOutcomeUnknown', 'unknown');
  const requested = new MathExpression({
    expression: 'FILL(sent, 0) + FILL(refused, 0) + FILL(unknown, 0)',
    usingMetrics: { sent, refused, unknown },
    label: 'requested',
    period: PERIOD,
  });
  const confirmed = confirmation ? [counted('RegistrationConfirmed', 'confirmed', CONFIRMING_FUNCTION)] : [];
  const seconds = serviceMetric(settings, 'seconds_to_confirm', {
    statistic: 'p50',
    of: { service: CONFIRMING_FUNCTION, channel },
  }).with({ label: 'seconds from sent to confirmed (p50)' });
  return graph(`Registrations by ${channel}`, [requested, sent, refused, ...confirmed], {
    right: confirmation ? [seconds] : [],
    width: 24 / channels.length,
  });
}

function unsentGraph(settings: Settings): GraphWidget {
  const counted = (event: CountedName) =>
    serviceMetric(settings, event, { of: { service: SENDING_FUNCTION } }).with({ label: event });
  return graph(
    'One-time passwords not sent',
    (['OtpDeliveryFailed', 'OtpOutcomeUnknown', 'LimitReached', 'LimitUncheckable'] as const).map(counted),
  );
}

function accountGraph(functions: readonly DeployedFunction[], settings: Settings): GraphWidget {
  const shown = ['AccountOpened', 'PlatformRefused', 'PlatformUnavailable'] as const;
  const metrics = functions.flatMap(({ declared }) => {
    if (declared.version === undefined) return [];
    return shown.map((event) =>
      serviceMetric(settings, event, { of: { service: declared.name } }).with({
        label: `${event} ${declared.version}`,
      }),
    );
  });
  const tries = loginTries(settings).with({ label: 'most logins tried for an account of the day' });
  const unknown = serviceMetric(settings, 'AccountOutcomeUnknown').with({ label: 'AccountOutcomeUnknown' });
  return graph('Accounts', [...metrics, unknown], { right: [tries] });
}

/**
 * The logins are counted once a day, so the graph shows a month. The log of the settler has the numbers of each
 * connection.
 */
function loginGraph(settings: Settings): GraphWidget {
  const scarcest = (metricName: CountedName, label: string) =>
    serviceMetric(settings, metricName, { statistic: 'Minimum', minutes: 24 * 60 }).with({ label });
  return graph('Logins of the connection that has the fewest', [scarcest('logins_free', 'free')], {
    right: [scarcest('login_days_left', 'days left at the pace of the last month')],
    period: Duration.days(1),
    start: '-P30D',
  });
}

function graph(title: string, left: IMetric[], more: Partial<GraphWidgetProps> = {}): GraphWidget {
  return new GraphWidget({ title, left, width: 12, height: 6, period: PERIOD, ...more });
}
