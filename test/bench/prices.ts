import { readFileSync } from 'node:fs';
import { eventFor } from '../support/gateway-events.ts';
import { EVERYTHING, propertiesOf, resources, SENDER, synthesize } from '../support/stack.ts';
import { type Benchmark, type BenchmarkRun, type Figure, figure, quantile } from './figures.ts';
import { PRICES } from './price-list.ts';
import { type Call, recordHttp } from './recorder.ts';
import { openStage } from './stage.ts';

const TIMES = 10_000;
/** The answer time of an AWS service within its region, in milliseconds. */
const ANSWER_MS = 4;
const MEMORY_GB = { 'request-registration': 1_769 / 1_024, 'create-tp5-account': 1 } as const;
const SERVICES = ['DYNAMODB', 'SES'] as const;
/** Log lines and metrics of a request, in bytes, as CloudWatch takes them in. */
const LOGGED_BYTES = 2_500;

export const prices: Benchmark = {
  name: 'prices',
  about:
    'What AWS asks for 10,000 requests by its list prices (dated in the source): calls and bytes are counted between a warm ' +
    'bundled function and the local services, which answer as fast as those of a region; and the fixed cost of a month ' +
    'for the settings in cdk.json. Texts, calls and WhatsApp messages cost by country, and are not in it.',
  run,
};

async function run({ quick, progress }: BenchmarkRun): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of ['request-registration', 'create-tp5-account'] as const) {
    progress(name);
    const requests = quick ? 3 : 20;
    const { calls, ms } = await observe(name, requests);
    const ofService = (service: string) => calls.filter((call) => call.service === service);
    const costs = {
      'API Gateway': PRICES.gatewayRequest,
      Lambda: PRICES.lambdaRequest + (ms / 1_000) * MEMORY_GB[name] * PRICES.lambdaGbSecond,
      DynamoDB: sum(ofService('DYNAMODB').map(databaseCost)) / requests,
      SES: (ofService('SES').length / requests) * PRICES.mail,
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

async function observe(name: keyof typeof MEMORY_GB, repetitions: number): Promise<{ calls: Call[]; ms: number }> {
  const stage = await openStage();
  const recorders = await Promise.all(
    SERVICES.map((service) =>
      recordHttp(service, stage.service.environment[`AWS_ENDPOINT_URL_${service}`] ?? '', ANSWER_MS),
    ),
  );
  const endpoints = recorders.map(({ url }, index) => [`AWS_ENDPOINT_URL_${SERVICES[index]}`, url]);
  const environment = await stage.start(name, eventFor(name), Object.fromEntries(endpoints));
  try {
    for (const { calls } of recorders) calls.length = 0;
    const { ms } = await environment.call(Array.from({ length: repetitions }, () => eventFor(name)));
    return { calls: recorders.flatMap((recorder) => recorder.calls), ms: quantile(ms, 0.5) };
  } finally {
    await environment.end();
    for (const recorder of recorders) recorder.close();
  }
}

/** Items are small: reads and writes count by the bytes of the call. */
function databaseCost({ operation, sentBytes, receivedBytes }: Call): number {
  const isRead = /^(Batch)?Get|^Query/.test(operation);
  return isRead
    ? Math.max(1, Math.ceil(receivedBytes / 4_096)) * PRICES.databaseRead
    : Math.max(1, Math.ceil(sentBytes / 1_024)) * PRICES.databaseWrite;
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
