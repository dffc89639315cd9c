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
export function violationPlace(violation: Violation): string {
  return 'pointer' in violation ? violation.pointer : 'parameter' in violation ? violation.parameter : violation.header;
}

/** Exactly these violations, each with a sentence. */
export function checkErrors(
  errors: readonly (Violation & { detail: string })[],
  violations: readonly Violation[],
): void {
  const inWords = (violation: Violation) => `${violation.rule} at ${violationPlace(violation)}`;
  expect(errors.map(inWords).sort()).toEqual(violations.map(inWords).sort());
  for (const { detail } of errors) expect(detail).toMatch(/^\S.{5,}/);
}

/** A problem with exactly these violations. */
export function checkViolations(
  answer: Answer,
  violations: readonly Violation[],
  expected = '400 validation_failed',
): void {
  checkProblem(answer, expected);
  checkErrors((answer.body?.errors ?? []) as (Violation & { detail: string })[], violations);
}

/** @param expected status and type, as `404 user_not_found` */
export function checkProblem({ status, body }: Answer, expected: string): void {
  expect(`${status} ${body?.type}`).toBe(expected);
}

/** The gateway's own answer to an unknown route. */
export function checkNotFound({ status, text }: Answer): void {
  expect([status, text]).toEqual([404, '{"message":"Not Found"}']);
}
