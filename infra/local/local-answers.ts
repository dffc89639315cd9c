import type { FastifyRequest } from 'fastify';
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

/** The parameter `name` of the route's path, decoded. */
export function nameParameter({ params }: FastifyRequest): string {
  return (params as { name: string }).name;
}

/** The body of a request, validated. @throws Refusal with every error */
export function parseBody<S extends v.GenericSchema>({ body }: FastifyRequest, schema: S): v.InferOutput<S> {
  const result = v.safeParse(schema, body);
  if (result.success) return result.output;
  const errors = result.issues.map((issue) => `${v.getDotPath(issue) ?? 'body'}: ${issue.message}`);
  throw new Refusal(400, errors.join('; '));
}
