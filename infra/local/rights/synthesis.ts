import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, type AppProps, type Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import flags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { ALL_FUNCTIONS, constructName } from '../../functions.ts';
import { ServiceStack } from '../../service-stack.ts';
import { readSettings } from '../../settings.ts';

/** The rights of a stack's functions, with the references of its template. */
export interface StackRights {
  /** The types of the template's resources, by logical id. */
  types: Readonly<Record<string, string>>;
  /** The rights of the functions, by their names. */
  functions: Readonly<Record<string, FunctionRights>>;
}

interface FunctionRights {
  variables: Readonly<Record<string, unknown>>;
  statements: readonly unknown[];
}

/** Everything slow that is not part of the template is disabled. */
const BARE: AppProps = {
  context: { ...flags, 'aws:cdk:bundling-stacks': [], 'aws:cdk:disable-creation-stack-traces': true },
  analyticsReporting: false,
  treeMetadata: false,
  stackTraces: false,
  builtinCloudFormationValidation: false,
};

/** Builds the stack in an app of its own, whose output is deleted; no function is bundled, and no rule is checked. */
export function synthesizeAlone<T>(
  props: AppProps,
  settings: Record<string, unknown>,
  use: (stack: Stack, app: App) => T,
): T {
  const outdir = mkdtempSync(join(tmpdir(), 'broker-api-stack-'));
  try {
    const app = new App({ ...BARE, ...props, outdir });
    return use(new ServiceStack(app, 'broker-api-test', readSettings(settings)), app);
  } finally {
    rmSync(outdir, { recursive: true });
  }
}

interface FunctionResource {
  Properties: { Role: { 'Fn::GetAtt': [string, string] }; Environment: { Variables: Record<string, unknown> } };
}

interface PolicyResource {
  Properties: { Roles: { Ref: string }[]; PolicyDocument: { Statement: unknown[] } };
}

interface BucketPolicy {
  Properties: { PolicyDocument: { Statement: BucketStatement[] } };
}
interface BucketStatement {
  Sid?: string;
  Effect: string;
  Action: unknown;
  Resource: unknown;
  Condition?: { ArnNotLike?: { 'aws:PrincipalArn': unknown } };
}

/** The statements of a bucket's policy that refuse this role, because they do not name the role. */
function refusals(statements: readonly BucketStatement[], role: string) {
  const arn = JSON.stringify({ 'Fn::GetAtt': [role, 'Arn'] });
  return statements
    .filter(({ Condition }) => Condition?.ArnNotLike && !JSON.stringify(Condition.ArnNotLike).includes(arn))
    .map(({ Sid, Effect, Action, Resource }) => ({ Sid, Effect, Action, Resource }));
}

/** The rights of each function in the stack of these settings. */
export function synthesizeRights(settings: Record<string, unknown>): StackRights {
  const template = synthesizeAlone({}, settings, (stack) => Template.fromStack(stack));
  const resources = Object.entries(template.toJSON().Resources as Record<string, { Type: string }>);
  const lambdas = Object.entries(template.findResources('AWS::Lambda::Function') as Record<string, FunctionResource>);
  const buckets = Object.values(template.findResources('AWS::S3::BucketPolicy') as Record<string, BucketPolicy>);
  const policies = Object.values(template.findResources('AWS::IAM::Policy') as Record<string, PolicyResource>);
  const functions: Record<string, FunctionRights> = {};
  for (const declared of ALL_FUNCTIONS) {
    const [, lambda] = lambdas.find(([id]) => id.startsWith(`${constructName(declared)}Function`)) ?? [];
    if (lambda === undefined) continue;
    const { Role, Environment } = lambda.Properties;
    const [role] = Role['Fn::GetAtt'];
    const ofRole = policies.filter(({ Properties }) => Properties.Roles.some(({ Ref }) => Ref === role));
    const statements = ofRole.flatMap(({ Properties }) => Properties.PolicyDocument.Statement);
    const refused = buckets.flatMap(({ Properties }) => refusals(Properties.PolicyDocument.Statement, role));
    functions[declared.name] = { variables: Environment.Variables, statements: [...statements, ...refused] };
  }
  return { types: Object.fromEntries(resources.map(([id, { Type }]) => [id, Type])), functions };
}
