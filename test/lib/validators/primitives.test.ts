import fc from 'fast-check';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import {
  closedObject,
  IdSchema,
  LanguageSchema,
  listOf,
  NumberSchema,
  openObject,
  text,
  toFaults,
  toPointer,
} from '../../../lib/validators/primitives.ts';

const faultsOf = (schema: v.GenericSchema, value: unknown) => {
  const result = v.safeParse(schema, value);
  return result.success ? [] : toFaults(result.issues).map(({ pointer, rule }) => `${pointer} ${rule}`);
};

describe('a pointer', () => {
  test.each([
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
    expect(toPointer(keys)).toBe(pointer);
  });

  test('leads back to its keys, whatever they hold', () => {
    const key = fc.string({ unit: 'binary', maxLength: 100 }).map((text) => text.toWellFormed());
    fc.assert(
      fc.property(fc.array(key), (keys) => {
        const segments = toPointer(keys).split('/').slice(1).map(decodeURIComponent);
        expect(segments.map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))).toEqual(keys);
      }),
    );
  });

  test('names a key that is no Unicode text, and only the parent of one that is longer than 255', () => {
    expect(toPointer(['a\ud800b'])).toBe('#/a%EF%BF%BDb');
    expect(toPointer(['a', 'b'.repeat(256), 'c'])).toBe('#/a');
  });
});

describe('an object of fixed members', () => {
  const schema = closedObject({ a: v.string(), b: v.exactOptional(v.boolean()) });

  test('names every member it does not know, also those that JavaScript objects inherit', () => {
    const body = JSON.parse('{"a":"","x":1,"constructor":2,"__proto__":3,"toString":4}');
    expect(faultsOf(schema, body)).toEqual([
      '#/x unknown_field',
      '#/constructor unknown_field',
      '#/__proto__ unknown_field',
      '#/toString unknown_field',
    ]);
  });

  test.each([[null], [[]], [['a']], ['text'], [7], [true]])('refuses %j by its type', (value) => {
    expect(faultsOf(schema, value)).toEqual(['# type']);
  });

  test('tells a missing member (required) from one that is null (type)', () => {
    expect(faultsOf(schema, {})).toEqual(['#/a required']);
    expect(faultsOf(schema, { a: null, b: null })).toEqual(['#/a type', '#/b type']);
  });

  test('lists at most 100 of 200,000 unknown members', () => {
    const body = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`x${index}`, 1]));
    expect(faultsOf(schema, body)).toHaveLength(100);
  });
});

describe('an open object', () => {
  test('keeps every other member as it came, also those that JavaScript objects inherit', () => {
    const body = JSON.parse('{"a":"","x":1,"constructor":2,"__proto__":{"y":1},"prototype":4}');
    const { output } = v.safeParse(openObject({ a: v.string() }), body);
    expect(Object.entries(output as object).sort()).toEqual(Object.entries(body).sort());
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
  });

  test('is not an array', () => {
    expect(faultsOf(openObject({}), [])).toEqual(['# type']);
  });
});

describe('a list', () => {
  test('that is too long is refused before its elements are looked at', () => {
    const schema = listOf(v.string(), 2);
    expect(faultsOf(schema, ['a', 'b'])).toEqual([]);
    expect(faultsOf(schema, [1, 'b'])).toEqual(['#/0 type']);
    expect(faultsOf(schema, [1, 2, 3])).toEqual(['# too_many']);
    expect(faultsOf(schema, { 0: 'a' })).toEqual(['# type']);
  });
});

describe('a fault', () => {
  test('is told once a field and rule, and always has a rule of the list and a sentence', () => {
    const issues = v.safeParse(NumberSchema, 'secret').issues ?? [];
    expect(toFaults([...issues, ...issues])).toEqual([{ pointer: '#', rule: 'type', detail: 'must be a number' }]);
  });

  test('of an action without a message of ours says nothing of the value', () => {
    const { issues = [] } = v.safeParse(v.pipe(v.string(), v.startsWith('length: ')), 'secret');
    expect(toFaults(issues, ['a'])).toEqual([{ pointer: '#/a', rule: 'format', detail: 'is not valid' }]);
  });

  test('of a choice names the choices, not the value', () => {
    const { issues = [] } = v.safeParse(v.picklist(['a', 'b']), 'secret');
    expect(toFaults(issues)).toEqual([{ pointer: '#', rule: 'one_of', detail: 'must be "a" or "b"' }]);
  });
});

describe('characters', () => {
  test('are Unicode code points: an emoji is one', () => {
    expect(faultsOf(text(1, 2), '👍👍')).toEqual([]);
    expect(faultsOf(text(1, 2), '👍👍👍')).toEqual(['# length']);
    expect(faultsOf(text(1, 2), '')).toEqual(['# length']);
  });

  test('are never halves of a surrogate pair', () => {
    expect(faultsOf(text(1, 9), 'a\ud83d')).toEqual(['# characters']);
  });
});

describe('an id', () => {
  test.each(['FORM0001', 'a-b_c.d!', '~~~~~~~~', '12345678'])('may be %j', (id) => {
    expect(faultsOf(IdSchema, id)).toEqual([]);
  });

  test.each([
    ['', 'length'],
    ['1234567', 'length'],
    ['123456789', 'length'],
    ['1234 678', 'characters'],
    ['1234567\n', 'characters'],
    ['1234567é', 'characters'],
    ['1234567\u007f', 'characters'],
    [12345678, 'type'],
    [null, 'type'],
  ])('may not be %j (%s)', (id, rule) => {
    expect(faultsOf(IdSchema, id)).toEqual([`# ${rule}`]);
  });
});

function isIntlTag(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}

describe('a language', () => {
  test.each(['en', 'EN', 'pt-BR', 'zh-Hant-TW', 'es-419', 'sl-rozaj-biske', 'de-DE-u-co-phonebk', 'fil'])(
    'may be %s',
    (tag) => {
      expect(faultsOf(LanguageSchema, tag)).toEqual([]);
    },
  );

  test.each([
    '',
    'e',
    'en_US',
    'en-',
    '-en',
    'english language',
    'en--US',
    'en-US,de',
    '12',
    'en\n',
    `en-${'a-'.repeat(40)}`,
  ])('may not be %j', (tag) => {
    expect(faultsOf(LanguageSchema, tag)).toEqual(['# language']);
  });

  test('is whatever Intl takes for one, of at most 64 characters', () => {
    const part = fc.constantFrom(
      'de',
      'Latn',
      'DE',
      '419',
      '1996',
      'rozaj',
      'u',
      'co',
      'phonebk',
      't',
      'm0',
      'x',
      'a1',
      '9',
      'long-',
    );
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 7 }), (parts) => {
        const tag = parts.join('-');
        expect(v.is(LanguageSchema, tag)).toBe(isIntlTag(tag));
      }),
    );
  });
});

test('A number that JSON cannot carry, as 1e999, is refused by its type', () => {
  expect(faultsOf(NumberSchema, JSON.parse('1e999'))).toEqual(['# type']);
  expect(faultsOf(NumberSchema, JSON.parse('-1e999'))).toEqual(['# type']);
  expect(faultsOf(NumberSchema, 1e308)).toEqual([]);
});
