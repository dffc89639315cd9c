import { keyOf, MORE_KEYS } from './records.ts';
import { custom, textFile } from './samples.ts';
import { type Field, named } from './table.ts';

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
export const DOCUMENT_FIELDS: Field[] = [
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
    operation: 'registration',
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
];
