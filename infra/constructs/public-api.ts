import { CfnOutput, Duration, type RemovalPolicy, Validations } from 'aws-cdk-lib';
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
  type IHttpRouteAuthorizer,
  LogGroupLogDestination,
  SecurityPolicy,
} from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { HttpLambdaIntegration } from 'aws-cdk-lib/aws-apigatewayv2-integrations';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { ManagedPolicy, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import type { Route } from '../routes.ts';
import type { Settings } from '../settings.ts';

/** A route and what answers it. */
export type AnsweredRoute = Route & { lambda: IFunction };

export interface PublicApiProps {
  name: string;
  routes: readonly AnsweredRoute[];
  settings: Settings;
  logRetention: RetentionDays;
  removalPolicy: RemovalPolicy;
}

/** What a token must be good for, to open accounts. */
const TOKEN_SCOPE = 'accounts:create';

/** What the access log tells of a request: nothing of who called or what was sent; a path would hold the client's id. */
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

/** The HTTP API: exactly these routes on the stage `$default`, throttled and logged. */
export class PublicApi extends Construct {
  readonly api: HttpApi;

  constructor(scope: Construct, id: string, props: PublicApiProps) {
    super(scope, id);
    const { settings } = props;
    this.api = new HttpApi(this, 'Api', {
      apiName: props.name,
      createDefaultStage: false,
      disableExecuteApiEndpoint: settings.customDomain !== undefined,
      ...(settings.allowedOrigins.length === 0 ? {} : { corsPreflight: cors(settings.allowedOrigins) }),
    });
    (this.api.node.defaultChild as CfnApi).overrideLogicalId('PublicApi');

    const authorizer = authorizerOf(settings);
    const routes = props.routes.map((route) => this.add(route, authorizer));
    const stage = this.stage(props);
    // The stage's throttling names the routes: they must be there first.
    stage.node.addDependency(...routes);
    this.outputs(props, stage);
  }

  private add(route: AnsweredRoute, authorizer: IHttpRouteAuthorizer): HttpRoute {
    const made = new HttpRoute(this, `Route${route.path.replaceAll(/\W+/g, '-')}`, {
      httpApi: this.api,
      routeKey: HttpRouteKey.with(route.path, HttpMethod.POST),
      integration: new HttpLambdaIntegration('Integration', route.lambda),
      ...(route.access === 'open'
        ? {}
        : { authorizer, ...(authorizer instanceof HttpJwtAuthorizer ? { authorizationScopes: [TOKEN_SCOPE] } : {}) }),
    });
    if (route.access === 'open') {
      Validations.of(made).acknowledge({
        id: 'AwsSolutions-APIG4',
        reason: 'Whoever registers is nobody yet: the route is open, throttled here and limited by the function.',
      });
    }
    return made;
  }

  private stage({ routes, settings, logRetention, removalPolicy }: PublicApiProps): HttpStage {
    const { throttle } = settings;
    const log = new LogGroup(this, 'AccessLog', { retention: logRetention, removalPolicy });
    const stage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      detailedMetricsEnabled: true,
      throttle: { rateLimit: throttle.accountsPerSecond, burstLimit: throttle.accountsBurst },
      accessLogSettings: {
        destination: new LogGroupLogDestination(log),
        format: AccessLogFormat.custom(JSON.stringify(ACCESS_LOG)),
      },
    });
    const open = routes.filter(({ access }) => access === 'open');
    (stage.node.defaultChild as CfnStage).routeSettings = Object.fromEntries(
      open.map(({ path }) => [
        `POST ${path}`,
        {
          ThrottlingRateLimit: throttle.registrationPerSecond,
          ThrottlingBurstLimit: throttle.registrationBurst,
          DetailedMetricsEnabled: true,
        },
      ]),
    );
    return stage;
  }

  private outputs({ routes, settings }: PublicApiProps, stage: HttpStage): void {
    const { customDomain } = settings;
    if (customDomain === undefined) {
      output(this, 'ApiUrl', 'The base URL of the API.', this.api.apiEndpoint);
    } else {
      const domain = new DomainName(this, 'Domain', {
        domainName: customDomain.name,
        certificate: Certificate.fromCertificateArn(this, 'Certificate', customDomain.certificateArn),
        securityPolicy: SecurityPolicy.TLS_1_2,
      });
      new ApiMapping(this, 'Mapping', { api: this.api, domainName: domain, stage });
      output(this, 'ApiUrl', 'The base URL of the API.', `https://${customDomain.name}`);
      const target = 'What the DNS must make the custom domain point to, by a CNAME or alias record.';
      output(this, 'ApiDomainTarget', target, domain.regionalDomainName);
    }

    if (settings.jwtIssuer !== undefined) return;
    const paths = routes.filter(({ access }) => access !== 'open').map(({ path }) => path.replaceAll(/\{\w+\}/g, '*'));
    const policy = new ManagedPolicy(this, 'OpenAccounts', {
      description: 'To call the account routes of the API; for the users and roles that may open accounts.',
      statements: [
        new PolicyStatement({
          sid: 'OpenAccounts',
          actions: ['execute-api:Invoke'],
          resources: paths.map((path) => this.api.arnForExecuteApi('POST', path, '$default')),
        }),
      ],
    });
    for (const path of paths) {
      const api = 'arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<PublicApi>';
      Validations.of(policy).acknowledge({
        id: `AwsSolutions-IAM5[Resource::${api}/$default/POST${path}]`,
        reason: 'Accounts are opened for every client: the client is a part of the path.',
      });
    }
    output(
      this,
      'OpenAccountsPolicy',
      'The policy that lets a user or a role call the account routes.',
      policy.managedPolicyArn,
    );
  }
}

function authorizerOf({ jwtIssuer, jwtAudience }: Settings): IHttpRouteAuthorizer {
  if (jwtIssuer === undefined || jwtAudience === undefined) return new HttpIamAuthorizer();
  return new HttpJwtAuthorizer('Tokens', jwtIssuer, { jwtAudience });
}

function cors(allowOrigins: string[]) {
  return {
    allowOrigins,
    allowMethods: [CorsHttpMethod.POST],
    allowHeaders: ['content-type', 'authorization', 'idempotency-key'],
    exposeHeaders: ['x-request-id', 'retry-after', 'idempotent-replayed'],
    maxAge: Duration.hours(1),
  };
}

function output(scope: Construct, name: string, description: string, value: string): void {
  new CfnOutput(scope, `${name}Output`, { description, value }).overrideLogicalId(name);
}
