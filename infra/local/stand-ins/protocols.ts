import * as v from 'valibot';
import type { NeededRight } from '../rights/policy.ts';
import { type Call, jsonAnswer, requestId, ServiceError, type StandInAnswer, type StandInService } from './stand-in.ts';

type Faults = Pick<StandInService, 'throttled' | 'refused' | 'refused_recipient'>;

/** A service with JSON 1.0 or 1.1: a header names the operation, `__type` the error. */
interface JsonService extends Faults {
  /** The service's name in the credential scope of a signature, and in IAM's actions. */
  name: string;
  /** The service's name in `x-amz-target`, before the operation. */
  target: string;
  operations: Readonly<Record<string, JsonOperation>>;
  /** The ARNs of the resources that a call with this input needs a right on. */
  resources(input: Readonly<Record<string, unknown>>): string[];
  /** The rights of its caller that the service uses for that call. */
  delegated?(input: Readonly<Record<string, unknown>>): NeededRight[];
  /** The values of condition keys of that call. */
  context?(input: Readonly<Record<string, unknown>>): Readonly<Record<string, string>>;
}

const JSON_TYPE = 'application/x-amz-json-1.1';

type JsonOperation = (input: unknown, call: Call) => object;

/** An operation whose input is validated. @param work throws ServiceError */
export function jsonOperation<S extends v.GenericSchema>(
  schema: S,
  work: (input: v.InferOutput<S>, call: Call) => object,
): JsonOperation {
  return (input, call) => {
    const { success, output } = v.safeParse(schema, input);
    if (!success) throw new ServiceError('ValidationException', 'The request failed to satisfy a constraint.');
    return work(output, call);
  };
}

export function jsonService({
  name,
  target,
  operations,
  resources,
  delegated,
  context,
  ...faults
}: JsonService): StandInService {
  const operationName = ({ headers }: Call) => String(headers['x-amz-target']).slice(target.length + 1);
  return {
    ...faults,
    signed: {
      name,
      denied: 'AccessDeniedException',
      needs(call) {
        const input = parseObject(call.body) ?? {};
        const action = `${name}:${operationName(call)}`;
        const needed = resources(input).map((resource) => ({
          action,
          resource,
          ...(context && { context: context(input) }),
        }));
        return [...needed, ...(delegated?.(input) ?? [])];
      },
    },
    answer(call) {
      const run = operations[operationName(call)];
      if (run === undefined) throw new ServiceError('UnknownOperationException');
      return jsonAnswer(run(parseObject(call.body), call), 200, JSON_TYPE);
    },
    error: jsonError,
  };
}

/** An error of that protocol. */
export function jsonError({ code, message, members }: ServiceError): StandInAnswer {
  return jsonAnswer({ __type: `com.amazonaws#${code}`, message, Message: message, ...members }, 400, JSON_TYPE);
}

/** An error of AWS's REST protocol in JSON. */
export function restError({ code, message, status }: ServiceError): StandInAnswer {
  const { headers, ...answer } = jsonAnswer({ message }, status);
  return { ...answer, headers: { ...headers, 'x-amzn-errortype': code } };
}

/** A service with the query protocol, a form in and XML out, with its one operation. */
interface QueryService extends Faults {
  name: string;
  namespace: string;
  action: string;
  denied: string;
  /** The members of the answer. */
  work(form: URLSearchParams): Readonly<Record<string, string>>;
  needs(form: URLSearchParams, action: string): ReturnType<NonNullable<StandInService['signed']>['needs']>;
}

export function queryService({
  name,
  namespace,
  action,
  denied,
  work,
  needs,
  ...faults
}: QueryService): StandInService {
  return {
    ...faults,
    signed: { name, denied, needs: ({ body }) => needs(new URLSearchParams(body), `${name}:${action}`) },
    answer({ body }) {
      const form = new URLSearchParams(body);
      if (form.get('Action') !== action) throw new ServiceError('InvalidAction');
      const members = Object.entries(work(form)).map(([member, value]) => xmlElement(member, escapeXml(value)));
      const result = xmlElement(`${action}Result`, members.join(''));
      const metadata = xmlElement('ResponseMetadata', xmlElement('RequestId', requestId()));
      return xmlAnswer(200, `<${action}Response xmlns="${namespace}">${result}${metadata}</${action}Response>`);
    },
    error({ code, message, status }) {
      const content =
        xmlElement('Type', 'Sender') + xmlElement('Code', code) + xmlElement('Message', escapeXml(message));
      const id = xmlElement('RequestId', requestId());
      return xmlAnswer(
        status,
        `<ErrorResponse xmlns="${namespace}">${xmlElement('Error', content)}${id}</ErrorResponse>`,
      );
    },
  };
}

/** The values under `prefix.1`, `prefix.2`, …, each with an optional `.suffix`. */
export function formValues(form: URLSearchParams, prefix: string, suffix = ''): string[] {
  const values: string[] = [];
  for (let place = 1; ; place += 1) {
    const value = form.get(`${prefix}.${place}${suffix}`);
    if (value === null) return values;
    values.push(value);
  }
}

/** Parses an object in JSON; undefined for any other text. */
export function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

export function xmlElement(name: string, content: string): string {
  return `<${name}>${content}</${name}>`;
}

export function xmlAnswer(status: number, body: string): StandInAnswer {
  return { status, headers: { 'content-type': 'text/xml' }, body };
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
