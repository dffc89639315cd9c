import type { Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { PHONE_CHANNEL_ROWS } from '../../infra/channels.ts';
import type { Statement } from '../../infra/local/rights/policy.ts';
import { synthesizeAlone } from '../../infra/local/rights/synthesis.ts';
import { OTP_TYPES, type PhoneChannel } from '../../lib/validators/otp-types.ts';

export interface CfnResource {
  Type: string;
  Properties: Record<string, unknown>;
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
  UpdatePolicy?: object;
}

const templates = new Map<string, Template>();

/**
 * The stack of these settings as CloudFormation gets it; no function is bundled, and no rule is checked. Each stack is
 * made once.
 */
export function synthesize(settings: Record<string, unknown> = {}): Template {
  const key = JSON.stringify(settings);
  const template = templates.get(key) ?? synthesizeFresh(settings);
  templates.set(key, template);
  return template;
}

/** The stack of settings that are looked at once. It is not kept: a template is large. */
export function synthesizeFresh(settings: Record<string, unknown>): Template {
  return withOwnStack(settings, (stack) => Template.fromStack(stack));
}

/** Builds the stack of these settings, which need no sender, in an app of its own. */
export function withOwnStack<T>(settings: Record<string, unknown>, use: (stack: Stack) => T): T {
  return synthesizeAlone({}, { ...SENDER, ...settings }, use);
}

export const SENDER = { senderAddress: 'no-reply@acme.example' };

/** The settings of channels with which `npm start` runs. */
const LOCAL_SETTINGS = Object.fromEntries(
  Object.entries(PHONE_CHANNEL_ROWS).flatMap(([name, { local }]) => (local === undefined ? [] : [[name, local]])),
) as Partial<Record<PhoneChannel, object>>;

/** Settings that switch every feature on. */
export const EVERYTHING = {
  stage: 'full',
  allowedOrigins: ['https://www.acme.example', 'http://localhost:5173'],
  allowedHeaders: ['x-acme-trace'],
  channels: [...OTP_TYPES],
  phone: { countries: ['GB', 'DE'] },
  ...LOCAL_SETTINGS,
  sms: { senderId: 'ACME', maxPrice: 0.25, originationNumber: '+15550100123', webOtpDomain: 'www.acme.example' },
  call: { originationIdentity: 'phone-0a1b' },
  whatsapp: { phoneNumberId: 'phone-number-id-0a1b', codeTemplate: 'code' },
  captcha: { provider: 'hcaptcha', secret: 'captcha', hostnames: ['www.acme.example'], minScore: 0.5 },
  front: { header: 'x-client-address', secret: 'front' },
  limits: { recipientMessagesPerHour: 3 },
  brand: {
    name: 'Acme',
    supportEmail: 'help@acme.example',
    color: '#102030',
    legal: 'Acme Ltd',
    logo: { url: 'https://www.acme.example/logo.png', alt: 'Acme' },
  },
  concurrency: { registration: 50, accounts: 20 },
  provisioned: { registration: 2, accounts: 1 },
  release: 'canary',
  confirmation: true,
  crmWriter: 'clients',
  callerRoles: ['crm-backend'],
  customDomain: {
    name: 'api.acme.example',
    certificateArn: 'arn:aws:acm:eu-west-1:123456789012:certificate/0a1b',
  },
  vpc: true,
  alarmEmail: 'oncall@acme.example',
  silenceHours: 12,
  crmWebhook: 'https://crm.acme.example/events',
};

/** The resources of a type, by logical id. */
export function resourcesOfType(template: Template, type: string): Record<string, CfnResource> {
  return template.findResources(type) as Record<string, CfnResource>;
}

/** The properties of the resources of a type, as `plainValue` shows them. */
export function propertiesOf(template: Template, type: string): Record<string, unknown>[] {
  return Object.values(resourcesOfType(template, type)).map(
    ({ Properties }) => plainValue(Properties) as Record<string, unknown>,
  );
}

/** A value of a template as a text: `<Id>` for a reference, `<Id.Name>` for an attribute. */
export function plainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainValue);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  const [name, argument] = entries[0] ?? [];
  if (entries.length === 1 && name === 'Ref') return `<${argument}>`;
  if (entries.length === 1 && name === 'Fn::GetAtt') return `<${(argument as string[]).join('.')}>`;
  if (entries.length === 1 && name === 'Fn::Join') {
    const [separator, parts] = argument as [string, unknown[]];
    return parts.map(plainValue).join(separator);
  }
  return Object.fromEntries(entries.map(([key, one]) => [key, plainValue(one)]));
}

/** Every resource of a template, by logical id. */
export function allResources(of: Template): Record<string, CfnResource> {
  return of.toJSON().Resources as Record<string, CfnResource>;
}

/** The functions by the name of their construct. */
export function lambdaFunctions(of: Template): Record<string, CfnResource> {
  const named = Object.entries(resourcesOfType(of, 'AWS::Lambda::Function')).map(([id, one]) => [
    id.replace(/Function\w+$/, ''),
    one,
  ]);
  return Object.fromEntries(named) as Record<string, CfnResource>;
}

export function environmentOf(of: Template, name: string): Record<string, string> {
  const environment = lambdaFunctions(of)[name]?.Properties.Environment as { Variables: unknown } | undefined;
  return plainValue(environment?.Variables) as Record<string, string>;
}

/** A statement of a role's policies. */
interface RoleRight {
  sid: string;
  /** The allowed actions. Absent: the statement denies them. */
  may?: string[];
  Deny?: string[];
  on?: string[];
  notOn?: string[];
  if?: Statement['Condition'];
}

/** The rights of a function's role, by the ids of their statements. */
export function rightsOf(of: Template, name: string): Record<string, unknown> {
  return Object.fromEntries(rightsOfRole(of, roleOf(of, name)).map(({ sid, ...right }) => [sid, right]));
}

/** The logical id of a function's own role: a function may have the role of an earlier release next to it. */
function roleOf(of: Template, name: string): string {
  const role = plainValue(lambdaFunctions(of)[name]?.Properties.Role) as string | undefined;
  const named = role?.replace(/^<(.+)\.Arn>$/, '$1');
  return named ?? Object.keys(resourcesOfType(of, 'AWS::IAM::Role')).find((id) => id.startsWith(`${name}Role`)) ?? '';
}

/** Every statement of the policies of a role, which is named by its logical id. */
function rightsOfRole(of: Template, role: string): RoleRight[] {
  const policies = ['Policy', 'ManagedPolicy'].flatMap((kind) => propertiesOf(of, `AWS::IAM::${kind}`));
  const ofRole = policies.filter(({ Roles = [] }) => (Roles as string[]).includes(`<${role}>`));
  const statements = ofRole.flatMap(({ PolicyDocument }) => (PolicyDocument as { Statement: Statement[] }).Statement);
  return statements.map(({ Sid = 'Trace', Effect, Action, Resource, NotResource, Condition }) => ({
    sid: Sid,
    [Effect === 'Allow' ? 'may' : Effect]: [Action].flat(),
    ...(Resource === undefined ? {} : { on: [Resource].flat() }),
    ...(NotResource === undefined ? {} : { notOn: [NotResource].flat() }),
    ...(Condition === undefined ? {} : { if: Condition }),
  }));
}

export const templateArn = (service: string, resource: string) =>
  `arn:<AWS::Partition>:${service}:<AWS::Region>:<AWS::AccountId>:${resource}`;
