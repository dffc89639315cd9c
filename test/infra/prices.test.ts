import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ItemChange } from '../../infra/local/dynamo.ts';
import { type LocalService, startService } from '../../infra/local/service.ts';
import { COUNTED, type CountedName } from '../../lib/validators/counted-events.ts';
import { openAccount, register } from '../support/local-service.ts';
import { PRICES } from '../support/price-list.ts';
import { coldStart } from '../support/registration-world.ts';
import { EVERYTHING, propertiesOf, resourcesOfType, synthesize } from '../support/stack.ts';
import { writeUnits } from '../support/write-units.ts';

let service: LocalService;
beforeAll(async () => {
  // The functions with a schedule or a queue would count too.
  const idle = async () => ({ statusCode: 204 });
  service = await startService({ load: async (name) => (/^(request|create)/.test(name) ? coldStart(name) : idle) });
});
afterAll(() => service.close());

/** What one execution takes in seconds, with services that answer in 4 ms, and its memory in GB. */
const REGISTRATION = { seconds: 0.2, memory: 1_769 / 1_024 };
const ACCOUNT = { seconds: 0.05, memory: 1 };
/** Log lines and metrics of a request, in bytes, as CloudWatch takes them in. */
const LOGGED_BYTES = 2_500;
/** What a month without failures counts; AWS does not bill a metric that is not counted. */
const ROUTINE: ReadonlySet<string> = new Set<CountedName>([
  ...(['OtpSent', 'OtpOutcomeUnknown', 'OtpDeliveryFailed', 'RegistrationRefused', 'RegistrationConfirmed'] as const),
  ...(['seconds_to_confirm', 'LimitReached', 'RecipientRefused', 'AccountOpened', 'oldest_due_seconds'] as const),
  ...(['logins_free', 'login_days_left', 'DependencyFailed', 'PlatformUnavailable', 'NoticeFailed'] as const),
]);
/** The metrics of an HTTP API that AWS counts for each route, if they are detailed. */
const DETAILED_METRICS = 6;

/** Our own metrics that alarms and the dashboard name, as names with dimensions. */
function namedMetrics(template: ReturnType<typeof synthesize>): Set<string> {
  const alarmed = propertiesOf(template, 'AWS::CloudWatch::Alarm').flatMap((alarm) => {
    const { Metrics = [{ MetricStat: { Metric: alarm } }] } = alarm as {
      Metrics?: { MetricStat?: { Metric: object } }[];
    };
    return Metrics.flatMap(({ MetricStat }) => (MetricStat === undefined ? [] : [MetricStat.Metric]));
  }) as { Namespace?: string; MetricName?: string; Dimensions?: { Name: string; Value: string }[] }[];
  const ofAlarms = alarmed
    .filter(({ Namespace }) => Namespace === 'BrokerApi')
    .map(({ MetricName, Dimensions = [] }) => [
      MetricName,
      ...Dimensions.map(({ Name, Value }) => `${Name}=${Value}`).sort(),
    ]);
  const pages = propertiesOf(template, 'AWS::CloudWatch::Dashboard').map(({ DashboardBody }) => String(DashboardBody));
  const ofPages = pages.flatMap((page) =>
    [...page.matchAll(/\["BrokerApi","(\w+)"((?:,"\w+","[\w-]+")*)/g)].map(([, name, dimensions = '']) => [
      name,
      ...[...dimensions.matchAll(/,"(\w+)","([\w-]+)"/g)].map(([, one, value]) => `${one}=${value}`).sort(),
    ]),
  );
  return new Set([...ofAlarms, ...ofPages].map((one) => one.join(' ')));
}

/** Secrets that operators make: the key of the webhook, and the login of a trading server. */
const OPERATORS_SECRETS = 2;

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

/** An item that is due is in an index too, at another place after each change: the old entry is deleted, and a new one is put. */
function unitsWithIndex(change: ItemChange): number {
  const entries = [change.before, change.after].filter((item) => item !== undefined && 'due_at' in item).length;
  return writeUnits(change) * (1 + entries);
}

/** What AWS asks for a request to a warm function: its calls are counted. */
async function priceOf(ask: () => Promise<{ status: number }>, { seconds, memory }: typeof ACCOUNT): Promise<number> {
  const { bus, database, standIns } = service;
  await ask();
  const [calls, mails, events] = [database.calls.length, standIns.ses.requests, bus.list().length];
  let writes = 0;
  // A write of a transaction costs two.
  database.onWritten((changes) => {
    writes += sum(changes.map(unitsWithIndex)) * (changes.length > 1 ? 2 : 1);
  });
  expect((await ask()).status).toBeLessThan(300);
  database.onWritten(() => {});
  const reads = database.calls.slice(calls).filter(({ operation }) => /^(Batch)?Get|^Query/.test(operation));
  return sum([
    PRICES.gatewayRequest + PRICES.lambdaRequest + seconds * memory * PRICES.lambdaGbSecond,
    reads.length * PRICES.databaseRead + writes * PRICES.databaseWrite,
    (standIns.ses.requests - mails) * PRICES.mail + (bus.list().length - events) * PRICES.event,
    // As if every request were traced: a small broker has less than one a second.
    PRICES.trace + (LOGGED_BYTES / 1e9) * PRICES.logGb,
  ]);
}

/** The fixed costs of a month. */
function monthly(settings: Record<string, unknown>) {
  const template = synthesize(settings);
  const count = (type: string) => Object.keys(resourcesOfType(template, type)).length;
  /** An expression over metrics is free. */
  const metricsOf = ({ Metrics = [{ MetricStat: {} }] }: Record<string, unknown>) =>
    (Metrics as { MetricStat?: object }[]).filter(({ MetricStat }) => MetricStat !== undefined).length;
  const routine = [...namedMetrics(template)].filter((one) => ROUTINE.has(one.split(' ')[0] ?? ''));
  const routes = propertiesOf(template, 'AWS::ApiGatewayV2::Stage').flatMap(({ RouteSettings = {} }) =>
    Object.values(RouteSettings as Record<string, { DetailedMetricsEnabled?: boolean }>),
  );
  const detailed = routes.filter(({ DetailedMetricsEnabled }) => DetailedMetricsEnabled).length * DETAILED_METRICS;
  const costs = {
    metrics: (routine.length + detailed) * PRICES.metricMonth,
    alarms:
      sum(propertiesOf(template, 'AWS::CloudWatch::Alarm').map(metricsOf)) * PRICES.alarmMetricMonth +
      count('AWS::CloudWatch::CompositeAlarm') * PRICES.compositeAlarmMonth,
    dashboard: count('AWS::CloudWatch::Dashboard') * PRICES.dashboardMonth,
    secrets: (count('AWS::SecretsManager::Secret') + OPERATORS_SECRETS) * PRICES.secretMonth,
    address:
      count('AWS::EC2::NatGateway') * PRICES.natGatewayMonth + count('AWS::EC2::EIP') * PRICES.publicAddressMonth,
  };
  return { ...costs, all: sum(Object.values(costs)) };
}

it('README.md has the costs of registrations, accounts and a month, by list prices, the calls of a request and the template', async () => {
  const registration = await priceOf(() => register(service, { email: `new@${randomUUID()}.example` }), REGISTRATION);
  const order = { connection_id: 'tp5-live-1', group: 'real\\standard' };
  const account = await priceOf(() => openAccount(service, 'tp5', order), ACCOUNT);
  const broker = { confirmation: true, crmWebhook: 'https://crm.acme.example/events' };
  const month = monthly(broker);
  const vpc = monthly({ ...broker, vpc: true });
  const rounded = (value: number, step: number) => Math.round(value / step) * step;
  const about = (price: number) => rounded(price * 10_000, 0.05).toFixed(2);
  const page = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
  const [metrics, dashboard, all, address] = [month.metrics, month.dashboard, month.all, vpc.all - month.all].map(
    (one) => one.toFixed(0),
  );
  const [alarms, secrets] = [month.alarms, month.secrets].map((one) => one.toFixed(2));
  const [, table = ''] = page.split('| | US dollars |\n|---|---|\n');
  expect(table.split('\n').slice(0, 4)).toEqual([
    `| 10,000 registrations by email | about ${about(registration)}, of which SES takes ${(PRICES.mail * 10_000).toFixed(2)} |`,
    `| 10,000 accounts on a version 5 server | about ${about(account)} |`,
    `| a month of a small broker, with \`confirmation\` and \`crmWebhook\` | about ${all}: counted metrics ${metrics}, alarms ${alarms}, dashboard ${dashboard}, secrets ${secrets} |`,
    `| a fixed outbound address (setting \`vpc\`) | ${address} more a month |`,
  ]);
});

it('Each metric of an alarm or a graph is one that a function counts, by the same dimensions; and each that is counted is shown', () => {
  const named = [...namedMetrics(synthesize(EVERYTHING))].map((one) => {
    const [name = '', ...dimensions] = one.split(' ');
    return `${name} ${dimensions.map((each) => each.split('=')[0]).sort()}`;
  });
  const counted = Object.entries(COUNTED).map(([name, dimensions]) => `${name} ${[...dimensions].sort()}`);
  expect([...new Set(named)].sort()).toEqual(counted.sort());
});
