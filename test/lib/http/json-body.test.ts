import { describe, expect, it } from 'vitest';
import { checkBounds, JSON_LIMITS, parseBody } from '../../../lib/http/json-body.ts';
import { Problem } from '../../../lib/problem.ts';
import { countReads } from '../../support/watched.ts';

/** The thrown problem, as it would be answered. */
function refusal(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    const [fault] = error.options.errors ?? [];
    return fault === undefined ? error.type : { ...fault, detail: undefined };
  }
  return undefined;
}

const plain = (body: string | undefined) =>
  refusal(() => parseBody({ ...(body === undefined ? {} : { body }), isBase64Encoded: false }));
const encoded = (bytes: Buffer) => refusal(() => parseBody({ body: bytes.toString('base64'), isBase64Encoded: true }));
const zeros = (count: number) => Array.from({ length: count }, () => 0);
const { width, members, depth } = JSON_LIMITS;

/** Nested objects; the innermost has this many members. */
function nested(levels: number): Record<string, unknown> {
  return levels === 1 ? {} : { a: nested(levels - 1) };
}

describe('The text of a body', () => {
  it('is parsed into the object that it holds', () => {
    expect(parseBody({ body: '{"a":"Zoë"}', isBase64Encoded: false })).toEqual({ a: 'Zoë' });
    const body = Buffer.from('{"a":"Zoë"}').toString('base64');
    expect(parseBody({ body, isBase64Encoded: true })).toEqual({ a: 'Zoë' });
  });

  it('may begin with a byte order mark', () => {
    expect(parseBody({ body: '\ufeff{"a":1}', isBase64Encoded: false })).toEqual({ a: 1 });
    const body = Buffer.from('\ufeff{"a":1}').toString('base64');
    expect(parseBody({ body, isBase64Encoded: true })).toEqual({ a: 1 });
  });

  it('is malformed_json if its bytes are not UTF-8: two different passwords would be equal', () => {
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf5, 0x80, 0x80, 0x80]]) {
      expect(encoded(Buffer.from([...Buffer.from('{"password":"'), ...bytes, ...Buffer.from('"}')]))).toBe(
        'malformed_json',
      );
    }
  });

  it('is malformed_json if the gateway has replaced such bytes', () => {
    expect(plain(Buffer.from([...Buffer.from('{"password":"'), 0xff, ...Buffer.from('"}')]).toString())).toBe(
      'malformed_json',
    );
    expect(plain('{"password":"\ud800"}')).toBe('malformed_json');
  });

  it('may hold a replacement character that was certainly meant', () => {
    expect(parseBody({ body: '{"a":"\\ufffd"}', isBase64Encoded: false })).toEqual({ a: '\ufffd' });
  });

  it('has the last value of a member that it names twice', () => {
    expect(parseBody({ body: '{"a":1,"a":2}', isBase64Encoded: false })).toEqual({ a: 2 });
  });

  it.each([
    ...[undefined, '', ' ', '{', '{"a":1,}', '{"a":1}{"b":2}', "{'a':1}", '{"a":NaN}', 'undefined'],
    ...['null', '[]', '[{"a":1}]', '5', '"x"', '\ufeff', '\ufeff\ufeff{}', '{}\ufeff'],
  ])('%j is malformed_json', (body) => {
    expect(plain(body)).toBe('malformed_json');
  });

  it.each(['{"__proto__":{}}', '{"a":[{"__proto__":1}]}', '{"a":{"constructor":{"prototype":{}}}}'])(
    '%s is malformed_json, as it would pollute a prototype',
    (body) => {
      expect(plain(body)).toBe('malformed_json');
    },
  );
});

describe('The bounds of a body', () => {
  it('are so wide that an array and an object may have 10,000 members', () => {
    const named = (count: number) => Object.fromEntries(zeros(count).map((_, index) => [`k${index}`, 0]));
    expect(refusal(() => checkBounds({ a: { b: zeros(width) }, c: named(width) }))).toBeUndefined();
    expect(refusal(() => checkBounds({ a: { b: zeros(width + 1) } }))).toEqual({ pointer: '#/a/b', rule: 'too_many' });
    expect(refusal(() => checkBounds({ a: [0, named(width + 1)] }))).toEqual({ pointer: '#/a/1', rule: 'too_many' });
    expect(refusal(() => checkBounds(named(width + 1)))).toEqual({ pointer: '#', rule: 'too_many' });
  });

  it('allow 101,000 members in all', () => {
    const lists = { ...Array.from({ length: 10 }, () => zeros(width)) };
    expect(refusal(() => checkBounds({ ...lists, a: zeros(members - 10 * width - 11) }))).toBeUndefined();
    const more = { ...lists, a: zeros(members - 10 * width - 10) };
    expect(refusal(() => checkBounds(more))).toEqual({ pointer: '#', rule: 'too_many' });
  });

  it('allow 32 objects and arrays within each other, the body among them', () => {
    expect(refusal(() => checkBounds(nested(depth)))).toBeUndefined();
    expect(refusal(() => checkBounds({ b: 0, ...nested(depth + 1) }))).toEqual({ pointer: '#/a', rule: 'nesting' });
    expect(plain(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toEqual({ pointer: '#/a', rule: 'nesting' });
  });

  it('are found without visiting more values', () => {
    const wide = countReads({ a: zeros(1_000_000) });
    expect(refusal(() => checkBounds(wide.value))).toEqual({ pointer: '#/a', rule: 'too_many' });
    expect(wide.looks()).toBeLessThan(10);

    const many = countReads({ a: zeros(1_000).map(() => zeros(width)) });
    expect(refusal(() => checkBounds(many.value))).toEqual({ pointer: '#', rule: 'too_many' });
    expect(many.looks()).toBeLessThan(5 * members);

    const deep = countReads({ a: nested(5_000) });
    expect(refusal(() => checkBounds(deep.value))).toEqual({ pointer: '#/a', rule: 'nesting' });
    expect(deep.looks()).toBeLessThan(5 * depth);
  });
});
