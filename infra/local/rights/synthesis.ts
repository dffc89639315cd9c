import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App, type AppProps, type Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import flags from 'aws-cdk-lib/recommended-feature-flags.json' with { type: 'json' };
import { constructName } from '../../constructs/functions.ts';
import { EXTENSIONS, NOTIFIER, ROUTES, SCHEDULED } from '../../routes.ts';
import { ServiceStack } from '../../service-stack.ts';
import { readSettings } from '../../settings.ts';

/** The rights of a stack's functions, with the references of its template. */
export interface StackRights {
  /** The types of its resources, by logical id. */
  types: Readonly<Record<string, string>>;
  /** By the function's name. */
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
};

/** Builds the stack in an app of its own, whose output is deleted; no function is bundled. */
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

interface Resource {
  Type: string;
  Properties: Record<string, unknown>;
}

/** The rights of each function in the stack of these settings. */
export function synthesizeRights(settings: Record<string, unknown>): StackRights {
  const template = synthesizeAlone({ builtinCloudFormationValidation: false }, settings, (stack) =>
    Template.fromStack(stack).toJSON(),
  );
  const resources = template.Resources as Record<string, Resource>;
  const functions: Record<string, FunctionRights> = {};
  for (const route of [...ROUTES, ...EXTENSIONS, ...SCHEDULED, NOTIFIER]) {
    const found = findFunction(resources, constructName(route));
    if (found !== undefined) functions[route.name] = found;
  }
  const types = Object.fromEntries(Object.entries(resources).map(([id, { Type }]) => [id, Type]));
  return { types, functions };
}

function findFunction(resources: Record<string, Resource>, construct: string): FunctionRights | undefined {
  const filterType = (type: string) => Object.entries(resources).filter(([, { Type }]) => Type === type);
  const [, lambda] = filterType('AWS::Lambda::Function').find(([id]) => id.startsWith(`${construct}Function`)) ?? [];
  if (lambda === undefined) return undefined;
  const { Role, Environment } = lambda.Properties as {
    Role: { 'Fn::GetAtt': [string, string] };
    Environment: { Variables: Record<string, unknown> };
  };
  const role = JSON.stringify({ Ref: Role['Fn::GetAtt'][0] });
  const statements = filterType('AWS::IAM::Policy').flatMap(([, { Properties }]) => {
    const { Roles, PolicyDocument } = Properties as { Roles: unknown[]; PolicyDocument: { Statement: unknown[] } };
    return Roles.some((one) => JSON.stringify(one) === role) ? PolicyDocument.Statement : [];
  });
  return { variables: Environment.Variables, statements };
}
