import { type ErrorCase, MANY_TIMES } from './errors.ts';
import { CLIENT, DEMO_PLACES, PLACES } from './records.ts';
import { VERSIONS, type Version } from './table.ts';

const otherOf = (version: Version): Version => (version === 'tp5' ? 'tp4' : 'tp5');
const standsFor = (name: string, version: Version, rule: string) => ({ row: `2.3 ${name}, ${version}`, rule });

function connectionErrors(operation: Version): ErrorCase[] {
  const other = otherOf(operation);
  const notFound = { operation, status: 400, type: `${operation}_connection_not_found` } as const;
  return [
    {
      ...notFound,
      says: 'a connection_id that no connection has',
      body: { connection_id: 'nowhere' },
      stands: { row: `7 ${notFound.type}`, rule: 'no connection is found for the given connection_id' },
    },
    {
      ...notFound,
      says: `a connection_id of ${other}`,
      body: { connection_id: PLACES[other].connection_id },
      stands: standsFor('connection_id', operation, 'id of a trading-platform server as given by this API'),
    },
  ];
}

function clientErrors(operation: Version): ErrorCase[] {
  const notFound = { operation, status: 404, type: 'user_not_found' } as const;
  return [
    {
      ...notFound,
      says: 'a user_id that no client has',
      userId: 'NOSUCHID',
      stands: standsFor('user_id', operation, 'unique id of the client'),
    },
    {
      ...notFound,
      says: 'a referral code as the user_id',
      userId: CLIENT.referral_code,
      stands: { row: `1 ${operation} account`, rule: 'for an existing client, identified by user_id' },
    },
    {
      operation,
      says: 'a rebate_user_id that no client has',
      body: { rebate_user_id: 'NOSUCHID' },
      status: 400,
      type: 'rebate_user_not_found',
      stands: standsFor('rebate_user_id', operation, 'CRM user that receives the commission'),
    },
  ];
}

function accountTypeErrors(operation: Version): ErrorCase[] {
  const { connection_id, group } = DEMO_PLACES[operation];
  const other = otherOf(operation);
  const notFound = { operation, status: 400, type: 'account_type_not_found' } as const;
  return [
    {
      ...notFound,
      says: 'an account_type_id that no account type has',
      body: { account_type_id: 'NOSUCHID' },
      stands: standsFor('account_type_id', operation, 'account type of the CRM'),
    },
    { ...notFound, says: `an account_type_id of ${other}`, body: { account_type_id: DEMO_PLACES[other].funded } },
    {
      operation,
      says: 'no account_type_id on a demo connection',
      body: { connection_id, group },
      status: 400,
      type: 'account_type_required',
      stands: standsFor('account_type_id', operation, 'required when creating and funding a demo account'),
    },
  ];
}

function groupErrors(operation: Version): ErrorCase[] {
  const { connection_id } = PLACES[operation];
  const strict = operation === 'tp5' ? 'real\\strict' : 'strict';
  const notFound = { operation, status: 400, type: 'group_not_found' } as const;
  return [
    {
      ...notFound,
      says: 'a group that the connection does not offer',
      body: { group: 'raw' },
      stands: standsFor('group', operation, 'platform group name'),
    },
    {
      ...notFound,
      says: 'a group that the platform does not know',
      body: {
        connection_id: operation === 'tp5' ? 'tp5-demo' : 'tp4-gateway-demo',
        group: 'no such group',
        account_type_id: DEMO_PLACES[operation].unfunded,
      },
    },
    ...(operation === 'tp5' ? [connection_id] : [connection_id, 'tp4-plugin']).map(
      (place): ErrorCase => ({
        operation,
        says: `a password that is too short for its group on ${place}`,
        body: { connection_id: place, group: strict, master_password: 'aB3$efgh', investor_password: 'aB3$efgi' },
        status: 400,
        type: 'password_rejected',
      }),
    ),
  ];
}

function platformErrors(operation: Version): ErrorCase[] {
  const { connection_id } = PLACES[operation];
  const unavailable = { operation, status: 503, type: 'platform_unavailable', retryAfter: true } as const;
  return [
    {
      ...unavailable,
      says: 'a platform that is down',
      goesWrong: [connection_id, { kind: 'down', times: MANY_TIMES }],
    },
    {
      ...unavailable,
      says: 'a platform that is asked too often',
      goesWrong: [connection_id, { kind: 'throttled', times: MANY_TIMES }],
    },
    {
      operation,
      says: 'a platform that refuses us',
      goesWrong: [connection_id, { kind: 'refused', times: MANY_TIMES }],
      status: 502,
      type: 'platform_refused',
    },
    {
      operation,
      says: 'a body of 65,537 bytes',
      raw: '{}'.padEnd(65_537),
      status: 413,
      type: 'payload_too_large',
      stands: { row: '8 size limits', rule: `decided: a ${operation} account of 64 KB` },
    },
  ];
}

const unsupported = (...names: string[]) =>
  names.map((name) => ({ pointer: `#/${name}`, rule: 'not_supported' }) as const);

const OF_ONE_VERSION: readonly ErrorCase[] = [
  {
    operation: 'tp5',
    says: 'a platform that has no login left',
    goesWrong: ['tp5-live', { kind: 'retcode', code: 3002, times: 1 }],
    status: 503,
    type: 'login_range_exhausted',
  },
  {
    operation: 'tp5',
    says: 'a platform that has no licence left',
    goesWrong: ['tp5-live', { kind: 'retcode', code: 3007, times: 1 }],
    status: 503,
    type: 'account_limit_reached',
  },
  {
    operation: 'tp5',
    says: 'a login that is reserved on another server of the platform',
    body: { login: 8_000_001 },
    goesWrong: ['tp5-live', { kind: 'retcode', code: 3003, times: 1, after: 1 }],
    status: 400,
    type: 'validation_failed',
    faults: [{ pointer: '#/login', rule: 'reserved' }],
  },
  ...['tp4-gateway', 'tp4-plugin'].map(
    (connection_id): ErrorCase => ({
      operation: 'tp4',
      says: `passwords that ${connection_id} cannot carry`,
      body: { connection_id, master_password: 'aB3=5', investor_password: 'aB3|5' },
      status: 400,
      type: 'not_supported_by_connection',
      faults: [
        { pointer: '#/master_password', rule: 'characters' },
        { pointer: '#/investor_password', rule: 'characters' },
      ],
    }),
  ),
  {
    operation: 'tp4',
    says: 'a custom login and a read-only account on a connection whose protocol has neither',
    body: { connection_id: 'tp4-plugin', login: 700_200, enable_readonly: true },
    status: 400,
    type: 'not_supported_by_connection',
    faults: unsupported('login', 'enable_readonly'),
  },
  {
    operation: 'tp4',
    says: 'a deposit into a group that cannot have one',
    body: {
      connection_id: DEMO_PLACES.tp4.connection_id,
      group: 'standard',
      account_type_id: DEMO_PLACES.tp4.funded,
    },
    status: 400,
    type: 'not_supported_by_connection',
    faults: unsupported('account_type_id'),
  },
  {
    operation: 'tp4',
    says: 'an answer of tp4-plugin that never comes',
    body: { connection_id: 'tp4-plugin' },
    goesWrong: ['tp4-plugin', { kind: 'reply_lost', times: 1 }],
    status: 504,
    type: 'account_outcome_unknown',
  },
];

/** Errors of the accounts that one request alone can meet. */
export const ACCOUNT_ERRORS: readonly ErrorCase[] = [
  ...VERSIONS.flatMap((version) => [
    ...connectionErrors(version),
    ...clientErrors(version),
    ...accountTypeErrors(version),
    ...groupErrors(version),
    ...platformErrors(version),
  ]),
  ...OF_ONE_VERSION,
];
