import { localResources, localSettings } from '../../../infra/local/local-settings.ts';
import { allowingRights, type ObservedCall, type Right } from '../../../infra/local/rights/policy.ts';
import { functionRights } from '../../../infra/local/rights/stack-rights.ts';
import { FRONT_SETTINGS, ONE_COUNTRY } from '../front.ts';

/** The reasons for rights that no call of a function's own code needs. */
const NOT_NEEDED: readonly { rights: RegExp; reason: string }[] = [
  { rights: /^\S+ WriteOwnLog /, reason: 'The runtime of Lambda writes the log.' },
  { rights: /^\S+ Trace /, reason: 'The runtime of Lambda sends the trace.' },
  { rights: /^\S+ ReceiveEvents /, reason: 'Lambda itself reads the queue of a function.' },
  { rights: /^\S+ JoinNetwork /, reason: 'Lambda itself connects a function to its network.' },
  {
    rights: /^notify-crm WriteClients dynamodb:(Get|Update)Item /,
    reason: 'The local CRM never names a client that exists: test/lib/records/crm-clients.test.ts shows these calls.',
  },
  {
    rights: /^request-registration KeepRegistrations dynamodb:GetItem /,
    reason: 'After a lost answer the write is read again: test/lib/registration/faults.test.ts shows the call.',
  },
  {
    rights: /^create-tp\d-account (RecordAccounts dynamodb:DeleteItem|ReserveLogins dynamodb:BatchGetItem) /,
    reason: "The server gives the login of an operator's word to this operation: test/lib/openings shows the calls.",
  },
  {
    rights: /^\S+ SendMail .*:identity\//,
    reason: 'SES checks one of the two: the address where it is verified by itself, else its domain.',
  },
];

/** A right, compared with the calls that were made. */
interface CheckedRight {
  right: string;
  /** A call that would be denied without the right. */
  neededBy?: string;
  /** The reason for which no call needs the right. */
  reason?: string;
}

export interface RightsReport {
  rights: CheckedRight[];
  /** The violations, one line each. */
  failures: string[];
}

/** The rights of a deployment that has everything, each with a call of the run that needs it. */
export async function reportOf(calls: readonly ObservedCall[]): Promise<RightsReport> {
  const settings = localSettings({ ...FRONT_SETTINGS, ...ONE_COUNTRY });
  const functions = await functionRights(settings, localResources(settings), { vpc: true });
  const checked = Object.entries(functions).flatMap(([name, granted]) =>
    granted
      .filter(({ denies }) => !denies)
      .map((right): CheckedRight => {
        const need = calls.find((call) => call.caller === name && isNeeded(right, granted, call))?.need;
        const neededBy = need && `${need.action} on ${need.resource}`;
        const reason = NOT_NEEDED.find((one) => one.rights.test(right.id))?.reason;
        return { right: right.id, ...(neededBy === undefined ? {} : { neededBy }), ...(reason && { reason }) };
      }),
  );
  const rights = [...new Map(checked.map((one) => [one.right, one])).values()];
  const denied = calls.filter(({ caller, by }) => by.length === 0 && caller in functions);
  return {
    rights,
    failures: [
      ...denied.map(({ caller, need }) => `${caller} ${need.action} on ${need.resource}: denied, a right is missing`),
      ...rights
        .filter(({ neededBy, reason }) => neededBy === undefined && reason === undefined)
        .map(({ right }) => `${right}: no call needs it`),
      ...NOT_NEEDED.filter(
        ({ rights: of }) => !rights.some((one) => of.test(one.right) && one.neededBy === undefined),
      ).map(({ reason }) => `A reason is out of date: ${reason}`),
    ],
  };
}

/** Whether the policy allows the call, and without the right does not. */
function isNeeded(right: Right, granted: readonly Right[], { need }: ObservedCall): boolean {
  const others = granted.filter((one) => one !== right);
  return right.concerns(need) && allowingRights(others, need).length === 0;
}
