import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import {
  boundedList,
  boundedText,
  closedObject,
  jsonPointer,
  listViolations,
  NumberSchema,
  openObject,
  violationMessage,
} from '../../../lib/validators/primitives.ts';

const violationsOf = (schema: v.GenericSchema, value: unknown) => {
  const result = v.safeParse(schema, value);
  return result.success ? [] : listViolations(result.issues).map(({ pointer, rule }) => `${pointer} ${rule}`);
};

describe('a pointer', () => {
  it.each([
    [[], '#'],
    [['phone', 'number'], '#/phone/number'],
    [['d0cUpl', 0, 'doc'], '#/d0cUpl/0/doc'],
    [['a/b'], '#/a~1b'],
    [['m~n'], '#/m~0n'],
    [['~1'], '#/~01'],
    [[''], '#/'],
    [['c%d e"f\\g'], '#/c%25d%20e%22f%5Cg'],
    [['é'], '#/%C3%A9'],
  ])('to %j is the URI fragment %s of RFC 6901', (keys, pointer) => {
    expect(jsonPointer(keys)).toBe(pointer);
  });

  it('decodes to its keys, for any keys', () => {
    const key = fc.string({ unit: 'binary', maxLength: 100 }).map((text) => text.toWellFormed());
    fc.assert(
      fc.property(fc.array(key), (keys) => {
        const segments = jsonPointer(keys).split('/').slice(1).map(decodeURIComponent);
        expect(segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))).toEqual(keys);
      }),
    );
  });

  it('names a key that is not Unicode, and only the parent of one longer than 255', () => {
    expect(jsonPointer(['a\ud800b'])).toBe('#/a%EF%BF%BDb');
    expect(jsonPointer(['a', 'b'.repeat(256), 'c'])).toBe('#/a');
  });
});

describe('an object of fixed members', () => {
  const schema = closedObject({ a: v.string(), b: v.exactOptional(v.boolean()) });

  it('names every unknown member, also those that JavaScript objects inherit', () => {
    const body = JSON.parse('{"a":"","x":1,"constructor":2,"__proto__":3,"toString":4}');
    expect(violationsOf(schema, body)).toEqual([
      '#/x unknown_field',
      '#/constructor unknown_field',
      '#/__proto__ unknown_field',
      '#/toString unknown_field',
    ]);
  });

  it.each([[null], [[]], [['a']], ['text'], [7], [true]])('refuses %j by its type', (value) => {
    expect(violationsOf(schema, value)).toEqual(['# type']);
  });

  it('distinguishes a missing member (required) from a null (type)', () => {
    expect(violationsOf(schema, {})).toEqual(['#/a required']);
    expect(violationsOf(schema, { a: null, b: null })).toEqual(['#/a type', '#/b type']);
  });
});

describe('an open object', () => {
  it('keeps every other member as it came, also those that JavaScript objects inherit', () => {
    const body = JSON.parse('{"a":"","x":1,"constructor":2,"__proto__":{"y":1},"prototype":4}');
    const { output } = v.safeParse(openObject({ a: v.string() }), body);
    expect(Object.entries(output as object).sort()).toEqual(Object.entries(body).sort());
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
  });

  it('is not an array', () => {
    expect(violationsOf(openObject({}), [])).toEqual(['# type']);
  });
});

describe('a list', () => {
  it('that is too long is refused before its elements are read', () => {
    const schema = boundedList(v.string(), 2);
    expect(violationsOf(schema, ['a', 'b'])).toEqual([]);
    expect(violationsOf(schema, [1, 'b'])).toEqual(['#/0 type']);
    expect(violationsOf(schema, [1, 2, 3])).toEqual(['# too_many']);
    expect(violationsOf(schema, { 0: 'a' })).toEqual(['# type']);
  });
});

describe('A value that is too large', () => {
  it('such as a text of more than twice the allowed characters, gets no other rule applied', () => {
    let asked = 0;
    const isRight = () => {
      asked += 1;
      return false;
    };
    const schema = v.pipe(boundedText(1, 10), v.check(isRight, violationMessage('format', 'is never right')));
    expect(violationsOf(schema, 'a'.repeat(6_000_000))).toEqual(['# length']);
    expect(asked).toBe(0);
    expect(violationsOf(schema, 'a'.repeat(20))).toEqual(['# length', '# format']);
    expect(asked).toBe(1);
  });

  it('is not read to describe the violation', () => {
    const started = 'Invalid type: '.repeat(400_000);
    expect(violationsOf(v.literal('trader'), started)).toEqual(['# one_of']);
    expect(violationsOf(v.literal('trader'), `length: ${started}`)).toEqual(['# one_of']);
  });
});

describe('A violation', () => {
  it('is listed once for each field and rule, with a rule of the list and a sentence', () => {
    const issues = v.safeParse(NumberSchema, 'secret').issues ?? [];
    expect(listViolations([...issues, ...issues])).toEqual([
      { pointer: '#', rule: 'type', detail: 'must be a number' },
    ]);
  });

  it('of an action without our message does not quote the value', () => {
    const { issues = [] } = v.safeParse(v.pipe(v.string(), v.startsWith('length: ')), 'secret');
    expect(listViolations(issues, ['a'])).toEqual([{ pointer: '#/a', rule: 'format', detail: 'is not valid' }]);
  });

  it.each([
    [8, 8, '8 characters'],
    [0, 3, 'at most 3 characters'],
    [2, 4, '2 to 4 characters'],
  ])('of a length of %i to %i says "%s"', (min, max, words) => {
    const { issues = [] } = v.safeParse(boundedText(min, max), 'x'.repeat(9));
    expect(listViolations(issues)).toEqual([{ pointer: '#', rule: 'length', detail: `must be ${words}` }]);
  });

  it('of a choice names the choices, not the value', () => {
    const { issues = [] } = v.safeParse(v.picklist(['a', 'b']), 'secret');
    expect(listViolations(issues)).toEqual([{ pointer: '#', rule: 'one_of', detail: 'must be "a" or "b"' }]);
  });

  it('of a choice between choices names all of them', () => {
    const of = (...names: ['a' | 'b', ...string[]]) => v.object({ kind: v.picklist(names) });
    const { issues = [] } = v.safeParse(v.variant('kind', [of('a'), of('b', 'c')]), { kind: 'secret' });
    expect(listViolations(issues)).toEqual([
      { pointer: '#/kind', rule: 'one_of', detail: 'must be "a" or "b" or "c"' },
    ]);
  });
});
