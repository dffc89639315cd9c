import { explain, missingRight, OPERATORS_POLICY } from '../crm/command.ts';
import type { AwsProbes } from './probes.ts';

/** `unknown`: the probe failed, mostly because a right is missing. */
type State = 'works' | 'missing' | 'warning' | 'unknown';

/** One line of the doctor's table. */
export interface CheckResult {
  /** Such as `mail` or `trading server`. */
  area: string;
  /** Such as `tp5-live-1`. */
  subject: string;
  state: State;
  detail: string;
  /** The command, or the step of a person, that fixes it; with every state but `works`. */
  fix?: string;
}

/** A result, for which the check adds its own area and subject. */
export type CheckOutcome = Omit<CheckResult, 'area' | 'subject'> & Partial<Pick<CheckResult, 'area' | 'subject'>>;

/** Checks one subject with its probes. */
export interface Check<Probes = AwsProbes> {
  area: string;
  subject: string;
  run(probes: Probes): Promise<CheckOutcome | CheckOutcome[]>;
}

/** A check of one subject. */
export function check<Probes = AwsProbes>(area: string, subject: string, run: Check<Probes>['run']): Check<Probes> {
  return { area, subject, run };
}

export const works = (detail: string): CheckOutcome => ({ state: 'works', detail });
export const missing = (detail: string, fix: string): CheckOutcome => ({ state: 'missing', detail, fix });
export const warning = (detail: string, fix: string): CheckOutcome => ({ state: 'warning', detail, fix });

/** Runs the checks in parallel. @returns their results, in the order of the checks */
export async function examine<Probes>(checks: readonly Check<Probes>[], probes: Probes): Promise<CheckResult[]> {
  const results = await Promise.all(
    checks.map(async ({ area, subject, run }) => {
      const outcome = await run(probes).catch(unknown);
      return [outcome].flat().map((one) => ({ area, subject, ...one }));
    }),
  );
  return results.flat();
}

/** The outcome of a check whose probe failed. */
export function unknown(error: unknown): CheckOutcome {
  const right = missingRight(error);
  return {
    state: 'unknown',
    detail: right === undefined ? explain(error).message : 'cannot be read (access denied)',
    fix:
      right === undefined
        ? 'check the credentials, the region and the network, and run it again'
        : `give these credentials the right ${right}: ${OPERATORS_POLICY}`,
  };
}

/** Whether anything keeps the service from working: a warning does not, an unknown state may. */
export function exitCode(results: readonly CheckResult[]): 0 | 1 {
  return results.some(({ state }) => state === 'missing' || state === 'unknown') ? 1 : 0;
}
