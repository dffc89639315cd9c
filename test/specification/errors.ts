import type { Fault as LocalFault } from '../../infra/local/faults.ts';
import type { ProblemType } from '../../lib/problem.ts';
import type { Change, Fault, Operation } from './table.ts';

/** A service or a connection, and its fault. */
export type Wrong = [target: string, fault: LocalFault];

/** One case of the table of errors: a request, and its fault. */
export interface ErrorCase extends Change {
  /** A row of the specification that it covers, next to the contract's table of errors. */
  stands?: { row: string; rule: string };
  says: string;
  status: number;
  type: ProblemType;
  /** The whole body. */
  raw?: string;
  /** The fault of the local service. */
  goesWrong?: Wrong;
  /** More members of the problem. */
  members?: Record<string, unknown>;
  /** All faults that are to be listed. */
  faults?: readonly Fault[];
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
