import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FunctionName } from '../../../../infra/functions.ts';
import { TABLES } from '../../../../infra/local/database.ts';
import { observedCalls } from '../../../../infra/local/rights/policy.ts';
import { type LocalService, startService } from '../../../../infra/local/service.ts';
import { localClient } from '../../../../infra/local-client.ts';
import { databaseClient, dynamoTable } from '../../../../lib/aws/dynamodb.ts';
import { type CrmIndex, EVENT_SOURCE } from '../../../../lib/config/deployment.ts';
import { NEVER_ABORTED } from '../../../support/outcomes.ts';

let service: LocalService;
beforeAll(async () => {
  service = await startService({ load: async () => async () => ({ statusCode: 204 }) });
});
afterAll(() => service.close());

/** Clients with the credentials of a function, as its code has them. */
function clientsOf(name: FunctionName) {
  const environment = { ...service.environment, AWS_ACCESS_KEY_ID: service.findAccessKey(name) };
  const database = databaseClient(localClient(environment, 'AWS_ENDPOINT_URL_DYNAMODB'));
  const secrets = new SecretsManagerClient(localClient(environment, 'AWS_ENDPOINT_URL_SECRETS_MANAGER'));
  const bus = new EventBridgeClient(localClient(environment, 'AWS_ENDPOINT_URL_EVENTBRIDGE'));
  return {
    table: (table: keyof typeof TABLES) => dynamoTable(database, TABLES[table]),
    secret: (SecretId: string) => secrets.send(new GetSecretValueCommand({ SecretId })),
    publish: (DetailType: string) => {
      const entry = { EventBusName: service.environment.EVENT_BUS, Source: EVENT_SOURCE, DetailType, Detail: '{}' };
      return bus.send(new PutEventsCommand({ Entries: [entry] }));
    },
  };
}
type Attempt = (own: ReturnType<typeof clientsOf>) => Promise<unknown>;

const get =
  (name: keyof typeof TABLES, pk: string): Attempt =>
  ({ table }) =>
    table(name).get({ pk }, NEVER_ABORTED);
const find =
  (index: CrmIndex): Attempt =>
  ({ table }) =>
    table('crm').findKeys(index, 'x', 1, NEVER_ABORTED);
const put =
  (name: keyof typeof TABLES, pk: string): Attempt =>
  ({ table }) =>
    table(name).put({ pk }, NEVER_ABORTED);
const secret =
  (name: string): Attempt =>
  (own) =>
    own.secret(name);
const publish =
  (type: string): Attempt =>
  (own) =>
    own.publish(type);

/** What the code of a function tries that was taken over, and whether its role lets it. */
const ATTEMPTS: [FunctionName, what: string, action: string, Attempt, may: boolean][] = [
  ['request-registration', 'a form', 'dynamodb:GetItem', get('crm', 'form#FORM0001'), true],
  ['request-registration', 'a connection', 'dynamodb:GetItem', get('crm', 'connection#tp5-live-1'), false],
  ['request-registration', 'a client', 'dynamodb:GetItem', get('crm', 'client#CLIENT01'), false],
  ['request-registration', 'an operation that pays a million', 'dynamodb:PutItem', put('operations', 'op#1'), false],
  ['request-registration', 'an operation', 'dynamodb:GetItem', get('operations', 'op#1'), false],
  ['request-registration', 'the client of a referral code', 'dynamodb:Query', find('referral_code'), true],
  ['request-registration', 'the client of an email address', 'dynamodb:Query', find('proven_email'), false],
  ['request-registration', 'the client of a phone', 'dynamodb:Query', find('proven_phone'), false],
  ['confirm-registration', 'the client of an email address', 'dynamodb:Query', find('proven_email'), true],
  ['confirm-registration', 'the client of a phone', 'dynamodb:Query', find('proven_phone'), true],
  ['request-registration', 'an account', 'dynamodb:GetItem', get('accounts', 'CLIENT01'), false],
  [
    'request-registration',
    'a password of a server',
    'secretsmanager:GetSecretValue',
    secret('platform/tp5-live-1'),
    false,
  ],
  ['request-registration', 'an event', 'events:PutEvents', publish('RegistrationConfirmed'), false],
  ['confirm-registration', 'its event', 'events:PutEvents', publish('RegistrationConfirmed'), true],
  ['confirm-registration', 'an event of an account', 'events:PutEvents', publish('AccountOpened'), false],
  ['confirm-registration', 'a client', 'dynamodb:GetItem', get('crm', 'client#CLIENT01'), false],
  [
    'confirm-registration',
    'a registration of its own',
    'dynamodb:PutItem',
    put('registrations', 'registration#1'),
    false,
  ],
  [
    'create-tp5-account',
    'the secret of its version',
    'secretsmanager:GetSecretValue',
    secret('platform/tp5-live-1'),
    true,
  ],
  [
    'create-tp5-account',
    'the secret of the other version',
    'secretsmanager:GetSecretValue',
    secret('platform/tp4-live-1'),
    false,
  ],
  [
    'create-tp4-account',
    'the secret of the other version',
    'secretsmanager:GetSecretValue',
    secret('platform/tp5-live-1'),
    false,
  ],
  ['create-tp5-account', 'an event of a registration', 'events:PutEvents', publish('RegistrationConfirmed'), false],
  ['create-tp5-account', 'a registration', 'dynamodb:GetItem', get('registrations', 'registration#1'), false],
  ['create-tp5-account', 'a connection of its own', 'dynamodb:PutItem', put('crm', 'connection#evil'), false],
  ['settle-operations', 'an operation of its own', 'dynamodb:PutItem', put('operations', 'op#1'), false],
  ['notify-crm', 'a client', 'dynamodb:PutItem', put('crm', 'client#CLIENT99'), true],
  ['notify-crm', 'a connection of its own', 'dynamodb:PutItem', put('crm', 'connection#evil'), false],
  ['notify-crm', 'a password of a server', 'secretsmanager:GetSecretValue', secret('platform/tp5-live-1'), false],
];

/** Whether the code of a function can make a call, and the rights that were missing. */
async function attemptAs(name: FunctionName, attempt: Attempt) {
  const known = new Set(observedCalls.keys());
  const reached = await attempt(clientsOf(name)).then(
    () => true,
    () => false,
  );
  const made = [...observedCalls].filter(([key]) => !known.has(key));
  // The report of a complete run is about calls that the functions make.
  for (const [key] of made) observedCalls.delete(key);
  return { reached, denied: made.filter(([, { by }]) => by.length === 0).map(([, { need }]) => need.action) };
}

describe('The role of', () => {
  it.each(ATTEMPTS)(
    '%s lets the function’s code reach %s (%s) only if the function needs it',
    async (name, _, action, attempt, may) => {
      expect(await attemptAs(name, attempt)).toEqual({ reached: may, denied: may ? [] : [action] });
    },
  );
});
