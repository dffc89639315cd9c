import { MAX_NAME_CHARACTERS } from '../../lib/validators/registration.ts';
import { PHONE_FIELDS } from './phone-fields.ts';
import { FORM, LONG_LANGUAGE, MORE_KEYS } from './records.ts';
import { choicesOf, HALF, longAddress, longInternationalAddress } from './samples.ts';
import { ABSENT, each, type Field, named } from './table.ts';

const operation = 'registration' as const;

const passwords = (value: unknown) => ({
  password: value,
  repeat_password: typeof value === 'string' ? value : 'some password',
});

/** Section 2.1: the fields that every registration has. */
export const FIXED_FIELDS: Field[] = [
  {
    row: '2.1 email',
    operation,
    at: 'email',
    type: 'string',
    required: true,
    values: {
      'email format': {
        good: [
          'ann.lee@example.com',
          'ANN.B@Example.COM',
          "o'hara+tag@example.co.uk",
          '1@2.example',
          'ann@bücher.example',
          'ann@例え.jp',
          named('a label of 63 characters', `ann@${'x'.repeat(63)}.com`),
        ],
        bad: [
          ...each('format', '', 'ann', '@example.com', 'ann@', 'ann@example', 'ann@@example.com', 'a b@example.com'),
          ...each('format', 'ann@exam ple.com', ' ann@example.com', 'ann@example.com ', 'ann@example.com\n'),
          ...each('format', 'jörg@example.com', '"ann"@example.com', 'ann..lee@example.com', '.ann@example.com'),
          ...each('format', 'ann.@example.com', 'ann@-example.com', 'ann@example..com', 'ann@example.com.'),
          ...each('format', 'ann@127.0.0.1', 'ann@[127.0.0.1]', 'Ann <ann@example.com>', 'a@example.com,b@example.com'),
          [named('a label of 64 characters', `ann@${'x'.repeat(64)}.com`), 'format'],
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
      'decided: at most 64 characters before the @': {
        good: [named('64 characters', `${'x'.repeat(64)}@example.com`)],
        bad: [[named('65 characters', `${'x'.repeat(65)}@example.com`), 'format']],
      },
    },
  },
  {
    row: '2.1 type',
    operation,
    at: 'type',
    type: 'string',
    required: true,
    values: { 'the value trader': { good: ['trader'], bad: each('one_of', 'Trader', '', 'client', 'trader ') } },
  },
  {
    row: '2.1 name',
    operation,
    at: 'name',
    type: 'string',
    required: true,
    values: {
      'decided: a length': {
        good: [
          'A',
          "Jean-Luc O'Neil",
          '山田 雪',
          named('the longest, beyond the BMP', '𝒜'.repeat(MAX_NAME_CHARACTERS)),
        ],
        bad: [
          ['', 'length'],
          [named('one character more', 'x'.repeat(MAX_NAME_CHARACTERS + 1)), 'length'],
        ],
      },
      'decided: no control characters': {
        good: ['<b>|LEVERAGE=500'],
        bad: each('characters', 'Ann\nLee', 'Ann\r', 'Ann\u0000', 'Ann\u0085Lee', '\u007f', HALF),
      },
    },
  },
  ...PHONE_FIELDS,
  {
    row: '2.1 otp_type',
    operation,
    at: 'otp_type',
    type: 'string',
    values: {
      'default email': { good: [ABSENT] },
      'one of email, sms, call, whatsapp': { bad: each('one_of', 'fax', '', 'EMAIL', 'sms ', 'email,sms') },
    },
  },
  {
    row: '2.1 password',
    operation,
    at: 'password',
    carried: passwords,
    type: 'string',
    required: true,
    values: {
      'decided: 8 to 128 characters': {
        good: ['aaaaaaaa', '        ', 'пароль длинный', named('128 characters', 'x'.repeat(128)), '😀😀😀😀😀😀😀😀'],
        bad: [
          ...each('length', '', 'aaaaaaa', '😀😀😀😀😀😀😀', named('129 characters', 'x'.repeat(129))),
          [`long enough, ${HALF}`, 'characters'],
        ],
      },
    },
  },
  {
    row: '2.1 repeat_password',
    operation,
    at: 'repeat_password',
    carried: (value) => ({ password: 'Some password', repeat_password: value }),
    type: 'string',
    required: true,
    values: {
      'the password repeated': {
        good: ['Some password'],
        bad: each('password_mismatch', 'some password', 'Some password ', 'Some passwor', ''),
      },
    },
  },
  {
    row: '2.1 form_id',
    operation,
    at: 'form_id',
    type: 'string',
    required: true,
    values: {
      'length 8': {
        good: [FORM, '~!@#$%^&'],
        bad: [
          ...each('length', '', 'FORM001', 'FORM00001'),
          ...each('characters', 'FORM 001', 'FÖRM0001', 'FORM000\n'),
        ],
      },
    },
  },
  {
    row: '2.1 referrer_id',
    operation,
    at: 'referrer_id',
    type: 'string',
    required: false,
    values: {
      'length 8': {
        good: ['REFANN01', '*&^%$#@!'],
        bad: [...each('length', '', 'REFANN1', 'REFANN001'), ...each('characters', 'REF ANN1', 'REFÄNN01')],
      },
    },
  },
  {
    row: '2.1 language',
    operation,
    at: 'language',
    type: 'string',
    required: false,
    values: {
      'language code': {
        good: ['en', 'EN', 'pt-BR', 'zh-Hant-TW', 'sr-Latn-RS', 'tlh', 'de-DE-u-co-phonebk'],
        bad: each('language', '', 'e', 'en_GB', 'english language', 'en-', '-en', 'en-GB-', 'ё', 'en,de'),
      },
      'decided: at most 64 characters': {
        good: [named('64 characters', LONG_LANGUAGE)],
        bad: [[named('65 characters', `${LONG_LANGUAGE}x`), 'language']],
      },
    },
  },
];

/** What stands at the root beside the fixed fields. */
export const ROOT_FIELDS: Field[] = [
  {
    row: '2.1 custom_fields',
    operation,
    at: 'custom_fields',
    required: false,
    values: { 'keys of the registration form at the root': { bad: each('unknown_field', {}, { k3y_text: 'x' }) } },
  },
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
  {
    row: '2.1 custom_fields',
    operation,
    at: 'custom_fields',
    carried: () => choicesOf(200_000),
    values: {
      'decided: at most 200 kB of JSON beside the documents': { good: [named('200,000 bytes', choicesOf(200_000))] },
    },
  },
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
