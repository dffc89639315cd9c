import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage, Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type ISecurityGroup, type IVpc, SubnetType } from 'aws-cdk-lib/aws-ec2';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Alias,
  Architecture,
  Code,
  type IVersion,
  type Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { ENTRY_FILE } from '../bundle.ts';
import type { DeployedFunction } from '../routes.ts';

export interface ServiceFunctionProps {
  /** The file in `functions/`. */
  name: DeployedFunction;
  description: string;
  environment: Record<string, string>;
  /** The files that are deployed with the code, by name. */
  files?: Readonly<Record<string, string>> | undefined;
  /** MB. */
  memory: number;
  timeoutSeconds: number;
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
  /** The version that callers get: the gateway calls it, and a release moves it. */
  readonly live: Alias;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: ServiceFunctionProps) {
    super(scope, id);
    this.logGroup = new LogGroup(this, 'Log', { retention: props.logRetention, removalPolicy: props.removalPolicy });
    const { network } = props;
    this.lambda = new NodejsFunction(this, 'Function', {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: bundled(props.name, props.files),
      handler: ENTRY_FILE.replace(/\.mjs$/, '.handler'),
      memorySize: props.memory,
      timeout: Duration.seconds(props.timeoutSeconds),
      environment: props.environment,
      ...(props.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: props.reservedConcurrency }),
      role: this.role(props),
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

  private role({ name, rights, network }: ServiceFunctionProps): Role {
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `What ${name} may do.`,
    });
    for (const right of [...rights, ...(network === undefined ? [] : [NETWORK_INTERFACES])]) role.addToPolicy(right);
    role.addToPolicy(
      new PolicyStatement({
        sid: 'WriteOwnLog',
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [this.logGroup.logGroupArn],
      }),
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
const NETWORK_INTERFACES = new PolicyStatement({
  sid: 'JoinNetwork',
  actions: [
    'ec2:CreateNetworkInterface',
    'ec2:DescribeNetworkInterfaces',
    'ec2:DescribeSubnets',
    'ec2:DeleteNetworkInterface',
    'ec2:AssignPrivateIpAddresses',
    'ec2:UnassignPrivateIpAddresses',
  ],
  resources: ['*'],
});

const FUNCTIONS_FOLDER = fileURLToPath(new URL('../../functions', import.meta.url));
const BUNDLER = fileURLToPath(new URL('../bundle.ts', import.meta.url));

/** The function's code as infra/bundle.ts makes it; the container image is never used. */
function bundled(name: DeployedFunction, files: Readonly<Record<string, string>> = {}): Code {
  return Code.fromAsset(FUNCTIONS_FOLDER, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('none'),
      // Distinguishes the assets.
      command: [name, JSON.stringify(files)],
      local: {
        tryBundle(folder) {
          execFileSync(process.execPath, [BUNDLER, name, folder], { stdio: ['ignore', 2, 2] });
          for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
          return true;
        },
      },
    },
  });
}
