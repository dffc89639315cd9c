import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { EVENT_SOURCE } from '../../lib/config/deployment.ts';

interface EventSchema {
  properties: { detail: object };
}

const document = JSON.parse(readFileSync(new URL('../../infra/events.json', import.meta.url), 'utf8')) as {
  $defs: Record<string, EventSchema>;
};
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { 'date-time': /^\d{4}-\d\d-\d\dT[\d:.]+Z$/ } });

/** The document allows additional members, for receivers; here every member is documented. */
const validators = new Map<string, ValidateFunction>(
  Object.entries(document.$defs).map(([name, schema]) => {
    const detail = { ...schema.properties.detail, additionalProperties: false };
    return [name, ajv.compile({ ...schema, properties: { ...schema.properties, detail } })];
  }),
);

/**
 * Checks an event against `infra/events.json`.
 * @throws Error that lists everything that is wrong
 */
export function checkEvent(type: string, detail: object, source = EVENT_SOURCE): void {
  const validate = validators.get(type);
  if (validate === undefined) throw new Error(`The event ${type} is not documented.`);
  if (validate({ source, 'detail-type': type, detail })) return;
  const faults = (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
  throw new Error([`The event ${type} differs from infra/events.json:`, ...faults].join('\n  '));
}
