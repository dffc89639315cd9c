import { toJsonSchema } from '@valibot/to-json-schema';
import type * as v from 'valibot';
import type { Json } from './json.ts';

/** The JSON Schema of a validator, as a caller sees it. Rules that JSON Schema cannot express are in the descriptions. */
export function toSchema(
  schema: v.GenericSchema,
  target: 'draft-2020-12' | 'draft-07' = 'draft-2020-12',
): Record<string, Json> {
  const { $schema: _, ...converted } = toJsonSchema(schema, {
    target,
    typeMode: 'input',
    ignoreActions: ['check', 'raw_check', 'finite', 'to_upper_case'],
    overrideSchema: ({ valibotSchema, jsonSchema }) => {
      const { required, ...rest } = jsonSchema;
      const kept = required?.length === 0 ? rest : jsonSchema;
      if (valibotSchema.type === 'literal') return { type: 'string', ...kept };
      return valibotSchema.type === 'loose_object' ? { ...kept, additionalProperties: true } : kept;
    },
  });
  return converted as Record<string, Json>;
}
