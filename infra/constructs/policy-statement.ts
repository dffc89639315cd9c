import { PolicyStatement } from 'aws-cdk-lib/aws-iam';

/** The actions of one service on these resources. */
export function policyStatement(sid: string, service: string, actions: readonly string[], ...resources: string[]) {
  return new PolicyStatement({ sid, actions: actions.map((action) => `${service}:${action}`), resources });
}
