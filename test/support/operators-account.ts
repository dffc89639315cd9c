import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { beforeAll } from 'vitest';
import type { CheckResult } from '../../infra/doctor/checks.ts';
import { runDoctor } from '../../infra/doctor/doctor.ts';
import { listenOn } from '../../infra/local/listen.ts';
import type { NeededRight } from '../../infra/local/rights/policy.ts';
import { readSettings, SETTINGS_METADATA, settingsText } from '../../infra/settings.ts';
import { openAccount } from './local-service.ts';
import { cdkJsonOf, type Operators } from './operators.ts';
import { EVERYTHING } from './stack.ts';

/** One call of a service of AWS, as a policy names it. */
export interface AwsCall {
  /** The action, such as `dynamodb:Scan`. */
  action: string;
  resource: string;
  /** The values of condition keys. */
  context?: NonNullable<NeededRight['context']>;
}

const REGION_AND_ACCOUNT = 'eu-west-1:111122223333';
const arn = (service: string, rest: string) => `arn:aws:${service}:${REGION_AND_ACCOUNT}:${rest}`;
export const STACK = 'broker-api-test';
const XML = 'text/xml';
/** The services that the local service has: by the name in a signature, the name in the variable of the endpoint. */
const FORWARDED = { dynamodb: 'DYNAMODB', secretsmanager: 'SECRETS_MANAGER', s3: 'S3', ses: 'SESV2', sqs: 'SQS' };

/** The settings of the stack in the account. */
export const SETTINGS = {
  ...EVERYTHING,
  senderAddress: 'no-reply@acme.example',
  senderIdentity: 'address',
  stage: 'test',
  platformSecrets: 'platform/',
};
const PEPPER = 'broker-api-keys/local/pepper';
const PASSWORDS = 'broker-api-keys/local/passwords';

/** The names of the template's resources in the account. */
export const RESOURCES: Readonly<Record<string, string>> = {
  'AWS::Partition': 'aws',
  'AWS::Region': 'eu-west-1',
  'AWS::AccountId': '111122223333',
  AlarmTopic: arn('sns', 'alarms'),
  NoticeTopic: arn('sns', 'notices'),
  PepperSecret: arn('secretsmanager', `secret:${PEPPER}-AbCdEf`),
  PasswordSecret: arn('secretsmanager', `secret:${PASSWORDS}-AbCdEf`),
  'DocumentsBucket.Arn': 'arn:aws:s3:::documents',
  'CrmQueue.Arn': arn('sqs', 'crm'),
  'CrmAccountsQueue.Arn': arn('sqs', 'crm-accounts'),
  'CrmUndeliveredQueue.Arn': arn('sqs', 'crm-undelivered'),
  ...Object.fromEntries(
    ['Crm', 'Accounts', 'Operations', 'Registrations', 'Limits', 'Logins'].map((name) => [
      `${name}Table.Arn`,
      arn('dynamodb', `table/${name.toLowerCase()}`),
    ]),
  ),
};

type Outputs = Readonly<Record<string, string>>;

/**
 * A stack in an AWS account that operators call. It records every call as an action and a resource, refuses the actions
 * in `denied` in AWS's own words, and answers the others, or forwards them to the stand-ins of a local service.
 */
export class OperatorsAccount {
  readonly cdkJson = cdkJsonOf(SETTINGS);
  readonly denied = new Set<string>();
  /** The settings in the metadata of the stack's template. Undefined: the template has none, as in version 1.0.0. */
  settings: object | undefined = SETTINGS;
  /** The resources that the stack lacks, by their ids in the template. */
  readonly absent = new Set<string>();
  readonly #calls: AwsCall[] = [];
  /** The addresses of the stand-ins, by the service's name in a signature. */
  #forward: Readonly<Record<string, string | undefined>> = {};
  #outputs: Outputs = {};
  #url = '';

  constructor(operators: Operators) {
    beforeAll(async () => {
      const urls = Object.entries(FORWARDED).map(([name, of]) => [name, process.env[`AWS_ENDPOINT_URL_${of}`]]);
      this.#forward = Object.fromEntries(urls);
      this.#outputs = {
        CrmTableName: 'crm',
        PepperSecretArn: PEPPER,
        ApiUrl: operators.service.url,
        AlarmTopicArn: RESOURCES.AlarmTopic ?? '',
        NoticeTopicArn: RESOURCES.NoticeTopic ?? '',
      };
      const server = createServer((request, response) => {
        this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
      });
      this.#url = `http://127.0.0.1:${await listenOn(server, 0)}`;
      return () => void server.close();
    });
  }

  /** Runs an operators' command in the account. @returns its result, and the calls that it made */
  async run<T>(work: () => Promise<T>): Promise<{ result: T; calls: AwsCall[] }> {
    const before = Object.entries(process.env).filter(([name]) => name.startsWith('AWS_ENDPOINT_URL'));
    for (const [name] of before) delete process.env[name];
    process.env.AWS_ENDPOINT_URL = this.#url;
    this.#calls.length = 0;
    try {
      return { result: await work(), calls: [...this.#calls] };
    } finally {
      delete process.env.AWS_ENDPOINT_URL;
      Object.assign(process.env, Object.fromEntries(before));
    }
  }

  /** Runs the doctor in the account. */
  doctor(cdkJson: string = this.cdkJson) {
    return this.run(async () => {
      let out = '';
      const print = (text: string) => {
        out += text;
      };
      const code = await runDoctor(['--json', '--stack', STACK], print, cdkJson);
      return { code, results: JSON.parse(out) as CheckResult[] };
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const call = callOf(request, body.toString('utf8'));
    this.#calls.push(...neededFor(call));
    if (this.denied.has(call.action)) return deny(response, call);
    if (this.absent.has(String(call.input.LogicalResourceId))) return refuseAbsent(response, call);
    const target = call.action in ANSWERS ? undefined : this.#forward[call.service];
    if (target !== undefined) return forward(target, request, body, response);
    const [type, answer] = answerTo(call, this.#outputs, this.settings);
    response.writeHead(200, { 'content-type': type }).end(answer);
  }
}

/** An event that the CRM did not accept for a day. */
export async function undeliveredEvent({ service }: Operators): Promise<void> {
  service.faults('crm').set({ kind: 'refused', times: 1_000 });
  const { status } = await openAccount(service, 'tp5', { connection_id: 'tp5-live-1', group: 'real\\standard' });
  if (status !== 200) throw new Error(`The account is not opened: ${status}.`);
  const waits = () => service.deliveries.list().some(({ state }) => state === 'waiting' || state === 'delivering');
  while (waits()) await service.deliveries.deliverNow();
  service.faults('crm').clear();
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
  const resource = resourceOf(service, operation, input, path.pathname);
  return { service, operation, input, isQuery, action: `${service}:${operation}`, resource };
}

/** The rights that IAM checks for a call: a transaction needs the rights of its single writes. */
function neededFor({ action, resource, input }: Call): AwsCall[] {
  // A secret that does not exist has no suffix yet. The keys of the service exist.
  if (/^arn:aws:secretsmanager:(?!.*:secret:broker-api-keys\/)/.test(resource))
    return [resource, resource.replace(/-AbCdEf$/, '')].map((one) => ({ action, resource: one }));
  const writes = input.TransactItems as Record<string, { TableName: string }>[] | undefined;
  // SQS moves the messages with the rights of its caller.
  if (action === 'sqs:StartMessageMoveTask') {
    const moving = ['StartMessageMoveTask', 'ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'];
    return [
      ...moving.map((one) => ({ action: `sqs:${one}`, resource })),
      { action: 'sqs:SendMessage', resource: arn('sqs', String(input.DestinationArn).split(':').at(-1) ?? '') },
    ];
  }
  if (writes === undefined)
    return [{ action, resource, ...(action.startsWith('dynamodb:') && { context: attributeContext(input) }) }];
  return writes.flatMap((write) =>
    Object.entries(write).map(([kind, { TableName }]) => ({
      action: `dynamodb:${kind}Item`,
      resource: arn('dynamodb', `table/${TableName}`),
    })),
  );
}

/** The attributes that a call names, as IAM knows them. */
function attributeContext({ Item, Key, ExpressionAttributeNames: names }: Record<string, unknown>) {
  const named = [
    ...Object.keys({ ...(Item as object), ...(Key as object) }),
    ...Object.values(names ?? {}).map(String),
  ];
  return { 'dynamodb:Attributes': named };
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

/** The resource of a call in a policy; `*` for actions that have none. */
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
    case 'sqs':
      return arn('sqs', String(input.SourceArn ?? input.QueueUrl).replace(/^.*[:/]/, ''));
    case 'sns':
      return text('TopicArn');
    case 'ses':
      return operation === 'GetEmailIdentity'
        ? arn('ses', `identity/${decodeURIComponent(path.split('/').at(-1) ?? '')}`)
        : '*';
    case 'social-messaging':
      return operation === 'ListWhatsAppMessageTemplates' ? arn('social-messaging', `waba/${text('id')}`) : '*';
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

/** CloudFormation's words for a resource that the stack does not have. */
function refuseAbsent(response: ServerResponse, { input }: Call): void {
  const message = `Resource ${String(input.LogicalResourceId)} does not exist for stack ${STACK}`;
  const error = `<Error><Type>Sender</Type><Code>ValidationError</Code><Message>${message}</Message></Error>`;
  response.writeHead(400, { 'content-type': XML }).end(`<ErrorResponse>${error}</ErrorResponse>`);
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

/** The answers of the services that the local service does not have. They describe an account without any problem. */
const ANSWERS: Readonly<Record<string, object>> = {
  'dynamodb:DescribeContinuousBackups': {
    ContinuousBackupsDescription: {
      ContinuousBackupsStatus: 'ENABLED',
      PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'ENABLED', RecoveryPeriodInDays: 35 },
    },
  },
  'dynamodb:DescribeTimeToLive': { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED' } },
  'lambda:GetAccountSettings': { AccountLimit: { ConcurrentExecutions: 1_000 } },
  'ses:GetAccount': { ProductionAccessEnabled: true, SendingEnabled: true, SendQuota: { MaxSendRate: 14 } },
  'ses:GetEmailIdentity': { VerifiedForSendingStatus: true, DkimAttributes: { Status: 'SUCCESS' } },
  'sms-voice:DescribeSpendLimits': { SpendLimits: [] },
  'sms-voice:DescribeAccountAttributes': { AccountAttributes: [] },
  'social-messaging:ListLinkedWhatsAppBusinessAccounts': { linkedAccounts: [{ id: 'waba-1' }] },
  'social-messaging:ListWhatsAppMessageTemplates': { templates: [] },
};

function answerTo(
  { action, operation, input }: Call,
  outputs: Outputs,
  settings?: object,
): [type: string, body: string] {
  const json = ANSWERS[action];
  if (json !== undefined) return ['application/x-amz-json-1.0', JSON.stringify(json)];
  return [
    XML,
    `<${operation}Response><${operation}Result>${xmlResult(action, input, outputs, settings)}</${operation}Result></${operation}Response>`,
  ];
}

function xmlResult(action: string, input: Record<string, unknown>, outputs: Outputs, settings?: object): string {
  switch (action) {
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
      const name = String(input.LogicalResourceId)
        .replace(/(Table|Bucket|Queue)$/, '')
        .replace(/\B[A-Z]/g, '-$&')
        .toLowerCase();
      const id = name === 'password-secret' ? PASSWORDS : name;
      const text = settings && settingsText(readSettings({ ...settings }));
      const metadata = JSON.stringify(name === 'crm' && text !== undefined ? { [SETTINGS_METADATA]: text } : {});
      const shown = metadata.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
      return `<StackResourceDetail><PhysicalResourceId>${id}</PhysicalResourceId><Metadata>${shown}</Metadata></StackResourceDetail>`;
    }
    default:
      throw new Error(`The account of the tests has no answer to ${action}.`);
  }
}
