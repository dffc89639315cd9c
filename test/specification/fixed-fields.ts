import { FORM, LONG_LANGUAGE } from './records.ts';
import { HALF_CHARACTER, longAddress, longInternationalAddress, PHONE, unrepeated, withCharacter } from './samples.ts';
import { ABSENT, each, type Field, limit, named, PHONE_CHANNELS, readAs } from './table.ts';

const operation = 'registration' as const;

/** A fixed field of the registration request. */
export const field = (name: string, rest: Omit<Field, 'row' | 'operation' | 'at'>): Field => ({
  row: `2.1 ${name}`,
  operation,
  at: name,
  ...rest,
});

const passwords = (value: unknown) => ({
  password: value,
  repeat_password: typeof value === 'string' && value !== '' ? value : 'some password',
});

/** Numbers as keyboards, address books and web pages give them: the separators are neither digits nor letters. */
const OTHER_WAYS_TO_TYPE = [
  ...[
    '7400ー123ー456',
    '7400ｰ123456',
    '7400一123456',
    '7400ㅡ123ㅡ456',
    '7400_123_456',
    '7400*123#456',
    '7400·123•456',
  ],
  ...['7400~123456', '7400〜123456', '7400|123,456', '7️⃣4️⃣00 123456', '(+44) 7400 123456', '(+44)7400123456'],
  ...[
    '+(44) 7400 123456',
    '(0044) 7400 123456',
    '[+44] 7400 123456',
    '（＋４４）７４００１２３４５６',
    '(+) 44 7400 123456',
  ],
  ...[
    'tel:+447400123456',
    'TEL: 07400 123456',
    'ｔｅｌ：07400 123456',
    '7400 123456.',
    '7400 123456,',
    ':7400 123456;',
  ],
];

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
      object: {
        good: [
          {},
          PHONE,
          ...['', null, ' ', '\u3000\t', '\u200e\n'].flatMap((blank) => [
            readAs({ country_code: blank, number: blank }, ABSENT),
            readAs({ country_code: '44', number: blank }, ABSENT),
          ]),
        ],
      },
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
        good: [
          '44',
          '+44',
          readAs(' 44 ', ABSENT),
          readAs('４４', ABSENT),
          readAs('\u200e+44', ABSENT),
          ...['0044', '++44', '4------4', '(44)', '(+44)', '+ 44', '+(44)', 'tel:+44', '44:'].map((typed) =>
            readAs(typed, ABSENT),
          ),
        ],
        bad: each('format', 'GB', '044', '44x', '+', '+00'),
      },
      'decided: at most 7 digits': { good: [readAs('+4 - - 4', ABSENT)], bad: each('format', '16846331', '+16846331') },
    },
  },
  {
    row: '2.1 phone.number',
    operation,
    ...phone('number'),
    type: 'string',
    required: false,
    values: {
      'decided: a number of a possible length for the dial code': {
        good: [
          '7400123456',
          '07400 123456',
          '(07400) 12-34-56',
          '+44 7400 123456',
          '0044 7400 123456',
          '447400123456',
          ...OTHER_WAYS_TO_TYPE,
        ],
        bad: [
          ...each('phone', '1', '74001', '74001234567890', 'call me', '7400123456 ext. 7', '+33612345678'),
          ...each('phone', '0'.repeat(40)),
        ],
      },
      'decided: at most 40 digits': {
        good: [readAs(`7400${'-'.repeat(40)}123456`, ABSENT)],
        bad: each('length', '0'.repeat(41)),
      },
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
          readAs('ANN.B@Example.COM', 'ANN.B@example.com'),
          ...[' ann@example.com', 'ann@example.com\t', 'ann@example.com\r\n', '\u00a0ann@example.com\u3000'].map(
            (typed) => readAs(typed, 'ann@example.com'),
          ),
          readAs(withCharacter(0x200b, 'ann@example.net'), 'ann@example.net'),
          readAs('ann@ｅｘａｍｐｌｅ．ｎｅｔ', 'ann@example.net'),
          readAs('ann@exa\u00admple.net', 'ann@example.net'),
          readAs('ann@Bu\u0308cher.example', 'ann@bücher.example'),
          'ann@faß.example',
          "o'hara+tag@example.co.uk",
          "o'hara_-#$&*/?=^`{|}~@example.com",
          '1@2.example',
          '1@1.com',
          'a@b.co',
          'ann@a-b.c1.example',
          readAs('ann@xn--mnchen-3ya.de', 'ann@münchen.de'),
          'ann@bücher.example',
          'ann@例え.jp',
          `ann@${'x'.repeat(63)}.com`,
        ],
        bad: [
          ...each('format', 'ann', '@example.com', 'ann@', 'ann@example', 'ann@@example.com', 'a b@example.com'),
          ...each('format', 'ann@exam ple.com', 'ann @example.com', 'ann\n@example.com', '\u2800'),
          ...each('required', ' ', '\u200b', '\r\n'),
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
        bad: each('characters', 'Ann\nLee', 'Ann\tLee', 'Ann\u0000', 'Ann\u0085Lee', 'A\u007f', HALF_CHARACTER),
      },
      'decided: read without what surrounds it': {
        good: [
          ...['  Ann Lee  ', 'Ann Lee\r\n', '\u3000Ann Lee\t', '\u00a0Ann Lee\u2028', '\ufeffAnn Lee', 'Ann\ufffc Lee'],
          ...[
            '\u2068Ann Lee\u2069',
            '\u202aAnn Lee\u202c',
            ' \u2067\u202b Ann Lee\u202c\u2069\n',
            '\u2066Ann\ufeff Lee\u2069\u200e',
          ],
        ].map((typed) => readAs(typed, 'Ann Lee')),
      },
      'decided: no invisible characters, and none that change the direction': {
        good: [
          'Zoë 😀',
          named('a variant of a Chinese character', '辻\u{e0100}'),
          named('a Persian name with U+200C', 'علی\u200cرضا'),
          named('a Sinhala name with U+200D', 'ශ්\u200dරී'),
          named('a Hindi name with U+200D', 'क्\u200dष'),
          readAs('\u200fדוד כהן', 'דוד כהן'),
          readAs('Ann Lee\u200e', 'Ann Lee'),
          readAs('Zoe\u0308', 'Zoë'),
        ],
        bad: each(
          'characters',
          ...[
            0x200b, 0x200d, 0x200e, 0x202d, 0x202e, 0x2066, 0x2028, 0x2029, 0x2060, 0xad, 0x61c, 0x180e, 0x3164,
            0xe0041,
          ].map((code) => named(`a name with U+${code.toString(16)}`, `Ann${String.fromCodePoint(code)}Lee`)),
          named('a direction mark inside a Hebrew name', 'דוד\u200fכהן'),
          named('a change of direction at the end', 'Ann Lee\u202e'),
          named('a name in an override', '\u202dAnn Lee\u202c'),
          named('a name with an isolate that does not end', '\u2068Ann Lee'),
          named('two isolates', '\u2068Ann\u2069 \u2068Lee\u2069'),
          named('a joiner in front', '\u200cعلی'),
          named('a joiner after a Latin letter with a mark', 'q\u0301\u200dx'),
        ),
      },
      'decided: a letter or a digit': {
        good: ['7', 'ß', '山', 'ق'],
        bad: [
          ...each('characters', '.', '- -', '😀', '\u2800', '\u0301'),
          ...each('required', ' ', '\u3000\n', '\u2068\u2069'),
        ],
      },
    },
  }),
  ...PHONE_FIELDS,
  field('otp_type', {
    type: 'string',
    values: {
      'default email': { good: [ABSENT, readAs('', ABSENT), readAs(null, ABSENT)] },
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
          named('128 characters', unrepeated(128)),
          readAs(unrepeated(128, 0xac00).normalize('NFD'), ABSENT, '128 characters of two or three code points each'),
          '😀😁😂😃😅😆😇😈',
        ],
        bad: [
          ...each('length', 'aaaaaaa', '😀😁😂😃😅😆😇', named('129 characters', unrepeated(129))),
          [named('7 characters of two code points each', 'ábéíóúà'.normalize('NFD')), 'length'],
        ],
      },
      'decided: no control characters': {
        bad: each(
          'characters',
          `long enough, ${HALF_CHARACTER}`,
          'a\tbcdefgh',
          'abcdefgx\n',
          'abcdefg\u0000x',
          'abcdefg\u0085x',
        ),
      },
      'decided: not only white space and invisible characters': {
        bad: each(
          'characters',
          '        ',
          '\u3000       ',
          ...[0x200b, 0x3164, 0x2800, 0xad, 0xfe0f].map((code) =>
            named(`eight times U+${code.toString(16)}`, String.fromCodePoint(code).repeat(8)),
          ),
        ),
      },
      'decided: not a common password': {
        good: ['correct horse', 'password but long', 'Ann Lee and Bo'],
        bad: [
          ...each('common', 'password', 'Password1', '12345678', 'QWERTYUIOP', 'iloveyou', 'trustno1', 'p@ssw0rd'),
          ...each('common', 'password1!', '!!Passw0rd!!', 'ｐａｓｓｗｏｒｄ'),
        ],
      },
      'decided: not one block repeated to the end': {
        good: ['abcabcabd', 'xyxyxyxyz'],
        bad: each(
          'common',
          '00000000',
          '123123123',
          '12312312',
          'xqxqxqxq',
          '😀😀😀😀😀😀😀😀',
          named('128 times x', 'x'.repeat(128)),
        ),
      },
      'decided: not a plain sequence': {
        good: ['abcdefgz', '12345679a'],
        bad: each(
          'common',
          '87654321',
          'abcdefgh',
          'HGFEDCBA',
          '34567890',
          '89012345',
          'mnopqrst',
          'qwertyui',
          'абвгдежз',
        ),
      },
    },
  }),
  field('password', {
    carried: (value) => ({ ...passwords(value), email: 'ann.lee@example.com', name: 'Ann Marie Lee' }),
    values: {
      'decided: not the own email, its local part or the name, with up to four digits behind': {
        good: ['ann.lee@example.org', 'Ann Marie Lee of Leeds', 'ann.lee12345', '2026ann.lee', 'ann.leeds'],
        bad: [
          ...each('common', 'ann.lee@example.com', 'Ann.Lee@EXAMPLE.com', 'Ann Marie Lee', 'annmarielee'),
          ...each('common', 'ann.lee1', 'Ann.Lee2026', 'Ann Marie Lee 99', 'ann.lee@example.com1234'),
        ],
      },
      'decided: not the name of the brand, with up to four digits behind': {
        good: ['Example Broker Ltd', 'examplebroker12345'],
        bad: each('common', 'Example Broker', 'examplebroker', 'ExampleBroker2026'),
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
          readAs('zh_CN.UTF-8', 'zh-CN'),
          readAs('de_DE@euro', 'de-DE'),
        ],
        bad: [
          ...each('language', 'e', '12', 'en\n', 'en--US', 'en__US', 'english language', 'en-', '-en', 'en-GB-', 'ё'),
          ...each('language', 'en,de', 'x', 'x-', 'en.', 'de-1996-1996', 'en-x', 'i-unknown', 'i-', 'sgn-BE-DE-'),
          ...each('language', 'x-priv', 'zh-cmn-Hans-CN', 'i-klingon', 'en-GB-oed', 'sgn-BE-FR'),
        ],
      },
      'decided: at most 64 characters': limit(64, (size) => LONG_LANGUAGE.padEnd(size, 'x'), 'language'),
    },
  }),
];
