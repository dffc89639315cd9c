/**
 * AWS's list prices in US dollars, us-east-1, on demand, without the free tier and without data leaving AWS. As of
 * 2026-11-28; current prices are on the pricing page of each service. Functions run on arm64.
 */
export const PRICES = {
  gatewayRequest: 1 / 1e6,
  lambdaRequest: 0.2 / 1e6,
  lambdaGbSecond: 0.0000133334,
  /** The price of a write of 1 kB, and of a strongly consistent read of 4 kB. */
  databaseWrite: 0.625 / 1e6,
  databaseRead: 0.125 / 1e6,
  databaseGbMonth: 0.25,
  /** The price of the backup of a table that can be restored to each second. */
  recoveryGbMonth: 0.2,
  mail: 0.1 / 1_000,
  /** A published event, of at most 64 kB. */
  event: 1 / 1e6,
  /** The price of a trace. X-Ray samples the first request of each second, and 5 % of the others. */
  trace: 5 / 1e6,
  /** A metric that was counted in the month. */
  metricMonth: 0.3,
  logGb: 0.5,
  secretMonth: 0.4,
  /** The price of each metric of an alarm. */
  alarmMetricMonth: 0.1,
  compositeAlarmMonth: 0.5,
  dashboardMonth: 3,
  natGatewayMonth: 0.045 * 730,
  publicAddressMonth: 0.005 * 730,
  /** A call by EventBridge Scheduler. */
  scheduledRun: 1 / 1e6,
  queueRequest: 0.4 / 1e6,
  /** The price of a customer managed key. AWS charges for the calls of the keys that it manages. */
  keyMonth: 1,
  keyRequest: 0.03 / 10_000,
  bucketGbMonth: 0.023,
  /** An environment that is kept warm, on arm64. */
  provisionedGbSecond: 0.0000033334,
  firewallMonth: 5,
  firewallRuleMonth: 1,
  botControlMonth: 10,
} as const;
