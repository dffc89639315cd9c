import type { Template } from 'aws-cdk-lib/assertions';
import { PRICES } from './price-list.ts';
import { allResources, plainValue, resourcesOfType } from './stack.ts';

/** The monthly costs of a stack without requests, by part, in US dollars. */
type MonthlyCosts = Partial<Record<(typeof PARTS)[number], number>>;
const PARTS = [
  ...(['metrics', 'alarms', 'dashboard', 'secrets', 'keys', 'queues', 'runs', 'tables', 'documents'] as const),
  ...(['address', 'warm'] as const),
] as const;

type Properties = Record<string, unknown>;
/** @param template the whole stack */
type Cost = (properties: Properties, template: Template) => MonthlyCosts;

const MONTH_MINUTES = 730 * 60;
/** The metrics of an HTTP API that AWS counts for each route, if they are detailed. */
const DETAILED_METRICS = 6;
/** The data of a small broker: in the tables together, and as documents. */
const STORED_GB = { tables: 0.1, documents: 1 };
/** Lambda asks an empty queue by five connections, each of which waits 20 seconds. */
const QUEUE_ASKS_A_MINUTE = 5 * 3;
/** A run of the settler without work: its time, its calls, each a half read unit, and Lambda's log lines. */
const IDLE_RUN = { seconds: 0.05, reads: 8, logBytes: 1_200 };
/** The number of tables that an idle run reads. DynamoDB asks for the key of a table in use once in five minutes. */
const IDLE_RUN_TABLES = 2;
const KEY_ASKS = MONTH_MINUTES / 5;

const free: Cost = () => ({});

/** The costs by type of resource. A type without a row is an error: add a row with its price. */
const MONTHLY: Readonly<Record<string, Cost>> = {
  // An expression over metrics is free.
  'AWS::CloudWatch::Alarm': ({ Metrics = [{ MetricStat: {} }] }) => ({
    alarms: (Metrics as { MetricStat?: object }[]).filter((one) => one.MetricStat).length * PRICES.alarmMetricMonth,
  }),
  'AWS::CloudWatch::CompositeAlarm': () => ({ alarms: PRICES.compositeAlarmMonth }),
  'AWS::CloudWatch::Dashboard': () => ({ dashboard: PRICES.dashboardMonth }),
  'AWS::SecretsManager::Secret': () => ({ secrets: PRICES.secretMonth }),
  'AWS::KMS::Key': () => ({ keys: PRICES.keyMonth }),
  'AWS::ApiGatewayV2::Stage': ({ RouteSettings = {}, DefaultRouteSettings }, template) => {
    const isDetailed = (one: unknown) => (one as { DetailedMetricsEnabled?: boolean })?.DetailedMetricsEnabled === true;
    const routes = Object.keys(resourcesOfType(template, 'AWS::ApiGatewayV2::Route')).length;
    const detailed = isDetailed(DefaultRouteSettings)
      ? routes
      : Object.values(RouteSettings as object).filter(isDetailed).length;
    return { metrics: detailed * DETAILED_METRICS * PRICES.metricMonth };
  },
  'AWS::Lambda::EventSourceMapping': () => ({ queues: QUEUE_ASKS_A_MINUTE * MONTH_MINUTES * PRICES.queueRequest }),
  'AWS::Scheduler::Schedule': ({ ScheduleExpression, Target }, template) => {
    const { MemorySize, TracingConfig } = calledFunction(Target, template);
    const runs = MONTH_MINUTES / Number(/^rate\((\d+) minutes?\)$/.exec(String(ScheduleExpression))?.[1]);
    const gbSeconds = IDLE_RUN.seconds * (Number(MemorySize) / 1_024);
    // Each run is the first call of its second. X-Ray samples such calls.
    const isTraced = (TracingConfig as { Mode?: string })?.Mode === 'Active';
    const run =
      PRICES.scheduledRun +
      PRICES.lambdaRequest +
      gbSeconds * PRICES.lambdaGbSecond +
      (IDLE_RUN.reads / 2) * PRICES.databaseRead +
      (IDLE_RUN.logBytes / 1e9) * PRICES.logGb +
      (isTraced ? PRICES.trace : 0);
    return { runs: runs * run };
  },
  'AWS::DynamoDB::Table': ({ PointInTimeRecoverySpecification: recovery, BillingMode }, template) => {
    if (BillingMode !== 'PAY_PER_REQUEST') throw new Error('Provisioned capacity has no price here.');
    const tables = Object.keys(resourcesOfType(template, 'AWS::DynamoDB::Table')).length;
    const isRecoverable = (recovery as { PointInTimeRecoveryEnabled?: boolean })?.PointInTimeRecoveryEnabled === true;
    const gb = PRICES.databaseGbMonth + (isRecoverable ? PRICES.recoveryGbMonth : 0);
    return {
      tables: (STORED_GB.tables / tables) * gb,
      keys: (IDLE_RUN_TABLES / tables) * KEY_ASKS * PRICES.keyRequest,
    };
  },
  'AWS::S3::Bucket': () => ({ documents: STORED_GB.documents * PRICES.bucketGbMonth }),
  'AWS::Lambda::Alias': ({ ProvisionedConcurrencyConfig: kept, FunctionName }, template) => {
    const count = (kept as { ProvisionedConcurrentExecutions?: number })?.ProvisionedConcurrentExecutions ?? 0;
    const memory = Number(propertiesOfReferred(FunctionName, template).MemorySize) / 1_024;
    return { warm: count * memory * MONTH_MINUTES * 60 * PRICES.provisionedGbSecond };
  },
  'AWS::EC2::NatGateway': () => ({ address: PRICES.natGatewayMonth }),
  'AWS::EC2::EIP': () => ({ address: PRICES.publicAddressMonth }),
  'AWS::EC2::VPCEndpoint': ({ VpcEndpointType }) => {
    if (VpcEndpointType !== 'Gateway') throw new Error('An endpoint with interfaces has no price here.');
    return {};
  },
  ...Object.fromEntries(
    [
      // Resources that AWS charges for by the request, the event, the message, or the scanned object.
      ...[
        'ApiGatewayV2::Api',
        'Events::EventBus',
        'Events::Rule',
        'GuardDuty::MalwareProtectionPlan',
        'Lambda::Function',
      ],
      ...['Logs::LogGroup', 'SNS::Topic', 'SQS::Queue', 'EC2::FlowLog'],
      // Free.
      ...['ApiGatewayV2::ApiMapping', 'ApiGatewayV2::DomainName', 'ApiGatewayV2::Integration', 'ApiGatewayV2::Route'],
      ...[
        'CodeDeploy::Application',
        'CodeDeploy::DeploymentGroup',
        'EC2::InternetGateway',
        'EC2::Route',
        'EC2::RouteTable',
      ],
      ...['EC2::SecurityGroup', 'EC2::Subnet', 'EC2::SubnetRouteTableAssociation', 'EC2::VPC'],
      ...['EC2::VPCGatewayAttachment', 'IAM::ManagedPolicy', 'IAM::Policy', 'IAM::Role', 'IAM::ServiceLinkedRole'],
      ...['Lambda::EventInvokeConfig', 'Lambda::Permission', 'Lambda::Version', 'S3::BucketPolicy'],
      ...['SES::ConfigurationSet', 'SES::ConfigurationSetEventDestination', 'SES::EmailIdentity'],
      ...['SMSVOICE::ProtectConfiguration', 'SNS::Subscription', 'SNS::TopicPolicy', 'SQS::QueuePolicy'],
    ].map((type) => [`AWS::${type}`, free]),
  ),
};

/** The costs of every resource of a template. @throws Error for a type of resource without a price */
export function monthlyCosts(template: Template): Record<(typeof PARTS)[number], number> {
  const costs = Object.fromEntries(PARTS.map((part) => [part, 0])) as Record<(typeof PARTS)[number], number>;
  for (const { Type, Properties = {} } of Object.values(allResources(template))) {
    const cost = MONTHLY[Type];
    if (cost === undefined) throw new Error(`${Type} has no monthly price.`);
    for (const [part, dollars] of Object.entries(cost(Properties, template)))
      costs[part as keyof typeof costs] += dollars;
  }
  return costs;
}

/** The price of the firewall in the text of its template. */
export function firewallCosts(text: string): number {
  const rules = [...text.matchAll(/^ {8}- Name: /gm)].length;
  const controls = [...text.matchAll(/Name: AWSManagedRulesBotControlRuleSet$/gm)].length;
  return PRICES.firewallMonth + rules * PRICES.firewallRuleMonth + controls * PRICES.botControlMonth;
}

/** The properties of the function whose alias a schedule calls. */
function calledFunction(target: unknown, template: Template): Properties {
  const { Arn } = target as { Arn: unknown };
  return propertiesOfReferred(propertiesOfReferred(Arn, template).FunctionName, template);
}

function propertiesOfReferred(reference: unknown, template: Template): Properties {
  const id = String(plainValue(reference)).slice(1, -1);
  return allResources(template)[id]?.Properties ?? {};
}
