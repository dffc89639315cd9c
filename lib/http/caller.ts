/** The result of the gateway's authorizer; absent on an open route. */
export interface Authorizer {
  iam?: { userArn?: string } | null;
  jwt?: { claims: Readonly<Record<string, unknown>> };
}

/**
 * The caller: the IAM principal, the token's subject, or its client. The kind is part of the name, because an issuer
 * may give a person the id of a client.
 *
 * An assumed role counts without its session, whose name changes with each process or renewal of credentials. A retry
 * must have the same caller.
 * @returns undefined on an open route, and for a token that names neither
 */
export function callerName({ iam, jwt }: Authorizer = {}): string | undefined {
  if (iam?.userArn !== undefined) return `iam:${iam.userArn.replace(/(:assumed-role\/[^/]+)\/.*$/, '$1')}`;
  for (const claim of ['sub', 'client_id']) {
    const value = jwt?.claims[claim];
    if (typeof value === 'string' && value !== '') return `${claim}:${value}`;
  }
  return undefined;
}
