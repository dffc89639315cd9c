import { createRequire } from 'node:module';

/** Of a call: the names and values that its expressions may use, and those that none of them has used so far. */
interface Context {
  attrNames?: Record<string, string>;
  attrVals?: Record<string, object>;
  unusedAttrNames: Record<string, true>;
  unusedAttrVals: Record<string, true>;
}
/** @returns what is wrong, where it is a text */
type Parse = (text: string, options: { context: Context }) => object | string;

interface Parsed {
  meaning: object;
  /** The names of the values in it. */
  names: ReadonlyMap<unknown, string>;
  used: readonly string[];
}

/** Of these the meaning depends on more of a value than its type. */
const BY_VALUE = /between|attribute_type/i;
/** More than our code has. */
const MOST = 1_000;

/**
 * Dynalite parses the expressions of every call anew, those of the send limits for ten milliseconds each. From now on it
 * parses an expression once for all calls with the same names, and with values of the same types.
 */
export function parseOnce(): void {
  const require = createRequire(import.meta.url);
  for (const name of ['conditionParser', 'updateParser']) {
    const parser = require(`dynalite/db/${name}.js`) as { parse: Parse };
    parser.parse = remembering(parser.parse);
  }
}

function remembering(parse: Parse): Parse {
  const known = new Map<string, Parsed>();
  return (text, options) => {
    if (BY_VALUE.test(text)) return parse(text, options);
    const { context } = options;
    const { attrNames = {}, attrVals = {} } = context;
    const types = Object.entries(attrVals).map(([name, value]) => [name, ...Object.keys(value)]);
    const key = JSON.stringify([text, attrNames, types]);
    const parsed = known.get(key) ?? parsedAnew(parse, text, context);
    if (typeof parsed === 'string') return parsed;
    if (known.size === MOST) known.clear();
    known.set(key, parsed);
    for (const name of parsed.used) {
      delete context.unusedAttrNames[name];
      delete context.unusedAttrVals[name];
    }
    return withValues(parsed.meaning, (one) => attrVals[parsed.names.get(one) ?? '']) as object;
  };
}

function parsedAnew(parse: Parse, text: string, context: Context): Parsed | string {
  const { attrNames = {}, attrVals = {} } = context;
  // Also what another expression of the same call has used: the next call's may not.
  const unused = { unusedAttrNames: unusedOf(attrNames), unusedAttrVals: unusedOf(attrVals) };
  const meaning = parse(text, { context: { ...context, ...unused } });
  if (typeof meaning === 'string') return meaning;
  const left = { ...unused.unusedAttrNames, ...unused.unusedAttrVals };
  return {
    meaning,
    names: new Map(Object.entries(attrVals).map(([name, value]) => [value, name])),
    used: Object.keys({ ...attrNames, ...attrVals }).filter((name) => !(name in left)),
  };
}

function unusedOf(given: object): Record<string, true> {
  return Object.fromEntries(Object.keys(given).map((name) => [name, true]));
}

/** A copy with the values of this call. */
function withValues(one: unknown, givenFor: (one: unknown) => object | undefined): unknown {
  if (typeof one !== 'object' || one === null) return one;
  const value = givenFor(one);
  if (value !== undefined) return value;
  if (Array.isArray(one)) return one.map((each) => withValues(each, givenFor));
  return Object.fromEntries(Object.entries(one).map(([name, each]) => [name, withValues(each, givenFor)]));
}
