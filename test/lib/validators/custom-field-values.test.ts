import { describe, expect, it } from 'vitest';
import { CUSTOM_FIELD_TYPES } from '../../../lib/validators/form.ts';
import { document, type Field, formOf, rulesOf } from '../../support/custom-fields.ts';

const KEY = 'k3J9xQ';

/** The faults of one value, by where they stand below it. */
async function faultsOf(field: Partial<Field> & Pick<Field, 'type'>, value: unknown): Promise<string[]> {
  const faults = await rulesOf(formOf({ key: KEY, ...field }), { [KEY]: value });
  return faults.map((fault) => fault.replace(`#/${KEY}`, '').trim());
}

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
  it.each(good.map(([type, value]) => [type, short(value), value] as const))(
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
  it.each(bad.map(([type, value, faults]) => [type, short(value), faults, value] as const))(
    'of type %s may not be %s (%s)',
    async (type, _, faults, value) => {
      expect((await faultsOf({ type }, value)).join(',')).toBe(faults);
    },
  );

  it('is known for every type of the specification', () => {
    expect(CUSTOM_FIELD_TYPES).toHaveLength(20);
  });
});

describe('a choice', () => {
  const options = ['none', 'some', 'pro'];

  it.each(['radio', 'select'] as const)('of type %s is one of the options that the form lists', async (type) => {
    expect(await faultsOf({ type, options }, 'some')).toEqual([]);
    expect(await faultsOf({ type, options }, 'Some')).toEqual(['one_of']);
    expect(await faultsOf({ type, options }, '')).toEqual(['one_of']);
    expect(await faultsOf({ type, options: [] }, 'any')).toEqual([]);
  });

  it.each(['multiselect', 'checkbox'] as const)('of type %s holds options that the form lists only', async (type) => {
    expect(await faultsOf({ type, options }, ['some', 'pro'])).toEqual([]);
    expect(await faultsOf({ type, options }, ['some', 'x', 'none', 'y'])).toEqual(['/1 one_of', '/3 one_of']);
    expect(await faultsOf({ type, options: [] }, ['any'])).toEqual([]);
  });
});
