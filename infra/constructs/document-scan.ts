import { Stack, Validations } from 'aws-cdk-lib';
import { CfnMalwareProtectionPlan } from 'aws-cdk-lib/aws-guardduty';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { DOCUMENTS_FOLDER } from '../../lib/validators/deployment.ts';

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
    const right = (sid: string, actions: string[], resource: string, conditions = {}) =>
      new PolicyStatement({ sid, actions, resources: [resource], conditions });
    const rules = ['PutRule', 'DeleteRule', 'PutTargets', 'RemoveTargets'].map((action) => `events:${action}`);
    const tagging = ['Put', 'Get'].flatMap((verb) => [`s3:${verb}ObjectTagging`, `s3:${verb}ObjectVersionTagging`]);
    return [
      right('ManageOwnRule', rules, rule, { StringLike: { 'events:ManagedBy': SCANNER } }),
      right('WatchOwnRule', ['events:DescribeRule', 'events:ListTargetsByRule'], rule),
      right('HearOfObjects', ['s3:PutBucketNotification', 's3:GetBucketNotification'], bucket.bucketArn),
      right('CheckOwner', ['s3:ListBucket'], bucket.bucketArn),
      right('CheckBucket', ['s3:PutObject'], bucket.arnForObjects(VALIDATION_OBJECT)),
      right('ReadDocuments', ['s3:GetObject', 's3:GetObjectVersion'], documents),
      right('LeaveVerdicts', tagging, documents),
    ];
  }
}
