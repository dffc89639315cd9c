import { CUSTOM_FIELD_TYPES, exampleValue } from '../../lib/validators/field-values.ts';
import type { FormField } from '../../lib/validators/form.ts';
import { CONSENT_FORM, DEMANDING_FORM, FORM, keyOf, LONG_LANGUAGE, MORE_KEYS } from './records.ts';
import { choicesOf, HALF, longAddress, longInternationalAddress, PHONE, spacedNumber } from './samples.ts';
import { ABSENT, each, type Field, type FieldCase, limit, listed, named, PHONE_CHANNELS, readAs } from './table.ts';

const operation = 'registration' as const;

const field = (name: string, rest: Omit<Field, 'row' | 'operation' | 'at'>): Field => ({
  row: `2.1 ${name}`,
  operation,
  at: name,
  ...rest,
});

const passwords = (value: unknown) => ({
  password: value,
  repeat_password: typeof value === 'string' && value !== '' ? value : 'some password',
});

const phone = (member: 'country_code' | 'number', more: object = {}) => ({
  at: `phone/${member}`,
  carried: (value: unknown) => ({ phone: { ...PHONE, [member]: value }, ...more }),
});

/** Section 2.1: the phone. */
const PHONE_FIELDS: Field[] = [
  field('phone', {
    type: 'object',
    required: false,
    values: {
      object: { good: [{}, PHONE, readAs({ country_code: '', number: '' }, ABSENT)] },
      'decided: no other members': {
        bad: [
          [{ ...PHONE, extension: '1' }, 'unknown_field@/extension'],
          [{ extension: '1', type: 'home' }, 'unknown_field@/extension', 'unknown_field@/type'],
        ],
      },
    },
  }),
  {
    row: '2.1 phone.country_code',
    operation,
    ...phone('country_code'),
    type: 'string',
    required: false,
    values: {
      'decided: a dial code, with or without +': {
        good: ['44', '+44'],
        bad: each('format', 'GB', '0044', '++44', '44x', '+', ' 44', '12345678901'),
      },
      'decided: at most 7 characters after the +': {
        good: ['44     ', '+44 - - '],
        bad: each('format', '44      ', '+44 - - -'),
      },
    },
  },
  {
    row: '2.1 phone.number',
    operation,
    ...phone('number'),
    type: 'string',
    required: false,
    values: {
      'decided: a valid number of the dial code': {
        good: ['7400123456', '07400 123456', '(07400) 12-34-56', '+44 7400 123456'],
        bad: [
          ...each('phone', '1', '74001', '74001234567890', 'call me', '7400123456 ext. 7', '+33612345678'),
          ...each('phone', '0'.repeat(40)),
        ],
      },
      'decided: at most 40 characters': limit(40, spacedNumber),
    },
  },
  ...PHONE_CHANNELS.flatMap((otp_type): Field[] =>
    (['country_code', 'number'] as const).map((member) => ({
      row: `2.1 phone.${member}`,
      operation,
      ...phone(member, { otp_type }),
      values: {
        'decided: required by sms, call and whatsapp': {
          bad: [
            [named(`its absence with ${otp_type}`, ABSENT), 'required'],
            [named(`"" with ${otp_type}`, ''), 'required'],
          ],
        },
      },
    })),
  ),
  ...PHONE_CHANNELS.map(
    (otp_type): Field => ({
      row: '2.1 phone.number',
      operation,
      ...phone('number', { otp_type }),
      values: {
        'decided: a mobile number, for a call also a fixed line': {
          good: otp_type === 'call' ? [named('a fixed line', '2071234567')] : [],
          bad: [
            [named(`a premium number with ${otp_type}`, '9098790000'), 'number_type'],
            ...(otp_type === 'call'
              ? []
              : [[named(`a fixed line with ${otp_type}`, '2071234567'), 'number_type'] as const]),
          ],
        },
      },
    }),
  ),
];

/** Section 2.1: the fields that every registration has. */
export const FIXED_FIELDS: Field[] = [
  field('email', {
    type: 'string',
    required: true,
    values: {
      'email format': {
        good: [
          'ann.lee@example.com',
          'ANN.B@Example.COM',
          "o'hara+tag@example.co.uk",
          "o'hara_-#$&*/?=^`{|}~@example.com",
          '1@2.example',
          '1@1.com',
          'a@b.co',
          'ann@a-b.c1.example',
          'ann@xn--mnchen-3ya.de',
          'ann@bücher.example',
          'ann@例え.jp',
          `ann@${'x'.repeat(63)}.com`,
        ],
        bad: [
          ...each('format', 'ann', '@example.com', 'ann@', 'ann@example', 'ann@@example.com', 'a b@example.com'),
          ...each('format', 'ann@exam ple.com', ' ann@example.com', 'ann@example.com ', 'ann@example.com\n'),
          ...each('format', 'jörg@example.com', '"ann"@example.com', 'ann..lee@example.com', '.ann@example.com'),
          ...each('format', 'ann.@example.com', 'ann@-example.com', 'ann@example..com', 'ann@example.com.'),
          ...each('format', 'ann@localhost', 'ann@.example.com', 'ann@example-.com', 'ann@exa_mple.com'),
          ...each(
            'format',
            'ann@example.c',
            'ann@1.2.3',
            'ann@0x7f.1',
            'ann@ex%41mple.com',
            'ann@example.com/x',
            'ann@example.com:25',
          ),
          ...each('format', 'ann@example.com?x', 'ann\r\nbcc:eve@example.com', 'ann%example.org@example.com'),
          ...each('format', 'example.org!ann@example.com', '=?utf-8?q?ann?=@example.com', 'ann@exa\u200dmple.com'),
          ...each('format', 'ann@a\ud800b.com', 'ann@127.0.0.1', 'ann@[127.0.0.1]', 'Ann <ann@example.com>'),
          ...each('format', 'a@example.com,b@example.com', `ann@${'x'.repeat(64)}.com`),
        ],
      },
      'decided: at most 254 characters': {
        good: [
          named('254 characters', longAddress(254)),
          named('254 characters as it is sent', longInternationalAddress(63)),
        ],
        bad: [
          [named('255 characters', longAddress(255)), 'length'],
          [named('255 characters as it is sent', longInternationalAddress(64)), 'length'],
        ],
      },
      'decided: at most 64 characters before the @': limit(64, (size) => `${'x'.repeat(size)}@example.com`, 'format'),
    },
  }),
  field('type', {
    type: 'string',
    required: true,
    values: { 'the value trader': { good: ['trader'], bad: each('one_of', 'Trader', 'client', 'trader ') } },
  }),
  field('name', {
    type: 'string',
    required: true,
    values: {
      'decided: at most 128 characters': {
        good: [
          'A',
          "Jean-Luc O'Neil",
          '山田 雪',
          'Åsa Öberg-O’Neil',
          named('128 characters beyond the BMP', '𝒜'.repeat(128)),
        ],
        bad: [[named('129 characters', 'x'.repeat(129)), 'length']],
      },
      'decided: no control characters': {
        good: ['<b>|LEVERAGE=500'],
        bad: each('characters', 'Ann\nLee', 'Ann\r', 'Ann\u0000', 'Ann\u0085Lee', 'A\u007f', HALF),
      },
      'decided: no invisible characters, and none that change the direction': {
        good: ['Zoë 😀', named('a variant of a Chinese character', '辻\u{e0100}')],
        bad: each(
          'characters',
          ...[
            0x200b, 0x200d, 0x200e, 0x202e, 0x2066, 0x2028, 0x2029, 0x2060, 0xfeff, 0xad, 0x61c, 0x180e, 0x3164,
            0xe0041,
          ].map((code) => named(`a name with U+${code.toString(16)}`, `Ann${String.fromCodePoint(code)}Lee`)),
        ),
      },
      'decided: a letter or a digit': {
        good: ['7', 'ß', '山', 'ق'],
        bad: each('characters', '.', ' ', '- -', '😀', '\u2800'),
      },
    },
  }),
  ...PHONE_FIELDS,
  field('otp_type', {
    type: 'string',
    values: {
      'default email': { good: [ABSENT, readAs('', ABSENT)] },
      'one of email, sms, call, whatsapp': { bad: each('one_of', 'fax', 'EMAIL', 'sms ', 'email,sms') },
    },
  }),
  field('password', {
    carried: passwords,
    type: 'string',
    required: true,
    values: {
      'decided: 8 to 128 characters': {
        good: [
          'aaaaaaab',
          'пароль длинный',
          'a\tb\nc\u0000defg',
          named('128 characters', 'x'.repeat(128)),
          '😀😀😀😀😀😀😀😀',
        ],
        bad: [
          ...each('length', 'aaaaaaa', '😀😀😀😀😀😀😀', named('129 characters', 'x'.repeat(129))),
          [`long enough, ${HALF}`, 'characters'],
        ],
      },
      'decided: not only white space': { bad: each('characters', '        ', '\u3000\t\n      ') },
      'decided: not a common password': {
        good: ['correct horse', 'password but long'],
        bad: each('common', 'password', 'Password1', '12345678', 'QWERTYUIOP', 'iloveyou', 'trustno1'),
      },
    },
  }),
  field('repeat_password', {
    carried: (value) => ({ password: 'Some password', repeat_password: value }),
    type: 'string',
    required: true,
    values: {
      'the password repeated': {
        good: ['Some password'],
        bad: each('password_mismatch', 'some password', 'Some password ', 'Some passwor'),
      },
    },
  }),
  field('form_id', {
    type: 'string',
    required: true,
    values: {
      'length 8': {
        good: [FORM, '~!@#$%^&'],
        bad: [
          ...each('length', 'FORM001', 'FORM00001'),
          ...each('characters', 'FORM 001', 'FÖRM0001', 'FORM000\n', 'FORM000\u007f'),
        ],
      },
    },
  }),
  field('referrer_id', {
    type: 'string',
    required: false,
    values: {
      'length 8': {
        good: ['REFANN01', '*&^%$#@!'],
        bad: [...each('length', 'REFANN1', 'REFANN001'), ...each('characters', 'REF ANN1', 'REFÄNN01')],
      },
    },
  }),
  field('language', {
    type: 'string',
    required: false,
    values: {
      'language code': {
        good: [
          'en',
          'EN',
          'pt-BR',
          'zh-Hant-TW',
          'sr-Latn-RS',
          'tlh',
          'es-419',
          'sl-rozaj-biske',
          'de-DE-u-co-phonebk',
          readAs('pt_BR', 'pt-BR'),
          readAs('zh_Hant_TW', 'zh-Hant-TW'),
        ],
        bad: [
          ...each('language', 'e', '12', 'en\n', 'en--US', 'en__US', 'english language', 'en-', '-en', 'en-GB-', 'ё'),
          ...each('language', 'en,de'),
        ],
      },
      'decided: at most 64 characters': limit(64, (size) => LONG_LANGUAGE.padEnd(size, 'x'), 'language'),
    },
  }),
];

/** Values that leave a required field empty. */
const EMPTY: Partial<Record<FormField['type'], readonly unknown[]>> = {
  dynamicSelect: [null, [], {}, { id: '', label: '' }],
  multiselect: [[]],
  checkbox: [[]],
  document: [[]],
  phone: [{}, { country_code: '', number: '' }],
  location: [{}, { country: '', state: '', city: '' }],
  participants: [[]],
  leads: [[]],
};

/** The other members of the root. */
export const ROOT_FIELDS: Field[] = [
  field('custom_fields', {
    required: false,
    values: {
      'keys of the registration form at the root': {
        good: [readAs({}, ABSENT)],
        bad: each('unknown_field', { k3y_text: 'x' }, 'x', []),
      },
    },
  }),
  ...['Email', 'user_id', 'k3y_TEXT', '', 'constructor', 'toString'].map(
    (key): Field => ({
      row: '2.1 custom_fields',
      operation,
      at: encodeURIComponent(key),
      carried: (value) => Object.fromEntries([[key, value]]),
      values: {
        'keys of the registration form at the root': {
          bad: [[named(`a key ${JSON.stringify(key)} that the form has not`, 'x'), 'unknown_field']],
        },
      },
    }),
  ),
  field('custom_fields', {
    carried: () => choicesOf(200_000),
    values: {
      'decided: at most 200 kB of JSON beside the documents': { good: [named('200,000 bytes', choicesOf(200_000))] },
    },
  }),
  {
    row: '2.1 custom_fields',
    operation,
    at: keyOf('boolean'),
    carried: (value) => ({ form_id: CONSENT_FORM, [keyOf('boolean')]: value }),
    values: {
      'decided: a consent that must be given': {
        good: [true],
        bad: [...each('must_be_true', false), ...each('required', ABSENT, ''), ...each('type', 'true', null)],
      },
    },
  },
  ...CUSTOM_FIELD_TYPES.flatMap((type): Field[] => {
    const others = CUSTOM_FIELD_TYPES.filter((other) => other !== type);
    const filled = Object.fromEntries(others.map((other) => [keyOf(other), exampleValue(other)]));
    return [
      {
        row: '2.1 custom_fields',
        operation,
        at: keyOf(type),
        carried: (value) => ({ form_id: DEMANDING_FORM, ...filled, [keyOf(type)]: value }),
        values: {
          'decided: required by the form': {
            good: [named(`an example of ${type}`, exampleValue(type))],
            bad: each(
              'required',
              ...['', ...(EMPTY[type] ?? [])].map((value) => named(`${JSON.stringify(value)} for ${type}`, value)),
            ),
          },
        },
      },
    ];
  }),
  {
    row: '2.1 custom_fields',
    operation,
    at: 'a~1b~0c%20d%25%C3%A9',
    carried: (value) => ({ [MORE_KEYS.escaped]: value }),
    values: {
      'keys of the registration form at the root': {
        good: [named('a key that a JSON Pointer has to escape', true)],
        bad: [[named('a wrong value under a key that a JSON Pointer has to escape', 'yes'), 'type']],
      },
    },
  },
];

const BRITISH = { country_code: '44', number: '7400123456' };
const CANADIAN = { country_code: '1', number: '4165551234' };

/** Values of two fields that must agree. */
export const AGREEING_FIELDS: FieldCase[] = [
  {
    row: '2.1 repeat_password',
    rule: 'the password repeated',
    says: 'the same letters in other code points',
    operation,
    body: { password: 'é'.repeat(8), repeat_password: 'e\u0301'.repeat(8) },
    violations: listed('password_mismatch@#/repeat_password'),
  },
  ...PHONE_CHANNELS.map((otp_type) => ({
    row: '2.1 phone.number',
    rule: 'decided: a mobile number, for a call also a fixed line',
    says: `a number of a satellite network with ${otp_type}`,
    operation,
    body: { otp_type, phone: { country_code: '870', number: '773123456' } },
    violations: listed('number_type@#/phone/number'),
  })),
];

/** Of a deployment that sends messages to British numbers alone. */
export const SERVED_COUNTRIES: FieldCase[] = [...PHONE_CHANNELS, 'email'].flatMap((otp_type) =>
  [BRITISH, CANADIAN].map((phone) => ({
    row: '2.1 phone.country_code',
    rule: 'decided: of a country that the deployment serves',
    says: `the number +${phone.country_code}${phone.number} with ${otp_type}, where only GB is served,`,
    operation,
    body: { otp_type, phone },
    served: ['GB'],
    violations: phone === CANADIAN && otp_type !== 'email' ? listed('country_not_served@#/phone/country_code') : [],
  })),
);
