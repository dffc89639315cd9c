import { type Stack, Tags } from 'aws-cdk-lib';
import { StringParameter } from 'aws-cdk-lib/aws-ssm';

/** The parameter of a stack that names its release. AWS keeps its last 100 values. */
export const releaseParameter = (stackName: string) => `/${stackName}/release`;

/** Records the version and the commit of a deployment: in tags, and in a parameter whose history the runbook shows. */
export function markRelease(stack: Stack, version: string, commit: string): void {
  Tags.of(stack).add('version', version);
  Tags.of(stack).add('commit', commit);
  new StringParameter(stack, 'Release', {
    parameterName: releaseParameter(stack.stackName),
    stringValue: `${version} ${commit}`,
    description: 'The version and commit of the last deployment; its history has those before.',
  });
}
