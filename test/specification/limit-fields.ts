import { CLIENT, DEMO_PLACES, FORM } from './records.ts';
import { type Field, type FieldCase, fieldCases, named, VERSIONS, type Version } from './table.ts';

/** Members of a body with an id of eight characters, each with a good one. */
const IDS = [
  ['form_id', 'registration', FORM],
  ['referrer_id', 'registration', CLIENT.referral_code],
  ['account_type_id', 'tp5', DEMO_PLACES.tp5.unfunded],
  ['rebate_user_id', 'tp5', CLIENT.id],
] as const;

const OF_IDS = IDS.map(
  ([at, operation, id]): Field => ({
    row: `8 ${at}`,
    operation,
    at,
    values: {
      'length 8': {
        good: [named('8 characters', id)],
        bad: [
          [named('7 characters', id.slice(1)), 'length'],
          [named('9 characters', `${id}1`), 'length'],
        ],
      },
    },
  }),
);

function ofAccounts(operation: Version): Field[] {
  return [
    {
      row: '8 leverage',
      operation,
      at: 'leverage',
      values: {
        'minimum 1': { good: [1], bad: [[0, 'minimum']] },
        'maximum 5000': { good: [5000], bad: [[5001, 'maximum']] },
      },
    },
    ...['master_password', 'investor_password'].map((at): Field => {
      const [least, most] = operation === 'tp5' ? [8, 15] : [5, 15];
      const ofLength = (length: number) => named(`${length} characters`, `aB3$${'x'.repeat(length - 4)}`);
      const values = {
        good: [ofLength(least), ofLength(most)],
        bad: [[ofLength(least - 1), 'length'] as const, [ofLength(most + 1), 'length'] as const],
      };
      return { row: `8 ${at}`, operation, at, values: { [`${operation}: length ${least} to ${most}`]: values } };
    }),
  ];
}

function ofUsers(operation: Version): FieldCase[] {
  return ['CLIENT1', CLIENT.id, 'CLIENT001'].map((userId) => ({
    row: '8 user_id',
    rule: 'length 8',
    says: `${userId.length} characters (${operation})`,
    operation,
    userId,
    faults: userId.length === 8 ? [] : [{ parameter: 'user_id', rule: 'length' }],
  }));
}

/** Section 8: the limits of the fields. */
export const LIMIT_FIELDS: readonly FieldCase[] = [
  ...[...OF_IDS, ...VERSIONS.flatMap(ofAccounts)].flatMap(fieldCases),
  ...VERSIONS.flatMap(ofUsers),
];
