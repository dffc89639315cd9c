import { type ErrorCase, error, MANY_TIMES, type ServiceFault } from './cases.ts';
import { CLIENT, DEMO_PLACES, PLACES } from './records.ts';
import { listed, VERSIONS, type Version } from './table.ts';

/** Errors of both versions. */
function ofVersion(operation: Version): ErrorCase[] {
  const other = operation === 'tp5' ? 'tp4' : 'tp5';
  const { connection_id } = PLACES[operation];
  const demo = DEMO_PLACES[operation];
  const onDemo = { connection_id: demo.connection_id, group: demo.group };
  const strict = operation === 'tp5' ? 'real\\strict' : 'strict';
  const field = (name: string, rule: string) => `2.3 ${name}, ${operation}: ${rule}`;
  const notFound = `400 ${operation}_connection_not_found` as const;
  const platformFault = (kind: ServiceFault[1]['kind']): ServiceFault => [connection_id, { kind, times: MANY_TIMES }];
  return [
    error(operation, notFound, 'a connection_id that no connection has', {
      body: { connection_id: 'nowhere' },
      breaks: `7 ${operation}_connection_not_found: no connection is found for the given connection_id`,
    }),
    error(operation, notFound, `a connection_id of ${other}`, {
      body: { connection_id: PLACES[other].connection_id },
      breaks: field('connection_id', 'id of a trading-platform server as given by this API'),
    }),
    error(operation, '404 user_not_found', 'a user_id that no client has', {
      userId: 'NOSUCHID',
      breaks: field('user_id', 'unique id of the client'),
    }),
    error(operation, '404 user_not_found', 'a referral code as the user_id', {
      userId: CLIENT.referral_code,
      breaks: `1 ${operation} account: for an existing client, identified by user_id`,
    }),
    error(operation, '400 rebate_user_not_found', 'a rebate_user_id that no client has', {
      body: { rebate_user_id: 'NOSUCHID' },
      breaks: field('rebate_user_id', 'CRM user that receives the commission'),
    }),
    error(operation, '400 account_type_not_found', 'an account_type_id that no account type has', {
      body: { account_type_id: 'NOSUCHID' },
      breaks: field('account_type_id', 'account type of the CRM'),
    }),
    error(operation, '400 account_type_not_found', `an account_type_id of ${other}`, {
      body: { account_type_id: DEMO_PLACES[other].funded },
    }),
    error(operation, '400 account_type_required', 'no account_type_id on a demo connection', {
      body: onDemo,
      breaks: field('account_type_id', 'required when creating and funding a demo account'),
    }),
    error(operation, '400 group_not_found', 'a group that the connection does not offer', {
      body: { group: 'raw' },
      breaks: field('group', 'platform group name'),
    }),
    error(operation, '400 group_not_found', 'a group that the platform does not know', {
      body: {
        connection_id: operation === 'tp5' ? 'tp5-demo' : 'tp4-gateway-demo',
        group: 'no such group',
        account_type_id: demo.unfunded,
      },
    }),
    ...(operation === 'tp5' ? [connection_id] : [connection_id, 'tp4-plugin']).map((place) =>
      error(operation, '400 password_rejected', `a password that is too short for its group on ${place}`, {
        body: { connection_id: place, group: strict, master_password: 'aB3$efgh', investor_password: 'aB3$efgi' },
      }),
    ),
    error(operation, '503 platform_unavailable', 'a platform that is down', {
      fault: platformFault('down'),
      retryAfter: true,
    }),
    error(operation, '503 platform_unavailable', 'a platform that is asked too often', {
      // The look-up that follows is answered: the account is absent.
      fault: [connection_id, { kind: 'throttled', times: 1 }],
      retryAfter: true,
    }),
    error(operation, '502 platform_refused', 'a platform that refuses us', { fault: platformFault('refused') }),
    error(operation, '413 payload_too_large', 'a body of 65,537 bytes', {
      raw: '{}'.padEnd(65_537),
      breaks: `8 size limits: decided: a ${operation} account of 64 KB`,
    }),
  ];
}

const retcode = (code: number, after = 0): ServiceFault => ['tp5-live', { kind: 'retcode', code, times: 1, after }];

const OF_ONE_VERSION: readonly ErrorCase[] = [
  error('tp4', '400 validation_failed', 'a leverage that the platform does not offer', {
    fault: ['tp4-gateway', { kind: 'retcode', code: 9001, times: 1 }],
    violations: listed('not_offered@#/leverage'),
  }),
  error('tp5', '503 login_range_exhausted', 'a platform that has no login left', { fault: retcode(3002) }),
  error('tp5', '503 account_limit_reached', 'a platform that has no license left', { fault: retcode(3007) }),
  error('tp5', '400 validation_failed', 'a login that is reserved on another server of the platform', {
    body: { login: 8_000_001 },
    fault: retcode(3003, 1),
    violations: listed('reserved@#/login'),
  }),
  ...['tp4-gateway', 'tp4-plugin'].map((connection_id) =>
    error('tp4', '400 not_supported_by_connection', `passwords that ${connection_id} cannot transmit`, {
      body: { connection_id, master_password: 'aB3=5', investor_password: 'aB3|5' },
      violations: listed('characters@#/master_password', 'characters@#/investor_password'),
    }),
  ),
  error('tp4', '400 not_supported_by_connection', 'a custom login and a read-only account where neither is possible', {
    body: { connection_id: 'tp4-plugin', login: 700_200, enable_readonly: true },
    violations: listed('not_supported@#/login', 'not_supported@#/enable_readonly'),
  }),
  error('tp4', '400 not_supported_by_connection', 'a deposit into a group that cannot have one', {
    body: {
      connection_id: DEMO_PLACES.tp4.connection_id,
      group: 'standard',
      account_type_id: DEMO_PLACES.tp4.funded,
    },
    violations: listed('not_supported@#/account_type_id'),
  }),
  error('tp4', '504 account_outcome_unknown', 'an answer of tp4-plugin that never comes', {
    body: { connection_id: 'tp4-plugin' },
    fault: ['tp4-plugin', { kind: 'reply_lost', times: 1 }],
  }),
];

/** Errors of the accounts that one request alone can cause. */
export const ACCOUNT_ERRORS: readonly ErrorCase[] = [...VERSIONS.flatMap(ofVersion), ...OF_ONE_VERSION];
