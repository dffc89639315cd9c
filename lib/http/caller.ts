import { Problem } from '../problem.ts';

/** What the gateway's authorizer tells of the caller; absent on an open route. */
export interface Authorizer {
  iam?: { userArn?: string } | null;
  jwt?: { claims: Readonly<Record<string, unknown>> };
}

/**
 * Who called: the IAM principal, or the subject of the token, or the client that it was given to. Which of them it is is
 * part of the name, as issuers may give a person the id of a client.
 *
 * Of an assumed role the role alone: its session has another name in every process, and often after every renewal of the
 * credentials, and a retry must be known again.
 * @returns undefined on an open route, and for a token that names neither
 */
export function callerOf({ iam, jwt }: Authorizer = {}): string | undefined {
  if (iam?.userArn !== undefined) return `iam:${iam.userArn.replace(/(:assumed-role\/[^/]+)\/.*$/, '$1')}`;
  for (const claim of ['sub', 'client_id']) {
    const value = jwt?.claims[claim];
    if (typeof value === 'string' && value !== '') return `${claim}:${value}`;
  }
  return undefined;
}

/**
 * For issuers that give tokens to clients themselves: the token's claim must be the client of the path.
 * @throws Problem `user_not_found`, as for a client that does not exist
 */
export function requireOwnUser(claim: string, { jwt }: Authorizer = {}, userId: string | undefined): void {
  if (userId === undefined || jwt?.claims[claim] !== userId) throw new Problem('user_not_found');
}
