import { Duration, type RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  ApiMapping,
  type CfnApi,
  type CfnStage,
  CorsHttpMethod,
  DomainName,
  HttpApi,
  HttpMethod,
  HttpRoute,
  HttpRouteKey,
  HttpStage,
  LogGroupLogDestination,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import type { Alias, IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { CORS, type DeployedRoute, type OperationId } from '../routes.ts';
import type { Settings } from '../settings.ts';
import { type Access, callersPolicy, createAccess } from './access.ts';
import { output, ownEnding } from './stack-names.ts';

/** A route and its function. */
export type AnsweredRoute = DeployedRoute & { lambda: Alias };

export interface PublicApiProps {
  name: string;
  routes: readonly AnsweredRoute[];
  settings: Settings;
  logRetention: RetentionDays;
  removalPolicy: RemovalPolicy;
}

/** The fields of the access log. No caller, no request data, and no path, because it contains the client's id. */
const ACCESS_LOG = {
  time: '$context.requestTime',
  request_id: '$context.requestId',
  route: '$context.routeKey',
  status: '$context.status',
  latency_ms: '$context.responseLatency',
  function_latency_ms: '$context.integrationLatency',
  /** Lambda's own id of the call, by which its trace is found. */
  function_request_id: '$context.integration.requestId',
  function_error: '$context.integration.error',
  authorizer_error: '$context.authorizer.error',
  gateway_error: '$context.error.responseType',
};

/** The default throttle of each route. Junk on one route does not use up another's requests. */
const THROTTLES: Readonly<Record<OperationId, 'registration' | 'confirmation' | 'accounts'>> = {
  requestRegistration: 'registration',
  confirmRegistration: 'confirmation',
  createTp5Account: 'accounts',
  createTp4Account: 'accounts',
};

/** The HTTP API: exactly these routes on the stage `$default`, throttled and logged. */
export class PublicApi extends Construct {
  readonly api: HttpApi;
  readonly accessLog: LogGroup;

  constructor(scope: Construct, id: string, props: PublicApiProps) {
    super(scope, id);
    const { settings } = props;
    this.api = new HttpApi(this, 'Api', {
      apiName: props.name,
      createDefaultStage: false,
      disableExecuteApiEndpoint: !settings.defaultEndpoint,
      ...(settings.allowedOrigins.length === 0 ? {} : { corsPreflight: cors(settings.allowedOrigins) }),
    });
    (this.api.node.defaultChild as CfnApi).overrideLogicalId('PublicApi');

    const access = createAccess(this, settings);
    const routes = props.routes.map((route) => this.add(route, access));
    this.accessLog = new LogGroup(this, 'AccessLog', {
      logGroupName: accessLogName(this),
      retention: props.logRetention,
      removalPolicy: props.removalPolicy,
    });
    const stage = this.stage(props);
    // The stage's throttling names the routes: they must be there first.
    stage.node.addDependency(...routes);
    this.addresses(settings, stage);
    if (access.authorizationScopes !== undefined) return;
    const paths = props.routes.filter(({ access }) => access !== 'open').map(({ path }) => path);
    callersPolicy(
      this,
      this.api,
      paths.map((path) => path.replaceAll(/\{\w+\}/g, '*')),
      settings.callerRoles,
    );
  }

  private add(route: AnsweredRoute, access: Access): HttpRoute {
    const made = new HttpRoute(this, `Route${route.path.replaceAll(/\W+/g, '-')}`, {
      httpApi: this.api,
      routeKey: HttpRouteKey.with(route.path, HttpMethod.POST),
      // The library's types disagree about optional members.
      integration: new HttpLambdaIntegration('Integration', route.lambda as IFunction),
      ...(route.access === 'open' ? {} : access),
    });
    if (route.access === 'open') {
      Validations.of(made).acknowledge({
        id: 'AwsSolutions-APIG4',
        reason:
          'A person who registers has no account yet: the route is open, throttled here and limited by the function.',
      });
    }
    return made;
  }

  private stage({ routes, settings }: PublicApiProps): HttpStage {
    const { throttle } = settings;
    const stage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      detailedMetricsEnabled: true,
      accessLogSettings: {
        destination: new LogGroupLogDestination(this.accessLog),
        format: AccessLogFormat.custom(JSON.stringify(ACCESS_LOG)),
      },
    });
    (stage.node.defaultChild as CfnStage).routeSettings = Object.fromEntries(
      routes.map(({ path, operation }) => {
        const name = THROTTLES[operation];
        const limits = {
          ThrottlingRateLimit: throttle[`${name}PerSecond`],
          ThrottlingBurstLimit: throttle[`${name}Burst`],
        };
        return [`POST ${path}`, { ...limits, DetailedMetricsEnabled: true }];
      }),
    );
    return stage;
  }

  /** The default address of AWS, and a domain of the deployment, in addition or alone. */
  private addresses({ customDomain, defaultEndpoint }: Settings, stage: HttpStage): void {
    if (customDomain === undefined) {
      output(this, 'ApiUrl', 'The base URL of the API.', this.api.apiEndpoint);
      return;
    }
    const domain = new DomainName(this, 'Domain', {
      domainName: customDomain.name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', customDomain.certificateArn),
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    new ApiMapping(this, 'Mapping', { api: this.api, domainName: domain, stage });
    output(this, 'ApiUrl', 'The base URL of the API.', `https://${customDomain.name}`);
    const target = 'What the DNS must make the custom domain point to, by a CNAME or alias record.';
    output(this, 'ApiDomainTarget', target, domain.regionalDomainName);
    if (!defaultEndpoint) return;
    const beside = 'The API by the address of AWS, until the setting defaultEndpoint is false.';
    output(this, 'ApiDefaultUrl', beside, this.api.apiEndpoint);
  }
}

/**
 * Below the prefix of logs that AWS services deliver: all other log groups share one policy of the account, whose size
 * is limited.
 */
function accessLogName(scope: Construct): string {
  return `/aws/vendedlogs/${Stack.of(scope).stackName}/access-${ownEnding(scope)}`;
}

function cors(allowOrigins: string[]) {
  const { maxAgeSeconds, ...headers } = CORS;
  return { allowOrigins, allowMethods: [CorsHttpMethod.POST], ...headers, maxAge: Duration.seconds(maxAgeSeconds) };
}
