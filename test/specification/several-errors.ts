import { keyOf } from './records.ts';
import {
  ABSENT,
  type Bad,
  listed,
  OPERATIONS,
  type Operation,
  type RuleCase,
  VERSIONS,
  type Version,
} from './table.ts';

const unknownMembers = (count: number) => Array.from({ length: count }, (_, index) => `unknown${index}`);

function unknown(operation: Operation): RuleCase[] {
  return [
    ...[100, 101].map(
      (count): RuleCase => ({
        operation,
        says: `a body with ${count} unknown members, of which 100 are listed,`,
        body: Object.fromEntries(unknownMembers(count).map((name) => [name, 1])),
        violations: listed(...unknownMembers(100).map((name) => `unknown_field@#/${name}`)),
      }),
    ),
    {
      operation,
      says: 'an unknown member with a name of 255 characters, and one of 256, whose name is not repeated,',
      body: { ['x'.repeat(255)]: 1, ['x'.repeat(256)]: 1 },
      violations: listed(`unknown_field@#/${'x'.repeat(255)}`, 'unknown_field@#'),
    },
  ];
}

/** A body with these members, and the rules that they break. */
function wrong(members: Readonly<Record<string, Bad>>, ...others: string[]): Pick<RuleCase, 'body' | 'violations'> {
  const violations = Object.entries(members).flatMap(([name, [, ...words]]) =>
    words.map((word) => word.replace(/@|$/, `@#/${name}`)),
  );
  const body = Object.fromEntries(Object.entries(members).map(([name, [value]]) => [name, value]));
  return { body, violations: listed(...violations, ...others) };
}

const without = (...names: string[]) =>
  wrong(Object.fromEntries(names.map((name): [string, Bad] => [name, [ABSENT, 'required']])));

const operation = 'registration';
const REGISTRATIONS: readonly RuleCase[] = [
  {
    operation,
    says: 'a body in which every fixed field is wrong',
    ...wrong({
      email: ['x', 'format'],
      type: ['x', 'one_of'],
      name: ['.', 'characters'],
      phone: [
        { country_code: 1, number: 2, more: 3 },
        ...['type@/country_code', 'type@/number', 'unknown_field@/more'],
      ],
      otp_type: ['x', 'one_of'],
      password: ['x', 'length'],
      repeat_password: ['y', 'password_mismatch'],
      form_id: ['x', 'length'],
      referrer_id: ['x', 'length'],
      language: ['_', 'language'],
    }),
  },
  {
    operation,
    says: 'a body without any required member',
    ...without('email', 'type', 'name', 'password', 'repeat_password', 'form_id'),
  },
  {
    operation,
    says: 'sms without a phone, beside a malformed key',
    body: { otp_type: 'sms', phone: ABSENT },
    headers: { 'idempotency-key': 'two words' },
    violations: listed('required@#/phone/country_code', 'required@#/phone/number', 'format@Idempotency-Key'),
  },
  {
    operation,
    says: 'fields of the form of which several are wrong and one is unknown',
    ...wrong({
      [keyOf('number')]: ['x', 'type'],
      [keyOf('date')]: ['x', 'date'],
      [keyOf('location')]: [{ zip: '1' }, 'required@/country', 'required@/city', 'unknown_field@/zip'],
      k3y: [1, 'unknown_field'],
    }),
  },
];

function ofAccounts(version: Version): RuleCase[] {
  return [
    {
      operation: version,
      says: 'a request in which everything is wrong',
      userId: 'x',
      headers: { 'idempotency-key': 'x'.repeat(256) },
      ...wrong(
        {
          connection_id: ['', 'required'],
          group: [null, 'required'],
          leverage: [5001, 'maximum'],
          login: [0, 'minimum'],
          account_type_id: ['x', 'length'],
          rebate_user_id: ['x', 'length'],
          master_password: ['aB3', 'length', ...(version === 'tp5' ? ['complexity'] : [])],
          investor_password: [7, 'type'],
          enable_readonly: ['x', 'type'],
          enable_rebate: ['x', 'type'],
          send_email: ['x', 'type'],
          send_pop_up: ['x', 'type'],
          language: ['_', 'language'],
          one: [1, 'unknown_field'],
          two: [2, 'unknown_field'],
        },
        ...['length@user_id', 'format@Idempotency-Key'],
      ),
    },
    {
      operation: version,
      says: 'a body without any required member',
      ...without('connection_id', 'group', 'leverage'),
    },
  ];
}

/** Several violations at once, which are all listed, up to a hundred. */
export const SEVERAL_ERRORS: readonly RuleCase[] = [
  ...OPERATIONS.flatMap(unknown),
  ...REGISTRATIONS,
  ...VERSIONS.flatMap(ofAccounts),
];
