import { FORM, keyOf, LONG_LANGUAGE, MORE_KEYS, OPTIONS } from './specification-records.ts';
import { ABSENT, type Case, each, type Field, fieldCases, named, spelled } from './specification-table.ts';

const operation = 'registration' as const;
const PHONE = { country_code: '44', number: '7400 123456' };
/** A string that holds half of a character: no UTF-8 can carry it, JSON's escapes can. */
const HALF = 'half \ud83d';

const phone = (member: 'country_code' | 'number', more: object = {}) => ({
  at: `phone/${member}`,
  carried: (value: unknown) => ({ phone: { ...PHONE, [member]: value }, ...more }),
});
const passwords = (value: unknown) => ({
  password: value,
  repeat_password: typeof value === 'string' ? value : 'some password',
});
/** An address of so many characters, with a local part of 64. */
const longAddress = (length: number) => {
  const domain = `${'d'.repeat(60)}.`.repeat(4).slice(0, length - 65 - '.example'.length);
  return `${'l'.repeat(64)}@${domain.replace(/\.$/, 'd')}.example`;
};

/** An address that mail carries in punycode: 191 characters beside its local part, more than are typed. */
const longInternationalAddress = (local: number) => {
  const label = 'ü'.repeat(54);
  return `${'l'.repeat(local)}@${label}.${label}.${label}.example`;
};

const PHONE_CHANNELS = ['sms', 'call', 'whatsapp'] as const;

const FIXED_FIELDS: Field[] = [
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
      'decided: 1 to 128 characters': {
        good: ['A', "Jean-Luc O'Neil", '山田 雪', named('128 characters beyond the BMP', '𝒜'.repeat(128))],
        bad: [
          ['', 'length'],
          [named('129 characters', 'x'.repeat(129)), 'length'],
        ],
      },
      'decided: no control characters': {
        good: ['<b>|LEVERAGE=500'],
        bad: each('characters', 'Ann\nLee', 'Ann\r', 'Ann\u0000', 'Ann\u0085Lee', '\u007f', HALF),
      },
    },
  },
  {
    row: '2.1 phone',
    operation,
    at: 'phone',
    type: 'object',
    required: false,
    values: {
      object: { good: [{}, PHONE] },
      'decided: no other members': {
        bad: [
          [{ ...PHONE, extension: '1' }, 'unknown_field@/extension'],
          [{ extension: '1', type: 'home' }, 'unknown_field@/extension', 'unknown_field@/type'],
        ],
      },
    },
  },
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
        good: ['7400123456', '07400 123456', '(07400) 12-34-56', '+44 7400 123456', ''],
        bad: [
          ...each(
            'phone',
            '1',
            '74001',
            '74001234567890',
            'call me',
            '7400123456 ext. 7',
            '+33612345678',
            '0'.repeat(40),
          ),
        ],
      },
      'decided: at most 40 characters': {
        good: [named('40 characters', `7400${' '.repeat(30)}123456`)],
        bad: [[named('41 characters', `7400${' '.repeat(31)}123456`), 'length']],
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

/** Choices that have so many bytes of JSON, together with their key. */
export function choicesOf(bytes: number): Record<string, string[]> {
  const key = keyOf('multiselect');
  const full = Array.from({ length: Math.floor(bytes / 10_100) }, () => 'x'.repeat(10_000));
  const rest = bytes - JSON.stringify({ [key]: [...full, ''] }).length;
  return { [key]: [...full, 'x'.repeat(rest)] };
}

/** What stands at the root beside the fixed fields. */
const ROOT_FIELDS: Field[] = [
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

/** A field of the form that has every type. */
function custom(type: Parameters<typeof keyOf>[0], field: Pick<Field, 'type' | 'values'>, key = keyOf(type)): Field {
  return { row: `2.2 ${type}`, operation, at: key, ...field };
}

const CHOICE = "decided: one of the form's options";
const MOST_CHARACTERS = 'decided: at most 10,000 characters';
const MEGABYTE = 1024 * 1024;
const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64');
const PDF = base64('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n');
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const DOCUMENT = { id: 'd1', name: 'passport.pdf', doc: PDF };
/** A text file of so many bytes. */
export function textFile(bytes: number): { id: string; name: string; doc: string } {
  return { id: '1', name: 'x.txt', doc: Buffer.alloc(bytes, 'text ').toString('base64') };
}
const without = (member: keyof typeof DOCUMENT) => {
  const { [member]: _, ...rest } = DOCUMENT;
  return rest;
};
const PLACE = { country: 'United Kingdom', state: 'Wales', city: 'Cardiff' };
const everyPlace = (length: number) => {
  const name = 'x'.repeat(length);
  return { country: name, state: name, city: name };
};
/** People whose JSON has so many characters. */
const peopleOf = (characters: number) => [{ more: 'x'.repeat(characters - JSON.stringify([{ more: '' }]).length) }];
const nested = (levels: number): unknown => (levels === 0 ? 'x' : [nested(levels - 1)]);

const CUSTOM_FIELDS: Field[] = [
  ...(['text', 'textarea', 'description'] as const).map((type) =>
    custom(type, {
      type: 'string',
      values: {
        string: { good: ['', 'two\nlines \u0000', 'ünï😀'], bad: [[HALF, 'characters']] },
        [MOST_CHARACTERS]: {
          good: [named('10,000 characters', '𝒜'.repeat(10_000))],
          bad: [[named('10,001 characters', 'x'.repeat(10_001)), 'length']],
        },
      },
    }),
  ),
  custom('number', {
    type: 'number',
    values: {
      number: {
        good: [0, -1.5, 1e21, spelled('1E-7'), spelled('5.00'), Number.MAX_SAFE_INTEGER],
        bad: each('type', spelled('1e999'), spelled('-1e999')),
      },
    },
  }),
  custom('number_string', {
    type: 'string',
    values: {
      'numeric string': {
        good: ['0', '-12.50', '+7', '007', '.5', '123456789012345678901234567890.123'],
        bad: [
          ...each(
            'format',
            '',
            ' ',
            'x',
            '1e5',
            '1,5',
            '1.',
            ' 1',
            '1 ',
            '0x10',
            'NaN',
            'Infinity',
            '--1',
            '1.2.3',
            '١٢',
            '½',
          ),
        ],
      },
      'decided: at most 255 characters': {
        good: [named('255 digits', '1'.repeat(255))],
        bad: [[named('256 digits', '1'.repeat(256)), 'length']],
      },
    },
  }),
  custom('boolean', { type: 'boolean', values: { boolean: { good: [true, false] } } }),
  ...(['radio', 'select'] as const).flatMap((type) => [
    custom(type, {
      type: 'string',
      values: {
        string: { good: ['whatever the form does not list', ''] },
        [MOST_CHARACTERS]: {
          good: [named('10,000 characters', 'x'.repeat(10_000))],
          bad: [[named('10,001 characters', 'x'.repeat(10_001)), 'length']],
        },
      },
    }),
    custom(
      type,
      { values: { [CHOICE]: { good: OPTIONS, bad: each('one_of', 'oil', '', 'FX', 'fx ') } } },
      MORE_KEYS[type],
    ),
  ]),
  custom('dynamicSelect', {
    values: {
      'any value': {
        good: ['x', '', 5, true, false, null, [], {}, ['a', 1], { id: 7, label: { en: 'Seven' } }],
      },
      'decided: at most 20,000 characters of JSON': {
        good: [named('20,000 characters with the quotes', 'x'.repeat(19_998))],
        bad: [[named('20,001 characters with the quotes', 'x'.repeat(19_999)), 'length']],
      },
      'decided: at most 20 levels deep': {
        good: [named('20 levels', nested(20))],
        bad: [[named('21 levels', nested(21)), 'nesting']],
      },
      'decided: what JSON and UTF-8 can carry': {
        bad: [
          [named('an infinite number inside', [spelled('1e999').value]), 'type'],
          [[HALF], 'characters'],
        ],
      },
    },
  }),
  ...(['multiselect', 'checkbox'] as const).flatMap((type) => [
    custom(type, {
      type: 'array',
      values: {
        array: { good: [[]] },
        'array of strings': {
          good: [['whatever', 'the form does not list']],
          bad: [
            [[1], 'type@/0'],
            [['x', null, true, ['x'], {}], 'type@/1', 'type@/2', 'type@/3', 'type@/4'],
          ],
        },
        'decided: at most 500 choices': {
          good: [named('500 choices', new Array(500).fill('x'))],
          bad: [[named('501 choices', new Array(501).fill('x')), 'too_many']],
        },
        'decided: at most 10,000 characters each': {
          good: [named('10,000 characters', ['x'.repeat(10_000)])],
          bad: [[named('10,001 characters', ['x', 'x'.repeat(10_001)]), 'length@/1']],
        },
      },
    }),
    custom(
      type,
      {
        values: {
          [CHOICE]: {
            good: [[OPTIONS[0]], OPTIONS, []],
            bad: [
              [['oil'], 'one_of@/0'],
              [['fx', 'oil', 'metals', ''], 'one_of@/1', 'one_of@/3'],
            ],
          },
        },
      },
      MORE_KEYS[type],
    ),
  ]),
  custom('date', {
    type: 'string',
    values: {
      'format YYYY-MM-DD': {
        good: ['2024-02-29', '1970-01-01', '0001-01-01', '9999-12-31'],
        bad: [
          ...each('date', '', '2023-02-29', '1900-02-29', '2024-04-31', '2024-13-01', '2024-00-10', '2024-01-00'),
          ...each('date', '2024-1-1', '29-02-2024', '20240229', '2024/02/29', '2024-02-29T00:00:00Z', ' 2024-02-29'),
          ...each('date', '2024-02-29\n', '+12024-02-29', 'tomorrow'),
        ],
      },
    },
  }),
  custom('document', {
    type: 'array',
    values: {
      array: { good: [[]] },
      'array of objects': {
        good: [named('a PDF', [DOCUMENT])],
        bad: [
          [['x', null, 1, []], 'type@/0', 'type@/1', 'type@/2', 'type@/3'],
          [named('an object without members', [{}]), 'required@/0/id', 'required@/0/name', 'required@/0/doc'],
        ],
      },
      'id (string)': {
        good: [named('an empty id', [{ ...DOCUMENT, id: '' }])],
        bad: [
          [named('no id', [without('id')]), 'required@/0/id'],
          [named('the id 1', [{ ...DOCUMENT, id: 1 }]), 'type@/0/id'],
        ],
      },
      'decided: id of at most 255 characters': {
        good: [named('255 characters', [{ ...DOCUMENT, id: 'x'.repeat(255) }])],
        bad: [[named('256 characters', [{ ...DOCUMENT, id: 'x'.repeat(256) }]), 'length@/0/id']],
      },
      'decided: name of at most 255 characters': {
        good: [named('255 characters', [{ ...DOCUMENT, name: 'x'.repeat(255) }])],
        bad: [[named('256 characters', [{ ...DOCUMENT, name: 'x'.repeat(256) }]), 'length@/0/name']],
      },
      'decided: at most 3 MB': { good: [named('a text file of 3 MB', [textFile(3 * MEGABYTE)])] },
      'decided: at most 4 MB together': {
        good: [
          named('text files of 3 MB and 1 MB', [3 * MEGABYTE, MEGABYTE].map(textFile)),
          named('text files of 4 MB in three', [2 * MEGABYTE, 2 * MEGABYTE - 1, 1].map(textFile)),
        ],
      },
      'name (string)': {
        good: [named('a name such as ../../паспорт "1".pdf', [{ ...DOCUMENT, name: '../../паспорт "1".pdf' }])],
        bad: [
          [named('no name', [without('name')]), 'required@/0/name'],
          [named('the name null', [{ ...DOCUMENT, name: null }]), 'type@/0/name'],
        ],
      },
      'doc (string, base64-encoded content)': {
        bad: [
          [named('no doc', [without('doc')]), 'required@/0/doc'],
          [named('the doc 7', [{ ...DOCUMENT, doc: 7 }]), 'type@/0/doc'],
          [named('an empty doc', [{ ...DOCUMENT, doc: '' }]), 'length@/0/doc'],
          ...['not base64', 'QQ', 'QR==', 'QUI=\n', ' QUI=', 'ab-_', 'QUI', 'Q===', 'data:text/plain;base64,QUI='].map(
            (doc) => [named(`the doc ${JSON.stringify(doc)}`, [{ ...DOCUMENT, doc }]), 'base64@/0/doc'] as const,
          ),
          [
            named('faults in the first and the third of three', [
              { ...DOCUMENT, doc: '%' },
              DOCUMENT,
              { ...DOCUMENT, doc: '%' },
            ]),
            'base64@/0/doc',
            'base64@/2/doc',
          ],
        ],
      },
      'decided: no other members': {
        bad: [[named('a member more', [{ ...DOCUMENT, type: 'pdf' }]), 'unknown_field@/0/type']],
      },
      'decided: a media type that the form accepts': {
        good: [
          named('a PNG', [{ ...DOCUMENT, doc: PNG }]),
          named('plain text', [{ ...DOCUMENT, doc: base64('plain text') }]),
        ],
        bad: [
          [
            named('bytes of no kind under a name such as x.pdf', [{ ...DOCUMENT, doc: 'AAEC/w==' }]),
            'media_type@/0/doc',
          ],
          [
            named('a program, after a PDF', [DOCUMENT, { ...DOCUMENT, doc: base64('MZ\x90\x00\x03\x00\x00\x00') }]),
            'media_type@/1/doc',
          ],
        ],
      },
      'decided: at most 10 documents': {
        good: [
          named(
            'ten',
            Array.from({ length: 10 }, () => ({ ...DOCUMENT, doc: GIF })),
          ),
        ],
        bad: [
          [
            named(
              'eleven',
              Array.from({ length: 11 }, () => DOCUMENT),
            ),
            'too_many',
          ],
        ],
      },
    },
  }),
  custom(
    'document',
    {
      values: {
        'decided: a media type that the form accepts': {
          good: [named('bytes of any kind where the form lists none', [{ ...DOCUMENT, doc: 'AAEC/w==' }])],
        },
      },
    },
    MORE_KEYS.document,
  ),
  {
    row: '2.2 document',
    operation,
    at: MORE_KEYS.document,
    carried: (value) => ({
      [keyOf('document')]: Array.from({ length: 6 }, () => DOCUMENT),
      [MORE_KEYS.document]: value,
    }),
    values: {
      'decided: at most 10 documents': {
        good: [named('ten in two fields', new Array(4).fill(DOCUMENT))],
        bad: [
          [
            named(
              'eleven in two fields',
              Array.from({ length: 5 }, () => DOCUMENT),
            ),
            'too_many@/4',
          ],
        ],
      },
    },
  },
  custom('phone', {
    type: 'object',
    values: {
      object: { good: [PHONE, { country_code: '+1', number: '(202) 555-0123' }] },
      'country_code (string)': {
        bad: [
          [{ number: '7400123456' }, 'required@/country_code'],
          [{ ...PHONE, country_code: 44 }, 'type@/country_code'],
          [{ ...PHONE, country_code: 'GB' }, 'format@/country_code'],
        ],
      },
      'number (string)': {
        bad: [
          [{ country_code: '44' }, 'required@/number'],
          [{ ...PHONE, number: 7400123456 }, 'type@/number'],
          [{ ...PHONE, number: '12' }, 'phone@/number'],
          [{ country_code: '', number: '' }, 'phone@/number'],
        ],
      },
      'decided: number of at most 40 characters': {
        good: [named('40 characters', { ...PHONE, number: `7400${' '.repeat(30)}123456` })],
        bad: [[named('41 characters', { ...PHONE, number: `7400${' '.repeat(31)}123456` }), 'length@/number']],
      },
      'decided: no other members': { bad: [[{ ...PHONE, ext: '1' }, 'unknown_field@/ext']] },
    },
  }),
  custom('email', {
    type: 'string',
    values: {
      'decided: email format': {
        good: ['second@example.com', 'zweite@bücher.example'],
        bad: each('format', '', 'x', 'x@', 'x@y', 'a b@example.com'),
      },
      'decided: at most 254 characters': {
        good: [named('254 characters', longAddress(254))],
        bad: [[named('255 characters', longAddress(255)), 'length']],
      },
    },
  }),
  ...(['country', 'nation'] as const).map((type) =>
    custom(type, {
      type: 'string',
      values: {
        'a country code': {
          good: ['GB', 'DE', 'AQ'],
          bad: each('country', '', 'gb', 'GBR', 'UK', 'XX', 'EU', '44', 'Germany', 'GB '),
        },
      },
    }),
  ),
  custom('location', {
    type: 'object',
    values: {
      object: { good: [PLACE, { country: '', state: '', city: '' }] },
      'country (string)': {
        bad: [
          [{ state: 'x', city: 'x' }, 'required@/country'],
          [{ ...PLACE, country: 1 }, 'type@/country'],
        ],
      },
      'state (string)': {
        bad: [
          [{ country: 'x', city: 'x' }, 'required@/state'],
          [{ ...PLACE, state: null }, 'type@/state'],
        ],
      },
      'city (string)': {
        bad: [
          [{ country: 'x', state: 'x' }, 'required@/city'],
          [{ ...PLACE, city: ['x'] }, 'type@/city'],
        ],
      },
      'decided: each of at most 255 characters': {
        good: [named('255 characters each', everyPlace(255))],
        bad: [[named('256 characters each', everyPlace(256)), 'length@/country', 'length@/state', 'length@/city']],
      },
      'decided: no other members': {
        bad: [[{ ...PLACE, zip: '1', street: 'x' }, 'unknown_field@/zip', 'unknown_field@/street']],
      },
    },
  }),
  ...(['participants', 'leads'] as const).map((type) =>
    custom(type, {
      type: 'array',
      values: {
        array: { good: [[]] },
        'array of objects': {
          good: [
            [
              { id: '1', name: 'Ann' },
              { id: '2', name: 'Bo' },
            ],
            [{}],
          ],
          bad: [[['x', null, 1, []], 'type@/0', 'type@/1', 'type@/2', 'type@/3']],
        },
        'open to other members': { good: [[{ id: '1', name: 'Ann', share: 0.5, tags: ['a'], more: { deep: null } }]] },
        'decided: id and name are strings': {
          bad: [
            [[{ id: 1, name: 'Ann' }], 'type@/0/id'],
            [[{ id: '1' }, { id: '2', name: null }], 'type@/1/name'],
          ],
        },
        'decided: id and name of at most 255 characters': {
          good: [named('255 characters each', [{ id: 'x'.repeat(255), name: 'x'.repeat(255) }])],
          bad: [
            [
              named('256 characters each', [{}, { id: 'x'.repeat(256), name: 'x'.repeat(256) }]),
              'length@/1/id',
              'length@/1/name',
            ],
          ],
        },
        'decided: at most 20,000 characters of JSON': {
          good: [named('20,000 characters', peopleOf(20_000))],
          bad: [[named('20,001 characters', peopleOf(20_001)), 'length']],
        },
        'decided: at most 20 levels deep': {
          good: [named('20 levels', [{ more: nested(18) }])],
          bad: [[named('21 levels', [{ more: nested(19) }]), 'nesting']],
        },
        'decided: at most 100': {
          good: [
            named(
              '100 people',
              Array.from({ length: 100 }, () => ({ id: '1', name: 'Ann' })),
            ),
          ],
          bad: [
            [
              named(
                '101 people',
                Array.from({ length: 101 }, () => ({})),
              ),
              'too_many',
            ],
          ],
        },
      },
    }),
  ),
];

/** Sections 2.1 and 2.2: every field of a registration, with good and bad values. */
export const REGISTRATION_CASES: readonly Case[] = [...FIXED_FIELDS, ...ROOT_FIELDS, ...CUSTOM_FIELDS].flatMap(
  fieldCases,
);
