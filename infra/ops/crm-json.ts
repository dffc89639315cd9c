import { JSONParser, TokenType } from '@streamparser/json';
import { CRM_KINDS, type CrmKind, type ErrorList, memberPath } from './crm-items.ts';

/** The bytes of a file. Each call reads them from the beginning. */
export type ByteSource = () => AsyncIterable<Uint8Array> | Iterable<Uint8Array>;

/** One record with its position in its list, or one local secret with its name. */
export type CrmFileEntry =
  | { member: CrmKind; key: number; value: unknown }
  | { member: 'local_secrets'; key: string; value: unknown };

/** The paths of the entries. The parser keeps nothing of other members. */
const PATHS = [...CRM_KINDS, 'local_secrets'].map((name) => `$.${name}.*`);

/**
 * Reads a CRM file part by part, whatever the order of its members. It holds the entries of one part of the source, and
 * reads the next part after the caller has taken them.
 * @param errors gets the errors of the JSON and of the members of the file. It quotes no value of the file
 */
export async function* readEntries(source: ByteSource, errors: ErrorList): AsyncGenerator<CrmFileEntry[]> {
  const top = new TopLevel(errors);
  let entries: CrmFileEntry[] = [];
  let offset: number | undefined;
  const parser = new JSONParser({ paths: PATHS, keepStack: false });
  parser.onToken = (token) => {
    offset = token.offset;
    top.see(token.token, token.value);
  };
  parser.onValue = ({ value, key, parent, stack }) => {
    const member = stack[1]?.key;
    const isList = Array.isArray(parent);
    if (isKind(member) && isList) entries.push({ member, key: Number(key), value });
    if (member === 'local_secrets' && !isList) entries.push({ member, key: String(key), value });
  };

  let failure: string | undefined;
  for await (const bytes of source()) {
    failure = attempt(() => parser.write(bytes));
    yield entries;
    entries = [];
    if (failure !== undefined || top.isOther) break;
  }
  if (top.isOther) return;
  if (!parser.isEnded) failure ??= attempt(() => parser.end()) ?? (top.isEmpty ? '' : undefined);
  if (failure === undefined) return;
  // The parser's message quotes the file, so only the place is taken from it.
  const [, position] = /absolute position "(\d+)"/.exec(failure) ?? [];
  const at = failure.startsWith('Unexpected') ? (position ?? offset) : undefined;
  const place = at === undefined ? '' : ` (${await lineAndColumn(source, Number(at))})`;
  errors.add({ path: '', rule: `is not JSON${place}` });
}

/** Runs the work. @returns the message of its error, or undefined */
function attempt(work: () => void): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isKind(name: unknown): name is CrmKind {
  return CRM_KINDS.some((kind) => kind === name);
}

/** Checks the members of a file by the first token of their values. */
class TopLevel {
  readonly #errors: ErrorList;
  readonly #known = new Set<string>();
  #first: TokenType | undefined;
  #depth = 0;
  #name = '';
  #isValue = false;

  constructor(errors: ErrorList) {
    this.#errors = errors;
  }

  /** Nothing was read yet. */
  get isEmpty(): boolean {
    return this.#first === undefined;
  }

  /** Whether the file holds another value than an object. */
  get isOther(): boolean {
    return this.#first !== undefined && this.#first !== TokenType.LEFT_BRACE;
  }

  see(token: TokenType, value: unknown): void {
    this.#first ??= token;
    if (this.#depth === 0 && this.isOther) this.#errors.add({ path: '', rule: 'must be a JSON object' });
    if (this.#depth === 1) {
      if (this.#isValue) this.#judge(token);
      else if (token === TokenType.STRING) this.#name = String(value);
      this.#isValue = token === TokenType.COLON;
    }
    if (token === TokenType.LEFT_BRACE || token === TokenType.LEFT_BRACKET) this.#depth += 1;
    if (token === TokenType.RIGHT_BRACE || token === TokenType.RIGHT_BRACKET) this.#depth -= 1;
  }

  #judge(token: TokenType): void {
    const name = this.#name;
    const isRecords = isKind(name);
    if (!isRecords && name !== 'local_secrets') {
      this.#errors.add({ path: memberPath('', name), rule: 'is not known' });
      return;
    }
    if (this.#known.has(name)) this.#errors.add({ path: name, rule: 'must be there once' });
    this.#known.add(name);
    if (isRecords && token !== TokenType.LEFT_BRACKET) this.#errors.add({ path: name, rule: 'must be an array' });
    if (!isRecords && token !== TokenType.LEFT_BRACE) this.#errors.add({ path: name, rule: 'must be an object' });
  }
}

/** The place of a byte, as JSON.parse names it. */
async function lineAndColumn(source: ByteSource, offset: number): Promise<string> {
  let [at, line, column] = [0, 1, 1];
  for await (const bytes of source()) {
    for (const byte of bytes.subarray(0, offset - at)) {
      if (byte === 0x0a) [line, column] = [line + 1, 1];
      // Further bytes of a character count with its first byte.
      else if ((byte & 0xc0) !== 0x80) column += 1;
    }
    at += bytes.length;
    if (at > offset) break;
  }
  return `line ${line} column ${column}`;
}
