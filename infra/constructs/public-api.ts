import { Duration, type RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { AccessLogFormat } from 'aws-cdk-lib/aws-apigateway';
import {
  ApiMapping,
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
import { ManagedPolicy, Role } from 'aws-cdk-lib/aws-iam';
import type { Alias, IFunction } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { corsHeaders, type RouteFunction } from '../functions.ts';
import type { Settings } from '../settings.ts';
import { MachineClients } from './machine-clients.ts';
import { explainWildcard, policyStatement, resourcesOf } from './policy-statement.ts';
import { addOutput, fixLogicalId, uniqueStackSuffix } from './stack-names.ts';

/** A route and its function. */
type AnsweredRoute = RouteFunction['route'] & { lambda: Alias };

interface PublicApiProps {
  name: string;
  routes: readonly AnsweredRoute[];
  settings: Settings;
  logRetention: RetentionDays;
  removalPolicy: RemovalPolicy;
}

/**
 * The fields of the access log. It has no caller and no request data. It has no path either, which contains the
 * client's id.
 */
const ACCESS_LOG = {
  time: '$context.requestTime',
  request_id: '$context.requestId',
  route: '$context.routeKey',
  status: '$context.status',
  latency_ms: '$context.responseLatency',
  function_latency_ms: '$context.integrationLatency',
  /** Lambda's own id of the call. The trace of the call is found by it. */
  function_request_id: '$context.integration.requestId',
  function_error: '$context.integration.error',
  authorizer_error: '$context.authorizer.error',
  gateway_error: '$context.error.responseType',
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
      ...(settings.allowedOrigins.length === 0 ? {} : { corsPreflight: cors(settings) }),
    });
    fixLogicalId(this.api, 'PublicApi');

    const access = createAccess(this, settings);
    const routes = props.routes.map((route) => this.add(route, access));
    this.accessLog = new LogGroup(this, 'AccessLog', {
      logGroupName: accessLogName(this),
      retention: props.logRetention,
      removalPolicy: props.removalPolicy,
    });
    const stage = this.stage(props);
    // The stage's throttling names the routes, so they must exist first.
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
    const httpRoute = new HttpRoute(this, `Route${route.path.replaceAll(/\W+/g, '-')}`, {
      httpApi: this.api,
      routeKey: HttpRouteKey.with(route.path, HttpMethod.POST),
      // The library's types disagree about optional members.
      integration: new HttpLambdaIntegration('Integration', route.lambda as IFunction),
      ...(route.access === 'open' ? {} : access),
    });
    if (route.access === 'open') {
      Validations.of(httpRoute).acknowledge({
        id: 'AwsSolutions-APIG4',
        reason:
          'A person who registers has no account yet: the route is open, throttled here and limited by the function.',
      });
    }
    return httpRoute;
  }

  private stage({ routes, settings }: PublicApiProps): HttpStage {
    const { throttle } = settings;
    const stage = new HttpStage(this, 'Stage', {
      httpApi: this.api,
      stageName: '$default',
      autoDeploy: true,
      accessLogSettings: {
        destination: new LogGroupLogDestination(this.accessLog),
        format: AccessLogFormat.custom(JSON.stringify(ACCESS_LOG)),
      },
    });
    (stage.node.defaultChild as CfnStage).routeSettings = Object.fromEntries(
      // Junk on one route does not use up another's requests.
      routes.map(({ path, throttle: name }) => {
        const limits = {
          ThrottlingRateLimit: throttle[`${name}PerSecond`],
          ThrottlingBurstLimit: throttle[`${name}Burst`],
        };
        return [`POST ${path}`, limits];
      }),
    );
    return stage;
  }

  /** The default address of AWS, and a domain of the deployment, in addition or alone. */
  private addresses({ customDomain, defaultEndpoint }: Settings, stage: HttpStage): void {
    if (customDomain === undefined) {
      addOutput(this, 'ApiUrl', 'The base URL of the API.', this.api.apiEndpoint);
      return;
    }
    const domain = new DomainName(this, 'Domain', {
      domainName: customDomain.name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', customDomain.certificateArn),
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    new ApiMapping(this, 'Mapping', { api: this.api, domainName: domain, stage });
    addOutput(this, 'ApiUrl', 'The base URL of the API.', `https://${customDomain.name}`);
    const target = 'What the DNS must make the custom domain point to, by a CNAME or alias record.';
    addOutput(this, 'ApiDomainTarget', target, domain.regionalDomainName);
    if (!defaultEndpoint) return;
    const description = 'The API at its address of AWS, until the setting defaultEndpoint is false.';
    addOutput(this, 'ApiDefaultUrl', description, this.api.apiEndpoint);
  }
}

/**
 * The name is below the prefix for logs that AWS services deliver: all other log groups share one policy of the
 * account, whose size is limited.
 */
function accessLogName(scope: Construct): string {
  return `/aws/vendedlogs/${Stack.of(scope).stackName}/access-${uniqueStackSuffix(scope)}`;
}

function cors({ allowedOrigins: allowOrigins, allowedHeaders }: Settings) {
  const { maxAgeSeconds, ...headers } = corsHeaders(allowedHeaders);
  return { allowOrigins, allowMethods: [CorsHttpMethod.POST], ...headers, maxAge: Duration.seconds(maxAgeSeconds) };
}

/** How a caller proves that it may call the account routes. */
export interface Access {
  authorizer: IHttpRouteAuthorizer;
  /** The scopes that a token needs. */
  authorizationScopes?: string[];
}

/**
 * Creates the access by tokens of the issuer that the settings name, or of clients that the stack makes; else by IAM.
 */
function createAccess(scope: Construct, settings: Settings): Access {
  const { jwtIssuer, jwtAudience, jwtScope, machineClients } = settings;
  if (machineClients.length > 0) {
    const clients = new MachineClients(scope, 'MachineClients', machineClients);
    // The tokens of Cognito's clients have no audience: the gateway checks the client's id instead.
    const authorizer = new HttpJwtAuthorizer('Tokens', clients.issuer, { jwtAudience: clients.ids });
    return { authorizer, authorizationScopes: [clients.scope] };
  }
  if (jwtIssuer === undefined || jwtAudience === undefined) return { authorizer: new HttpIamAuthorizer() };
  return {
    authorizer: new HttpJwtAuthorizer('Tokens', jwtIssuer, { jwtAudience }),
    authorizationScopes: [jwtScope],
  };
}

/**
 * The policy that lets users and roles of IAM call the account routes. Roles that the settings name have this right
 * already.
 */
function callersPolicy(scope: Construct, api: HttpApi, paths: string[], callerRoles: string[]): void {
  const policy = new ManagedPolicy(scope, 'OpenAccounts', {
    description: 'To call the account routes of the API; for the users and roles that may open accounts.',
    roles: callerRoles.map((name) => Role.fromRoleName(scope, `Caller-${name}`, name)),
    statements: [
      policyStatement(
        'OpenAccounts',
        'execute-api',
        ['Invoke'],
        ...paths.map((path) => api.arnForExecuteApi('POST', path, '$default')),
      ),
    ],
  });
  for (const path of paths) {
    const invoked = resourcesOf('execute-api', `<PublicApi>/$default/POST${path}`);
    explainWildcard(policy, invoked, 'Accounts are opened for every client: the client is a part of the path.');
  }
  const description = 'The policy that lets a user or a role call the account routes.';
  addOutput(scope, 'OpenAccountsPolicy', description, policy.managedPolicyArn);
}
