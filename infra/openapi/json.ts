import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type JsonObject = { readonly [name: string]: Json };

/** The JSON Schema of a validator, as a caller sees it. Rules that JSON Schema cannot express are in the descriptions. */
export function jsonSchema(
  schema: v.GenericSchema,
  target: 'draft-2020-12' | 'draft-07' = 'draft-2020-12',
): Record<string, Json> {
  const { $schema: _, ...converted } = toJsonSchema(withoutReading(schema), {
    target,
    typeMode: 'input',
    ignoreActions: ['check', 'raw_check', 'finite', 'to_upper_case'],
    overrideSchema: ({ valibotSchema, jsonSchema }) => {
      const { required, ...withoutRequired } = jsonSchema;
      const kept = required?.length === 0 ? withoutRequired : jsonSchema;
      if (valibotSchema.type === 'literal') return { type: 'string', ...kept };
      return valibotSchema.type === 'loose_object' ? { ...kept, additionalProperties: true } : kept;
    },
  });
  const schemaJson = converted as Record<string, Json>;
  return target === 'draft-07' ? schemaJson : (addNumberFormats(schemaJson) as Record<string, Json>);
}

type Pipe = readonly (v.GenericSchema | v.PipeItem<unknown, unknown, v.BaseIssue<unknown>>)[];
/** The members of valibot's schemas that are read here. */
type Described = v.GenericSchema & {
  pipe?: Pipe;
  wrapped?: v.GenericSchema;
  item?: v.GenericSchema;
  entries?: Readonly<Record<string, v.GenericSchema>>;
};

/**
 * The schema without the steps that normalize a value before its rules. `toJsonSchema` would end at such a step, and
 * leave out the rules and the descriptions.
 */
function withoutReading(schema: v.GenericSchema): v.GenericSchema {
  const { pipe, wrapped, item, entries } = schema as Described;
  return {
    ...schema,
    ...(pipe && { pipe: pipe.flatMap(withoutSteps) }),
    ...(wrapped && { wrapped: withoutReading(wrapped) }),
    ...(item && { item: withoutReading(item) }),
    ...(entries && { entries: mapEntries(entries) }),
  };
}

function withoutSteps(item: Pipe[number]): Pipe {
  if (item.kind === 'schema') return [withoutReading(item as v.GenericSchema)];
  return item.kind === 'transformation' && item.type === 'transform' ? [] : [item];
}

function mapEntries(entries: Readonly<Record<string, v.GenericSchema>>) {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, withoutReading(entry)]));
}

/** A document that describes things of several kinds, each by a schema of its own. */
export function schemaDocument(
  title: string,
  description: string,
  kinds: Readonly<Record<string, JsonObject>>,
): JsonObject {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title,
    description,
    oneOf: Object.keys(kinds).map((name) => ({ $ref: `#/$defs/${name}` })),
    $defs: kinds,
  };
}

const INT32_MAX = 2 ** 31 - 1;

/** Formats of OpenAPI. Without them, generators read a login into 32 bits. */
function addNumberFormats(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(addNumberFormats);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy: Record<string, Json> = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, addNumberFormats(value)]),
  );
  if (copy.type === 'number') copy.format = 'double';
  if (copy.type === 'integer') copy.format = Number(copy.maximum ?? Infinity) <= INT32_MAX ? 'int32' : 'int64';
  return copy;
}

/** A reference to a component of the document. */
export function componentReference(kind: 'schemas' | 'parameters' | 'headers', name: string): { $ref: string } {
  return { $ref: `#/components/${kind}/${name}` };
}

/** A table in Markdown. */
export function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A list in Markdown. */
export function markdownList(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join('\n');
}
