import type { Fault as LocalFault } from '../../infra/local/faults.ts';
import type { ProblemType } from '../../lib/http/problem.ts';
import { CLIENT, DEMO_PLACES, keyOf, PLACES } from './specification-records.ts';
import { choicesOf, textFile } from './specification-registration.ts';
import { ABSENT, type Change, type Fault, VERSIONS } from './specification-table.ts';

/** One case of the table of errors: a request, and what goes wrong with it. */
export interface ErrorCase extends Change {
  /** A row of the specification that it stands for, beside the one of the contract's table of errors. */
  stands?: { row: string; rule: string };
  says: string;
  status: number;
  type: ProblemType;
  /** The whole body, as it is sent. */
  raw?: string;
  /** What the local service makes go wrong: a service or a connection, and how. */
  goesWrong?: [target: string, fault: LocalFault];
  /** More members of the problem. */
  members?: Record<string, unknown>;
  /** All faults that are to be listed. */
  faults?: readonly Fault[];
  retryAfter?: boolean;
}

/** The contract's table of errors: every status and type that the service answers. */
export const ERRORS: readonly [status: number, type: ProblemType][] = [
  [400, 'malformed_json'],
  [400, 'validation_failed'],
  [400, 'form_not_found'],
  [400, 'referrer_not_found'],
  [400, 'otp_type_unavailable'],
  [400, 'tp5_connection_not_found'],
  [400, 'tp4_connection_not_found'],
  [400, 'account_type_not_found'],
  [400, 'account_type_required'],
  [400, 'rebate_user_not_found'],
  [400, 'group_not_found'],
  [400, 'password_rejected'],
  [400, 'not_supported_by_connection'],
  [400, 'code_not_accepted'],
  [403, 'captcha_failed'],
  [404, 'user_not_found'],
  [409, 'login_taken'],
  [409, 'request_in_progress'],
  [409, 'account_outcome_unknown'],
  [413, 'payload_too_large'],
  [415, 'unsupported_media_type'],
  [422, 'idempotency_key_reused'],
  [429, 'too_many_requests'],
  [500, 'internal_error'],
  [502, 'otp_delivery_failed'],
  [502, 'platform_refused'],
  [503, 'platform_unavailable'],
  [503, 'login_range_exhausted'],
  [503, 'account_limit_reached'],
  [504, 'account_outcome_unknown'],
];

/** Types of settings and routes that the service under test does without; their own tests show them. */
export const NOT_OF_THIS_SERVICE: readonly ProblemType[] = ['code_not_accepted', 'captcha_failed'];

const MANY = 1_000;
const MEGABYTE = 1024 * 1024;
const OPERATIONS = ['registration', ...VERSIONS] as const;

const withDocuments = (...sizes: number[]) => ({ [keyOf('document')]: sizes.map(textFile) });
const size = (below: string): Fault => ({ pointer: `#/${keyOf('document')}${below}`, rule: 'size' });

const OF_EVERY_OPERATION: readonly ErrorCase[] = OPERATIONS.flatMap((operation): ErrorCase[] => [
  ...[
    '',
    ' ',
    '{',
    '{"a":1,}',
    "{'a':1}",
    '[]',
    '[{}]',
    'null',
    'true',
    '5',
    '"{}"',
    '{}{}',
    'a=1',
    '{"__proto__":1}',
  ].map(
    (raw): ErrorCase => ({
      operation,
      says: `the body ${JSON.stringify(raw)}`,
      status: 400,
      type: 'malformed_json',
      raw,
    }),
  ),
  ...['', 'text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', 'application/xml', 'json'].map(
    (type): ErrorCase => ({
      operation,
      says: type === '' ? 'no content type' : `the content type ${type}`,
      headers: { 'content-type': type },
      status: 415,
      type: 'unsupported_media_type',
    }),
  ),
  {
    operation,
    says: 'a database that refuses',
    goesWrong: ['dynamodb', { kind: 'refused', times: MANY }],
    status: 500,
    type: 'internal_error',
  },
]);

const OF_REGISTRATION: readonly ErrorCase[] = (
  [
    {
      says: 'a form_id that no form has',
      body: { form_id: 'NOSUCHID' },
      status: 400,
      type: 'form_not_found',
      stands: { row: '2.1 form_id', rule: 'id of the registration form' },
    },
    {
      says: "a client's id as the form_id",
      body: { form_id: CLIENT.id },
      status: 400,
      type: 'form_not_found',
    },
    {
      says: 'a referral code that no client has',
      body: { referrer_id: 'NOSUCHID' },
      status: 400,
      type: 'referrer_not_found',
      stands: { row: '2.1 referrer_id', rule: 'referral code of the referrer' },
    },
    {
      says: "a client's id as the referrer_id",
      body: { referrer_id: CLIENT.id },
      status: 400,
      type: 'referrer_not_found',
    },
    {
      says: 'a document of more than 3 MB',
      body: withDocuments(1_000, 3 * MEGABYTE + 1),
      status: 413,
      type: 'payload_too_large',
      faults: [size('/1/doc')],
      stands: { row: '2.2 document', rule: 'decided: at most 3 MB' },
    },
    {
      says: 'documents of more than 4 MB together',
      body: withDocuments(2 * MEGABYTE, 2 * MEGABYTE, 1, 1),
      status: 413,
      type: 'payload_too_large',
      faults: [size('/2/doc')],
      stands: { row: '2.2 document', rule: 'decided: at most 4 MB together' },
    },
    ...(
      [
        ['200,001 bytes of JSON in fields of the form', choicesOf(200_001)],
        ['more than 200 kB in fewer characters', { [keyOf('multiselect')]: new Array(11).fill('й'.repeat(10_000)) }],
      ] as const
    ).map(([says, body]) => ({
      says,
      body,
      status: 413,
      type: 'payload_too_large',
      faults: [{ pointer: '#', rule: 'size' }],
      stands: { row: '2.1 custom_fields', rule: 'decided: at most 200 kB of JSON beside the documents' },
    })),
    {
      says: 'a body of 5,900,001 bytes',
      raw: '{}'.padEnd(5_900_001),
      status: 413,
      type: 'payload_too_large',
      stands: { row: '8 size limits', rule: 'decided: a registration of 5.9 MB' },
    },
    ...(['throttled', 'refused', 'down'] as const).map((kind) => ({
      says: `mail that is ${kind}`,
      goesWrong: ['ses', { kind, times: MANY }],
      status: 502,
      type: 'otp_delivery_failed',
    })),
    ...(
      [
        ['sms', 'sns'],
        ['call', 'voice'],
        ['whatsapp', 'whatsapp'],
      ] as const
    ).flatMap(([otp_type, service]) =>
      (['throttled', 'refused', 'down'] as const).map((kind) => ({
        says: `otp_type ${otp_type} that is ${kind}`,
        body: { otp_type },
        goesWrong: [service, { kind, times: MANY }],
        status: 502,
        type: 'otp_delivery_failed',
      })),
    ),
    {
      says: 'a store of documents that is down',
      body: withDocuments(10),
      goesWrong: ['s3', { kind: 'refused', times: MANY }],
      status: 500,
      type: 'internal_error',
    },
  ] as Omit<ErrorCase, 'operation'>[]
).map((one) => ({ ...one, operation: 'registration' }));

const OF_ACCOUNTS: readonly ErrorCase[] = VERSIONS.flatMap((version): ErrorCase[] => {
  const other = version === 'tp5' ? 'tp4' : 'tp5';
  const { connection_id: place } = PLACES[version];
  const demo = DEMO_PLACES[version];
  const onDemo = { connection_id: demo.connection_id, group: demo.group };
  const notFound = `${version}_connection_not_found` as const;
  const stands = (name: string, rule: string) => ({ row: `2.3 ${name}, ${version}`, rule });
  const found: Omit<ErrorCase, 'operation'>[] = [
    {
      says: 'a connection_id that no connection has',
      body: { connection_id: 'nowhere' },
      status: 400,
      type: notFound,
      stands: { row: `7 ${notFound}`, rule: 'no connection is found for the given connection_id' },
    },
    {
      says: `a connection_id of ${other}`,
      body: { connection_id: PLACES[other].connection_id },
      status: 400,
      type: notFound,
      stands: stands('connection_id', 'id of a trading-platform server as given by this API'),
    },
    {
      says: 'a user_id that no client has',
      userId: 'NOSUCHID',
      status: 404,
      type: 'user_not_found',
      stands: stands('user_id', 'unique id of the client'),
    },
    {
      says: 'a referral code as the user_id',
      userId: CLIENT.referral_code,
      status: 404,
      type: 'user_not_found',
      stands: { row: `1 ${version} account`, rule: 'for an existing client, identified by user_id' },
    },
    {
      says: 'an account_type_id that no account type has',
      body: { account_type_id: 'NOSUCHID' },
      status: 400,
      type: 'account_type_not_found',
      stands: stands('account_type_id', 'account type of the CRM'),
    },
    {
      says: `an account_type_id of ${other}`,
      body: { account_type_id: DEMO_PLACES[other].funded },
      status: 400,
      type: 'account_type_not_found',
    },
    {
      says: 'no account_type_id on a demo connection',
      body: onDemo,
      status: 400,
      type: 'account_type_required',
      stands: stands('account_type_id', 'required when creating and funding a demo account'),
    },
    {
      says: 'a rebate_user_id that no client has',
      body: { rebate_user_id: 'NOSUCHID' },
      status: 400,
      type: 'rebate_user_not_found',
      stands: stands('rebate_user_id', 'CRM user that receives the commission'),
    },
    {
      says: 'a group that the connection does not offer',
      body: { group: 'raw' },
      status: 400,
      type: 'group_not_found',
      stands: stands('group', 'platform group name'),
    },
    {
      says: 'a group that the platform does not know',
      body: {
        connection_id: version === 'tp5' ? 'tp5-demo' : 'tp4-gateway-demo',
        group: 'no such group',
        account_type_id: demo.unfunded,
      },
      status: 400,
      type: 'group_not_found',
    },
    ...(version === 'tp5' ? [place] : [place, 'tp4-plugin']).map(
      (connection_id): Omit<ErrorCase, 'operation'> => ({
        says: `a password that is too short for its group on ${connection_id}`,
        body: {
          connection_id,
          group: version === 'tp5' ? 'real\\strict' : 'strict',
          master_password: 'aB3$efgh',
          investor_password: 'aB3$efgi',
        },
        status: 400,
        type: 'password_rejected',
      }),
    ),
    {
      says: 'a platform that is down',
      goesWrong: [place, { kind: 'down', times: MANY }],
      status: 503,
      type: 'platform_unavailable',
      retryAfter: true,
    },
    {
      says: 'a platform that is asked too often',
      goesWrong: [place, { kind: 'throttled', times: MANY }],
      status: 503,
      type: 'platform_unavailable',
      retryAfter: true,
    },
    {
      says: 'a platform that refuses us',
      goesWrong: [place, { kind: 'refused', times: MANY }],
      status: 502,
      type: 'platform_refused',
    },
    {
      says: 'a body of 65,537 bytes',
      raw: '{}'.padEnd(65_537),
      status: 413,
      type: 'payload_too_large',
      stands: { row: '8 size limits', rule: `decided: a ${version} account of 64 KB` },
    },
  ];
  return found.map((one) => ({ ...one, operation: version }));
});

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
    goesWrong: ['tp5-live', { kind: 'retcode', code: 3003, times: 1 }],
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
  ...['tp4-gateway', 'tp4-plugin'].map(
    (connection_id): ErrorCase => ({
      operation: 'tp4',
      says: `an answer of ${connection_id} that never comes`,
      body: { connection_id },
      goesWrong: [connection_id, { kind: 'reply_lost', times: 1 }],
      status: 504,
      type: 'account_outcome_unknown',
    }),
  ),
];

const unknownMembers = (count: number) => Array.from({ length: count }, (_, index) => `unknown${index}`);

/** Several faults at once, which are all listed, up to a hundred. */
export const MANY_FAULTS: readonly ErrorCase[] = [
  ...OPERATIONS.flatMap((operation): ErrorCase[] => [
    ...[100, 101].map(
      (count): ErrorCase => ({
        operation,
        says: `a body with ${count} unknown members, of which 100 are listed,`,
        body: Object.fromEntries(unknownMembers(count).map((name) => [name, 1])),
        status: 400,
        type: 'validation_failed',
        faults: unknownMembers(100).map((name) => ({ pointer: `#/${name}`, rule: 'unknown_field' })),
      }),
    ),
    {
      operation,
      says: 'an unknown member with a name of 255 characters, and one of 256, which is not told,',
      body: { ['x'.repeat(255)]: 1, ['x'.repeat(256)]: 1 },
      status: 400,
      type: 'validation_failed',
      faults: [`#/${'x'.repeat(255)}`, '#'].map((pointer) => ({ pointer, rule: 'unknown_field' })),
    },
  ]),
  {
    operation: 'registration',
    says: 'a body in which every fixed field is wrong',
    body: {
      email: 'x',
      type: 'x',
      name: '',
      phone: { country_code: 1, number: 2, more: 3 },
      otp_type: 'x',
      password: 'x',
      repeat_password: 'y',
      form_id: 'x',
      referrer_id: 'x',
      language: '_',
    },
    status: 400,
    type: 'validation_failed',
    faults: [
      { pointer: '#/email', rule: 'format' },
      { pointer: '#/type', rule: 'one_of' },
      { pointer: '#/name', rule: 'length' },
      { pointer: '#/phone/country_code', rule: 'type' },
      { pointer: '#/phone/number', rule: 'type' },
      { pointer: '#/phone/more', rule: 'unknown_field' },
      { pointer: '#/otp_type', rule: 'one_of' },
      { pointer: '#/password', rule: 'length' },
      { pointer: '#/repeat_password', rule: 'password_mismatch' },
      { pointer: '#/form_id', rule: 'length' },
      { pointer: '#/referrer_id', rule: 'length' },
      { pointer: '#/language', rule: 'language' },
    ],
  },
  {
    operation: 'registration',
    says: 'a body without any required member',
    body: Object.fromEntries(
      ['email', 'type', 'name', 'password', 'repeat_password', 'form_id'].map((name) => [name, ABSENT]),
    ),
    status: 400,
    type: 'validation_failed',
    faults: ['email', 'type', 'name', 'password', 'repeat_password', 'form_id'].map((name) => ({
      pointer: `#/${name}`,
      rule: 'required',
    })),
  },
  {
    operation: 'registration',
    says: 'sms without a phone, beside a malformed key',
    body: { otp_type: 'sms', phone: ABSENT },
    headers: { 'idempotency-key': 'two words' },
    status: 400,
    type: 'validation_failed',
    faults: [
      { pointer: '#/phone/country_code', rule: 'required' },
      { pointer: '#/phone/number', rule: 'required' },
      { header: 'Idempotency-Key', rule: 'format' },
    ],
  },
  {
    operation: 'registration',
    says: 'fields of the form of which several are wrong and one is unknown',
    body: { [keyOf('number')]: 'x', [keyOf('date')]: 'x', [keyOf('location')]: {}, k3y: 1 },
    status: 400,
    type: 'validation_failed',
    faults: [
      { pointer: `#/${keyOf('number')}`, rule: 'type' },
      { pointer: `#/${keyOf('date')}`, rule: 'date' },
      { pointer: `#/${keyOf('location')}/country`, rule: 'required' },
      { pointer: `#/${keyOf('location')}/state`, rule: 'required' },
      { pointer: `#/${keyOf('location')}/city`, rule: 'required' },
      { pointer: '#/k3y', rule: 'unknown_field' },
    ],
  },
  ...VERSIONS.flatMap((operation): ErrorCase[] => [
    {
      operation,
      says: 'a request in which everything is wrong',
      userId: 'x',
      headers: { 'idempotency-key': 'x'.repeat(256) },
      body: {
        connection_id: '',
        group: '',
        leverage: 5001,
        login: 0,
        account_type_id: 'x',
        rebate_user_id: 'x',
        master_password: 'aB3',
        investor_password: 7,
        enable_readonly: 'x',
        enable_rebate: 'x',
        send_email: 'x',
        send_pop_up: 'x',
        language: '_',
        one: 1,
        two: 2,
      },
      status: 400,
      type: 'validation_failed',
      faults: [
        { parameter: 'user_id', rule: 'length' },
        { header: 'Idempotency-Key', rule: 'format' },
        { pointer: '#/connection_id', rule: 'length' },
        { pointer: '#/group', rule: 'length' },
        { pointer: '#/leverage', rule: 'maximum' },
        { pointer: '#/login', rule: 'minimum' },
        { pointer: '#/account_type_id', rule: 'length' },
        { pointer: '#/rebate_user_id', rule: 'length' },
        { pointer: '#/master_password', rule: 'length' },
        ...(operation === 'tp5' ? [{ pointer: '#/master_password', rule: 'complexity' }] : []),
        { pointer: '#/investor_password', rule: 'type' },
        ...['enable_readonly', 'enable_rebate', 'send_email', 'send_pop_up'].map((name) => ({
          pointer: `#/${name}`,
          rule: 'type',
        })),
        { pointer: '#/language', rule: 'language' },
        { pointer: '#/one', rule: 'unknown_field' },
        { pointer: '#/two', rule: 'unknown_field' },
      ],
    },
    {
      operation,
      says: 'a body without any required member',
      body: { connection_id: ABSENT, group: ABSENT, leverage: ABSENT },
      status: 400,
      type: 'validation_failed',
      faults: ['connection_id', 'group', 'leverage'].map((name) => ({ pointer: `#/${name}`, rule: 'required' })),
    },
  ]),
];

/** Every error that one request alone can meet on the service with all its channels. */
export const ERROR_CASES: readonly ErrorCase[] = [
  ...OF_EVERY_OPERATION,
  ...OF_REGISTRATION,
  ...OF_ACCOUNTS,
  ...OF_ONE_VERSION,
];
