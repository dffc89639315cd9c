import type { Settings } from '../settings.ts';
import type { AwsLooks, Finding, State } from './looks.ts';

/** A look at one thing, and what it means. */
export interface Check<Needed = AwsLooks> {
  area: string;
  what: string;
  look(looks: Needed): Promise<Found | Found[]>;
}
export type Found = Omit<Finding, 'area' | 'what'> & Partial<Pick<Finding, 'area' | 'what'>>;

export const works = (says: string): Found => ({ state: 'works', says });
export const missing = (says: string, mend: string): Found => ({ state: 'missing', says, mend });
export const warning = (says: string, mend: string): Found => ({ state: 'warning', says, mend });

/** Runs the checks side by side; each has its findings, in the order of the checks. */
export async function examine<Needed>(checks: readonly Check<Needed>[], looks: Needed): Promise<Finding[]> {
  const findings = await Promise.all(
    checks.map(async ({ area, what, look }) => {
      const found = await look(looks).catch((error: unknown) => notSeen(error));
      return [found].flat().map((one) => ({ area, what, ...one }));
    }),
  );
  return findings.flat();
}

function notSeen(error: unknown): Found {
  const name = error instanceof Error ? error.name : 'Error';
  const mend = /AccessDenied|NotAuthorized|Unauthorized/i.test(name)
    ? 'give these credentials the right to read it'
    : 'look at the credentials, the region and the network, and run it again';
  return { state: 'unknown', says: `cannot be looked at (${name})`, mend };
}

/** Whether anything keeps the service from working: a warning does not, what cannot be seen may. */
export function exitCode(findings: readonly Finding[]): 0 | 1 {
  const bad: State[] = ['missing', 'unknown'];
  return findings.some(({ state }) => bad.includes(state)) ? 1 : 0;
}

/** What says how many calls are reserved. */
interface Reserving {
  concurrency: Settings['concurrency'];
  confirmation?: Settings['confirmation'];
}

/** What only an account can have, whatever is deployed in it. */
export function accountChecks({ concurrency, confirmation }: Reserving = { concurrency: {} }): Check[] {
  const { registration = 0, accounts = 0 } = concurrency;
  const reserved = registration * (confirmation ? 2 : 1) + accounts * 2;
  return [
    {
      area: 'account',
      what: 'credentials',
      look: async (looks) => {
        const { account, region } = await looks.caller();
        return works(`account ${account}, region ${region}`);
      },
    },
    {
      area: 'account',
      what: 'bootstrap',
      look: async (looks) => {
        const version = await looks.bootstrapVersion();
        return version === undefined
          ? missing('CDK has not prepared this account and region', 'npx cdk bootstrap')
          : works(`version ${version}`);
      },
    },
    {
      area: 'account',
      what: 'concurrent executions',
      look: async (looks) => {
        const most = await looks.concurrentExecutions();
        const quota = 'ask for more: Service Quotas, AWS Lambda, Concurrent executions';
        if (reserved > 0 && most - reserved < 100) {
          return missing(`${most} in all; AWS keeps 100 unreserved, and ${reserved} are to be reserved`, quota);
        }
        return most < 100 ? warning(`${most} in all: a flood stops every function`, quota) : works(`${most} in all`);
      },
    },
  ];
}
