import type { PlatformVersion } from '../lib/validators/trading-account.ts';

/** A route of the API with its function; all routes are POST. */
interface ApiRoute {
  /** Its id in OpenAPI. */
  readonly operation: string;
  readonly path: `/${string}`;
  /** The file in `functions/`. */
  readonly name: string;
  /** Below the gateway's 30 seconds, which a cold start counts into; the use cases stop four seconds before. */
  readonly timeoutSeconds: number;
  /** Anyone may call an open route, also from a page; the others need IAM or a token. */
  readonly access: 'open' | 'accounts';
  /** The platform version, if it opens accounts. */
  readonly version?: PlatformVersion;
}

/** The one list of routes: the stack, the bundler, OpenAPI, the local service, the alarms and the dashboard read it. */
export const ROUTES = [
  {
    operation: 'requestRegistration',
    path: '/public/v1/account/register/request',
    name: 'request-registration',
    timeoutSeconds: 20,
    access: 'open',
  },
  {
    operation: 'createTp5Account',
    path: '/public/v1/users/{user_id}/tp5/accounts',
    name: 'create-tp5-account',
    timeoutSeconds: 29,
    access: 'accounts',
    version: 'tp5',
  },
  {
    operation: 'createTp4Account',
    path: '/public/v1/users/{user_id}/tp4/accounts',
    name: 'create-tp4-account',
    timeoutSeconds: 29,
    access: 'accounts',
    version: 'tp4',
  },
] as const satisfies readonly ApiRoute[];

/** Routes that a deployment has by a setting only; the local service has them. */
export const EXTENSIONS = [
  {
    setting: 'confirmation',
    operation: 'confirmRegistration',
    path: '/public/v1/account/register/confirm',
    name: 'confirm-registration',
    timeoutSeconds: 20,
    access: 'open',
  },
] as const satisfies readonly (ApiRoute & { setting: string })[];

/** Functions that run on a schedule and have no callers. */
export const SCHEDULED = [
  { name: 'settle-operations', everyMinutes: 1, timeoutSeconds: 55 },
] as const satisfies readonly { name: string; everyMinutes: number; timeoutSeconds: number }[];

/** The function that gets the events of the bus from a queue, by the setting `crmWebhook` only; the local service has it. */
export const NOTIFIER = { name: 'notify-crm', timeoutSeconds: 30 } as const;

type Route = (typeof ROUTES)[number];
type Extension = (typeof EXTENSIONS)[number];
/** Any route that a deployment may have. */
export type DeployedRoute = Route | Extension;
export type OperationId = DeployedRoute['operation'];

/** The functions, by the names of their files in `functions/`. */
export const FUNCTIONS = ROUTES.map(({ name }) => name);
export type FunctionName = Route['name'];
/** All functions that a deployment may have, and the local service runs. */
export const DEPLOYED_FUNCTIONS = [...ROUTES, ...EXTENSIONS, ...SCHEDULED, NOTIFIER].map(({ name }) => name);
export type ScheduledFunction = (typeof SCHEDULED)[number];
export type DeployedFunction = (DeployedRoute | ScheduledFunction | typeof NOTIFIER)['name'];

/** The CORS headers for pages of other origins, if a deployment allows them. */
export const CORS = {
  allowHeaders: ['content-type', 'authorization', 'idempotency-key', 'captcha-token'],
  exposeHeaders: ['x-request-id', 'retry-after', 'idempotent-replayed'],
  /** How long a browser may cache that answer, in seconds. */
  maxAgeSeconds: 3_600,
};
