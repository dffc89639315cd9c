import { isUtf8 } from 'node:buffer';
import { Problem, validationProblem } from '../problem.ts';
import { isObject, jsonPointer, type PathKey, type ViolationRule } from '../validators/primitives.ts';

/**
 * The limits of a body. A larger one is refused before its values are checked, because checks cost many times as much
 * as parsing. Every valid request is within the limits.
 */
export const JSON_LIMITS = {
  /** The maximum number of members of one object, or of elements of one array. */
  width: 10_000,
  /** Members of all objects and arrays together: enough for 200 kB of custom fields and the fixed fields. */
  members: 101_000,
  /** The maximum depth of nested objects and arrays. */
  depth: 32,
} as const;

/** @throws Problem `payload_too_large` */
export function refuseLargeBody({ body = '', isBase64Encoded }: SentBody, maxBytes: number): void {
  const bytes = isBase64Encoded ? Buffer.byteLength(body, 'base64') : Buffer.byteLength(body);
  if (bytes > maxBytes) {
    throw new Problem('payload_too_large', { detail: `The body may have at most ${maxBytes} bytes.` });
  }
}

/** The body in the event of the gateway. */
interface SentBody {
  body?: string;
  isBase64Encoded: boolean;
}

/**
 * The object that the body holds.
 * @throws Problem `malformed_json`, or `validation_failed` for a body over its limits
 */
export function parseBody(sent: SentBody): Record<string, unknown> {
  // A byte order mark, which some programs write, is no part of JSON.
  const body = parse(decodeBody(sent).replace(/^\ufeff/, ''));
  if (!isObject(body)) throw new Problem('malformed_json');
  checkBounds(body);
  return body;
}

/**
 * Invalid UTF-8 would be decoded with replacement characters, and two different passwords could become equal. In a text
 * body the gateway has already replaced them, so a replacement character there is refused.
 */
function decodeBody({ body = '', isBase64Encoded }: SentBody): string {
  if (isBase64Encoded) {
    const bytes = Buffer.from(body, 'base64');
    if (isUtf8(bytes)) return bytes.toString();
  } else if (body.isWellFormed() && !body.includes('\ufffd')) {
    return body;
  }
  throw new Problem('malformed_json');
}

/** The parser's error quotes the body and is dropped. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem('malformed_json');
  }
}

/**
 * Visits no more members than the limits allow.
 * @throws Problem
 */
export function checkBounds(body: Record<string, unknown>): void {
  const path: PathKey[] = [];
  let members = 0;

  function count(width: number): void {
    members += width;
    if (width > JSON_LIMITS.width)
      throw outOfBounds(path, 'too_many', `must have at most ${JSON_LIMITS.width} members`);
    if (members > JSON_LIMITS.members) {
      throw outOfBounds([], 'too_many', `must have at most ${JSON_LIMITS.members} members in all`);
    }
  }

  function check(value: unknown): void {
    if (path.length >= JSON_LIMITS.depth) throw outOfBounds(path.slice(0, 1), 'nesting', 'is nested too deeply');
    if (Array.isArray(value)) {
      count(value.length);
      for (let index = 0; index < value.length; index += 1) checkMember(index, value[index]);
    } else if (isObject(value)) {
      const names = Object.keys(value);
      count(names.length);
      for (const name of names) checkMember(name, value[name]);
    }
  }

  function checkMember(key: PathKey, value: unknown): void {
    if (key === '__proto__' || (key === 'constructor' && isObject(value) && Object.hasOwn(value, 'prototype'))) {
      throw new Problem('malformed_json');
    }
    if (typeof value !== 'object' || value === null) return;
    path.push(key);
    check(value);
    path.pop();
  }

  check(body);
}

function outOfBounds(keys: readonly PathKey[], rule: ViolationRule, detail: string): Problem {
  return validationProblem([{ pointer: jsonPointer(keys), rule, detail }]);
}
