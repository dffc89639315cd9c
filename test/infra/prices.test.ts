import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type LocalService, startService } from '../../infra/local/service.ts';
import { COUNTED_EVENTS, type CountedName } from '../../lib/validators/counted-events.ts';
import { openAccount, register } from '../support/local-service.ts';
import { firewallCosts, monthlyCosts } from '../support/monthly-costs.ts';
import { PRICES } from '../support/price-list.ts';
import { coldStart } from '../support/registration-world.ts';
import { EVERYTHING, propertiesOf, synthesize } from '../support/stack.ts';
import { indexUnits, writeUnits } from '../support/write-units.ts';

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

/** What AWS asks for a request to a warm function: its calls are counted. */
async function priceOf(ask: () => Promise<{ status: number }>, { seconds, memory }: typeof ACCOUNT): Promise<number> {
  const { bus, database, standIns } = service;
  await ask();
  const [calls, mails, events] = [database.calls.length, standIns.ses.requests, bus.list().length];
  let writes = 0;
  // A write of a transaction costs two.
  database.onWritten((changes) => {
    writes += sum(changes.map(writeUnits)) * (changes.length > 1 ? 2 : 1) + sum(changes.map(indexUnits));
  });
  expect((await ask()).status).toBeLessThan(300);
  database.onWritten(() => {});
  const reads = database.calls
    .slice(calls)
    .map(({ operation, keys = 1 }) => (/^(Batch)?Get/.test(operation) ? keys : operation === 'Query' ? 0.5 : 0));
  return sum([
    PRICES.gatewayRequest + PRICES.lambdaRequest + seconds * memory * PRICES.lambdaGbSecond,
    sum(reads) * PRICES.databaseRead + writes * PRICES.databaseWrite,
    (standIns.ses.requests - mails) * PRICES.mail + (bus.list().length - events) * PRICES.event,
    // As if every request were traced: a small broker has less than one a second.
    PRICES.trace + (LOGGED_BYTES / 1e9) * PRICES.logGb,
  ]);
}

const README = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const BROKER = { confirmation: true, crmWebhook: 'https://crm.acme.example/events' };

/** The costs of a month without requests, with the secrets that operators make. */
function idleMonth(settings: Record<string, unknown>) {
  const costs = monthlyCosts(synthesize(settings));
  const secrets = costs.secrets + OPERATORS_SECRETS * PRICES.secretMonth;
  const all = { ...costs, secrets };
  return { ...all, sum: sum(Object.values(all)) };
}

it('README.md has the costs of registrations, accounts and a month, by list prices, the calls of a request and the template', async () => {
  const registration = await priceOf(() => register(service, { email: `new@${randomUUID()}.example` }), REGISTRATION);
  const order = { connection_id: 'tp5-live-1', group: 'real\\standard' };
  const account = await priceOf(() => openAccount(service, 'tp5', order), ACCOUNT);
  const month = idleMonth(BROKER);
  const counted = [...namedMetrics(synthesize(BROKER))].filter((one) => ROUTINE.has(one.split(' ')[0] ?? ''));
  const metrics = counted.length * PRICES.metricMonth;
  const { sum: vpc } = idleMonth({ ...BROKER, vpc: true });
  const about = (price: number) => (Math.round((price * 10_000) / 0.05) * 0.05).toFixed(2);
  const [, table = ''] = README.split('| | US dollars |\n|---|---|\n');
  const dollars = (parts: Record<string, number>) =>
    Object.entries(parts)
      .map(([name, value]) => `${name} ${value.toFixed(2)}`)
      .join(', ');
  const { alarms, dashboard, secrets, queues, runs } = month;
  const stored = month.tables + month.documents + month.keys;
  expect(table.split('\n').slice(0, 5)).toEqual([
    `| 10,000 registrations by email | about ${about(registration)}, of which SES takes ${(PRICES.mail * 10_000).toFixed(2)} |`,
    `| 10,000 accounts on a version 5 server | about ${about(account)} |`,
    `| a month without requests, with \`confirmation\` and \`crmWebhook\` | about ${month.sum.toFixed(0)}: ${dollars({ alarms, dashboard, secrets, 'asking two empty queues': queues, 'runs of the settler': runs, 'stored data': stored })} |`,
    `| the ${counted.length} metrics that requests count | ${metrics.toFixed(2)} more a month |`,
    `| a fixed outbound address (setting \`vpc\`) | ${(vpc - month.sum).toFixed(0)} more a month |`,
  ]);
  const each = [PRICES.alarmMetricMonth, PRICES.compositeAlarmMonth, PRICES.secretMonth, PRICES.metricMonth].map(
    (one) => one.toFixed(2),
  );
  const [metric, composite, secret, own] = each;
  expect(README).toContain(
    `A month costs ${metric} for each metric of an alarm and ${composite} for a composite alarm. A dashboard costs ${PRICES.dashboardMonth}, a secret ${secret}, and a counted metric ${own}. So a small broker pays ${(month.sum + metrics).toFixed(0)} a month`,
  );
  // These cost nothing here.
  expect(month.metrics + month.warm + month.address).toBe(0);
  expect(month.sum + metrics).toBeLessThan(20);
});

it('Each type of resource has a price, with any settings, and bots.md has the price of the firewall', () => {
  expect(idleMonth(EVERYTHING)).toMatchObject({ metrics: 0, warm: expect.closeTo(78.05, 2) });
  const [front, bots] = ['cloudfront.yaml', 'docs/bots.md'].map((name) =>
    readFileSync(new URL(`../../infra/${name}`, import.meta.url), 'utf8'),
  );
  expect(bots).toContain(`WAF costs ${firewallCosts(front ?? '')} US dollars a month`);
});

it('Functions count each metric of an alarm or graph by the same dimensions, and each counted metric is shown', () => {
  const named = [...namedMetrics(synthesize(EVERYTHING))].map((one) => {
    const [name = '', ...dimensions] = one.split(' ');
    return `${name} ${dimensions.map((each) => each.split('=')[0]).sort()}`;
  });
  const counted = Object.entries(COUNTED_EVENTS).map(([name, dimensions]) => `${name} ${[...dimensions].sort()}`);
  expect([...new Set(named)].sort()).toEqual(counted.sort());
});
