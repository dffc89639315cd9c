import * as v from 'valibot';
import { checkSettings } from '../lib/config/check-settings.ts';
import { isObject } from '../lib/validators/primitives.ts';

/** The members of valibot's schemas that are read here. */
type Described = v.GenericSchema & {
  wrapped?: v.GenericSchema;
  item?: v.GenericSchema;
  entries?: Readonly<Record<string, v.GenericSchema>>;
  options?: readonly v.GenericSchema[];
};

/**
 * Parses a text of the command line or environment by its schema: `0.5` a number, `true` a flag,
 * `a,b` or `["a","b"]` a list, `{…}` a group. All other values are unchanged, and the schema refuses them.
 */
export function parseText(schema: v.GenericSchema, given: unknown): unknown {
  const { type, wrapped, item, entries, options } = schema as Described;
  if (wrapped !== undefined) return parseText(wrapped, given);
  if (type === 'union' && options !== undefined) return parseFirstOption(options, given);
  if (item !== undefined) return parseList(item, given);
  if (entries !== undefined) return parseGroup(entries, given);
  if (type === 'record') return parseJson(given);
  if (type === 'number') {
    return typeof given === 'string' && /^\s*\d+(\.\d+)?\s*$/.test(given) ? Number(given) : given;
  }
  if (type === 'boolean') return given === 'true' || (given === 'false' ? false : given);
  // In a JSON file, digits are a number.
  if (typeof given === 'number') return String(given);
  return typeof given === 'string' ? given.trim() : given;
}

/** The value of the first option that accepts it. */
function parseFirstOption(options: readonly v.GenericSchema[], given: unknown): unknown {
  const meanings = options.map((option) => [option, parseText(option, given)] as const);
  return meanings.find(([option, value]) => v.is(option, value))?.[1] ?? given;
}

function parseList(item: v.GenericSchema, given: unknown): unknown {
  const parsed = parseJson(given);
  const list = typeof parsed === 'string' || typeof parsed === 'number' ? String(parsed).split(',') : parsed;
  return Array.isArray(list) ? list.map((one) => parseText(item, one)).filter((one) => one !== '') : list;
}

function parseGroup(entries: Readonly<Record<string, v.GenericSchema>>, given: unknown): unknown {
  const group = parseJson(given);
  if (!isObject(group)) return group;
  return Object.fromEntries(
    Object.entries(group).map(([name, value]) => {
      const schema = Object.hasOwn(entries, name) ? entries[name] : undefined;
      return [name, schema === undefined ? value : parseText(schema, value)];
    }),
  );
}

/** Parses a text that holds a list or a group of JSON. Everything else is unchanged. */
export function parseJson(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[{[]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value;
  }
}

/** Reads settings, each of which may be a text. */
export function parseSettings<const S extends v.GenericSchema>(schema: S, given: Record<string, unknown>) {
  return checkSettings(schema, parseText(schema, given));
}

/** The full names of a schema's members, without groups: `sms.maxPrice`. */
export function leafNames(schema: v.GenericSchema): string[] {
  const { wrapped, entries } = schema as Described;
  if (wrapped !== undefined) return leafNames(wrapped);
  return Object.entries(entries ?? {}).flatMap(([name, member]) => {
    const below = leafNames(member);
    return below.length === 0 ? [name] : below.map((leaf) => `${name}.${leaf}`);
  });
}
