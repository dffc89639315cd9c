import { keyOf, MORE_KEYS, OPTIONS } from './records.ts';
import { BLANK_IS_ABSENT, custom, HALF_CHARACTER, longAddress, nested, PHONE, textFile } from './samples.ts';
import { ABSENT, type Bad, each, type Field, limit, named, readAs, spelled } from './table.ts';

const CHOICE = "decided: one of the form's options";
const MAX_CHARACTERS = 'decided: at most 10,000 characters';
const PLACE = { country: 'United Kingdom', state: 'Wales', city: 'Cardiff' };
const everyPlace = (length: number) => {
  const name = 'x'.repeat(length);
  return { country: name, state: name, city: name };
};
/** People whose JSON has this many characters. */
const peopleOf = (characters: number) => [{ more: 'x'.repeat(characters - JSON.stringify([{ more: '' }]).length) }];

/** Texts that cannot name a document or a person. */
const NO_LABELS = [
  ['NUL', 'a\u0000b'],
  ['an escape', 'a\u001b[31mb'],
  ['a line end', 'a\nb'],
  ['a line separator', 'a\u2028b'],
  ['a change of direction', 'a\u202efdp.exe'],
  ['a direction mark', 'a\u200fb'],
  ['a path', '../../passport.pdf'],
  ['a path of Windows', 'C:\\passport.pdf'],
] as const;

/** Lists of choices: of a form that names no options, and of one that does. */
const CHOICES: Field['values'] = {
  'array of strings': {
    good: [['whatever', 'the form does not list']],
    bad: [
      [[1], 'type@/0'],
      [['x', null, true, ['x'], {}], 'type@/1', 'type@/2', 'type@/3', 'type@/4'],
    ],
  },
  array: { good: [[]] },
  'decided: at most 500 choices': limit(500, (size) => new Array(size).fill('x'), 'too_many'),
  'decided: at most 10,000 characters each': limit(10_000, (size) => ['x', 'x'.repeat(size)], 'length@/1'),
};
const OFFERED_CHOICES: Field['values'] = {
  [CHOICE]: {
    good: [
      [OPTIONS[0]],
      OPTIONS,
      [],
      readAs([''], ABSENT),
      readAs(['', ''], ABSENT),
      readAs(['', OPTIONS[0], ''], [OPTIONS[0]]),
    ],
    bad: [
      [['oil'], 'one_of@/0'],
      [['', 'oil', 'fx', 'zinc'], 'one_of@/1', 'one_of@/3'],
    ],
  },
};

/** The parser rounds larger integers. */
const EXACT = 'decided: no integer beyond ±(2^53 − 1)';

/** Lists of people, open to other members. */
const PEOPLE: Field['values'] = {
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
  array: { good: [[]] },
  'open to other members': { good: [[{ id: '1', name: 'Ann', share: 0.5, tags: ['a'], more: { deep: null } }]] },
  'decided: id is a string or a number, name a string': {
    good: [[{ id: 7, name: 'Ann' }]],
    bad: [
      [[{ id: true, name: 'Ann' }, { id: [] }], 'type@/0/id', 'type@/1/id'],
      [[{ id: '1' }, { id: '2', name: 7 }], 'type@/1/name'],
    ],
  },
  [EXACT]: {
    good: [[{ id: 9_007_199_254_740_991 }]],
    bad: [
      [named('a rounded id', [{ id: spelled('9007199254740993').value }]), 'number'],
      [named('a rounded member', [{ more: { ids: [spelled('1e16').value] } }]), 'number'],
    ],
  },
  'decided: id and name on one line, without a path': {
    bad: NO_LABELS.map(
      ([words, text]): Bad => [
        named(`${words} in an id and a name`, [{ id: '1' }, { id: text, name: text }]),
        'characters@/1/id',
        'characters@/1/name',
      ],
    ),
  },
  'decided: id and name of at most 255 characters': limit(
    255,
    (size) => [{}, { id: 'x'.repeat(size), name: 'x'.repeat(size) }],
    ...['length@/1/id', 'length@/1/name'],
  ),
  'decided: at most 20,000 characters of JSON': limit(20_000, peopleOf),
  // Each person counts for two of them.
  'decided: at most 20 levels deep': limit(20, (size) => [{ more: nested(size - 2) }], 'nesting'),
  'decided: at most 100': limit(100, (size) => new Array(size).fill({ id: '1', name: 'Ann' }), 'too_many'),
};

const MEGABYTE = 1024 * 1024;
const base64 = (text: string) => Buffer.from(text, 'latin1').toString('base64');
const PDF = base64('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n');
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const GIF = 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7';
const DOCUMENT = { id: 'd1', name: 'passport.pdf', doc: PDF };
const without = (member: keyof typeof DOCUMENT) => {
  const { [member]: _, ...rest } = DOCUMENT;
  return rest;
};

/** Section 2.2: documents. */
const DOCUMENT_FIELDS: Field[] = [
  custom('document', {
    type: 'array',
    values: {
      'array of objects': {
        good: [named('a PDF', [DOCUMENT])],
        bad: [
          [['x', null, 1, []], 'type@/0', 'type@/1', 'type@/2', 'type@/3'],
          [named('an object without members', [{}]), 'required@/0/id', 'required@/0/name', 'required@/0/doc'],
        ],
      },
      array: { good: [[]] },
      'id (string)': {
        good: [named('an empty id', [{ ...DOCUMENT, id: '' }])],
        bad: [
          [named('no id', [without('id')]), 'required@/0/id'],
          [named('the id 1', [{ ...DOCUMENT, id: 1 }]), 'type@/0/id'],
        ],
      },
      'decided: id and name on one line, without a path': {
        bad: [...NO_LABELS].flatMap(([words, text]): Bad[] => [
          [named(`${words} in an id`, [{ ...DOCUMENT, id: text }]), 'characters@/0/id'],
          [named(`${words} in a name`, [{ ...DOCUMENT, name: text }]), 'characters@/0/name'],
        ]),
      },
      'decided: id of at most 255 characters': limit(
        255,
        (size) => [{ ...DOCUMENT, id: 'x'.repeat(size) }],
        'length@/0/id',
      ),
      'decided: name of at most 255 characters': limit(
        255,
        (size) => [{ ...DOCUMENT, name: 'x'.repeat(size) }],
        'length@/0/name',
      ),
      'decided: at most 3 MB': { good: [named('a text file of 3 MB', [textFile(3 * MEGABYTE)])] },
      'decided: at most 4 MB together': {
        good: [
          named('text files of 3 MB and 1 MB', [3 * MEGABYTE, MEGABYTE].map(textFile)),
          named('text files of 4 MB in three', [2 * MEGABYTE, 2 * MEGABYTE - 1, 1].map(textFile)),
        ],
      },
      'name (string)': {
        good: [named('a name such as паспорт "1".pdf', [{ ...DOCUMENT, name: 'паспорт "1".pdf' }])],
        bad: [
          [named('no name', [without('name')]), 'required@/0/name'],
          [named('the name null', [{ ...DOCUMENT, name: null }]), 'required@/0/name'],
          [named('the name 7', [{ ...DOCUMENT, name: 7 }]), 'type@/0/name'],
        ],
      },
      'doc (string, base64-encoded content)': {
        bad: [
          [named('no doc', [without('doc')]), 'required@/0/doc'],
          [named('the doc 7', [{ ...DOCUMENT, doc: 7 }]), 'type@/0/doc'],
          [named('an empty doc', [{ ...DOCUMENT, doc: '' }]), 'required@/0/doc'],
          ...[
            ...['A', 'AAA', 'AA=', 'AA=A', '====', 'AAB=', 'AA==AA==', 'AA AA', 'ÀAAA', 'not base64', 'QQ', 'QR=='],
            ...['QUI=\n', ' QUI=', 'ab-_', 'QUI', 'Q===', 'data:text/plain;base64,QUI='],
          ].map((doc) => [named(`the doc ${JSON.stringify(doc)}`, [{ ...DOCUMENT, doc }]), 'base64@/0/doc'] as const),
          [
            named('violations in the first and the third of three', [
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
          [
            named('bytes of no kind, next to a document that is not base64', [
              { ...DOCUMENT, doc: 'AAEC/w==' },
              { ...DOCUMENT, doc: '%' },
            ]),
            'base64@/1/doc',
            'media_type@/0/doc',
          ],
        ],
      },
      'decided: at most 10 documents': limit(10, (size) => new Array(size).fill({ ...DOCUMENT, doc: GIF }), 'too_many'),
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
    operation: 'registration',
    at: MORE_KEYS.document,
    carried: (value) => ({
      [keyOf('document')]: new Array(6).fill(DOCUMENT),
      [MORE_KEYS.document]: value,
    }),
    values: { 'decided: at most 10 documents': limit(4, (size) => new Array(size).fill(DOCUMENT), 'too_many@/4') },
  },
];

/** Section 2.2: the fields of a form. */
export const FORM_FIELDS: Field[] = [
  ...(['text', 'textarea', 'description'] as const).map((type) =>
    custom(type, {
      type: 'string',
      values: {
        string: {
          good: ['ünï😀', 'two\r\nlines\tand a tab', 'e\u0301 as typed'],
          bad: each(
            'characters',
            HALF_CHARACTER,
            'NUL \u0000',
            'an escape \u001b[31m',
            'a C1 control \u0085',
            'delete \u007f',
          ),
        },
        [MAX_CHARACTERS]: limit(10_000, (size) => '𝒜'.repeat(size)),
      },
    }),
  ),
  custom('number', {
    type: 'number',
    values: {
      number: {
        good: [0, -1.5, spelled('1E-7'), spelled('5.00')],
        bad: each('type', spelled('1e999'), spelled('-1e999')),
      },
      [EXACT]: {
        good: [spelled('9007199254740991'), spelled('-9007199254740991')],
        bad: each('number', spelled('9007199254740993'), spelled('-9007199254740992'), spelled('1e21')),
      },
    },
  }),
  custom('number_string', {
    type: 'string',
    values: {
      'numeric string': {
        good: ['0', '-12.50', '+7', '+.5', '007', '.5', '123456789012345678901234567890.123'],
        bad: [
          ...each('format', ' ', 'x', '1e5', '1,5', '1.', ' 1', '1 ', '0x10', 'NaN', 'Infinity', '--1', '1.2.3'),
          ...each('format', '١٢', '½'),
        ],
      },
      'decided: at most 255 characters': limit(255, (size) => '1'.repeat(size)),
    },
  }),
  custom('boolean', { type: 'boolean', values: { boolean: { good: [true, false] } } }),
  ...(['radio', 'select'] as const).flatMap((type) => [
    custom(type, {
      type: 'string',
      values: {
        string: { good: ['whatever the form does not list'] },
        [MAX_CHARACTERS]: limit(10_000, (size) => 'x'.repeat(size)),
      },
    }),
    custom(type, { values: { [CHOICE]: { good: OPTIONS, bad: each('one_of', 'oil', 'FX', 'fx ') } } }, MORE_KEYS[type]),
  ]),
  custom('dynamicSelect', {
    values: {
      'any value': {
        good: ['x', 5, true, false, [], {}, [null], ['a', 1], { id: 7, label: { en: 'Seven' } }],
      },
      // With the quotes.
      'decided: at most 20,000 characters of JSON': limit(20_000, (size) => 'x'.repeat(size - 2)),
      'decided: at most 20 levels deep': limit(20, nested, 'nesting'),
      [EXACT]: {
        good: [named('the largest integer inside', [9_007_199_254_740_991])],
        bad: [
          [spelled('9007199254740993'), 'number'],
          [named('a rounded integer inside', { a: [spelled('12345678901234567890').value] }), 'number'],
        ],
      },
      'decided: what JSON and UTF-8 can express': {
        bad: [
          [named('an infinite number inside', [spelled('1e999').value]), 'type'],
          [[HALF_CHARACTER], 'characters'],
          [{ [HALF_CHARACTER]: 1 }, 'characters'],
          [{ deep: ['\u0000'] }, 'characters'],
          [{ 'a\u001bb': 1 }, 'characters'],
        ],
      },
    },
  }),
  ...(['multiselect', 'checkbox'] as const).flatMap((type) => [
    custom(type, { type: 'array', values: CHOICES }),
    custom(type, { values: OFFERED_CHOICES }, MORE_KEYS[type]),
  ]),
  custom('date', {
    type: 'string',
    values: {
      'format YYYY-MM-DD': {
        good: ['2024-02-29', '1900-12-31', '1970-01-01', '0001-01-01', '9999-12-31'],
        bad: [
          ...each('date', '2023-02-29', '1900-02-29', '2024-04-31', '2024-13-01', '2024-00-10', '2024-01-00'),
          ...each('date', '2024-1-1', '29-02-2024', '20240229', '2024/02/29', '2024-02-29T00:00:00Z', ' 2024-02-29'),
          ...each('date', '2024-02-29\n', '+12024-02-29', 'tomorrow', '0000-01-01', '0000-12-31'),
        ],
      },
    },
  }),
  custom('phone', {
    type: 'object',
    values: {
      object: {
        good: [
          PHONE,
          readAs({ country_code: '+1', number: '(202) 555-0123' }, { country_code: '+1', number: '2025550123' }),
          named('a number that no plan knows', { country_code: '1', number: '5551234567' }),
          readAs(
            { country_code: '＋８１', number: '０９０－１２３４－５６７８' },
            { country_code: '+81', number: '09012345678' },
          ),
        ],
      },
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
          [{ ...PHONE, number: '', ext: '1' }, 'required@/country_code', 'required@/number', 'unknown_field@/ext'],
        ],
      },
      [BLANK_IS_ABSENT]: {
        good: [
          { country_code: '', number: '' },
          {},
          { country_code: '44', number: '' },
          { country_code: '44', number: null },
          { country_code: '44', number: '  ' },
          { country_code: ' ', number: '\u3000' },
          { country_code: null, number: '\u200e' },
        ].map((value) => readAs(value, ABSENT)),
      },
      'decided: number of at most 40 digits': {
        good: [readAs({ ...PHONE, number: `7400${'-'.repeat(40)}123456` }, PHONE)],
        bad: [[{ ...PHONE, number: '0'.repeat(41) }, 'length@/number']],
      },
      'decided: no other members': { bad: [[{ ...PHONE, ext: '1' }, 'unknown_field@/ext']] },
    },
  }),
  custom('email', {
    type: 'string',
    values: {
      'decided: email format': {
        good: ['second@example.com', 'zweite@bücher.example', readAs(' x@EXAMPLE.com\n', 'x@example.com')],
        bad: each('format', 'x', 'x@', 'x@y', 'a b@example.com'),
      },
      'decided: at most 254 characters': limit(254, longAddress),
    },
  }),
  ...(['country', 'nation'] as const).map((type) =>
    custom(type, {
      type: 'string',
      values: {
        'a country code': {
          good: ['GB', 'DE', 'AQ', 'XK', readAs('gb', 'GB'), readAs('xK', 'XK')],
          bad: each('country', 'GBR', 'UK', 'XX', 'EU', '44', 'Germany', 'GB ', 'constructor'),
        },
      },
    }),
  ),
  custom('location', {
    type: 'object',
    values: {
      object: { good: [PLACE] },
      [BLANK_IS_ABSENT]: { good: [readAs({ country: '', state: '', city: '' }, ABSENT), readAs({}, ABSENT)] },
      'country (string)': {
        bad: [
          [{ state: 'x', city: 'x' }, 'required@/country'],
          [{ country: '', state: '', city: 'x' }, 'required@/country'],
          [{ ...PLACE, country: 1 }, 'type@/country'],
        ],
      },
      'state (string)': {
        good: [
          readAs({ ...PLACE, state: '' }, { ...PLACE, state: '' }),
          readAs({ country: 'Malta', city: 'Mdina' }, { country: 'Malta', state: '', city: 'Mdina' }),
          readAs({ country: 'Malta', state: null, city: 'Mdina' }, { country: 'Malta', state: '', city: 'Mdina' }),
        ],
        bad: [[{ ...PLACE, state: 1 }, 'type@/state']],
      },
      'city (string)': {
        bad: [
          [{ country: 'x', state: 'x' }, 'required@/city'],
          [{ ...PLACE, city: ['x'] }, 'type@/city'],
        ],
      },
      'decided: each of at most 255 characters': limit(
        255,
        everyPlace,
        ...['length@/country', 'length@/state', 'length@/city'],
      ),
      'decided: no other members': {
        bad: [[{ ...PLACE, zip: '1', street: 'x' }, 'unknown_field@/zip', 'unknown_field@/street']],
      },
    },
  }),
  ...(['participants', 'leads'] as const).map((type) => custom(type, { type: 'array', values: PEOPLE })),
  ...DOCUMENT_FIELDS,
];
