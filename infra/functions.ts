import type { CrmIndex } from '../lib/config/deployment.ts';
import type { PlatformVersion } from '../lib/validators/trading-account.ts';
import type { Settings } from './settings.ts';
import type { TableName } from './tables.ts';

/** A resource that a function uses (`infra/constructs/rights.ts`). Its name reaches the function as a variable. */
export type ResourceName =
  | TableName
  | 'clients'
  | 'crmIndexes'
  | 'forms'
  | 'dueOperations'
  | 'dueRegistrations'
  | 'newDocuments'
  | 'confirmedDocuments'
  | 'readableDocuments'
  | 'pepper'
  | 'passwordKey'
  | 'platformSecrets'
  | 'captchaKey'
  | 'frontKey'
  | 'providerKeys'
  | 'webhookKeys'
  | 'mail'
  | 'messages'
  | 'notifications'
  | 'registrationEvents'
  | 'accountEvents'
  | 'webhookQueues'
  | 'undeliveredQueue';

/**
 * The tag of a trading server's secret that names the platform versions whose functions may read it: `tp5`. Secrets of
 * version 1.0.0 have no tag, and the functions of both versions read them.
 */
export const VERSIONS_TAG = 'broker-api-versions';

/** The use of one resource. */
export interface ResourceUse {
  /** The id of the statement in the policy. It names the purpose of the use. */
  sid: string;
  of: ResourceName;
  /** The actions of the resource's service. Absent: there is one way to use the resource. */
  actions?: readonly string[];
  /** The indexes of the CRM records that the function queries. */
  indexes?: readonly CrmIndex[];
  /** The platform version whose secrets the function reads. Absent: of both. */
  version?: PlatformVersion;
  /** The resource exists only in a deployment that has these settings. */
  needs?: readonly (keyof Settings)[];
}

interface Declaration {
  description: string;
  /** The route that the function answers. All routes are POST. */
  route?: {
    /** The route's id in OpenAPI. */
    operation: string;
    path: `/${string}`;
    /** Anyone may call an open route, also from a page; the others need IAM or a token. */
    access: 'open' | 'accounts';
    /** The group of members of the setting `throttle` that bounds the route. */
    throttle: 'registration' | 'confirmation' | 'accounts';
  };
  /** The schedule on which the function runs, without any caller. */
  everyMinutes?: number;
  /** True: the function gets the events of the bus from queues. */
  queued?: true;
  /** The platform version, if the function opens accounts. */
  version?: PlatformVersion;
  /** A deployment without this setting does not have the function. The local service always has it. */
  setting?: 'confirmation' | 'crmWebhook';
  /** The resources that the function uses, except for its log and trace. */
  uses: readonly ResourceUse[];
  /** The function's member of the settings `memory`, `concurrency` and `provisioned`. */
  size: 'registration' | 'accounts';
  /**
   * The function's timeout. That of a route is below the gateway's 30 seconds, which include a cold start. Use cases
   * stop four seconds before.
   */
  timeoutSeconds: number;
  /** True: with the setting `vpc` the function calls from the fixed address. */
  callsTradingServers?: true;
}

const READ_PEPPER: ResourceUse = { sid: 'ReadPepper', of: 'pepper' };
const READ_FRONT_KEY: ResourceUse = { sid: 'ReadFrontKey', of: 'frontKey', needs: ['front'] };
const PUBLISH_REGISTRATIONS: ResourceUse = { sid: 'PublishRegistrations', of: 'registrationEvents' };
const PUBLISH_ACCOUNTS: ResourceUse = { sid: 'PublishAccounts', of: 'accountEvents' };
const SEND_MAIL: ResourceUse = { sid: 'SendMail', of: 'mail' };
const KEEP_OPERATIONS: ResourceUse = {
  sid: 'KeepOperations',
  of: 'Operations',
  actions: ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
};
const COMPLETES_ACCOUNTS: readonly ResourceUse[] = [
  SEND_MAIL,
  { sid: 'PublishClientNotifications', of: 'notifications' },
  PUBLISH_ACCOUNTS,
  { sid: 'ReadCrm', of: 'Crm', actions: ['BatchGetItem'] },
];
const opensAccounts = <const V extends PlatformVersion>(version: V) => ({
  description: `Opens an account of platform version ${version.slice(2)} for a client.`,
  version,
  uses: [
    ...COMPLETES_ACCOUNTS,
    // A record is deleted if the server gives the login that an operator has named to another request.
    { sid: 'RecordAccounts', of: 'Accounts', actions: ['PutItem', 'DeleteItem'] },
    { sid: 'ReadPasswordKey', of: 'passwordKey' },
    { sid: 'ReadPlatformSecrets', of: 'platformSecrets', version },
    KEEP_OPERATIONS,
    { sid: 'ReserveLogins', of: 'Logins', actions: ['BatchGetItem', 'PutItem', 'DeleteItem'] },
  ] as const satisfies readonly ResourceUse[],
  size: 'accounts' as const,
  timeoutSeconds: 29,
  callsTradingServers: true as const,
});

/**
 * Every function, by its file in `functions/`: the one place that declares it. The stack, the bundler, the local service
 * with its identities, OpenAPI, the alarms, the dashboard and the tests read it.
 */
const FUNCTIONS = {
  'request-registration': {
    description: 'Keeps a pending registration and sends its one-time password.',
    route: {
      operation: 'requestRegistration',
      path: '/public/v1/account/register/request',
      access: 'open',
      throttle: 'registration',
    },
    uses: [
      SEND_MAIL,
      { sid: 'SendMessages', of: 'messages' },
      { sid: 'ReadForms', of: 'forms' },
      { sid: 'QueryCrmIndexes', of: 'crmIndexes', indexes: ['referral_code'] },
      {
        sid: 'KeepRegistrations',
        of: 'Registrations',
        actions: ['GetItem', 'BatchGetItem', 'PutItem', 'UpdateItem', 'DeleteItem'],
      },
      { sid: 'CountSends', of: 'Limits', actions: ['GetItem', 'BatchGetItem', 'UpdateItem'] },
      { sid: 'StoreDocuments', of: 'newDocuments' },
      READ_PEPPER,
      { sid: 'ReadProviderKeys', of: 'providerKeys', needs: ['provider'] },
      { sid: 'ReadCaptchaKey', of: 'captchaKey', needs: ['captcha'] },
      READ_FRONT_KEY,
    ],
    size: 'registration',
    timeoutSeconds: 20,
  },
  'create-tp5-account': {
    ...opensAccounts('tp5'),
    route: {
      operation: 'createTp5Account',
      path: '/public/v1/users/{user_id}/tp5/accounts',
      access: 'accounts',
      throttle: 'accounts',
    },
  },
  'create-tp4-account': {
    ...opensAccounts('tp4'),
    route: {
      operation: 'createTp4Account',
      path: '/public/v1/users/{user_id}/tp4/accounts',
      access: 'accounts',
      throttle: 'accounts',
    },
  },
  'confirm-registration': {
    description: 'Confirms a registration by its one-time password.',
    route: {
      operation: 'confirmRegistration',
      path: '/public/v1/account/register/confirm',
      access: 'open',
      throttle: 'confirmation',
    },
    setting: 'confirmation',
    uses: [
      PUBLISH_REGISTRATIONS,
      { sid: 'QueryCrmIndexes', of: 'crmIndexes', indexes: ['proven_email', 'proven_phone'] },
      { sid: 'ConfirmRegistrations', of: 'Registrations', actions: ['GetItem', 'UpdateItem'] },
      { sid: 'KeepDocuments', of: 'confirmedDocuments' },
      READ_PEPPER,
      READ_FRONT_KEY,
    ],
    size: 'registration',
    timeoutSeconds: 20,
  },
  'settle-operations': {
    description: 'Completes the operations that no client retries.',
    everyMinutes: 1,
    uses: [
      ...COMPLETES_ACCOUNTS,
      PUBLISH_REGISTRATIONS,
      { sid: 'RecordAccounts', of: 'Accounts', actions: ['PutItem'] },
      { sid: 'ReadPlatformSecrets', of: 'platformSecrets' },
      { sid: 'SettleOperations', of: 'Operations', actions: ['BatchGetItem', 'UpdateItem'] },
      // The settler has no right on reservations: its transitions take and release none.
      { sid: 'NameLogins', of: 'Logins' },
      { sid: 'FindOperations', of: 'dueOperations', actions: ['Query'] },
      { sid: 'FindRegistrations', of: 'dueRegistrations', actions: ['Query'] },
      { sid: 'MarkPublished', of: 'Registrations', actions: ['BatchGetItem', 'UpdateItem'] },
    ],
    size: 'accounts',
    timeoutSeconds: 55,
    callsTradingServers: true,
  },
  'notify-crm': {
    description: 'Posts events to the CRM, and writes the clients that it makes.',
    queued: true,
    setting: 'crmWebhook',
    uses: [
      { sid: 'ReceiveEvents', of: 'webhookQueues', actions: ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'] },
      { sid: 'SetEventsAside', of: 'undeliveredQueue', actions: ['SendMessage'] },
      { sid: 'ReadSigningKeys', of: 'webhookKeys' },
      { sid: 'ReadRegistrations', of: 'Registrations', actions: ['GetItem'] },
      { sid: 'WriteClients', of: 'clients' },
      { sid: 'ReadDocuments', of: 'readableDocuments' },
    ],
    size: 'accounts',
    timeoutSeconds: 30,
  },
} as const satisfies Record<string, Declaration>;

export type FunctionName = keyof typeof FUNCTIONS;
type Declared = (typeof FUNCTIONS)[FunctionName];
export type OperationId = Extract<Declared, { route: unknown }>['route']['operation'];
type Route = NonNullable<Declaration['route']> & { operation: OperationId };

/** A declared function with its name. */
export interface DeclaredFunction extends Declaration {
  name: FunctionName;
  route?: Route;
}
/** A function that answers a route. */
export type RouteFunction = DeclaredFunction & { route: Route };

export const FUNCTION_NAMES = Object.keys(FUNCTIONS) as FunctionName[];
/** All functions that a deployment may have, and the local service runs. */
export const ALL_FUNCTIONS: readonly DeclaredFunction[] = FUNCTION_NAMES.map((name) => ({ name, ...FUNCTIONS[name] }));
export const ROUTES = ALL_FUNCTIONS.filter(hasRoute);

export function hasRoute(declared: DeclaredFunction): declared is RouteFunction {
  return declared.route !== undefined;
}

/** The functions that a deployment with these settings has. */
export function functionsOf(settings: Settings): DeclaredFunction[] {
  return ALL_FUNCTIONS.filter(({ setting }) => setting === undefined || Boolean(settings[setting]));
}

/** The name of the function's construct, and the prefix of its outputs: `RequestRegistration`. */
export function constructName({ name }: Pick<DeclaredFunction, 'name'>): string {
  return name.replaceAll(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * The headers that tools for monitoring pages add to their calls, by tool. The service ignores them. A browser would
 * not send a call with a header that is not allowed, and no log would show it.
 */
const MONITORING_HEADERS = {
  'W3C, which OpenTelemetry, New Relic, Elastic, Azure and Dynatrace send': ['traceparent', 'tracestate', 'baggage'],
  Sentry: ['sentry-trace'],
  Datadog: ['origin', 'parent-id', 'sampling-priority', 'trace-id', 'tags'].map((name) => `x-datadog-${name}`),
  'New Relic': ['newrelic'],
  Elastic: ['elastic-apm-traceparent'],
  Azure: ['request-id', 'request-context'],
  Dynatrace: ['x-dtc'],
  Instana: ['x-instana-t', 'x-instana-s', 'x-instana-l'],
  SkyWalking: ['sw8', 'sw8-correlation'],
  Highlight: ['x-highlight-request'],
  PostHog: ['x-posthog-distinct-id', 'x-posthog-session-id', 'x-posthog-window-id'],
  Zipkin: ['b3', 'x-b3-traceid', 'x-b3-spanid', 'x-b3-parentspanid', 'x-b3-sampled', 'x-b3-flags'],
  Jaeger: ['uber-trace-id'],
  'AWS X-Ray': ['x-amzn-trace-id'],
  'Google Cloud': ['x-cloud-trace-context'],
  'libraries and pages themselves': ['x-requested-with', 'x-request-id', 'x-correlation-id', 'cache-control', 'pragma'],
} as const satisfies Record<string, readonly string[]>;

const EXPOSED_HEADERS = ['registration-id', 'x-request-id', 'retry-after', 'idempotent-replayed'];

/** The CORS headers for pages of other origins, if a deployment allows them. @param more of the setting `allowedHeaders` */
export function corsHeaders(more: readonly string[]) {
  const apiHeaders = ['content-type', 'authorization', 'idempotency-key', 'captcha-token'];
  return {
    allowHeaders: [...new Set([...apiHeaders, ...Object.values(MONITORING_HEADERS).flat(), ...more])],
    exposeHeaders: EXPOSED_HEADERS,
    /** How long a browser may cache the preflight answer, in seconds. */
    maxAgeSeconds: 3_600,
  };
}
