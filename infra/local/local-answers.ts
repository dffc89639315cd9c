import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import * as v from 'valibot';

/** The answer to a call of a local route that cannot be followed: one sentence, and what there is instead. */
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

/** Declares a path with its methods; every other method is answered with 405. */
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

/** The segment of the path that the route leaves open, decoded. */
export function nameIn({ params }: FastifyRequest): string {
  return (params as { name: string }).name;
}

/** A request's body as the schema has it. @throws Refusal with every fault */
export function bodyOf<S extends v.GenericSchema>({ body }: FastifyRequest, schema: S): v.InferOutput<S> {
  const result = v.safeParse(schema, body);
  if (result.success) return result.output;
  const faults = result.issues.map((issue) => `${v.getDotPath(issue) ?? 'body'}: ${translationFor(issue)}`);
  throw new Refusal(400, faults.join('; '));
}

function translationFor(issue: v.BaseIssue<unknown>): string {
  if (issue.expected === 'never') return 'is not known';
  if (issue.received === 'undefined') return 'is missing';
  return `must be ${issue.type === 'integer' ? 'a whole number' : (issue.expected ?? 'another value')}`;
}
