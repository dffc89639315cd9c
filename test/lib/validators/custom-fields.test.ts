import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { CUSTOM_FIELD_TYPES, type Form, FormSchema } from '../../../lib/validators/form.ts';
import { RULES } from '../../../lib/validators/primitives.ts';
import { checkCustomFields } from '../../../lib/validators/registration.ts';

type Field = Form['fields'][number];

const KEY = 'k3J9xQ';
const formOf = (...fields: Field[]): Form => v.parse(FormSchema, { id: 'FORM0001', fields });

async function rulesOf(form: Form, values: Record<string, unknown>): Promise<string[]> {
  const outcome = await checkCustomFields(form, values);
  return outcome.ok ? [] : outcome.faults.map(({ pointer, rule }) => `${pointer} ${rule}`);
}

/** The faults of one value, by where they stand below it. */
async function faultsOf(field: Partial<Field> & Pick<Field, 'type'>, value: unknown): Promise<string[]> {
  const faults = await rulesOf(formOf({ key: KEY, ...field }), { [KEY]: value });
  return faults.map((fault) => fault.replace(`#/${KEY}`, '').trim());
}

const base64 = (bytes: number) => Buffer.alloc(bytes, 7).toString('base64');
const document = (bytes: number, id = 'a') => ({ id, name: `${id}.pdf`, doc: base64(bytes) });
const MB = 1024 * 1024;
const person = { id: 'p1', name: 'Ann', share: 0.5, address: { city: 'Leeds' } };
const place = { country: 'GB', state: '', city: 'Leeds' };
/** The start of a value, for a title. */
const short = (value: unknown) => (JSON.stringify(value) ?? '').slice(0, 60);
const nested = (levels: number) => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

describe('the value of a field', () => {
  const good: [Field['type'], unknown][] = [
    ['text', ''],
    ['text', 'any text\nat all'],
    ['text', '👍'.repeat(10_000)],
    ['textarea', 'two\nlines'],
    ['description', 'read and understood'],
    ['number', 0],
    ['number', -1.5e10],
    ['number_string', '12'],
    ['number_string', '-12.50'],
    ['number_string', '+.5'],
    ['number_string', '00012345678901234567890'],
    ['boolean', true],
    ['boolean', false],
    ['radio', 'any'],
    ['select', 'any'],
    ['dynamicSelect', null],
    ['dynamicSelect', 'any'],
    ['dynamicSelect', 7],
    ['dynamicSelect', { a: [1, 'b', null, { c: true }] }],
    ['dynamicSelect', nested(20)],
    ['multiselect', []],
    ['multiselect', ['a', 'b']],
    ['checkbox', ['a']],
    ['date', '2024-02-29'],
    ['date', '1900-12-31'],
    ['document', [document(10)]],
    ['document', []],
    ['phone', { country_code: '44', number: '07400 123456' }],
    ['phone', { country_code: '+1', number: '2025550123' }],
    ['email', 'ann@example.com'],
    ['country', 'GB'],
    ['nation', 'PT'],
    ['location', place],
    ['participants', []],
    ['participants', [person, {}]],
    ['leads', [{ anything: [1, 2] }]],
  ];
  test.each(good.map(([type, value]) => [type, short(value), value] as const))(
    'of type %s may be %s',
    async (type, _, value) => {
      expect(await faultsOf({ type }, value)).toEqual([]);
    },
  );

  const bad: [Field['type'], unknown, string][] = [
    ['text', 7, 'type'],
    ['text', null, 'type'],
    ['text', ['a'], 'type'],
    ['text', 'x'.repeat(10_001), 'length'],
    ['text', 'a\udc00', 'characters'],
    ['textarea', {}, 'type'],
    ['description', true, 'type'],
    ['number', '7', 'type'],
    ['number', null, 'type'],
    ['number', Number.POSITIVE_INFINITY, 'type'],
    ['number_string', 7, 'type'],
    ['number_string', '', 'format'],
    ['number_string', 'abc', 'format'],
    ['number_string', '1e5', 'format'],
    ['number_string', '0x10', 'format'],
    ['number_string', '1,5', 'format'],
    ['number_string', ' 1', 'format'],
    ['number_string', '5.', 'format'],
    ['number_string', 'Infinity', 'format'],
    ['number_string', '١', 'format'],
    ['boolean', 'true', 'type'],
    ['boolean', 1, 'type'],
    ['boolean', null, 'type'],
    ['radio', ['a'], 'type'],
    ['select', 7, 'type'],
    ['dynamicSelect', nested(21), 'nesting'],
    ['dynamicSelect', 'x'.repeat(20_001), 'length'],
    ['dynamicSelect', { a: ['\ud800'] }, 'characters'],
    ['dynamicSelect', { '\ud800': 1 }, 'characters'],
    ['dynamicSelect', [Number.NEGATIVE_INFINITY], 'type'],
    ['dynamicSelect', JSON.parse('{"a":{"__proto__":1}}'), 'unknown_field'],
    ['multiselect', 'a', 'type'],
    ['multiselect', ['a', 7, null], '/1 type,/2 type'],
    ['multiselect', Array(501).fill('a'), 'too_many'],
    ['checkbox', { 0: 'a' }, 'type'],
    ['checkbox', [['a']], '/0 type'],
    ['date', '2024-02-31', 'date'],
    ['date', '2023-02-29', 'date'],
    ['date', '2024-13-01', 'date'],
    ['date', '2024-00-10', 'date'],
    ['date', '2024-1-1', 'date'],
    ['date', '2024-01-01T00:00:00Z', 'date'],
    ['date', '31.12.2024', 'date'],
    ['date', '', 'date'],
    ['date', 20240101, 'type'],
    ['document', document(10), 'type'],
    ['document', ['JVBERi0='], '/0 type'],
    ['document', [{}], '/0/id required,/0/name required,/0/doc required'],
    ['document', [{ ...document(10), type: 'pdf' }], '/0/type unknown_field'],
    ['document', [document(10), { ...document(10), id: 7, doc: 'no base64!' }], '/1/id type,/1/doc base64'],
    ['phone', '+447400123456', 'type'],
    ['phone', { country_code: '44' }, '/number required'],
    ['phone', { country_code: 44, number: 7400123456 }, '/country_code type,/number type'],
    ['phone', { country_code: '44', number: '123' }, '/number phone'],
    ['phone', { country_code: '', number: '' }, '/number phone'],
    ['phone', { country_code: 'UK', number: '7400123456' }, '/country_code format'],
    ['phone', { country_code: '44', number: '7400123456', ext: '1' }, '/ext unknown_field'],
    ['email', 'ann', 'format'],
    ['email', 7, 'type'],
    ['country', 'UK', 'country'],
    ['country', 'gb', 'country'],
    ['country', 'United Kingdom', 'country'],
    ['nation', 44, 'type'],
    ['nation', 'constructor', 'country'],
    ['location', 'Leeds', 'type'],
    ['location', [], 'type'],
    ['location', { country: 'GB' }, '/state required,/city required'],
    ['location', { ...place, city: null }, '/city type'],
    ['location', { ...place, zip: 'LS1' }, '/zip unknown_field'],
    ['participants', person, 'type'],
    ['participants', ['Ann'], '/0 type'],
    ['participants', [[]], '/0 type'],
    ['participants', [person, { id: 7, name: null }], '/1/id type,/1/name type'],
    ['participants', Array(101).fill({}), 'too_many'],
    ['leads', [{ note: 'x'.repeat(20_001) }], 'length'],
    ['leads', [nested(3), { a: nested(30) }], '/0 type'],
    ['leads', [{ a: nested(30) }], 'nesting'],
  ];
  test.each(bad.map(([type, value, faults]) => [type, short(value), faults, value] as const))(
    'of type %s may not be %s (%s)',
    async (type, _, faults, value) => {
      expect((await faultsOf({ type }, value)).join(',')).toBe(faults);
    },
  );

  test('is known for every type of the specification', () => {
    expect(CUSTOM_FIELD_TYPES).toHaveLength(20);
  });
});

describe('a choice', () => {
  const options = ['none', 'some', 'pro'];

  test.each(['radio', 'select'] as const)('of type %s is one of the options that the form lists', async (type) => {
    expect(await faultsOf({ type, options }, 'some')).toEqual([]);
    expect(await faultsOf({ type, options }, 'Some')).toEqual(['one_of']);
    expect(await faultsOf({ type, options }, '')).toEqual(['one_of']);
    expect(await faultsOf({ type, options: [] }, 'any')).toEqual([]);
  });

  test.each(['multiselect', 'checkbox'] as const)('of type %s holds options that the form lists only', async (type) => {
    expect(await faultsOf({ type, options }, ['some', 'pro'])).toEqual([]);
    expect(await faultsOf({ type, options }, ['some', 'x', 'none', 'y'])).toEqual(['/1 one_of', '/3 one_of']);
    expect(await faultsOf({ type, options: [] }, ['any'])).toEqual([]);
  });
});

describe('the fields of a form', () => {
  const form = formOf(
    { key: 'a', type: 'text', required: true },
    { key: 'b', type: 'number' },
    { key: 'c', type: 'checkbox', required: true },
  );

  test('are handed on as they were sent', async () => {
    expect(await checkCustomFields(form, { c: ['x'], a: 'A' })).toEqual({
      ok: true,
      fields: { a: 'A', c: ['x'] },
      documents: [],
    });
  });

  test('are required where the form says so, and then not empty', async () => {
    expect(await rulesOf(form, {})).toEqual(['#/a required', '#/c required']);
    expect(await rulesOf(form, { a: '', c: [] })).toEqual(['#/a required', '#/c required']);
    expect(await rulesOf(form, { a: null, c: null })).toEqual(['#/a type', '#/c type']);
    const any = formOf(
      { key: 'd', type: 'dynamicSelect', required: true },
      { key: 'e', type: 'boolean', required: true },
    );
    expect(await rulesOf(any, { d: '', e: false })).toEqual([]);
    expect(await rulesOf(any, {})).toEqual(['#/d required', '#/e required']);
  });

  test('are the only keys beside the fixed fields', async () => {
    const values = JSON.parse('{"a":"A","c":["x"],"x/y":1,"toString":2,"__proto__":3,"custom_fields":{}}');
    expect(await rulesOf(form, values)).toEqual([
      '#/x~1y unknown_field',
      '#/toString unknown_field',
      '#/__proto__ unknown_field',
      '#/custom_fields unknown_field',
    ]);
  });

  test('are told with all their faults at once, in the order of the form, unknown keys last', async () => {
    expect(await rulesOf(form, { x: 1, c: [1, 2], b: '7' })).toEqual([
      '#/a required',
      '#/b type',
      '#/c/0 type',
      '#/c/1 type',
      '#/x unknown_field',
    ]);
  });

  test('may have names that JavaScript objects inherit, and are then missing until they are sent', async () => {
    const odd = formOf({ key: 'constructor', type: 'text', required: true }, { key: 'toString', type: 'text' });
    expect(await rulesOf(odd, {})).toEqual(['#/constructor required']);
    const outcome = await checkCustomFields(odd, { constructor: 'c' });
    expect(outcome.ok && Object.entries(outcome.fields)).toEqual([['constructor', 'c']]);
  });

  test('are together at most 200 kB of JSON, else the request is too large', async () => {
    const fields = Array.from({ length: 21 }, (_, index): Field => ({ key: `k${index}`, type: 'text' }));
    const values = (count: number) =>
      Object.fromEntries(fields.slice(0, count).map(({ key }) => [key, 'x'.repeat(9_900)]));
    expect((await checkCustomFields(formOf(...fields), values(20))).ok).toBe(true);
    expect(await checkCustomFields(formOf(...fields), values(21))).toMatchObject({
      tooLarge: true,
      faults: [{ pointer: '#', rule: 'size' }],
    });
  });

  test('list at most 100 faults', async () => {
    const values = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x${index}`, 1]));
    expect(await rulesOf(form, values)).toHaveLength(100);
  });
});

describe('documents', () => {
  const form = formOf(
    { key: 'd0cUpl', type: 'document', accept: ['application/pdf'] },
    { key: 'm0re', type: 'document' },
  );
  const check = (values: Record<string, unknown>) => checkCustomFields(form, values);

  test('come out decoded, with their place, names and the media types that the form accepts', async () => {
    const doc = Buffer.from('%PDF-1.7').toString('base64');
    const outcome = await check({
      d0cUpl: [{ id: '', name: '../ä.pdf', doc }],
      m0re: [document(1, 'x'), document(2, 'y')],
    });
    expect(outcome).toEqual({
      ok: true,
      fields: {},
      documents: [
        {
          fieldKey: 'd0cUpl',
          index: 0,
          id: '',
          name: '../ä.pdf',
          bytes: Buffer.from('%PDF-1.7'),
          accept: ['application/pdf'],
        },
        { fieldKey: 'm0re', index: 0, id: 'x', name: 'x.pdf', bytes: Buffer.alloc(1, 7) },
        { fieldKey: 'm0re', index: 1, id: 'y', name: 'y.pdf', bytes: Buffer.alloc(2, 7) },
      ],
    });
  });

  test.each([
    ['', 'length'],
    ['A', 'base64'],
    ['AA', 'base64'],
    ['AAA', 'base64'],
    ['AA=', 'base64'],
    ['AA=A', 'base64'],
    ['A===', 'base64'],
    ['====', 'base64'],
    ['AB==', 'base64'],
    ['AAB=', 'base64'],
    ['AA==AA==', 'base64'],
    ['AAAA\n', 'base64'],
    ['AA AA', 'base64'],
    ['AA-_', 'base64'],
    ['data:text/plain;base64,AAAA', 'base64'],
    ['ÀAAA', 'base64'],
    [7, 'type'],
    [null, 'type'],
  ])('are never %j (%s)', async (doc, rule) => {
    expect(await rulesOf(form, { d0cUpl: [{ ...document(1), doc }] })).toEqual([`#/d0cUpl/0/doc ${rule}`]);
  });

  test('are decoded to the very bytes that were encoded', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 300 }), async (bytes) => {
        const outcome = await check({ m0re: [{ id: '', name: '', doc: Buffer.from(bytes).toString('base64') }] });
        expect(outcome.ok && [...(outcome.documents[0]?.bytes ?? [])]).toEqual([...bytes]);
      }),
    );
  });

  test('are base64 exactly when encoding them again gives the same text', async () => {
    const almost = fc.stringMatching(/^[A-D/+]{0,9}={0,3}$/).filter((text) => text !== '');
    await fc.assert(
      fc.asyncProperty(almost, async (doc) => {
        const outcome = await check({ m0re: [{ id: '', name: '', doc }] });
        expect(outcome.ok).toBe(Buffer.from(doc, 'base64').toString('base64') === doc);
      }),
      { numRuns: 500 },
    );
  });

  test('have at most 3 MB each, else the request is too large', async () => {
    expect((await check({ m0re: [document(3 * MB)] })).ok).toBe(true);
    expect(await check({ m0re: [document(1), document(3 * MB + 1)] })).toEqual({
      ok: false,
      tooLarge: true,
      faults: [{ pointer: '#/m0re/1/doc', rule: 'size', detail: 'must be at most 3 MB' }],
    });
  });

  test('have at most 4 MB together, over all fields, else the request is too large', async () => {
    const parts = { d0cUpl: [document(2 * MB)], m0re: [document(2 * MB - 1), document(1)] };
    expect((await check(parts)).ok).toBe(true);
    expect(await check({ ...parts, m0re: [document(2 * MB), document(1)] })).toMatchObject({
      tooLarge: true,
      faults: [{ pointer: '#/m0re/1/doc', rule: 'size' }],
    });
  });

  test('are at most 10, over all fields', async () => {
    const some = (count: number) => Array.from({ length: count }, () => document(1));
    expect((await check({ d0cUpl: some(5), m0re: some(5) })).ok).toBe(true);
    expect(await check({ d0cUpl: some(5), m0re: some(6) })).toMatchObject({
      tooLarge: false,
      faults: [{ pointer: '#/m0re/5', rule: 'too_many' }],
    });
    expect(await rulesOf(form, { d0cUpl: some(11) })).toEqual(['#/d0cUpl too_many']);
    expect(await rulesOf(form, { d0cUpl: Array(1_000_000).fill(0) })).toEqual(['#/d0cUpl too_many']);
  });

  test('that are too large decide the answer, whatever else is told', async () => {
    expect(await check({ x: 1, m0re: [document(3 * MB + 1)] })).toMatchObject({
      tooLarge: true,
      faults: [{ rule: 'size' }, { pointer: '#/x', rule: 'unknown_field' }],
    });
  });
});

describe('whatever is sent to a form', () => {
  const mark = 'hunter2-SECRET';
  const form = formOf(...CUSTOM_FIELD_TYPES.map((type): Field => ({ key: `my_${type}`, type, options: ['a'] })));
  const leaf = fc.oneof(
    fc.string({ unit: 'binary' }).map((text) => mark + text),
    fc.constantFrom(null, 7, true, [], {}),
  );
  const name = fc.constantFrom('id', 'name', 'doc', 'country_code', 'number', 'country', 'state', 'city', '__proto__');
  const members = fc.dictionary(name, leaf);
  const value = fc.oneof(leaf, fc.array(fc.oneof(leaf, members)), members, fc.jsonValue());
  const key = fc.constantFrom(...form.fields.map((field) => field.key), '__proto__', 'constructor', 'x');

  test('is accepted as it is, or answered with faults of the known rules, which hold nothing of it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, value), async (values) => {
        const outcome = await checkCustomFields(form, values);
        if (outcome.ok) {
          for (const [field, kept] of Object.entries(outcome.fields)) expect(kept).toBe(values[field]);
          return;
        }
        expect(JSON.stringify(outcome)).not.toContain(mark);
        for (const { rule, detail } of outcome.faults) {
          expect(RULES).toContain(rule);
          expect(detail).toMatch(/^(must|is|a|the) /);
          expect(detail).not.toBe('is not valid');
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
