import type { APIGatewayEventRequestContextV2, APIGatewayProxyEventV2WithRequestContext } from 'aws-lambda';
import * as v from 'valibot';
import { invalid } from '../problem.ts';
import { CaptchaTokenSchema, IdempotencyKeySchema, singleHeaderValue } from '../validators/headers.ts';
import { listViolations, type Violation } from '../validators/primitives.ts';
import type { CaptchaOutcome, CaptchaVerifier } from './captcha.ts';
import { parseBody } from './json-body.ts';
import { type Front, NO_FRONT } from './source.ts';

/** The result of the gateway's authorizer; absent on an open route. */
interface Authorizer {
  iam?: { userArn?: string } | null;
  jwt?: { claims: Readonly<Record<string, unknown>> };
}

/** The event of the gateway, in payload format 2.0. */
export type Event = APIGatewayProxyEventV2WithRequestContext<
  APIGatewayEventRequestContextV2 & { authorizer?: Authorizer }
>;

/** A request that keeps the rules of its schemas. */
export interface Request<Body, Parameters = Record<never, string>> {
  body: Body;
  /** The unchanged body, for the idempotency fingerprint. */
  sentBody: Record<string, unknown>;
  parameters: Parameters;
  idempotencyKey: string | undefined;
  /** The address of the person who called: an IPv4 or IPv6 address without a port. */
  source: string;
  /** The `User-Agent` header. */
  userAgent?: string | undefined;
  /** The caller; undefined on a route without an authorizer. */
  caller: string | undefined;
  /** Verifies the captcha token of this request, once; absent if the deployment needs no captcha. */
  captcha?: ((signal: AbortSignal) => Promise<CaptchaOutcome>) | undefined;
  /** When this invocation times out, in epoch milliseconds. */
  endsAt: number;
}

/** Schemas may be asynchronous: large tables of rules are loaded on first use. */
export type BodySchema = v.GenericSchema | v.GenericSchemaAsync;

/** The rules of a request. */
export interface RequestRules<Body extends BodySchema, Path extends v.GenericSchema> {
  body: Body;
  path: Path;
  /** Absent: no proxy is in front. */
  front?: Front;
  /** Absent: no captcha is required. */
  captcha?: CaptchaVerifier | undefined;
}

/**
 * @param endsAt when this invocation times out, in epoch milliseconds
 * @throws Problem with all errors of the request
 */
export async function parseRequest<Body extends BodySchema, Path extends v.GenericSchema>(
  event: Event,
  endsAt: number,
  rules: RequestRules<Body, Path>,
  signal: AbortSignal,
): Promise<Request<v.InferOutput<Body>, v.InferOutput<Path>>> {
  const sentBody = parseBody(event);
  const { headers, pathParameters = {}, requestContext } = event;
  const { captcha, front = NO_FRONT } = rules;
  const caller = callerName(requestContext.authorizer);

  const path = v.safeParse(rules.path, pathParameters);
  const key = v.safeParse(OptionalKeySchema, singleHeaderValue(headers['idempotency-key']?.trim()));
  const token = captcha && v.safeParse(CaptchaTokenSchema, headers['captcha-token']?.trim());
  const body = await v.safeParseAsync(rules.body, sentBody);
  const nameless = key.output !== undefined && requestContext.authorizer !== undefined && caller === undefined;
  if (!path.success || !key.success || token?.success === false || !body.success || nameless) {
    throw invalid([
      ...(path.issues ?? []).flatMap((issue) => locateViolations({ parameter: String(issue.path?.[0].key) }, [issue])),
      ...locateViolations({ header: 'Idempotency-Key' }, key.issues),
      ...(nameless ? [NAMELESS_CALLER] : []),
      ...locateViolations({ header: 'captcha-token' }, token?.issues),
      ...listViolations(body.issues ?? []),
    ]);
  }

  return {
    body: body.output,
    sentBody,
    parameters: path.output,
    idempotencyKey: key.output,
    source: await front.readSource({ sourceIp: requestContext.http.sourceIp, headers }, signal),
    userAgent: headers['user-agent'],
    caller,
    captcha: captcha && token && ((until) => captcha(token.output, until)),
    endsAt,
  };
}

const OptionalKeySchema = v.optional(IdempotencyKeySchema);

/** Without a caller, the key of another client could match. */
const NAMELESS_CALLER: Violation = {
  header: 'Idempotency-Key',
  rule: 'not_supported',
  detail: 'cannot be used with a token that has neither sub nor client_id',
};

/** The violations of a value outside the body. */
function locateViolations(
  place: { parameter: string } | { header: string },
  issues: readonly v.BaseIssue<unknown>[] = [],
): Violation[] {
  return listViolations(issues).map(({ rule, detail }) => ({ ...place, rule, detail }));
}

/**
 * The caller: the IAM principal, the token's subject, or its client. The kind is part of the name, because an issuer
 * may give a person the id of a client.
 *
 * An assumed role counts without its session, whose name changes with each process or renewal of credentials. A retry
 * must have the same caller.
 * @returns undefined on an open route, and for a token that names neither
 */
function callerName({ iam, jwt }: Authorizer = {}): string | undefined {
  if (iam?.userArn !== undefined) return `iam:${iam.userArn.replace(/(:assumed-role\/[^/]+)\/.*$/, '$1')}`;
  for (const claim of ['sub', 'client_id']) {
    const value = jwt?.claims[claim];
    if (typeof value === 'string' && value !== '') return `${claim}:${value}`;
  }
  return undefined;
}
