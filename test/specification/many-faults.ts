import { keyOf } from './records.ts';
import { ABSENT, type Fault, OPERATIONS, type Operation, type RuleCase, VERSIONS, type Version } from './table.ts';

const unknownMembers = (count: number) => Array.from({ length: count }, (_, index) => `unknown${index}`);

function unknown(operation: Operation): RuleCase[] {
  return [
    ...[100, 101].map(
      (count): RuleCase => ({
        operation,
        says: `a body with ${count} unknown members, of which 100 are listed,`,
        body: Object.fromEntries(unknownMembers(count).map((name) => [name, 1])),
        faults: unknownMembers(100).map((name) => ({ pointer: `#/${name}`, rule: 'unknown_field' })),
      }),
    ),
    {
      operation,
      says: 'an unknown member with a name of 255 characters, and one of 256, which is not told,',
      body: { ['x'.repeat(255)]: 1, ['x'.repeat(256)]: 1 },
      faults: [`#/${'x'.repeat(255)}`, '#'].map((pointer) => ({ pointer, rule: 'unknown_field' })),
    },
  ];
}

const REGISTRATIONS: readonly RuleCase[] = [
  {
    operation: 'registration',
    says: 'a body in which every fixed field is wrong',
    body: {
      email: 'x',
      type: 'x',
      name: '.',
      phone: { country_code: 1, number: 2, more: 3 },
      otp_type: 'x',
      password: 'x',
      repeat_password: 'y',
      form_id: 'x',
      referrer_id: 'x',
      language: '_',
    },
    faults: [
      { pointer: '#/email', rule: 'format' },
      { pointer: '#/type', rule: 'one_of' },
      { pointer: '#/name', rule: 'characters' },
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
    faults: [
      { pointer: '#/phone/country_code', rule: 'required' },
      { pointer: '#/phone/number', rule: 'required' },
      { header: 'Idempotency-Key', rule: 'format' },
    ],
  },
  {
    operation: 'registration',
    says: 'fields of the form of which several are wrong and one is unknown',
    body: { [keyOf('number')]: 'x', [keyOf('date')]: 'x', [keyOf('location')]: { zip: '1' }, k3y: 1 },
    faults: [
      { pointer: `#/${keyOf('number')}`, rule: 'type' },
      { pointer: `#/${keyOf('date')}`, rule: 'date' },
      { pointer: `#/${keyOf('location')}/country`, rule: 'required' },
      { pointer: `#/${keyOf('location')}/city`, rule: 'required' },
      { pointer: `#/${keyOf('location')}/zip`, rule: 'unknown_field' },
      { pointer: '#/k3y', rule: 'unknown_field' },
    ],
  },
];

/** A body of an account in which every member is wrong. */
const ALL_WRONG = {
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
};

const FLAGS = ['enable_readonly', 'enable_rebate', 'send_email', 'send_pop_up'];

/** Its errors, next to the passwords. */
const ITS_FAULTS: readonly Fault[] = [
  { parameter: 'user_id', rule: 'length' },
  { header: 'Idempotency-Key', rule: 'format' },
  { pointer: '#/connection_id', rule: 'length' },
  { pointer: '#/group', rule: 'length' },
  { pointer: '#/leverage', rule: 'maximum' },
  { pointer: '#/login', rule: 'minimum' },
  { pointer: '#/account_type_id', rule: 'length' },
  { pointer: '#/rebate_user_id', rule: 'length' },
  ...FLAGS.map((name) => ({ pointer: `#/${name}`, rule: 'type' })),
  { pointer: '#/language', rule: 'language' },
  { pointer: '#/one', rule: 'unknown_field' },
  { pointer: '#/two', rule: 'unknown_field' },
];

function ofAccounts(operation: Version): RuleCase[] {
  const passwords = [
    { pointer: '#/master_password', rule: 'length' },
    ...(operation === 'tp5' ? [{ pointer: '#/master_password', rule: 'complexity' }] : []),
    { pointer: '#/investor_password', rule: 'type' },
  ];
  const required = ['connection_id', 'group', 'leverage'];
  return [
    {
      operation,
      says: 'a request in which everything is wrong',
      userId: 'x',
      headers: { 'idempotency-key': 'x'.repeat(256) },
      body: ALL_WRONG,
      faults: [...ITS_FAULTS, ...passwords],
    },
    {
      operation,
      says: 'a body without any required member',
      body: Object.fromEntries(required.map((name) => [name, ABSENT])),
      faults: required.map((name) => ({ pointer: `#/${name}`, rule: 'required' })),
    },
  ];
}

/** Several faults at once, which are all listed, up to a hundred. */
export const MANY_FAULTS: readonly RuleCase[] = [
  ...OPERATIONS.flatMap(unknown),
  ...REGISTRATIONS,
  ...VERSIONS.flatMap(ofAccounts),
];
