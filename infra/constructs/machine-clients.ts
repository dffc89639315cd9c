import { Aws, Duration, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import {
  AccountRecovery,
  FeaturePlan,
  Mfa,
  OAuthScope,
  ResourceServerScope,
  UserPool,
  type UserPoolClient,
} from 'aws-cdk-lib/aws-cognito';
import { Construct } from 'constructs';
import { addOutput, fixLogicalId } from './stack-names.ts';

/** Cognito's scopes are always a server and a scope. */
const SERVER = 'accounts';
const SCOPE = 'create';

/**
 * An issuer of tokens for brokers without one: a Cognito user pool without users, and one client for each program that
 * may open accounts (OAuth 2.0 client credentials). No output shows a client's secret; `aws cognito-idp
 * describe-user-pool-client` reads it.
 */
export class MachineClients extends Construct {
  readonly issuer: string;
  readonly ids: string[];
  readonly scope = `${SERVER}/${SCOPE}`;

  constructor(scope: Construct, id: string, names: readonly string[]) {
    super(scope, id);
    const pool = this.pool();
    const create = new ResourceServerScope({ scopeName: SCOPE, scopeDescription: 'To open trading accounts.' });
    const server = pool.addResourceServer('Server', { identifier: SERVER, scopes: [create] });
    const clients = names.map((name) => this.client(pool, name, OAuthScope.resourceServer(server, create)));
    this.ids = clients.map(({ userPoolClientId }) => userPoolClientId);
    this.issuer = `https://cognito-idp.${Aws.REGION}.${Aws.URL_SUFFIX}/${pool.userPoolId}`;

    // The name must be unique in the region, across all accounts.
    const domainPrefix = `${Stack.of(this).stackName}-${Aws.ACCOUNT_ID}`;
    const domain = pool.addDomain('Domain', { cognitoDomain: { domainPrefix } });
    addOutput(this, 'UserPoolId', 'The user pool of the machine clients.', pool.userPoolId);
    addOutput(this, 'TokenUrl', 'Where machine clients get their tokens.', `${domain.baseUrl()}/oauth2/token`);
    const named = clients.map(({ userPoolClientId }, index) => `${names[index]}=${userPoolClientId}`);
    addOutput(this, 'MachineClientIds', 'The clients by name, each with its id.', named.join(','));
  }

  private pool(): UserPool {
    const pool = new UserPool(this, 'Pool', {
      selfSignUpEnabled: false,
      accountRecovery: AccountRecovery.NONE,
      mfa: Mfa.OFF,
      featurePlan: FeaturePlan.ESSENTIALS,
      passwordPolicy: {
        minLength: 16,
        requireDigits: true,
        requireLowercase: true,
        requireUppercase: true,
        requireSymbols: true,
      },
      // The pool holds only its app clients, and a new pool creates new clients.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    fixLogicalId(pool, 'MachineClientPool');
    for (const rule of ['AwsSolutions-COG2', 'AwsSolutions-COG3', 'AwsSolutions-COG8']) {
      Validations.of(pool).acknowledge({
        id: rule,
        reason: 'The pool has clients and no users, so no person signs in.',
      });
    }
    return pool;
  }

  private client(pool: UserPool, name: string, scope: OAuthScope): UserPoolClient {
    return pool.addClient(name, {
      userPoolClientName: name,
      generateSecret: true,
      oAuth: { flows: { clientCredentials: true }, scopes: [scope] },
      accessTokenValidity: Duration.hours(1),
      enableTokenRevocation: true,
    });
  }
}
