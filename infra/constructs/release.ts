import { Validations } from 'aws-cdk-lib';
import { LambdaApplication, LambdaDeploymentConfig, LambdaDeploymentGroup } from 'aws-cdk-lib/aws-codedeploy';
import type { Alias } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { DeployedFunction } from '../routes.ts';
import type { Alarms } from './alarms.ts';

/**
 * New versions of the functions take over step by step. An alarm of a function rolls the whole deployment back. A failing
 * trading server or channel does not: it fails without a release too.
 */
export class Release extends Construct {
  constructor(
    scope: Construct,
    id: string,
    props: { functions: readonly { name: DeployedFunction; live: Alias }[]; alarms: Alarms },
  ) {
    super(scope, id);
    const application = new LambdaApplication(this, 'Application');
    for (const { name, live } of props.functions) {
      const group = new LambdaDeploymentGroup(this, name, {
        application,
        alias: live,
        deploymentConfig: LambdaDeploymentConfig.CANARY_10PERCENT_5MINUTES,
        alarms: props.alarms.rollingBack(name),
      });
      Validations.of(group).acknowledge({
        id: 'AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AWSCodeDeployRoleForLambdaLimited]',
        reason: 'The narrowest that AWS offers for the deployment of functions.',
      });
    }
  }
}
