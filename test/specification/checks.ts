import { expect } from 'vitest';
import type { Answer } from './caller.ts';
import type { Fault } from './table.ts';
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
export function place(fault: Fault): string {
  return 'pointer' in fault ? fault.pointer : 'parameter' in fault ? fault.parameter : fault.header;
}

/** Exactly these faults, each with a sentence. */
export function checkErrors(errors: readonly (Fault & { detail: string })[], faults: readonly Fault[]): void {
  const inWords = (fault: Fault) => `${fault.rule} at ${place(fault)}`;
  expect(errors.map(inWords).sort()).toEqual(faults.map(inWords).sort());
  for (const { detail } of errors) expect(detail).toMatch(/^\S.{5,}/);
}

/** A problem of this status and type with exactly these faults. */
export function checkFaults(answer: Answer, faults: readonly Fault[], type = 'validation_failed', status = 400): void {
  checkProblem(answer, status, type);
  checkErrors((answer.body?.errors ?? []) as (Fault & { detail: string })[], faults);
}

export function checkProblem(answer: Answer, status: number, type: string): void {
  expect({ status: answer.status, type: answer.body?.type }).toEqual({ status, type });
}

/** The gateway's own answer to a route that there is not. */
export function checkNotFound(answer: Answer, method = 'POST'): void {
  expect(answer.status).toBe(404);
  expect(answer.text).toBe(method === 'HEAD' ? '' : '{"message":"Not Found"}');
}
