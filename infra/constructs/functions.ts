import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage, Duration, RemovalPolicy } from 'aws-cdk-lib';
import { SubnetType } from 'aws-cdk-lib/aws-ec2';
import { Effect, type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Alias,
  Architecture,
  Code,
  type IFunction,
  type IVersion,
  type Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { ContextAttribute, Schedule, ScheduleExpression, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';
import { SETTINGS_FILE } from '../../lib/config/deployment.ts';
import { ENTRY_FILE } from '../bundle.ts';
import { constructName, type DeclaredFunction, type FunctionName, type ResourceUse } from '../functions.ts';
import { settingsFile } from '../settings.ts';
import { acknowledgeDocuments } from './documents.ts';
import type { FixedEgress } from './fixed-egress.ts';
import { explainWildcard, policyStatement } from './policy-statement.ts';
import { acknowledgePlatformSecrets, grantUse, type StackResources } from './rights.ts';

/** The context of the functions. */
export interface FunctionContext extends StackResources {
  /** The network of functions that call trading servers. Absent: they run outside a VPC. */
  egress: FixedEgress | undefined;
  logRetention: RetentionDays;
  removalPolicy: RemovalPolicy;
}

/** A function with its deployed resources. */
export interface DeployedFunction {
  declared: DeclaredFunction;
  lambda: LambdaFunction;
  role: Role;
  /** The version that callers get: the gateway calls it, and a release moves it. */
  live: Alias;
  logGroup: LogGroup;
}

/** Creates a declared function, with the settings that all functions have, its rights, variables and caller. */
export function createFunction(declared: DeclaredFunction, context: FunctionContext): DeployedFunction {
  const { stack, settings, logRetention, removalPolicy } = context;
  const { name, description, size, route } = declared;
  const scope = new Construct(stack, constructName(declared));
  const logGroup = new LogGroup(scope, 'Log', { retention: logRetention, removalPolicy });
  const uses = grantUses(declared.uses, context);
  const network = declared.callsTradingServers && context.egress;
  const rights = uses.flatMap(({ statements }) => statements);
  if (network !== undefined) rights.push(...joinNetwork());
  rights.push(writeLog(logGroup));
  const role = createRole(scope, name, rights);
  // Only routes have many callers at once. A new account has 10 executions in all, and a reservation would fail the
  // deployment.
  const reservedConcurrentExecutions = route && settings.concurrency[size];
  const provisionedConcurrentExecutions = route && settings.provisioned[size];
  const lambda = new NodejsFunction(scope, 'Function', {
    description,
    runtime: Runtime.NODEJS_24_X,
    architecture: Architecture.ARM_64,
    code: bundled(name, settingsFile(settings)),
    handler: ENTRY_FILE.replace(/\.mjs$/, '.handler'),
    memorySize: settings.memory[size],
    timeout: Duration.seconds(declared.timeoutSeconds),
    environment: Object.assign({}, ...uses.map(({ variables }) => variables)),
    ...(reservedConcurrentExecutions === undefined ? {} : { reservedConcurrentExecutions }),
    role,
    tracing: Tracing.ACTIVE,
    logGroup,
    loggingFormat: LoggingFormat.JSON,
    ...(network === undefined
      ? {}
      : {
          vpc: network.vpc,
          vpcSubnets: { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
          securityGroups: [network.securityGroup],
        }),
    // Old versions stay, so that one of them can be made live again.
    currentVersionOptions: { removalPolicy: RemovalPolicy.RETAIN },
  });
  const live = new Alias(scope, 'Live', {
    aliasName: 'live',
    // The library's types disagree about optional members.
    version: lambda.currentVersion as IVersion,
    ...(provisionedConcurrentExecutions === undefined ? {} : { provisionedConcurrentExecutions }),
  });
  acknowledgeDocuments(scope);
  acknowledgePlatformSecrets(scope, settings);
  if (declared.everyMinutes !== undefined) schedule(scope, live, declared.everyMinutes, description);
  if (declared.queued) context.webhook?.deliverTo(scope, live);
  return { declared, lambda, role, live, logGroup };
}

/** Grants the uses that a deployment of these settings has. */
function grantUses(uses: readonly ResourceUse[], context: FunctionContext) {
  return uses
    .filter(({ needs = [] }) => needs.every((setting) => context.settings[setting] !== undefined))
    .map((use) => grantUse(use, context));
}

/**
 * Calls a function on a schedule. A failed call is not retried, because the next one follows soon. The call is
 * asynchronous: by default Lambda would retry it twice, and queue it for six hours.
 */
function schedule(scope: Construct, live: Alias, everyMinutes: number, description: string): void {
  live.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(everyMinutes) });
  new Schedule(new Construct(scope, 'Schedule'), 'Rule', {
    description,
    schedule: ScheduleExpression.rate(Duration.minutes(everyMinutes)),
    // The library's types disagree about optional members.
    target: new LambdaInvoke(live as IFunction, {
      retryAttempts: 0,
      input: ScheduleTargetInput.fromObject({ time: ContextAttribute.scheduledTime }),
    }),
  });
}

/** Creates a role for each function, which holds each right by name. */
function createRole(scope: Construct, name: FunctionName, rights: readonly PolicyStatement[]): Role {
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    description: `What ${name} may do.`,
  });
  for (const right of rights) role.addToPolicy(right);
  const reason =
    'X-Ray and the network interfaces of Lambda know no resources: their actions can be granted on all or not.';
  explainWildcard(role, '*', reason);
  return role;
}

const writeLog = ({ logGroupArn }: LogGroup) =>
  policyStatement('WriteOwnLog', 'logs', ['CreateLogStream', 'PutLogEvents'], logGroupArn);

/** The rights with which Lambda attaches a function to the VPC. The function's own code is denied them: it needs none. */
function joinNetwork(): PolicyStatement[] {
  const deny = policyStatement('DenyNetworkToCode', 'ec2', INTERFACE_ACTIONS, '*');
  deny.effect = Effect.DENY;
  // Lambda's own calls lack this key.
  deny.addCondition('Null', { 'lambda:SourceFunctionArn': 'false' });
  return [policyStatement('JoinNetwork', 'ec2', INTERFACE_ACTIONS, '*'), deny];
}

/** The actions that Lambda itself needs to put a function into a network. */
const INTERFACE_ACTIONS = [
  ...['CreateNetworkInterface', 'DescribeNetworkInterfaces', 'DescribeSubnets', 'DeleteNetworkInterface'],
  ...['AssignPrivateIpAddresses', 'UnassignPrivateIpAddresses'],
];

const FUNCTIONS_FOLDER = fileURLToPath(new URL('../../functions', import.meta.url));
const BUNDLER = fileURLToPath(new URL('../bundle.ts', import.meta.url));

/** The function's code as infra/bundle.ts makes it, with the file of settings; the container image is never used. */
function bundled(name: FunctionName, settings: string): Code {
  return Code.fromAsset(FUNCTIONS_FOLDER, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('none'),
      // Distinguishes the assets.
      command: [name, settings],
      local: {
        tryBundle(folder) {
          execFileSync(process.execPath, [BUNDLER, name, folder], { stdio: ['ignore', 2, 2] });
          writeFileSync(join(folder, SETTINGS_FILE), settings);
          return true;
        },
      },
    },
  });
}
