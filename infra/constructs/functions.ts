import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage, Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type ISecurityGroup, type IVpc, SubnetType } from 'aws-cdk-lib/aws-ec2';
import { type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
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
import { SETTINGS_FILE } from '../../lib/validators/deployment.ts';
import { ENTRY_FILE } from '../bundle.ts';
import { constructName, type DeclaredFunction, type FunctionName } from '../functions.ts';
import { type Settings, settingsFile } from '../settings.ts';
import { acknowledgeDocuments } from './documents.ts';
import type { FixedEgress } from './fixed-egress.ts';
import { policyStatement } from './policy-statement.ts';
import { acknowledgePlatformSecrets, grantUse, type StackResources } from './rights.ts';

/** The context of the functions. */
export interface FunctionContext extends StackResources {
  /** The network of functions that call trading servers. Absent: they run outside a VPC. */
  egress: FixedEgress | undefined;
  logRetention: RetentionDays;
  removalPolicy: RemovalPolicy;
}

/** A function as it is deployed. */
export interface DeployedFunction {
  declared: DeclaredFunction;
  lambda: LambdaFunction;
  role: Role;
  live: Alias;
  logGroup: LogGroup;
}

/** A declared function, with its rights, variables and caller. */
export function createFunction(declared: DeclaredFunction, context: FunctionContext): DeployedFunction {
  const { stack, settings } = context;
  const { size } = declared;
  const uses = declared.uses
    .filter(({ needs = [] }) => needs.every((name) => settings[name] !== undefined))
    .map((use) => grantUse(use, context));
  const made = new ServiceFunction(stack, constructName(declared), {
    declared,
    settings,
    rights: uses.flatMap(({ statements }) => statements),
    variables: Object.assign({}, ...uses.map(({ variables }) => variables)),
    memory: settings.memory[size],
    // Only callers of routes come in numbers.
    reservedConcurrency: declared.route && settings.concurrency[size],
    provisionedConcurrency: declared.route && settings.provisioned[size],
    network: declared.callsTradingServers && context.egress,
    logRetention: context.logRetention,
    removalPolicy: context.removalPolicy,
  });
  acknowledgeDocuments(made);
  acknowledgePlatformSecrets(made, settings);
  if (declared.everyMinutes !== undefined) schedule(made, declared.everyMinutes, declared.description);
  if (declared.queued) context.webhook?.deliverTo(made);
  const { lambda, role, live, logGroup } = made;
  return { declared, lambda, role, live, logGroup };
}

/**
 * Calls a function on a schedule. A failed call is not retried, because the next one follows soon. The call is
 * asynchronous: by default Lambda would retry it twice, and queue it for six hours.
 */
function schedule(called: ServiceFunction, everyMinutes: number, description: string): void {
  const { live } = called;
  live.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.minutes(everyMinutes) });
  new Schedule(new Construct(called, 'Schedule'), 'Rule', {
    description,
    schedule: ScheduleExpression.rate(Duration.minutes(everyMinutes)),
    // The library's types disagree about optional members.
    target: new LambdaInvoke(live as IFunction, {
      retryAttempts: 0,
      input: ScheduleTargetInput.fromObject({ time: ContextAttribute.scheduledTime }),
    }),
  });
}

export interface ServiceFunctionProps {
  declared: Pick<DeclaredFunction, 'name' | 'description' | 'timeoutSeconds'>;
  /** The settings of the deployment, which become a file next to the code. */
  settings: Settings;
  /** They name its resources. */
  variables: Record<string, string>;
  /** MB. */
  memory: number;
  /** None by default: a new account has 10 in all, and a reservation would fail the deployment. */
  reservedConcurrency?: number | undefined;
  /** Environments that are kept warm. */
  provisionedConcurrency?: number | undefined;
  /** All its rights, except for its log and trace. */
  rights: PolicyStatement[];
  logRetention: RetentionDays;
  removalPolicy: RemovalPolicy;
  /** Absent: outside of a VPC. */
  network?: { vpc: IVpc; securityGroup: ISecurityGroup } | undefined;
}

/** A function, with the settings that all of them have, and a role of its own that holds each right by name. */
export class ServiceFunction extends Construct {
  readonly lambda: LambdaFunction;
  readonly role: Role;
  /** The version that callers get: the gateway calls it, and a release moves it. */
  readonly live: Alias;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    this.logGroup = new LogGroup(this, 'Log', { retention: props.logRetention, removalPolicy: props.removalPolicy });
    const { network } = props;
    this.role = this.createRole(props);
    this.lambda = new NodejsFunction(this, 'Function', {
      description: props.declared.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: bundled(props.declared.name, settingsFile(props.settings)),
      handler: ENTRY_FILE.replace(/\.mjs$/, '.handler'),
      memorySize: props.memory,
      timeout: Duration.seconds(props.declared.timeoutSeconds),
      environment: props.variables,
      ...(props.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: props.reservedConcurrency }),
      role: this.role,
      tracing: Tracing.ACTIVE,
      logGroup: this.logGroup,
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
    this.live = new Alias(this, 'Live', {
      aliasName: 'live',
      // The library's types disagree about optional members.
      version: this.lambda.currentVersion as IVersion,
      ...(props.provisionedConcurrency === undefined
        ? {}
        : { provisionedConcurrentExecutions: props.provisionedConcurrency }),
    });
  }

  private createRole({ declared: { name }, rights, network }: ServiceFunctionProps): Role {
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `What ${name} may do.`,
    });
    for (const right of rights) role.addToPolicy(right);
    if (network !== undefined) role.addToPolicy(policyStatement('JoinNetwork', 'ec2', INTERFACE_ACTIONS, '*'));
    role.addToPolicy(
      policyStatement('WriteOwnLog', 'logs', ['CreateLogStream', 'PutLogEvents'], this.logGroup.logGroupArn),
    );
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'X-Ray and the network interfaces of Lambda know no resources: their actions can be granted on all or not.',
    });
    return role;
  }
}

/** What Lambda itself needs of the role to put a function into a network. */
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
