import { Stack, Validations } from 'aws-cdk-lib';
import { CfnMalwareProtectionPlan } from 'aws-cdk-lib/aws-guardduty';
import { type PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { DOCUMENTS_FOLDER } from '../../lib/validators/deployment.ts';
import { allow } from './rights.ts';

const SCANNER = 'malware-protection-plan.guardduty.amazonaws.com';
/** Of the rule that it makes for itself. */
const MANAGED_RULE = 'DO-NOT-DELETE-AmazonGuardDutyMalwareProtectionS3*';
/** The object by which it checks the bucket. */
const VALIDATION_OBJECT = 'malware-protection-resource-validation-object';

/** Amazon GuardDuty scans every new document for malware, and leaves its verdict in a tag of the object. */
export class DocumentScan extends Construct {
  constructor(scope: Construct, id: string, bucket: Bucket) {
    super(scope, id);
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal(SCANNER),
      description: 'The rights that GuardDuty needs to scan documents (Malware Protection for S3).',
    });
    const statements = this.rights(bucket);
    for (const statement of statements) role.addToPolicy(statement);
    const plan = new CfnMalwareProtectionPlan(this, 'Plan', {
      role: role.roleArn,
      protectedResource: { s3Bucket: { bucketName: bucket.bucketName, objectPrefixes: [`${DOCUMENTS_FOLDER}/`] } },
      actions: { tagging: { status: 'ENABLED' } },
    });
    // GuardDuty uses the role at once.
    plan.node.addDependency(role);
    const rule = `events:<AWS::Region>:<AWS::AccountId>:rule/${MANAGED_RULE}`;
    for (const resource of [`<DocumentsBucket.Arn>/${DOCUMENTS_FOLDER}/*`, `arn:<AWS::Partition>:${rule}`])
      Validations.of(role).acknowledge({
        id: `AwsSolutions-IAM5[Resource::${resource}]`,
        reason: 'Documents are named by their registration, and GuardDuty names its rule.',
      });
  }

  private rights(bucket: Bucket): PolicyStatement[] {
    const rule = Stack.of(this).formatArn({ service: 'events', resource: 'rule', resourceName: MANAGED_RULE });
    const documents = bucket.arnForObjects(`${DOCUMENTS_FOLDER}/*`);
    const ownRule = allow('ManageOwnRule', 'events', ['PutRule', 'DeleteRule', 'PutTargets', 'RemoveTargets'], rule);
    ownRule.addCondition('StringLike', { 'events:ManagedBy': SCANNER });
    const tagging = ['Put', 'Get'].flatMap((verb) => [`${verb}ObjectTagging`, `${verb}ObjectVersionTagging`]);
    return [
      ownRule,
      allow('WatchOwnRule', 'events', ['DescribeRule', 'ListTargetsByRule'], rule),
      allow('ConfigureNotifications', 's3', ['PutBucketNotification', 'GetBucketNotification'], bucket.bucketArn),
      allow('CheckOwner', 's3', ['ListBucket'], bucket.bucketArn),
      allow('CheckBucket', 's3', ['PutObject'], bucket.arnForObjects(VALIDATION_OBJECT)),
      allow('ReadDocuments', 's3', ['GetObject', 'GetObjectVersion'], documents),
      allow('LeaveVerdicts', 's3', tagging, documents),
    ];
  }
}
