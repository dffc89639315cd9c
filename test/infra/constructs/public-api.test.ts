import { Match, type Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { crmKey } from '../../../lib/records/crm-records.ts';
import { EVERYTHING, plainValue, propertiesOf, resourcesOfType, synthesize, templateArn } from '../../support/stack.ts';

const template = synthesize();
const full = synthesize(EVERYTHING);

describe('The API', () => {
  const routes = (of: Template) =>
    propertiesOf(of, 'AWS::ApiGatewayV2::Route')
      .map(({ RouteKey, AuthorizationType, AuthorizationScopes }) => [RouteKey, AuthorizationType, AuthorizationScopes])
      .sort();
  const stage = (of: Template) => propertiesOf(of, 'AWS::ApiGatewayV2::Stage')[0] as Record<string, object>;
  /** The document of the policy whose construct has this name. */
  const policy = (of: Template, name: string) => {
    const found = Object.entries(resourcesOfType(of, 'AWS::IAM::ManagedPolicy')).find(([id]) => id.startsWith(name));
    return plainValue(found?.[1].Properties.PolicyDocument) as { Statement: object[] } | undefined;
  };

  it('has exactly the three routes, of which the account routes need IAM', () => {
    expect(routes(template)).toEqual([
      ['POST /public/v1/account/register/request', 'NONE', undefined],
      ['POST /public/v1/users/{user_id}/tp4/accounts', 'AWS_IAM', undefined],
      ['POST /public/v1/users/{user_id}/tp5/accounts', 'AWS_IAM', undefined],
    ]);
    const path = '<PublicApi>/$default/POST/public/v1/users/*';
    const Resource = ['tp4', 'tp5'].map((version) => templateArn('execute-api', `${path}/${version}/accounts`));
    expect(policy(template, 'GatewayOpenAccounts')).toMatchObject({
      Statement: [{ Action: 'execute-api:Invoke', Resource }],
    });
  });

  it('needs a token with the scope accounts:create if an issuer is set', () => {
    const withTokens = synthesize({ jwtIssuer: 'https://login.acme.example/', jwtAudience: 'accounts' });
    expect(routes(withTokens)).toEqual([
      ['POST /public/v1/account/register/request', 'NONE', undefined],
      ['POST /public/v1/users/{user_id}/tp4/accounts', 'JWT', ['accounts:create']],
      ['POST /public/v1/users/{user_id}/tp5/accounts', 'JWT', ['accounts:create']],
    ]);
    withTokens.hasResourceProperties('AWS::ApiGatewayV2::Authorizer', {
      JwtConfiguration: { Issuer: 'https://login.acme.example/', Audience: ['accounts'] },
      IdentitySource: ['$request.header.Authorization'],
    });
    expect(withTokens.findOutputs('OpenAccountsPolicy')).toEqual({});
  });

  it('lets the CRM write its clients, or all its records, by the setting alone', () => {
    const condition = { 'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [crmKey.client('*')] } };
    const Resource = '<CrmTable.Arn>';
    expect(policy(full, 'CrmWriter')).toMatchObject({ Statement: [{ Resource, Condition: condition }] });
    const all = policy(synthesize({ ...EVERYTHING, crmWriter: 'all' }), 'CrmWriter');
    expect(all).toMatchObject({ Statement: [{ Resource }] });
    expect(all?.Statement[0]).not.toHaveProperty('Condition');
    expect(JSON.stringify(all)).not.toContain('dynamodb:Scan');
    expect(policy(template, 'CrmWriter')).toBeUndefined();
  });

  it('accepts the tokens of its own clients, if the settings have any', () => {
    const own = synthesize({ machineClients: 'crm,back-office' });
    const AllowedOAuthScopes = [expect.stringMatching(/^<.*Server.*>\/create$/)];
    const shared = { GenerateSecret: true, AllowedOAuthFlows: ['client_credentials'], AllowedOAuthScopes };
    expect(propertiesOf(own, 'AWS::Cognito::UserPoolClient')).toMatchObject([
      { ClientName: 'crm', ...shared },
      { ClientName: 'back-office', ...shared },
    ]);
    own.hasResourceProperties('AWS::Cognito::UserPoolResourceServer', { Identifier: 'accounts' });
    own.hasResourceProperties('AWS::Cognito::UserPool', { AdminCreateUserConfig: { AllowAdminCreateUserOnly: true } });
    const clients = resourcesOfType(own, 'AWS::Cognito::UserPoolClient');
    const [authorizer] = propertiesOf(own, 'AWS::ApiGatewayV2::Authorizer');
    expect(authorizer?.JwtConfiguration).toEqual({
      Issuer: 'https://cognito-idp.<AWS::Region>.<AWS::URLSuffix>/<MachineClientPool>',
      Audience: Object.keys(clients).map((id) => `<${id}>`),
    });
    const scopes = routes(own).map(([, , scope]) => scope);
    expect(scopes).toEqual([undefined, ['accounts/create'], ['accounts/create']]);
    expect(own.findOutputs('OpenAccountsPolicy')).toEqual({});
  });

  it('answers no page of another origin, unless a setting names it', () => {
    const cors = (of: Template) =>
      resourcesOfType(of, 'AWS::ApiGatewayV2::Api').PublicApi?.Properties.CorsConfiguration;
    expect(cors(template)).toBeUndefined();
    expect(cors(full)).toEqual({
      AllowOrigins: EVERYTHING.allowedOrigins,
      AllowMethods: ['POST'],
      AllowHeaders: expect.arrayContaining([
        'content-type',
        'authorization',
        'idempotency-key',
        'captcha-token',
        'traceparent',
        ...EVERYTHING.allowedHeaders,
      ]),
      ExposeHeaders: ['registration-id', 'x-request-id', 'retry-after', 'idempotent-replayed'],
      MaxAge: 3600,
    });
  });

  it('throttles each route apart: a silent trading server takes less than a fifth of 1,000 executions', () => {
    const usual = { ThrottlingRateLimit: 20, ThrottlingBurstLimit: 40 };
    // 5 × 29 s + 20 are 165.
    const accounts = { ThrottlingRateLimit: 5, ThrottlingBurstLimit: 20 };
    expect(stage(full).RouteSettings).toEqual({
      'POST /public/v1/account/register/request': usual,
      'POST /public/v1/account/register/confirm': usual,
      'POST /public/v1/users/{user_id}/tp5/accounts': accounts,
      'POST /public/v1/users/{user_id}/tp4/accounts': accounts,
    });
  });

  it('logs each access as JSON, with nothing of the person: no address, no path, no header, no body', () => {
    const { Format } = stage(template).AccessLogSettings as { Format: string };
    const logged = Object.values(JSON.parse(Format) as Record<string, string>);
    expect(logged.map((one) => one.replace('$context.', '')).sort()).toEqual([
      ...['authorizer.error', 'error.responseType', 'integration.error', 'integration.requestId'],
      ...['integrationLatency', 'requestId', 'requestTime', 'responseLatency', 'routeKey', 'status'],
    ]);
  });

  it('has its own domain if set, with TLS 1.2 or later, next to that of AWS until that is disabled', () => {
    full.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: false });
    full.hasOutput('ApiDefaultUrl', Match.anyValue());
    const alone = synthesize({ customDomain: EVERYTHING.customDomain, defaultEndpoint: false });
    alone.hasResourceProperties('AWS::ApiGatewayV2::Api', { DisableExecuteApiEndpoint: true });
    expect(alone.findOutputs('ApiDefaultUrl')).toEqual({});
    full.hasResourceProperties('AWS::ApiGatewayV2::DomainName', {
      DomainName: 'api.acme.example',
      DomainNameConfigurations: [Match.objectLike({ SecurityPolicy: 'TLS_1_2' })],
    });
    full.hasOutput('ApiUrl', { Value: 'https://api.acme.example' });
    template.resourceCountIs('AWS::ApiGatewayV2::DomainName', 0);
  });
});
