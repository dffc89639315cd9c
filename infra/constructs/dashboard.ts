import { Duration, Stack } from 'aws-cdk-lib';
import {
  AlarmStatusWidget,
  Dashboard as CloudWatchDashboard,
  GraphWidget,
  type IAlarm,
  type IMetric,
  Metric,
} from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import type { Settings } from '../settings.ts';
import { events, SPENT, type Watched } from './alarms.ts';

export interface DashboardProps {
  settings: Settings;
  registration: Watched;
  accounts: Watched[];
  gateway: { requests: Metric; clientErrors: Metric; serverErrors: Metric; latency: Metric };
  configurationSetName: string;
  alarms: IAlarm[];
}

const PERIOD = Duration.minutes(5);

/** One page for the whole service, in the order in which a request passes through it. */
export class Dashboard extends Construct {
  constructor(scope: Construct, id: string, props: DashboardProps) {
    super(scope, id);
    const page = new CloudWatchDashboard(this, 'Page', {
      dashboardName: Stack.of(this).stackName,
      defaultInterval: Duration.hours(12),
    });
    const { gateway, registration, accounts, settings } = props;
    const functions = [registration, ...accounts];
    page.addWidgets(new AlarmStatusWidget({ title: 'Alarms', width: 24, height: 4, alarms: props.alarms }));
    page.addWidgets(
      graph('Requests', [
        gateway.requests.with({ statistic: 'Sum', label: 'requests' }),
        gateway.clientErrors.with({ statistic: 'Sum', label: '4xx' }),
        gateway.serverErrors.with({ statistic: 'Sum', label: '5xx' }),
      ]),
      graph('How long callers wait, ms', [
        gateway.latency.with({ statistic: 'p50', label: 'p50' }),
        gateway.latency.with({ statistic: 'p99', label: 'p99' }),
      ]),
    );
    page.addWidgets(...ofRegistration(registration, settings), ofAccounts(accounts, settings.stage));
    page.addWidgets(
      graph(
        'Functions, ms (p99)',
        functions.map(({ lambda, name }) => lambda.metricDuration({ statistic: 'p99', label: name })),
      ),
      graph('Functions, crashes and throttles', [
        ...functions.map(({ lambda, name }) => lambda.metricErrors({ label: `${name} crashes` })),
        ...functions.map(({ lambda, name }) => lambda.metricThrottles({ label: `${name} throttles` })),
      ]),
    );
    page.addWidgets(ofMail(props.configurationSetName), graph('Spent this month, US dollars', [SPENT.sms, SPENT.call]));
  }
}

function ofRegistration({ name }: Watched, { stage, channels }: Settings): GraphWidget[] {
  const counted = (event: string) => events(stage, name, event, 5).with({ label: event });
  return [
    graph(
      'One-time passwords sent',
      channels.map((channel) => events(stage, name, 'OtpSent', 5, channel).with({ label: channel })),
      8,
    ),
    graph(
      'One-time passwords not sent',
      ['OtpDeliveryFailed', 'OtpOutcomeUnknown', 'LimitReached', 'LimitUncheckable'].map(counted),
      8,
    ),
  ];
}

function ofAccounts(accounts: Watched[], stage: string): GraphWidget {
  const shown = ['AccountOpened', 'AccountOutcomeUnknown', 'PlatformRefused', 'PlatformUnavailable'];
  return graph(
    'Accounts',
    accounts.flatMap(({ name }) =>
      shown.map((event) =>
        events(stage, name, event, 5).with({ label: `${event} ${name.includes('tp5') ? 'tp5' : 'tp4'}` }),
      ),
    ),
    8,
  );
}

/** Mails by what became of them, over both kinds (a message tag of every mail). */
function ofMail(configurationSet: string): GraphWidget {
  const rate = (metricName: string, label: string) =>
    new Metric({
      namespace: 'AWS/SES',
      metricName,
      dimensionsMap: { 'ses:configuration-set': configurationSet },
      statistic: 'Average',
      label,
    });
  return graph('Mails: share that bounces or is complained of', [
    rate('Reputation.BounceRate', 'bounces'),
    rate('Reputation.ComplaintRate', 'complaints'),
  ]);
}

function graph(title: string, left: IMetric[], width = 12): GraphWidget {
  return new GraphWidget({ title, left, width, height: 6, period: PERIOD });
}
