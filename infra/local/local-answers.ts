import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as v from 'valibot';

/** An error answer of a local route: one sentence, and members that name the alternatives. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly members: Record<string, unknown>;

  constructor(status: number, detail: string, members: Record<string, unknown> = {}) {
    super(detail);
    this.status = status;
    this.members = members;
  }
}

type Action = (request: FastifyRequest, reply: FastifyReply) => unknown;
const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'PATCH'];

/** Adds a path with its methods. Every other method gets 405. */
export function addPath(app: FastifyInstance, url: string, actions: Record<string, Action>): void {
  for (const [method, handler] of Object.entries(actions)) app.route({ method, url, handler });
  const methods = Object.keys(actions);
  app.route({
    method: METHODS.filter((method) => !methods.includes(method)),
    url,
    handler: (_request, reply) => {
      reply.header('allow', methods.join(', '));
      throw new Refusal(405, 'This path has no such method.', { methods });
    },
  });
}

/** The parameter `name` of the route's path, decoded. */
export function nameParameter({ params }: FastifyRequest): string {
  return (params as { name: string }).name;
}

/** The body of a request, validated. @throws Refusal with every error */
export function parseBody<S extends v.GenericSchema>({ body }: FastifyRequest, schema: S): v.InferOutput<S> {
  const result = v.safeParse(schema, body);
  if (result.success) return result.output;
  const errors = result.issues.map((issue) => `${v.getDotPath(issue) ?? 'body'}: ${explain(issue)}`);
  throw new Refusal(400, errors.join('; '));
}

function explain(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is not known';
  if (issue.received === 'undefined') return 'is missing';
  return `must be ${issue.type === 'integer' ? 'a whole number' : (issue.expected ?? 'another value')}`;
}
