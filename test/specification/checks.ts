import { expect } from 'vitest';
import type { Answer } from './caller.ts';
import type { Violation } from './table.ts';
import type { World } from './world.ts';

/** The counted effects of the service since its start; a refused request adds none. */
export function doneSoFar(world: World) {
  const { outbox, standIns, database } = world.service;
  const isWrite = ({ operation }: { operation: string }) => !['GetItem', 'Query'].includes(operation);
  const isKept = ({ table }: { table: string }) => ['registrations', 'accounts'].includes(table);
  return {
    messages: outbox.list().length,
    documents: standIns.s3.objects.size,
    records: database.calls.filter((one) => isWrite(one) && isKept(one)).length,
    accounts: accountsSoFar(world),
  };
}

/** How many accounts each trading server has. */
export function accountsSoFar({ service }: World): Record<string, number> {
  return Object.fromEntries([...service.platforms].map(([id, server]) => [id, server.accounts().length]));
}

/** The place of an error, as in the answer. */
export function place(violation: Violation): string {
  return 'pointer' in violation ? violation.pointer : 'parameter' in violation ? violation.parameter : violation.header;
}

/** Exactly these violations, each with a sentence. */
export function checkErrors(
  errors: readonly (Violation & { detail: string })[],
  violations: readonly Violation[],
): void {
  const inWords = (violation: Violation) => `${violation.rule} at ${place(violation)}`;
  expect(errors.map(inWords).sort()).toEqual(violations.map(inWords).sort());
  for (const { detail } of errors) expect(detail).toMatch(/^\S.{5,}/);
}

/** A problem of this status and type with exactly these violations. */
export function checkViolations(
  answer: Answer,
  violations: readonly Violation[],
  type = 'validation_failed',
  status = 400,
): void {
  checkProblem(answer, status, type);
  checkErrors((answer.body?.errors ?? []) as (Violation & { detail: string })[], violations);
}

export function checkProblem(answer: Answer, status: number, type: string): void {
  expect({ status: answer.status, type: answer.body?.type }).toEqual({ status, type });
}

/** The gateway's own answer to an unknown route. */
export function checkNotFound(answer: Answer, method = 'POST'): void {
  expect(answer.status).toBe(404);
  expect(answer.text).toBe(method === 'HEAD' ? '' : '{"message":"Not Found"}');
}
