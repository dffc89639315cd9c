import { compile, type JSONSchema } from 'json-schema-to-typescript';
import { OPERATIONS, type OperationId, PROBLEM_NOTES, PROBLEM_TYPES } from './problems.ts';
import { type Json, type JsonObject, problemName, schemas } from './schemas.ts';

const BANNER = `/**
 * The bodies and answers of the service in TypeScript, for integrators: made from the OpenAPI document by
 * \`npm run openapi\`, never edited by hand. This file stands alone and may be copied.
 */`;

interface Types {
  body: string;
  /** Of the answer to a request that succeeded; absent where it has no body. */
  answer?: string;
  summary: string;
}

/** The types of `infra/openapi/openapi-types.ts`: one for each schema of the document, and one that tells each operation's. */
export async function toTypes(operations: Readonly<Record<OperationId, Types>>): Promise<string> {
  const root = {
    type: 'object',
    description: 'What each operation takes and answers, by its `operationId`.',
    ...closed(Object.fromEntries(OPERATIONS.map((name) => [name, operation(name, operations[name])]))),
    $defs: definitions(),
  };
  const text = await compile(JSON.parse(localized(root)) as JSONSchema, 'Operations', {
    additionalProperties: false,
    bannerComment: BANNER,
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true, printWidth: 120 },
  });
  return tidied(text);
}

/** Without what the generator says of itself in every comment, and with the name of a union that it repeats. */
function tidied(text: string): string {
  const plain = text
    .replace(/(?: \*\n)? \* This interface was referenced by `Operations`'s JSON-Schema\n \* via the .*\n/g, '')
    .replaceAll('/**\n */\n', '')
    .replace(/\[k: string\]:\n\s+\| CustomFieldValue\n[\s\S]*?\| undefined;\n/, '[k: string]: CustomFieldValue;\n');
  return `${plain}\n/** Every error of the service; \`type\` tells them apart. */\nexport type Problem = Operations[keyof Operations]['problem'];\n`;
}

function operation(name: OperationId, { body, answer, summary }: Types): JsonObject {
  const problems = PROBLEM_TYPES.filter((type) => PROBLEM_NOTES[type].operations.includes(name));
  return {
    type: 'object',
    description: summary,
    ...closed({
      body: reference(body),
      ...(answer === undefined ? {} : { answer: reference(answer) }),
      problem: { anyOf: problems.map((type) => reference(problemName(type))) },
    }),
  };
}

function closed(properties: Readonly<Record<string, Json>>): JsonObject {
  return { properties, required: Object.keys(properties), additionalProperties: false };
}

function definitions(): JsonObject {
  const all = schemas();
  return {
    ...all,
    // A field of this kind takes whatever JSON can say, which the generator takes for objects alone.
    AnyValue: { ...(all.AnyValue as JsonObject), tsType: 'unknown' },
  };
}

function reference(name: string): JsonObject {
  return { $ref: `#/$defs/${name}` };
}

/** As JSON, with the document's references and titles turned into those of one schema by itself. */
function localized(schema: Json): string {
  return JSON.stringify(schema, (key, value: Json) =>
    key === 'title' && typeof value === 'string' ? undefined : value,
  ).replaceAll('#/components/schemas/', '#/$defs/');
}
