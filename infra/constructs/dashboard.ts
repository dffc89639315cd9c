import { Duration, Stack } from 'aws-cdk-lib';
import {
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type GraphWidgetProps,
  type IMetric,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { CountedName } from '../../lib/counted-events.ts';
import type { Channel } from '../../lib/validators/otp-types.ts';
import { type FunctionName, hasRoute } from '../functions.ts';
import {
  CONFIRMING_FUNCTION,
  type MonitoredService,
  oldestDue,
  SENDING_FUNCTION,
  serviceMetric,
} from './alarm-definitions.ts';
import type { Alarms } from './alarms.ts';

const SENDING_EVENTS = ['OtpSent', 'RegistrationRefused', 'OtpOutcomeUnknown', 'OtpDeliveryFailed'] as const;
const ACCOUNT_EVENTS = ['AccountOpened', 'PlatformRefused', 'PlatformUnavailable'] as const;

/** One page for the whole service, in the order in which a request passes through it. */
export class Dashboard extends Construct {
  constructor(
    scope: Construct,
    id: string,
    { api, settings, alarms, ...props }: MonitoredService & { alarms: Alarms },
  ) {
    super(scope, id);
    const functions = props.functions.filter(({ declared }) => hasRoute(declared));
    const counted = (event: CountedName, service?: FunctionName, channel?: Channel) =>
      serviceMetric(settings, event, { of: { ...(service && { service }), ...(channel && { channel }) } }).with({
        label: event,
      });
    const status = (title: string, pages: boolean) =>
      new AlarmStatusWidget({
        title,
        width: 24,
        height: 3,
        alarms: alarms.all.filter(({ severity }) => (severity === 'page') === pages).map(({ alarm }) => alarm),
      });
    const page = new CloudWatchDashboard(this, 'Page', {
      dashboardName: Stack.of(this).stackName,
      defaultInterval: Duration.hours(12),
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
    const confirmed = (channel: Channel) =>
      settings.confirmation ? [counted('RegistrationConfirmed', CONFIRMING_FUNCTION, channel)] : [];
    page.addWidgets(
      ...settings.channels.map((channel) =>
        graph(
          `Registrations by ${channel}`,
          [...SENDING_EVENTS.map((event) => counted(event, SENDING_FUNCTION, channel)), ...confirmed(channel)],
          { width: 24 / settings.channels.length },
        ),
      ),
    );
    page.addWidgets(
      graph('Limits', [counted('LimitReached', SENDING_FUNCTION), counted('LimitUncheckable', SENDING_FUNCTION)]),
      graph('Accounts', [
        counted('AccountOutcomeUnknown'),
        ...functions.flatMap(({ declared: { name, version } }) =>
          version === undefined
            ? []
            : ACCOUNT_EVENTS.map((event) => counted(event, name).with({ label: `${event} ${version}` })),
        ),
      ]),
    );
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
    );
  }
}

function graph(title: string, left: IMetric[], more: Partial<GraphWidgetProps> = {}): GraphWidget {
  return new GraphWidget({ title, left, width: 12, height: 6, period: Duration.minutes(5), ...more });
}
