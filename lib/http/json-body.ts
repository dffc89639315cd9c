import { isUtf8 } from 'node:buffer';
import { Problem, validationProblem } from '../problem.ts';
import { isObject, jsonPointer } from '../validators/primitives.ts';

/** The values of a body, also of its objects and arrays: enough for 200 kB of custom fields and the fixed fields. */
export const MAX_VALUES = 101_000;
/** How deep objects and arrays may be nested. */
export const MAX_DEPTH = 32;

/** The body in the event of the gateway. */
interface SentBody {
  body?: string;
  isBase64Encoded: boolean;
}

/**
 * The text of a body that may be parsed: its size and the number of its values are within their limits. A byte order
 * mark, which some programs write, is no part of JSON.
 *
 * Invalid UTF-8 would be decoded with replacement characters, and two different passwords could become equal. In a text
 * body the gateway has already replaced them, so a replacement character there is refused.
 * @throws Problem
 */
export function decodeBody({ body = '', isBase64Encoded }: SentBody, maxBytes: number): string {
  const bytes = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8');
  if (bytes.length > maxBytes) {
    throw new Problem('payload_too_large', { detail: `The body may have at most ${maxBytes} bytes.` });
  }
  const isText = isBase64Encoded ? isUtf8(bytes) : body.isWellFormed() && !body.includes('\ufffd');
  if (!isText) throw new Problem('malformed_json');
  const text = (isBase64Encoded ? bytes.toString() : body).replace(/^\ufeff/, '');
  if (!hasFewValues(text)) {
    const detail = `must have at most ${MAX_VALUES} values in all`;
    throw validationProblem([{ pointer: jsonPointer([]), rule: 'too_many', detail }]);
  }
  return text;
}

/** Whether a text of JSON has few enough values. Every value but the first comes after a comma or a bracket. */
function hasFewValues(text: string): boolean {
  let values = 1;
  for (let at = 0; at < text.length && values <= MAX_VALUES; at += 1) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at);
    else if (character === ',' || character === '[' || character === '{') values += 1;
  }
  return values <= MAX_VALUES;
}

/** The index of the quote that ends a string of JSON. @param start of the quote that begins it */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text[end - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return end;
  }
  return text.length;
}

/** The parsed body, an object that is not nested too deeply. @throws Problem */
export function checkedBody(body: unknown): Record<string, unknown> {
  if (!isObject(body)) throw new Problem('malformed_json');
  for (const [name, value] of Object.entries(body)) {
    if (isWithinDepth(value, MAX_DEPTH - 1)) continue;
    throw validationProblem([{ pointer: jsonPointer([name]), rule: 'nesting', detail: 'is nested too deeply' }]);
  }
  return body;
}

function isWithinDepth(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((member) => isWithinDepth(member, levels - 1));
}
