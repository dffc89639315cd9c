import { beforeAll } from 'vitest';
import { Faults } from '../../infra/local/faults.ts';
import { RESOURCES } from '../../infra/local/local-settings.ts';
import { AWS_ACCOUNT_ID, AWS_REGION, bucketArn, localArn, queueArn, secretArn } from '../../infra/local/rights/arn.ts';
import { parseRights, type Right, runAsCaller, type Statement } from '../../infra/local/rights/policy.ts';
import { parseObject, xmlAnswer, xmlElement } from '../../infra/local/stand-ins/protocols.ts';
import { type Call, jsonAnswer, ServiceError, serveStandIn } from '../../infra/local/stand-ins/stand-in.ts';
import { readSettings, SETTINGS_METADATA, settingsText } from '../../infra/settings.ts';
import { cdkJsonOf, doctorResults, Operators, type Person, runOperatorsCommand } from './operators.ts';
import { EVERYTHING, plainValue, resourcesOfType, synthesize } from './stack.ts';

export const STACK = 'broker-api-test';

/** The settings of the stack. */
export const SETTINGS = {
  ...EVERYTHING,
  senderAddress: 'no-reply@example.com',
  senderIdentity: 'address',
  stage: 'test',
  platformSecrets: 'platform/',
};

const TOPICS = { AlarmTopicArn: localArn('sns', 'alarms'), NoticeTopicArn: localArn('sns', 'notices') };

/** The local service's name of a resource of the stack: `CRM_TABLE` of `CrmTable`. */
function resourceName(logicalId: string): string | undefined {
  const variable = logicalId.replaceAll(/\B[A-Z]/g, '_$&').toUpperCase();
  return (RESOURCES as Readonly<Record<string, string>>)[variable];
}

/** The ARN of a reference in the template, such as `CrmTable.Arn`. */
function referenceArn(reference: string): string {
  const [id = ''] = reference.split('.');
  const name = resourceName(id) ?? '';
  if (id.endsWith('Table')) return localArn('dynamodb', `table/${name}`);
  if (id.endsWith('Queue')) return queueArn(name);
  if (id.endsWith('Bucket')) return bucketArn(name);
  if (id.endsWith('Topic')) return TOPICS[`${id}Arn` as keyof typeof TOPICS];
  return secretArn(name);
}

const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::Partition': 'aws',
  'AWS::Region': AWS_REGION,
  'AWS::AccountId': AWS_ACCOUNT_ID,
};
const withNames = (resource: string) =>
  resource.replaceAll(/<([^>]+)>/g, (_, reference: string) => PSEUDO[reference] ?? referenceArn(reference));

/**
 * The rights of a managed policy of the stack, on the resources of a local service: each is one action on one resource.
 * @param caller who has them
 */
export function policyRights(
  caller: string,
  policyId: 'OperatorsPolicy' | 'KeyRotationPolicy' | 'RestorePolicy',
  settings: object = SETTINGS,
): Right[] {
  const policies = Object.entries(resourcesOfType(synthesize({ ...settings }), 'AWS::IAM::ManagedPolicy'));
  const [, policy] = policies.find(([id]) => id.startsWith(policyId)) ?? [];
  const { Statement } = plainValue(policy?.Properties.PolicyDocument) as { Statement: Statement[] };
  const statements = Statement.map((one) => ({ ...one, Resource: [one.Resource ?? []].flat().map(withNames) }));
  return parseRights(caller, statements);
}

/** A call that the local service does not answer. */
interface AccountCall {
  /** The resource in a policy; absent: the action knows none. */
  resource?(input: Record<string, unknown>): string;
  /** The answer: an object as JSON, or the result as XML. */
  answer(input: Record<string, unknown>): object | string;
}

/** The other services, with the ends of their variables `AWS_ENDPOINT_URL_…`. */
const CLIENTS = {
  cloudformation: 'CLOUDFORMATION',
  sns: 'SNS',
  'sms-voice': 'PINPOINT_SMS_VOICE_V2',
  'social-messaging': 'SOCIALMESSAGING',
};

/** The operations that only a path names. */
const PATHS: Readonly<Record<string, string>> = {
  '/v1/whatsapp/waba/list': 'ListLinkedWhatsAppBusinessAccounts',
  '/v1/whatsapp/template/list': 'ListWhatsAppMessageTemplates',
};

/** An account without any problem. */
const ACCOUNT: Readonly<Record<string, AccountCall>> = {
  'sms-voice:DescribeAccountAttributes': { answer: () => ({ AccountAttributes: [] }) },
  'social-messaging:ListLinkedWhatsAppBusinessAccounts': { answer: () => ({ linkedAccounts: [{ id: 'waba-1' }] }) },
  'social-messaging:ListWhatsAppMessageTemplates': {
    resource: ({ id }) => localArn('social-messaging', `waba/${id}`),
    answer: () => ({ templates: [] }),
  },
  'sns:ListSubscriptionsByTopic': {
    resource: ({ TopicArn }) => String(TopicArn),
    answer: () => '<Subscriptions><member><SubscriptionArn>arn:aws:sns:1</SubscriptionArn></member></Subscriptions>',
  },
};

function readCall(service: string, { path, headers, body }: Call) {
  const url = new URL(path, 'http://aws');
  const json = parseObject(body);
  const form = new URLSearchParams(json === undefined ? body : '');
  const target = headers['x-amz-target'];
  const named = target === undefined ? form.get('Action') : String(target).split('.')[1];
  const operation = named ?? PATHS[url.pathname.replace(/\/$/, '')] ?? path;
  const input: Record<string, unknown> = { ...json, ...Object.fromEntries([...form, ...url.searchParams]) };
  return { action: `${service}:${operation}`, operation, input };
}

/**
 * A stack in AWS on which operators' commands run: a local service, and stand-ins for what it lacks of an account. The
 * stand-ins judge each call by the policies of the stack.
 */
export class OperatorsStack {
  readonly operators: Operators;
  readonly cdkJson = cdkJsonOf(SETTINGS);
  /** The actions that AWS refuses. */
  readonly denied = new Set<string>();
  /** The settings in the metadata of the stack's template. Undefined: it has none, as in version 1.0.0. */
  settings: object | undefined = SETTINGS;
  /** The resources that the stack lacks, by their ids in the template. */
  readonly absent = new Set<string>();
  #urls: Readonly<Record<string, string>> = {};

  /** @param rights of the callers, by their names */
  constructor(rights: Readonly<Record<string, readonly Right[]>>) {
    const denial: Right = { id: 'test', denies: true, concerns: ({ action }) => this.denied.has(action) };
    const callers = Object.fromEntries(Object.entries(rights).map(([name, some]) => [name, [...some, denial]]));
    this.operators = new Operators({ callers });
    beforeAll(async () => {
      const started = Object.entries(CLIENTS).map(async ([service, client]) => {
        const standIn = await this.#serve(service);
        return [`AWS_ENDPOINT_URL_${client}`, standIn] as const;
      });
      const standIns = await Promise.all(started);
      this.#urls = Object.fromEntries(standIns.map(([name, { url }]) => [name, url]));
      return () => Promise.all(standIns.map(([, standIn]) => standIn.close()));
    });
  }

  /** Runs an operators' command. @param caller whose rights it has; absent: every right */
  crm(command: string, { caller, ...person }: Person & { caller?: string } = {}) {
    const args = [...command.split(' '), '--stack', STACK];
    return this.#as(caller, () => runOperatorsCommand(args, { cdkJson: this.cdkJson, ...person }));
  }

  /** Runs the doctor. @param caller whose rights it has; absent: every right */
  doctor({ caller, fix = false, cdkJson = this.cdkJson }: { caller?: string; fix?: boolean; cdkJson?: string } = {}) {
    return this.#as(caller, () => doctorResults({ stack: STACK, fix, cdkJson }));
  }

  async #as<T>(caller: string | undefined, work: () => Promise<T>): Promise<T> {
    Object.assign(process.env, this.#urls);
    try {
      return await (caller === undefined ? work() : runAsCaller(caller, work));
    } finally {
      Object.assign(process.env, this.operators.service.environment);
    }
  }

  #serve(service: string) {
    const isXml = service === 'sns' || service === 'cloudformation';
    const calls: Readonly<Record<string, AccountCall>> = { ...ACCOUNT, ...this.#stackCalls() };
    return serveStandIn(
      {
        signed: {
          name: service,
          denied: isXml ? 'AccessDenied' : 'AccessDeniedException',
          needs(call) {
            const { action, input } = readCall(service, call);
            return [{ action, resource: calls[action]?.resource?.(input) ?? '*' }];
          },
        },
        answer(call) {
          const { action, operation, input } = readCall(service, call);
          const answer = calls[action]?.answer(input);
          if (answer === undefined) throw new ServiceError('InvalidAction', `There is no answer to ${action}.`);
          if (typeof answer === 'object') return jsonAnswer(answer);
          return xmlAnswer(200, xmlElement(`${operation}Response`, xmlElement(`${operation}Result`, answer)));
        },
        error({ code, message, status }) {
          if (!isXml) return jsonAnswer({ __type: code, message }, status);
          const members = { Type: 'Sender', Code: code, Message: message };
          const error = Object.entries(members).map(([name, text]) => xmlElement(name, text));
          return xmlAnswer(status, xmlElement('ErrorResponse', xmlElement('Error', error.join(''))));
        },
        throttled: new ServiceError('ThrottlingException'),
        refused: new ServiceError('AccessDeniedException'),
      },
      { faults: new Faults(), callers: this.operators.service.callers },
    );
  }

  /** What CloudFormation knows of the stack. */
  #stackCalls(): Record<string, AccountCall> {
    const resource = () => localArn('cloudformation', `stack/${STACK}/0a1b`);
    const outputs = { CrmTableName: RESOURCES.CRM_TABLE, PepperSecretArn: RESOURCES.PEPPER_SECRET, ...TOPICS };
    return {
      'cloudformation:DescribeStacks': {
        resource,
        answer() {
          const members = Object.entries(outputs).map(([name, value]) =>
            xmlElement('member', xmlElement('OutputKey', name) + xmlElement('OutputValue', value)),
          );
          const state =
            xmlElement('StackStatus', 'UPDATE_COMPLETE') + xmlElement('EnableTerminationProtection', 'true');
          const stack = state + xmlElement('Outputs', members.join(''));
          return xmlElement('Stacks', xmlElement('member', stack));
        },
      },
      'cloudformation:DescribeStackResource': {
        resource,
        answer: ({ LogicalResourceId }) => {
          const id = String(LogicalResourceId);
          const name = this.absent.has(id) ? undefined : resourceName(id);
          if (name === undefined)
            throw new ServiceError('ValidationError', `Resource ${id} does not exist for stack ${STACK}`);
          const text = this.settings && settingsText(readSettings({ ...this.settings }));
          const metadata = JSON.stringify(id === 'CrmTable' && text !== undefined ? { [SETTINGS_METADATA]: text } : {});
          const shown = xmlElement('Metadata', metadata.replaceAll('&', '&amp;').replaceAll('<', '&lt;'));
          return xmlElement('StackResourceDetail', xmlElement('PhysicalResourceId', name) + shown);
        },
      },
    };
  }
}
