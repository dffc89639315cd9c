import { Validations } from 'aws-cdk-lib';
import type { HttpApi, IHttpRouteAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2';
import { HttpIamAuthorizer, HttpJwtAuthorizer } from 'aws-cdk-lib/aws-apigatewayv2-authorizers';
import { ManagedPolicy, PolicyStatement, Role } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import type { Settings } from '../settings.ts';
import { MachineClients } from './machine-clients.ts';
import { output } from './stack-names.ts';

/** How a caller proves that it may call the account routes. */
export interface Access {
  authorizer: IHttpRouteAuthorizer;
  /** Of tokens. */
  authorizationScopes?: string[];
}

/** By tokens of the issuer that the settings name, or of clients that the stack makes; else by IAM. */
export function createAccess(scope: Construct, settings: Settings): Access {
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
 * The policy that lets users and roles of IAM call the account routes; the roles that the settings name have it
 * already.
 */
export function callersPolicy(scope: Construct, api: HttpApi, paths: string[], callerRoles: string[]): void {
  const policy = new ManagedPolicy(scope, 'OpenAccounts', {
    description: 'To call the account routes of the API; for the users and roles that may open accounts.',
    roles: callerRoles.map((name) => Role.fromRoleName(scope, `Caller-${name}`, name)),
    statements: [
      new PolicyStatement({
        sid: 'OpenAccounts',
        actions: ['execute-api:Invoke'],
        resources: paths.map((path) => api.arnForExecuteApi('POST', path, '$default')),
      }),
    ],
  });
  for (const path of paths) {
    const arn = 'arn:<AWS::Partition>:execute-api:<AWS::Region>:<AWS::AccountId>:<PublicApi>';
    Validations.of(policy).acknowledge({
      id: `AwsSolutions-IAM5[Resource::${arn}/$default/POST${path}]`,
      reason: 'Accounts are opened for every client: the client is a part of the path.',
    });
  }
  const told = 'The policy that lets a user or a role call the account routes.';
  output(scope, 'OpenAccountsPolicy', told, policy.managedPolicyArn);
}
