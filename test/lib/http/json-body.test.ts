import { describe, expect, it } from 'vitest';
import { checkedBody, decodeBody, MAX_DEPTH, MAX_VALUES } from '../../../lib/http/json-body.ts';
import { Problem } from '../../../lib/problem.ts';

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

const MAX_BYTES = 1_000_000;
const decode = (body: string) => decodeBody({ body, isBase64Encoded: false }, MAX_BYTES);
const decodeBytes = (bytes: Buffer) => decodeBody({ body: bytes.toString('base64'), isBase64Encoded: true }, MAX_BYTES);
const password = (...bytes: number[]) => Buffer.from([...Buffer.from('{"password":"'), ...bytes, ...Buffer.from('"}')]);

describe('The text of a body', () => {
  it('is what was sent, without a byte order mark', () => {
    for (const body of ['{"a":"Zoë"}', '\ufeff{"a":"Zoë"}', '{"a":"\\ufffd"}']) {
      expect(decode(body)).toBe(body.replace('\ufeff', ''));
      expect(decodeBytes(Buffer.from(body))).toBe(body.replace('\ufeff', ''));
    }
    expect(decodeBody({ isBase64Encoded: false }, MAX_BYTES)).toBe('');
  });

  it('is malformed_json if its bytes are not UTF-8, or the gateway has replaced such bytes: two different passwords would be equal', () => {
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80], [0xf5, 0x80, 0x80, 0x80]])
      expect(refusal(() => decodeBytes(password(...bytes)))).toBe('malformed_json');
    expect(refusal(() => decode(password(0xff).toString()))).toBe('malformed_json');
    expect(refusal(() => decode('{"password":"\ud800"}'))).toBe('malformed_json');
  });

  it('is payload_too_large by its bytes', () => {
    expect(decode('é'.repeat(MAX_BYTES / 2))).toHaveLength(MAX_BYTES / 2);
    expect(refusal(() => decode(`${'é'.repeat(MAX_BYTES / 2)}a`))).toBe('payload_too_large');
    expect(refusal(() => decodeBytes(Buffer.alloc(MAX_BYTES + 1, 'a')))).toBe('payload_too_large');
  });

  it('may hold 101,000 values, and any number of commas and brackets in its strings', () => {
    const zeros = (count: number) => `{"a":[${Array.from({ length: count }, () => 0)}]}`;
    // The body, the list, and its first value.
    expect(refusal(() => decode(zeros(MAX_VALUES - 2)))).toBeUndefined();
    const tooMany = { pointer: '#', rule: 'too_many', detail: undefined };
    for (const body of [zeros(MAX_VALUES - 1), '['.repeat(MAX_VALUES), '{"a":'.repeat(MAX_VALUES)])
      expect(refusal(() => decode(body))).toEqual(tooMany);
    for (const text of [',', '[', '{', '\\"', '\\\\', '\\\\\\",'])
      expect(refusal(() => decode(`{"a":"${text.repeat(150_000)}"}`))).toBeUndefined();
    expect(refusal(() => decode(`{"a":"\\\\","b":[${'0,'.repeat(MAX_VALUES)}0]}`))).toEqual(tooMany);
  });
});

describe('A parsed body', () => {
  it.each([[null], [[]], [[{ a: 1 }]], [5], ['x'], [undefined]])('that is no object is malformed_json: %j', (body) => {
    expect(refusal(() => checkedBody(body))).toBe('malformed_json');
  });

  it('may have 32 objects and arrays within each other, itself among them', () => {
    const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });
    expect(refusal(() => checkedBody(nested(MAX_DEPTH)))).toBeUndefined();
    const tooDeep = { pointer: '#/a', rule: 'nesting', detail: undefined };
    expect(refusal(() => checkedBody({ b: 0, ...nested(MAX_DEPTH + 1) }))).toEqual(tooDeep);
    expect(refusal(() => checkedBody({ a: JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)) }))).toEqual(tooDeep);
  });
});
