import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import type { Change } from '../../infra/local/dynamo.ts';
import { eventFor } from '../support/gateway-events.ts';
import { EVERYTHING, propertiesOf, resources, SENDER, synthesize } from '../support/stack.ts';
import { servicesFarAway } from './far-away.ts';
import { type Benchmark, type BenchmarkRun, type Figure, figure, quantile } from './figures.ts';
import { PRICES } from './price-list.ts';
import { openStage } from './stage.ts';

const TIMES = 10_000;
/** The answer time of an AWS service within its region, in milliseconds. */
const ANSWER_MS = 4;
const MEMORY_GB = { 'request-registration': 1_769 / 1_024, 'create-tp5-account': 1 } as const;
/**
 * The metrics that a month with email alone counts: codes sent, refused and in doubt, confirmations with their seconds,
 * accounts, refused requests, limits and notified events, each by its function, by all, and some by channel.
 */
const COUNTED_METRICS = 34;
/** From this load on, times are those of the machine's other work. */
const MAX_LOAD = 1;
/** Log lines and metrics of a request, in bytes, as CloudWatch takes them in. */
const LOGGED_BYTES = 2_500;

export const prices: Benchmark = {
  name: 'prices',
  about:
    'What AWS asks for 10,000 requests by its list prices (dated in the source): reads, writes and mails are counted for a warm ' +
    'bundled function with the local services, which answer as fast as those of a region; and the fixed cost of a month ' +
    'for the settings in cdk.json. Texts, calls and WhatsApp messages cost by country, and are not in it.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const [load = 0] = loadavg();
  if (load > MAX_LOAD * availableParallelism())
    throw new Error(
      `The machine is busy (load ${load.toFixed(1)}): its times would be printed as prices. Try again later.`,
    );
  const figures: Figure[] = [];
  for (const name of ['request-registration', 'create-tp5-account'] as const) {
    progress(name);
    const { reads, writes, mails, events, ms } = await observe(name, quick ? 3 : 20);
    const costs = {
      'API Gateway': PRICES.gatewayRequest,
      Lambda: PRICES.lambdaRequest + (ms / 1_000) * MEMORY_GB[name] * PRICES.lambdaGbSecond,
      DynamoDB: reads * PRICES.databaseRead + writes * PRICES.databaseWrite,
      SES: mails * PRICES.mail,
      EventBridge: events * PRICES.event,
      // As if every request were sampled: a small broker has less than one a second.
      'X-Ray': PRICES.trace,
      CloudWatch: (LOGGED_BYTES / 1e9) * PRICES.logGb,
    };
    const what = name === 'request-registration' ? 'registrations by email' : 'tp5 accounts';
    for (const [service, cost] of Object.entries(costs)) {
      if (cost > 0) figures.push(figure(`10,000 ${what}: ${service}`, 'USD', [cost * TIMES]));
    }
    figures.push(figure(`10,000 ${what}: all of it`, 'USD', [sum(Object.values(costs)) * TIMES]));
  }
  return [
    ...figures,
    figure('a month: fixed, settings of cdk.json', 'USD', [monthly(settings())]),
    figure('a month: fixed, everything', 'USD', [monthly(EVERYTHING)]),
  ];
}

/** The calls of a warm function, on average, and its time for one request. */
async function observe(name: keyof typeof MEMORY_GB, requests: number) {
  const stage = await openStage();
  const { service } = stage;
  const delayed = await servicesFarAway(stage, { DYNAMODB: ANSWER_MS, SES: ANSWER_MS });
  const environment = await stage.start(name, eventFor(name), delayed.environment);
  const { calls } = service.database;
  const { ses } = service.standIns;
  const [earlierCalls, earlierMails, earlierEvents] = [calls.length, ses.requests, service.bus.list().length];
  let writes = 0;
  service.database.onWritten((changes) => {
    writes += sum(changes.map(writeUnits)) * (changes.length > 1 ? 2 : 1);
  });
  try {
    const { ms } = await environment.call(Array.from({ length: requests }, () => eventFor(name)));
    const reads = calls.slice(earlierCalls).filter(({ operation }) => /^(Batch)?Get|^Query/.test(operation)).length;
    const mails = ses.requests - earlierMails;
    const perRequest = (count: number) => count / requests;
    const events = service.bus.list().length - earlierEvents;
    return {
      ...{ reads: perRequest(reads), writes: perRequest(writes), mails: perRequest(mails), events: perRequest(events) },
      ms: quantile(ms, 0.5),
    };
  } finally {
    service.database.onWritten(() => {});
    await environment.end();
    await delayed.close();
  }
}

/**
 * Each kB of an item is a unit; in a transaction it is two. An item that is due is in the index too, at another place
 * after each change: the old entry is deleted, and a new one is put.
 */
function writeUnits({ before, after }: Change): number {
  const isDue = (item: object | undefined) => item !== undefined && 'due_at' in item;
  const kilobytes = Math.ceil(JSON.stringify(after ?? before).length / 1_024);
  return kilobytes * (1 + Number(isDue(before)) + Number(isDue(after)));
}

function settings(): Record<string, unknown> {
  const { context } = JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8')) as {
    context: Record<string, unknown>;
  };
  return { ...SENDER, ...context };
}

function monthly(context: Record<string, unknown>): number {
  const template = synthesize(context);
  const count = (type: string) => Object.keys(resources(template, type)).length;
  return (
    sum(propertiesOf(template, 'AWS::CloudWatch::Alarm').map(metricsOf)) * PRICES.alarmMetricMonth +
    COUNTED_METRICS * PRICES.metricMonth +
    count('AWS::CloudWatch::CompositeAlarm') * PRICES.compositeAlarmMonth +
    count('AWS::CloudWatch::Dashboard') * PRICES.dashboardMonth +
    count('AWS::SecretsManager::Secret') * PRICES.secretMonth +
    count('AWS::EC2::NatGateway') * PRICES.natGatewayMonth
  );
}

/** How many metrics an alarm reads. An expression over them is free. */
function metricsOf({ Metrics = [{ MetricStat: {} }] }: Record<string, unknown>): number {
  return (Metrics as { MetricStat?: object }[]).filter(({ MetricStat }) => MetricStat !== undefined).length;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
