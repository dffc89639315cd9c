import { expect } from 'vitest';
import type { Fault } from '../../infra/local/faults.ts';
import type { ProblemType } from '../../lib/problem.ts';
import { sendRequest } from './caller.ts';
import { accountsSoFar, checkViolations, doneSoFar, violationPlace } from './checks.ts';
import { goodRequests } from './fields.ts';
import { checkAccepted } from './promises.ts';
import type { Change, FieldCase, Operation, Stand, Violation } from './table.ts';
import type { World } from './world.ts';

/** A service or a connection, and its violation. */
export type ServiceFault = [target: string, fault: Fault];

/** Status and type of a problem, as `404 user_not_found`. */
type Answered = `${number} ${ProblemType}`;

/** One case of the table of errors: a request, and its violation. */
export interface ErrorCase extends Change {
  /** The place in the specification that it covers, next to the contract's table of errors. */
  breaks?: string;
  says: string;
  answer: Answered;
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

export function error(operation: Operation, answer: Answered, says: string, more: Partial<ErrorCase> = {}): ErrorCase {
  return { operation, answer, says, ...more };
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

/** Cases that belong together. */
export interface Section {
  title: string;
  /** True: the cases are independent and can run in parallel. */
  concurrent?: boolean;
  cases: readonly Case[];
}

/** Sections that run with one service. */
export interface Part {
  title: string;
  /** Settings of the service, next to the usual ones. */
  settings?: Readonly<Record<string, unknown>>;
  sections: readonly Section[];
}

/** Places in the specification: a row and what its columns say, as `2.1 email: email format`. */
type Places = string | readonly string[];

function standsOf(places: Places, kept: boolean): Stand[] {
  return [places].flat().map((place) => {
    const [row = '', ...rule] = place.split(': ');
    return { row, rule: rule.join(': '), kept };
  });
}

/** It keeps what the specification says there. */
export function keeps(places: Places, sentence: string, run: Run): Case {
  return { title: `${[places].flat().join('; ')} — ${sentence}`, stands: standsOf(places, true), run };
}

/** It breaks what the specification says there, and is refused. */
export function breaks(places: Places, sentence: string, run: Run): Case {
  return { title: `${[places].flat().join('; ')} — ${sentence}`, stands: standsOf(places, false), run };
}

/** It covers no row of the specification, but our own decision. */
export function decided(title: string, run: Run): Case {
  return { title, stands: [], run };
}

/** It is answered with an error of the contract's table. */
export function meets(
  problem: Pick<ErrorCase, 'answer' | 'says' | 'operation' | 'breaks' | 'violations'>,
  run: Run,
): Case {
  const { answer, says, operation, breaks: place, violations = [] } = problem;
  return {
    title: `${place === undefined ? '' : `${place} — `}${operation}: ${says} is answered with ${answer}`,
    stands: place === undefined ? [] : standsOf(place, false),
    error: answer,
    broken: violations.map(({ rule }) => rule),
    run,
  };
}

/** A value of a field that is refused with exactly these violations; nothing is done. */
function ofBadValue({ row, rule, says, violations, ...change }: FieldCase): Case {
  const words = violations.map((violation) => `${violation.rule} at ${violationPlace(violation)}`).join(', ');
  const refused = breaks(`${row}: ${rule}`, `${says} is refused with ${words}`, async (world) => {
    const before = doneSoFar(world);
    checkViolations(await sendRequest(world, change), violations);
    expect(doneSoFar(world)).toEqual(before);
  });
  return { ...refused, broken: violations.map((violation) => violation.rule) };
}

/** Values of fields that are accepted in one request. */
function ofGoodValues(values: readonly [FieldCase, ...FieldCase[]]): Case {
  const places = values.map(({ row, rule }) => `${row}: ${rule}`);
  const says = values.map((value) => value.says).join(', ');
  const body = Object.assign({}, ...values.map((value) => value.body));
  const userId = values.find((value) => value.userId !== undefined)?.userId;
  const change = { operation: values[0].operation, body, ...(userId && { userId }) };
  return keeps(places, `accepted: ${says}`, (world) => checkAccepted(world, change));
}

/** Values of fields: the good ones together; the bad ones one by one, because they check all effects of the service. */
export function ofFields(title: string, values: readonly FieldCase[]): Section[] {
  const [good, bad] = [true, false].map((isGood) =>
    values.filter(({ violations }) => (violations.length === 0) === isGood),
  );
  return [
    { title: `${title}, what is accepted`, concurrent: true, cases: goodRequests(good ?? []).map(ofGoodValues) },
    { title: `${title}, what is refused field by field`, cases: (bad ?? []).map(ofBadValue) },
  ];
}

/** A case of the table of errors: it gets the expected answer, and nothing is sent or opened. */
export function ofError(problem: ErrorCase): Case {
  const { raw, fault, members = {}, violations = [], retryAfter = false, answer: expected, ...change } = problem;
  const run = async (world: World) => {
    world.service.outbox.clear();
    const before = accountsSoFar(world);
    const answer = await sendRequest(world, change, raw === undefined ? {} : { raw });
    checkViolations(answer, violations, expected);
    if (expected !== '504 account_outcome_unknown') expect(accountsSoFar(world)).toEqual(before);
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
