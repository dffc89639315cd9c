/** @import { FirstCall, FirstCalls } from '../first-calls.ts' */
/**
 * @typedef {{ summary: string; value: Record<string, unknown> }} Example
 * @typedef {{ examples?: Record<string, Example> }} Body
 * @typedef {{ post: { requestBody: { content: { 'application/json': Body } } } }} Operations of one path
 * @typedef {{ example?: string; schema: { examples?: string[] } }} Parameter
 * @typedef {{ properties?: Record<string, { examples?: unknown[] }> }} Schema
 * @typedef {{ parameters: { UserId: Parameter }; schemas: Record<string, Schema> }} Components
 * @typedef {{ paths: Record<string, Operations>; components: Components }} ApiDocument
 * @typedef {{ ok: boolean; url: string; text: string }} ViewerResponse
 */

/** The viewer's own script, which stands before this one in the page. */
const { SwaggerUIBundle } = /** @type {{ SwaggerUIBundle: (options: object) => unknown }} */ (
  /** @type {unknown} */ (globalThis)
);

const DOCUMENT = '/_local/openapi.json';
/** Fields whose values stand in records. */
const NAMES_RECORDS = /^(form|referrer|connection|account_type|rebate_user)_id$|^group$/;

SwaggerUIBundle({
  url: DOCUMENT,
  dom_id: '#reference',
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  // It would ask a server elsewhere.
  validatorUrl: null,
  /** @param {ViewerResponse} response */
  async responseInterceptor(response) {
    if (!response.ok || new URL(response.url).pathname !== DOCUMENT) return response;
    const document = JSON.parse(response.text);
    return { ...response, text: JSON.stringify(withFittingExamples(document, await firstCalls())) };
  },
});

/**
 * The calls that go with the records of the service.
 *
 * @returns {Promise<FirstCalls>}
 */
async function firstCalls() {
  return (await fetch('/_local/calls')).json();
}

/**
 * The document's examples go with the demo records. Where the service has others, the call that goes with them takes
 * the place of the examples; where there is none, the viewer makes one from the schema, which says what to fill in.
 *
 * @param {ApiDocument} document
 * @param {FirstCalls} calls
 */
function withFittingExamples(document, { registration, account }) {
  const userId = account?.path.split('/')[4];
  const own = [registration, account].filter((call) => call !== undefined);
  const rows = Object.entries(document.paths).map(([template, { post }]) => {
    const path = template.replace('{user_id}', userId ?? '');
    return { body: post.requestBody.content['application/json'], call: own.find((one) => one.path === path) };
  });
  if (rows.filter(({ body, call }) => call !== undefined && isAmong(call, body)).length === 2) return document;

  for (const { body, call } of rows) {
    if (call === undefined) delete body.examples;
    else body.examples = { own: { summary: 'Goes with the records that were loaded', value: call.body } };
  }
  const { parameters, schemas } = document.components;
  for (const { properties = {} } of Object.values(schemas)) {
    for (const [name, property] of Object.entries(properties)) {
      if (NAMES_RECORDS.test(name)) property.examples = [`<${name}>`];
    }
  }
  const parameter = parameters.UserId;
  delete parameter.schema.examples;
  if (userId === undefined) delete parameter.example;
  else parameter.example = userId;
  return document;
}

/**
 * True when an example names the same form or connection as the call.
 *
 * @param {FirstCall} call
 * @param {Body} body
 */
function isAmong(call, { examples = {} }) {
  return ['form_id', 'connection_id'].some(
    (name) => name in call.body && Object.values(examples).some(({ value }) => value[name] === call.body[name]),
  );
}
