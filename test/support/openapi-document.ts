import { Ajv2020 } from 'ajv/dist/2020.js';
import * as v from 'valibot';
import { openapi } from '../../infra/openapi/openapi.ts';
import type { OperationId } from '../../infra/routes.ts';
import { ConfirmationRequestSchema } from '../../lib/validators/confirmation.ts';
import { ALL_COUNTRIES } from '../../lib/validators/deployment.ts';
import { registrationRequestSchema } from '../../lib/validators/registration.ts';
import { tradingAccountRequestSchema } from '../../lib/validators/trading-account.ts';

/** The parts of the OpenAPI document that its tests read. */
export interface Schema {
  type?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  examples?: unknown[];
  additionalProperties?: boolean | Schema;
  enum?: string[];
  const?: unknown;
  default?: unknown;
  [keyword: string]: unknown;
}
interface Media {
  schema: Schema;
  examples?: Record<string, { value: unknown }>;
  example?: unknown;
}
interface Operation {
  operationId: OperationId;
  description: string;
  'x-deployment-setting'?: string;
  security: Record<string, string[]>[];
  parameters?: { $ref: string }[];
  requestBody: { required: boolean; content: Record<string, Media> };
  responses: Record<
    string,
    { description: string; headers?: Record<string, unknown>; content?: Record<string, Media> }
  >;
}
interface Document {
  paths: Record<string, { post: Operation }>;
  components: {
    schemas: Record<string, Schema>;
    parameters: Record<string, { schema: Schema; required: boolean; in: string; name: string; example?: string }>;
  };
}

const document = openapi() as unknown as Document;
export const { schemas, parameters } = document.components;
export const operations = Object.entries(document.paths).map(([path, { post }]) => ({ path, ...post }));

/** The validator of each operation's body. */
const BODIES = {
  requestRegistration: registrationRequestSchema([ALL_COUNTRIES]),
  confirmRegistration: ConfirmationRequestSchema,
  createTp5Account: tradingAccountRequestSchema('tp5'),
  createTp4Account: tradingAccountRequestSchema('tp4'),
} as const;

/** Whether the validator of the operation accepts a body. */
export async function accepts(operation: OperationId, body: unknown): Promise<boolean> {
  return (await v.safeParseAsync(BODIES[operation], body)).success;
}

/** Validates by the document: `ajv.validate({ $ref: 'openapi#/components/…' }, body)`. */
export const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema({ $id: 'openapi', components: document.components });
