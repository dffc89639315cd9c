import { CLIENT, DEMO_PLACES, LONG_LANGUAGE, LONG_PLACES, SPANISH_CLIENT } from './records.ts';
import {
  ABSENT,
  type Bad,
  each,
  type Field,
  type FieldCase,
  fieldCases,
  limit,
  listed,
  named,
  readAs,
  spelled,
  VERSIONS,
  type Version,
} from './table.ts';

/** Section 2.3, password rules: the rules of both passwords of each version. */
const PASSWORDS: Record<Version, Record<string, { good?: readonly unknown[]; bad?: readonly Bad[] }>> = {
  tp5: {
    'minimum 8': {
      good: ['aB3$efgh'],
      bad: [['aB3$efg', 'length']],
    },
    'maximum 15': { good: ['aB3$efghijklmno'], bad: [['aB3$efghijklmnop', 'length']] },
    'at least one lowercase letter, one uppercase letter, one digit and one special character': {
      good: ['"aB3"<>&\'', 'zZ9~zZ9~', '!aaaaaA0', '1a|=\\"\'A'],
      bad: [
        ...each('complexity', 'aA1 aaaa', 'ABC3$EFG', 'abc3$efg', 'aBCD$EFG', 'aBC3EFGH', 'aaaaaaaa', '12345678'),
        ...each('complexity', '!!!!!!!!'),
      ],
    },
  },
  tp4: {
    'minimum 5': {
      good: ['aB345'],
      bad: [['aB34', 'length']],
    },
    'maximum 15': { good: ['aB3456789012345'], bad: [['aB34567890123456', 'length']] },
    'at least two of the three types: lowercase, uppercase, digits': {
      good: ['abcDE', 'abc12', 'ABC12', 'abcD!', 'aB cd', 'aB3$efgh'],
      bad: [...each('complexity', 'abcde', 'ABCDE', '12345', 'abc$%', '$%&/(', '!!!!!')],
    },
  },
};

const BEYOND_PASSWORDS: Record<Version, readonly Bad[]> = {
  tp5: each('characters', 'aB3$éfgh', 'aB3$efg\n', 'aB3$efgh\u0000', 'aB3$efg\u007f'),
  tp4: each('characters', 'aB3é5', 'aB345\n', 'aB345\t'),
};

function field(version: Version, name: string, rest: Omit<Field, 'row' | 'operation' | 'at'>): Field {
  return { row: `2.3 ${name}, ${version}`, operation: version, at: name, ...rest };
}

/** The server of the account. */
function places(version: Version): Field[] {
  const long = LONG_PLACES[version];
  return [
    field(version, 'connection_id', {
      type: 'string',
      required: true,
      values: {
        'decided: 1 to 64 characters': {
          good: [named('64 characters', long.connection_id)],
          bad: each('length', 'x'.repeat(65)),
        },
        'id of a trading-platform server as given by this API': { bad: [['tp\n', 'characters']] },
      },
    }),
    field(version, 'group', {
      type: 'string',
      required: true,
      values: {
        'decided: 1 to 64 characters': { bad: each('length', 'x'.repeat(65)) },
        'platform group name': { bad: each('characters', 'standard\n', 'stan\u0000dard') },
      },
    }),
    field(version, 'group', {
      carried: (value) => ({ ...long, group: value }),
      values: { 'decided: 1 to 64 characters': { good: [named('64 characters', long.group)] } },
    }),
  ];
}

function numbers(version: Version): Field[] {
  const mostLogin = { tp5: Number.MAX_SAFE_INTEGER, tp4: 2_147_483_647 }[version];
  const tooHigh = { tp5: spelled('9007199254740992'), tp4: 2_147_483_648 }[version];
  return [
    field(version, 'leverage', {
      type: 'number',
      required: true,
      values: {
        'minimum 1': { good: [1], bad: each('minimum', 0, -1, spelled('-0')) },
        'maximum 5000': { good: [5000, spelled('5e3')], bad: each('maximum', 5001, 1_000_000, spelled('1e300')) },
        'decided: an integer': { good: [100, spelled('100.0')], bad: each('integer', 1.5, 4999.999) },
        number: {
          bad: [
            [0.5, 'integer', 'minimum'],
            [spelled('1e999'), 'type', 'integer', 'maximum'],
          ],
        },
      },
    }),
    field(version, 'login', {
      type: 'number',
      required: false,
      values: {
        'custom account login': { good: [700_123] },
        'decided: an integer from 1 to the most that the platform can hold': {
          good: [1, mostLogin],
          bad: [...each('minimum', 0, -5), ...each('integer', 700_123.5), ...each('maximum', tooHigh)],
        },
      },
    }),
  ];
}

function id(version: Version, name: string, promise: string, good: string[]): Field {
  return field(version, name, {
    type: 'string',
    required: false,
    values: {
      [promise]: { good },
      'length 8': {
        good,
        bad: [...each('length', 'ABCDEF7', 'ABCDEFGH9'), ...each('characters', 'ABC DEF8', 'ABCDEFÖ8')],
      },
    },
  });
}

function ids(version: Version): Field[] {
  const { connection_id, group, funded, unfunded, deposit } = DEMO_PLACES[version];
  return [
    id(version, 'account_type_id', 'account type of the CRM', [unfunded]),
    field(version, 'account_type_id', {
      carried: (value) => ({ account_type_id: value, connection_id, group }),
      values: {
        'required when creating and funding a demo account': {
          good: [
            named(`${funded} on a demo connection, which is funded with ${deposit}`, funded),
            named(`${unfunded} on a demo connection, without a deposit`, unfunded),
          ],
        },
      },
    }),
    id(version, 'rebate_user_id', 'CRM user that receives the commission', [SPANISH_CLIENT.id, CLIENT.id]),
  ];
}

const FIVE_SPACES = { tp5: ['length', 'complexity'], tp4: ['complexity'] };

function password(version: Version, role: 'master_password' | 'investor_password'): Field[] {
  const inWords = (value: unknown) => named(`the ${role} ${value}`, value);
  const rules = Object.entries(PASSWORDS[version]).map(([rule, { good = [], bad = [] }]) => [
    rule,
    { good: good.map(inWords), bad: bad.map(([value, ...violations]): Bad => [inWords(value), ...violations]) },
  ]);
  return [
    field(version, role, {
      type: 'string',
      required: false,
      values: {
        'platform-specific': { bad: [[named('a password of five spaces', '     '), ...FIVE_SPACES[version]]] },
        'decided: printable ASCII': {
          good: [named('a password with spaces', ' aB3$ fgh '), named('another password with spaces', 'L0ok  only!')],
          bad: BEYOND_PASSWORDS[version],
        },
      },
    }),
    {
      row: `2.3 password rules, ${version}`,
      operation: version,
      at: role,
      values: Object.fromEntries(rules),
    },
  ];
}

const FLAGS = {
  enable_readonly: 'when true, trading on the account is disallowed',
  enable_rebate: 'when true, the account is set as a commission-receiving account',
  send_email: 'send the CRM user an email about the account creation',
  send_pop_up: 'send the CRM user an in-app popup about the account creation',
};

function flags(version: Version): Field[] {
  return Object.entries(FLAGS).map(([name, promise]) =>
    field(version, name, {
      type: 'boolean',
      required: false,
      values: { [promise]: { good: [true] }, boolean: { good: [false] } },
    }),
  );
}

function language(version: Version): Field {
  return field(version, 'language', {
    carried: (value) => ({ language: value, send_email: true, send_pop_up: true }),
    type: 'string',
    required: false,
    values: {
      'user language for the email or popup': { good: ['de', 'ar'] },
      'language code': {
        good: ['pt-BR', 'zh-Hant-TW', readAs('pt_BR', 'pt-BR')],
        bad: each('language', 'e', 'english language', 'en-', 'ё'),
      },
      'decided: at most 64 characters': limit(64, (size) => LONG_LANGUAGE.padEnd(size, 'x'), 'language'),
    },
  });
}

function otherMembers(version: Version): Field[] {
  const row = `2.3 body, ${version}`;
  const rule = 'decided: no other members';
  return [
    ...['user_id', 'Login', 'comment', 'constructor', 'toString'].map(
      (key): Field => ({
        row,
        operation: version,
        at: key,
        carried: (value) => Object.fromEntries([[key, value]]),
        values: { [rule]: { bad: [[named(`the member ${key}`, 'x'), 'unknown_field']] } },
      }),
    ),
    field(version, 'body', { carried: () => ({}), values: { [rule]: { good: [named('no other member', ABSENT)] } } }),
  ];
}

/** Section 2.3: `user_id` is in the path. */
function userIds(version: Version): FieldCase[] {
  const row = `2.3 user_id, ${version}`;
  const cases = (rule: string, violations: string[], ...userIds: string[]) =>
    userIds.map((userId) => {
      const says = JSON.stringify(userId);
      return { row, rule, says, operation: version, userId, violations: listed(...violations) };
    });
  return [
    ...cases('unique id of the client', [], CLIENT.id),
    ...cases('length 8', [], '~!@$%^&*'),
    ...cases('length 8', ['length@user_id'], 'CLIENT1', 'CLIENT001', 'x'),
    ...cases('length 8', ['characters@user_id'], 'CLIENT 1', 'CLÏENT01', 'CLIENT0\n'),
  ];
}

/** Section 2.3: every field of an account's request, with good and bad values, for both platform versions. */
export const ACCOUNT_FIELDS: readonly FieldCase[] = VERSIONS.flatMap((version) => [
  ...userIds(version),
  ...[
    ...places(version),
    ...numbers(version),
    ...ids(version),
    ...password(version, 'master_password'),
    ...password(version, 'investor_password'),
    ...flags(version),
    language(version),
    ...otherMembers(version),
  ].flatMap(fieldCases),
]);
