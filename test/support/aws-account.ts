import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from '../../infra/local/listen.ts';

/** One call of a service of AWS, as a policy names it. */
export interface AwsCall {
  /** Such as `dynamodb:Scan`. */
  action: string;
  resource: string;
}

export interface AwsAccountOptions {
  /**
   * The addresses of the stand-ins, by the service's name in a signature; other services answer from the table below.
   */
  forward: Readonly<Record<string, string>>;
  outputs: Readonly<Record<string, string>>;
}

export const REGION_AND_ACCOUNT = 'eu-west-1:111122223333';
const arn = (service: string, rest: string) => `arn:aws:${service}:${REGION_AND_ACCOUNT}:${rest}`;
export const STACK = 'broker-api-test';
const XML = 'text/xml';

export type AwsAccount = Awaited<ReturnType<typeof startAwsAccount>>;

/**
 * An AWS account that operators call: it records every call as an action and a resource, refuses the actions in
 * `denied` in AWS's own words, and answers the others, or forwards them to the local service's stand-ins.
 */
export async function startAwsAccount(options: AwsAccountOptions) {
  const calls: AwsCall[] = [];
  const denied = new Set<string>();

  async function answerCall(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const call = callOf(request, body.toString('utf8'));
    calls.push(...neededFor(call));
    if (denied.has(call.action)) return deny(response, call);
    const target = call.action in ANSWERS ? undefined : options.forward[call.service];
    if (target !== undefined) return forward(target, request, body, response);
    const [type, answer] = answerTo(call, options);
    response.writeHead(200, { 'content-type': type }).end(answer);
  }

  const server = createServer((request, response) => {
    answerCall(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const url = `http://127.0.0.1:${await listen(server, 0)}`;
  return { url, calls, denied, close: () => void server.close() };
}

interface Call extends AwsCall {
  service: string;
  operation: string;
  input: Record<string, unknown>;
  isQuery: boolean;
}

function callOf(request: IncomingMessage, body: string): Call {
  const { url = '', headers } = request;
  const service = /Credential=[^/]+\/\d+\/[^/]+\/([^/]+)\//.exec(headers.authorization ?? '')?.[1] ?? 'unsigned';
  const isQuery = String(headers['content-type']).includes('urlencoded');
  const path = new URL(url, 'http://aws');
  const query = new URLSearchParams(isQuery ? body : path.search);
  const isJson = body.startsWith('{');
  const input = isJson ? (JSON.parse(body) as Record<string, unknown>) : Object.fromEntries(query);
  const target = String(headers['x-amz-target'] ?? '').split('.')[1];
  const operation = target ?? query.get('Action') ?? restOperation(`${request.method} ${path.pathname}`);
  const prefix = service === 'monitoring' ? 'cloudwatch' : service;
  const resource = resourceOf(service, operation, input, path.pathname);
  return { service, operation, input, isQuery, action: `${prefix}:${operation}`, resource };
}

/** The rights that IAM checks: a transaction needs those of its single writes. */
function neededFor({ action, resource, input }: Call): AwsCall[] {
  const writes = input.TransactItems as Record<string, { TableName: string }>[] | undefined;
  // SQS moves the messages with the rights of its caller.
  if (action === 'sqs:StartMessageMoveTask') {
    const moving = ['StartMessageMoveTask', 'ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'];
    return [
      ...moving.map((one) => ({ action: `sqs:${one}`, resource })),
      { action: 'sqs:SendMessage', resource: resource.replace(/-undelivered$/, '') },
    ];
  }
  if (writes === undefined) return [{ action, resource }];
  return writes.flatMap((write) =>
    Object.entries(write).map(([kind, { TableName }]) => ({
      action: `dynamodb:${kind}Item`,
      resource: arn('dynamodb', `table/${TableName}`),
    })),
  );
}

const REST_OPERATIONS: readonly [RegExp, string][] = [
  [/^GET \/v2\/email\/suppression\/addresses\//, 'GetSuppressedDestination'],
  [/^DELETE \/v2\/email\/suppression\/addresses\//, 'DeleteSuppressedDestination'],
  [/^GET \/v2\/email\/insights\//, 'GetMessageInsights'],
  [/^DELETE \/(\w|documents\.)/, 'DeleteObject'],
  [/\/v2\/email\/account$/, 'GetAccount'],
  [/\/v2\/email\/identities\//, 'GetEmailIdentity'],
  [/\/account-settings$/, 'GetAccountSettings'],
  [/\/v1\/whatsapp\/waba\/list$/, 'ListLinkedWhatsAppBusinessAccounts'],
  [/\/v1\/whatsapp\/template\/list$/, 'ListWhatsAppMessageTemplates'],
];
function restOperation(path: string): string {
  return REST_OPERATIONS.find(([pattern]) => pattern.test(path))?.[1] ?? path;
}

/** The resource of a call in a policy; `*` for actions that know none. */
function resourceOf(service: string, operation: string, input: Record<string, unknown>, path: string): string {
  const text = (name: string) => String(input[name]);
  switch (service) {
    case 'dynamodb': {
      const table = input.TableName ?? Object.keys((input.RequestItems ?? {}) as object)[0];
      const index = input.IndexName === undefined ? '' : `/index/${String(input.IndexName)}`;
      return arn('dynamodb', `table/${String(table)}${index}`);
    }
    case 'secretsmanager': {
      const name = input.SecretId ?? input.Name;
      return String(name).startsWith('arn:') ? String(name) : arn('secretsmanager', `secret:${String(name)}-AbCdEf`);
    }
    case 's3':
      return `arn:aws:s3::${path.replace(/^\//, ':')}`;
    case 'cloudformation':
      return arn('cloudformation', `stack/${text('StackName')}/0a1b`);
    case 'ssm':
      return arn('ssm', `parameter${text('Name')}`);
    case 'sqs':
      return arn('sqs', String(input.SourceArn ?? input.QueueUrl).replace(/^.*[:/]/, ''));
    case 'sns':
      return text('TopicArn');
    case 'acm':
      return text('CertificateArn');
    case 'ses':
      return operation === 'GetEmailIdentity'
        ? arn('ses', `identity/${decodeURIComponent(path.split('/').at(-1) ?? '')}`)
        : '*';
    case 'social-messaging':
      return operation === 'ListWhatsAppMessageTemplates' ? arn('social-messaging', `waba/${text('id')}`) : '*';
    case 'sms-voice':
      return operation === 'DescribeProtectConfigurations' ? arn('sms-voice', 'protect-configuration/*') : '*';
    default:
      return '*';
  }
}

function deny(response: ServerResponse, { action, resource, isQuery }: Call): void {
  const message =
    `User: arn:aws:sts::111122223333:assumed-role/operators/ann is not authorized to perform: ${action} ` +
    `on resource: ${resource} because no identity-based policy allows the ${action} action`;
  if (isQuery) {
    const code = action.startsWith('sns:') ? 'AuthorizationError' : 'AccessDenied';
    const error = `<Error><Type>Sender</Type><Code>${code}</Code><Message>${message}</Message></Error>`;
    response.writeHead(403, { 'content-type': XML }).end(`<ErrorResponse>${error}</ErrorResponse>`);
    return;
  }
  const headers = { 'content-type': 'application/json', 'x-amzn-errortype': 'AccessDeniedException' };
  response.writeHead(400, headers).end(JSON.stringify({ __type: 'AccessDeniedException', message }));
}

async function forward(
  url: string,
  { headers, url: path = '/', method = 'POST' }: IncomingMessage,
  body: Buffer,
  response: ServerResponse,
) {
  const kept = Object.entries(headers).filter(([name]) => !['host', 'connection', 'content-length'].includes(name));
  const answer = await fetch(new URL(path, url), {
    method,
    ...(body.length > 0 && { body: new Uint8Array(body) }),
    headers: kept as [string, string][],
  });
  const named = ['content-type', 'x-amzn-errortype', 'x-amz-crc32'].flatMap((name) => {
    const value = answer.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  response.writeHead(answer.status, Object.fromEntries(named)).end(Buffer.from(await answer.arrayBuffer()));
}

/** The answers of the services that the local service does not have: an account without any problem. */
const ANSWERS: Readonly<Record<string, object>> = {
  'dynamodb:DescribeContinuousBackups': {
    ContinuousBackupsDescription: {
      ContinuousBackupsStatus: 'ENABLED',
      PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'ENABLED', RecoveryPeriodInDays: 35 },
    },
  },
  'dynamodb:DescribeTimeToLive': { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED' } },
  'ssm:GetParameter': { Parameter: { Value: '30' } },
  'lambda:GetAccountSettings': { AccountLimit: { ConcurrentExecutions: 1_000 } },
  'ses:GetAccount': { ProductionAccessEnabled: true, SendingEnabled: true, SendQuota: { MaxSendRate: 14 } },
  'ses:GetEmailIdentity': { VerifiedForSendingStatus: true, DkimAttributes: { Status: 'SUCCESS' } },
  'sms-voice:DescribeSpendLimits': { SpendLimits: [] },
  'sms-voice:DescribeAccountAttributes': { AccountAttributes: [] },
  'sms-voice:DescribeProtectConfigurations': { ProtectConfigurations: [] },
  'social-messaging:ListLinkedWhatsAppBusinessAccounts': { linkedAccounts: [{ id: 'waba-1' }] },
  'social-messaging:ListWhatsAppMessageTemplates': { templates: [] },
  // Before its domain is looked up in the DNS, which no test asks.
  'acm:DescribeCertificate': { Certificate: { Status: 'PENDING_VALIDATION' } },
  'cloudwatch:DescribeAlarms': { MetricAlarms: [], CompositeAlarms: [] },
};

function answerTo({ action, operation, input }: Call, { outputs }: AwsAccountOptions): [type: string, body: string] {
  const json = ANSWERS[action];
  if (json !== undefined) return ['application/x-amz-json-1.0', JSON.stringify(json)];
  return [
    XML,
    `<${operation}Response><${operation}Result>${xmlResult(action, input, outputs)}</${operation}Result></${operation}Response>`,
  ];
}

function xmlResult(action: string, input: Record<string, unknown>, outputs: Readonly<Record<string, string>>): string {
  switch (action) {
    case 'sts:GetCallerIdentity':
      return '<Account>111122223333</Account>';
    case 'sns:ListSubscriptionsByTopic':
      return '<Subscriptions><member><SubscriptionArn>arn:aws:sns:1</SubscriptionArn></member></Subscriptions>';
    case 'cloudformation:DescribeStacks': {
      const members = Object.entries(outputs).map(
        ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
      );
      const state =
        '<StackStatus>UPDATE_COMPLETE</StackStatus><EnableTerminationProtection>true</EnableTerminationProtection>';
      return `<Stacks><member><StackName>${STACK}</StackName>${state}<Outputs>${members.join('')}</Outputs></member></Stacks>`;
    }
    case 'cloudformation:DescribeStackResource': {
      const table = String(input.LogicalResourceId)
        .replace(/(Table|Bucket|Queue)$/, '')
        .replace(/\B[A-Z]/g, '-$&')
        .toLowerCase();
      return `<StackResourceDetail><PhysicalResourceId>${table}</PhysicalResourceId></StackResourceDetail>`;
    }
    default:
      throw new Error(`The account of the tests has no answer to ${action}.`);
  }
}
