import type { Fault as LocalFault } from '../../infra/local/faults.ts';
import type { ProblemType } from '../../lib/problem.ts';
import type { Change, Fault } from './table.ts';

/** One case of the table of errors: a request, and what goes wrong with it. */
export interface ErrorCase extends Change {
  /** A row of the specification that it stands for, beside the one of the contract's table of errors. */
  stands?: { row: string; rule: string };
  says: string;
  status: number;
  type: ProblemType;
  /** The whole body, as it is sent. */
  raw?: string;
  /** What the local service makes go wrong: a service or a connection, and how. */
  goesWrong?: [target: string, fault: LocalFault];
  /** More members of the problem. */
  members?: Record<string, unknown>;
  /** All faults that are to be listed. */
  faults?: readonly Fault[];
  retryAfter?: boolean;
}

/** So many calls go wrong that every repeat does too. */
export const MANY_TIMES = 1_000;
