import { expect } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import type { ProblemType } from '../../lib/problem.ts';
import { call } from './caller.ts';
import { accountsSoFar, checkViolations, doneSoFar, place } from './checks.ts';
import { accepted } from './promises.ts';
import type { Change, FieldCase, Operation, Stand, Violation } from './table.ts';
import type { World } from './world.ts';

/** A service or a connection, and its violation. */
export type ServiceFault = [target: string, fault: Fault];

/** One case of the table of errors: a request, and its violation. */
export interface ErrorCase extends Change {
  /** A row of the specification that it covers, next to the contract's table of errors. */
  stands?: { row: string; rule: string };
  says: string;
  status: number;
  type: ProblemType;
  /** The whole body. */
  raw?: string;
  /** The violation of the local service. */
  fault?: ServiceFault;
  /** More members of the problem. */
  members?: Record<string, unknown>;
  /** All violations that the answer must list. */
  violations?: readonly Violation[];
  retryAfter?: boolean;
}

/** Enough calls fail that every retry fails too. */
export const MANY_TIMES = 1_000;

/** @param answer status and type, as `404 user_not_found` */
export function error(
  operation: Operation,
  answer: `${number} ${ProblemType}`,
  says: string,
  more: Partial<ErrorCase> = {},
): ErrorCase {
  const [status = '', type = ''] = answer.split(' ');
  return { operation, says, status: Number(status), type: type as ProblemType, ...more };
}

/** One case, with its rows. */
export interface Case {
  title: string;
  stands: readonly Stand[];
  /** The error that it is answered with, as `400 malformed_json`. */
  error?: string;
  /** The rules that it breaks, by their names in answers. */
  broken?: readonly string[];
  run(world: World): Promise<unknown>;
}

type Run = Case['run'];

/** It keeps a rule of a row. */
export function keeps(row: string, rule: string, sentence: string, run: Run): Case {
  return { title: `${row}: ${rule} — ${sentence}`, stands: [{ row, rule, kept: true }], run };
}

/** It breaks a rule of a row, and is refused. */
export function breaks(row: string, rule: string, sentence: string, run: Run): Case {
  return { title: `${row}: ${rule} — ${sentence}`, stands: [{ row, rule, kept: false }], run };
}

/** It covers no row of the specification, but our own decision. */
export function decided(title: string, run: Run): Case {
  return { title, stands: [], run };
}

/** It is answered with an error of the contract's table. */
export function meets(
  problem: Pick<ErrorCase, 'status' | 'type' | 'says' | 'operation' | 'stands' | 'violations'>,
  run: Run,
): Case {
  const { status, type, says, operation, stands, violations = [] } = problem;
  const row = stands === undefined ? '' : `${stands.row}: ${stands.rule} — `;
  return {
    title: `${row}${operation}: ${says} is answered with ${status} ${type}`,
    stands: stands === undefined ? [] : [{ ...stands, kept: false }],
    error: `${status} ${type}`,
    broken: violations.map(({ rule }) => rule),
    run,
  };
}

/** A value of a field: accepted, or refused with exactly these violations, and nothing is done. */
export function ofField({ row, rule, says, violations, ...change }: FieldCase): Case {
  if (violations.length === 0) return keeps(row, rule, `${says} is accepted`, (world) => accepted(world, change));
  const words = violations.map((violation) => `${violation.rule} at ${place(violation)}`).join(', ');
  const refused = breaks(row, rule, `${says} is refused with ${words}`, async (world) => {
    const before = doneSoFar(world);
    checkViolations(await call(world, change), violations);
    expect(doneSoFar(world)).toEqual(before);
  });
  return { ...refused, broken: violations.map((violation) => violation.rule) };
}

/** A case of the table of errors: it gets the expected answer, and nothing is sent or opened. */
export function ofError(problem: ErrorCase): Case {
  const { raw, fault, members = {}, violations = [], retryAfter = false, status, type, ...change } = problem;
  const run = async (world: World) => {
    world.service.outbox.clear();
    const before = accountsSoFar(world);
    const answer = await call(world, change, raw === undefined ? {} : { raw });
    checkViolations(answer, violations, type, status);
    if (type !== 'account_outcome_unknown') expect(accountsSoFar(world)).toEqual(before);
    expect(answer.body).toMatchObject(members);
    if (retryAfter) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(world.service.outbox.list()).toEqual([]);
  };
  return meets(problem, fault === undefined ? run : (world) => withFault(world, ...fault, () => run(world)));
}

/** Makes the next calls to a service or a connection fail while the work runs. */
export async function withFault<T>(
  { service }: World,
  target: string,
  fault: Fault,
  run: () => Promise<T>,
): Promise<T> {
  const faults = service.faults(target);
  faults.set(fault);
  try {
    return await run();
  } finally {
    faults.clear();
  }
}
