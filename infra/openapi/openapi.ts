import { writeFile } from 'node:fs/promises';
import packageFile from '../../package.json' with { type: 'json' };
import { crmItemsDocument } from './crm-items.ts';
import { apiDescription } from './description.ts';
import type { JsonObject } from './json.ts';
import { COMPONENT_PARAMETERS, documentPaths } from './operations.ts';
import { COMPONENT_HEADERS } from './problems.ts';
import { componentSchemas } from './schemas.ts';
import { eventsDocument, webhookSchemas, webhooks } from './webhooks.ts';

/**
 * The OpenAPI document of the service. It is made from the validators and the table of public errors, so it cannot
 * differ from them. `npm run openapi` writes it to `infra/openapi.json`.
 */
export function openapi(): JsonObject {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Registration and trading accounts',
      version: packageFile.version,
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
      description: apiDescription(),
    },
    // The address is no variable: generated clients send `{base_url}` as a host.
    servers: [
      {
        url: 'https://api.broker.example',
        description: 'The base URL of the deployment; `cdk deploy` prints it. Set it in the client.',
      },
    ],
    tags: [
      { name: 'Registration', description: 'For registration pages; no authorization, but limits.' },
      { name: 'Trading accounts', description: 'For systems of the broker.' },
      { name: 'Webhooks', description: 'Events that the service posts to the CRM.' },
    ],
    paths: documentPaths(),
    webhooks: webhooks(),
    components: {
      schemas: { ...componentSchemas(), ...webhookSchemas() },
      parameters: COMPONENT_PARAMETERS,
      headers: COMPONENT_HEADERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  };
}

const SECURITY_SCHEMES: JsonObject = {
  iam: {
    type: 'apiKey',
    name: 'Authorization',
    in: 'header',
    description:
      "AWS Signature Version 4 (`AWS4-HMAC-SHA256 …`, service `execute-api`) of an IAM principal that may invoke the route. The deployment's default.",
    'x-amazon-apigateway-authtype': 'awsSigv4',
  },
  jwt: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description:
      'An access token with the scope `accounts:create`, or the scope that the deployment names (`accounts/create` for its own machine clients). Replaces IAM if the deployment names an issuer and audience.',
  },
};

/** The generated files, by their names in `infra/`. */
export function generatedFiles(): Record<string, string> {
  const document = JSON.stringify(openapi(), null, 2);
  return {
    'openapi.json': `${document}\n`,
    'crm-items.json': `${JSON.stringify(crmItemsDocument(), null, 2)}\n`,
    'events.json': `${JSON.stringify(eventsDocument(), null, 2)}\n`,
  };
}

if (import.meta.main) {
  for (const [name, text] of Object.entries(generatedFiles())) {
    await writeFile(new URL(`../${name}`, import.meta.url), text);
  }
}
