import { Validations } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IConstruct } from 'constructs';

/** Builds a statement that allows these actions of one service on these resources. */
export function policyStatement(sid: string, service: string, actions: readonly string[], ...resources: string[]) {
  return new PolicyStatement({ sid, actions: actions.map((action) => `${service}:${action}`), resources });
}

/** Explains to the rules why a right has a wildcard, which they would refuse. @param resource as the rules name it */
export function explainWildcard(holder: IConstruct, resource: string, reason: string): void {
  Validations.of(holder).acknowledge({ id: `AwsSolutions-IAM5[Resource::${resource}]`, reason });
}

/** The resources of one service in this account, as the rules name them. */
export function resourcesOf(service: string, name: string): string {
  return `arn:<AWS::Partition>:${service}:<AWS::Region>:<AWS::AccountId>:${name}`;
}
