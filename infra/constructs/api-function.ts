import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage, Duration, type RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type ISecurityGroup, type IVpc, SubnetType } from 'aws-cdk-lib/aws-ec2';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  Architecture,
  Code,
  type Function as LambdaFunction,
  LoggingFormat,
  Runtime,
  Tracing,
} from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { ENTRY_FILE, type FunctionName } from '../bundle.ts';

export interface ApiFunctionProps {
  /** The file in `functions/`. */
  name: FunctionName;
  description: string;
  /** Variables without a value are left out. */
  environment: Record<string, string | undefined>;
  /** MB. */
  memory: number;
  timeoutSeconds: number;
  reservedConcurrency?: number | undefined;
  /** All that it may do, beside writing its log and its trace. */
  rights: PolicyStatement[];
  logRetention: RetentionDays;
  removalPolicy: RemovalPolicy;
  /** Absent: outside of any network of ours. */
  network?: { vpc: IVpc; securityGroup: ISecurityGroup } | undefined;
}

/** A function behind the API, with the settings that all of them have, and a role of its own that holds each right by name. */
export class ApiFunction extends Construct {
  readonly name: FunctionName;
  readonly lambda: LambdaFunction;
  readonly timeoutSeconds: number;

  constructor(scope: Construct, id: string, props: ApiFunctionProps) {
    super(scope, id);
    this.name = props.name;
    this.timeoutSeconds = props.timeoutSeconds;
    const logGroup = new LogGroup(this, 'Log', { retention: props.logRetention, removalPolicy: props.removalPolicy });
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      description: `What ${props.name} may do.`,
    });
    for (const right of [...props.rights, ...(props.network === undefined ? [] : [NETWORK_INTERFACES])]) {
      role.addToPolicy(right);
    }
    role.addToPolicy(
      new PolicyStatement({
        sid: 'WriteOwnLog',
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logGroup.logGroupArn],
      }),
    );
    Validations.of(role).acknowledge({
      id: 'AwsSolutions-IAM5[Resource::*]',
      reason:
        'X-Ray and the network interfaces of Lambda know no resources: their actions can be granted on all or not.',
    });

    this.lambda = new NodejsFunction(this, 'Function', {
      description: props.description,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      code: bundled(props.name),
      handler: ENTRY_FILE.replace(/\.mjs$/, '.handler'),
      memorySize: props.memory,
      timeout: Duration.seconds(props.timeoutSeconds),
      environment: given(props.environment),
      ...(props.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: props.reservedConcurrency }),
      role,
      tracing: Tracing.ACTIVE,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      ...(props.network === undefined
        ? {}
        : {
            vpc: props.network.vpc,
            vpcSubnets: { subnetType: SubnetType.PRIVATE_WITH_EGRESS },
            securityGroups: [props.network.securityGroup],
          }),
    });
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
function bundled(name: FunctionName): Code {
  return Code.fromAsset(FUNCTIONS_FOLDER, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('none'),
      // Tells the assets apart.
      command: [name],
      local: {
        tryBundle(folder) {
          execFileSync(process.execPath, [BUNDLER, name, folder], { stdio: ['ignore', 2, 2] });
          return true;
        },
      },
    },
  });
}

function given(environment: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
