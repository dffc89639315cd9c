import type { Stack } from 'aws-cdk-lib';
import { CfnMalwareProtectionPlan } from 'aws-cdk-lib/aws-guardduty';
import { AnyPrincipal, Effect, type IRole, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import { Construct, type IConstruct } from 'constructs';
import { CLEAN_VERDICT, DOCUMENTS_FOLDER, PENDING_DOCUMENT_TAG, SCAN_TAG } from '../../lib/config/deployment.ts';
import type { ResourceName } from '../functions.ts';
import type { Settings } from '../settings.ts';
import { explainWildcard, policyStatement, resourcesOf } from './policy-statement.ts';

const SCANNER = 'malware-protection-plan.guardduty.amazonaws.com';
/** The name of the rule that GuardDuty makes for itself. */
const MANAGED_RULE = 'DO-NOT-DELETE-AmazonGuardDutyMalwareProtectionS3*';
/** The object by which GuardDuty checks the bucket. */
const VALIDATION_OBJECT = 'malware-protection-resource-validation-object';

/** The ARNs of documents, as the rules name them. */
const DOCUMENT_ARNS = `<DocumentsBucket.Arn>/${DOCUMENTS_FOLDER}/*`;

/** Amazon GuardDuty scans every new document for malware, and leaves its verdict in a tag of the object. */
function scan(stack: Stack, bucket: Bucket): Role {
  const scope = new Construct(stack, 'Scan');
  const role = new Role(scope, 'Role', {
    assumedBy: new ServicePrincipal(SCANNER),
    description: 'The rights that GuardDuty needs to scan documents (Malware Protection for S3).',
  });
  for (const statement of scanRights(stack, bucket)) role.addToPolicy(statement);
  const plan = new CfnMalwareProtectionPlan(scope, 'Plan', {
    role: role.roleArn,
    protectedResource: { s3Bucket: { bucketName: bucket.bucketName, objectPrefixes: [`${DOCUMENTS_FOLDER}/`] } },
    actions: { tagging: { status: 'ENABLED' } },
  });
  // GuardDuty uses the role at once.
  plan.node.addDependency(role);
  for (const resource of [DOCUMENT_ARNS, resourcesOf('events', `rule/${MANAGED_RULE}`)])
    explainWildcard(role, resource, 'Documents are named by their registration, and GuardDuty names its rule.');
  return role;
}

function scanRights(stack: Stack, bucket: Bucket): PolicyStatement[] {
  const rule = stack.formatArn({ service: 'events', resource: 'rule', resourceName: MANAGED_RULE });
  const documents = bucket.arnForObjects(`${DOCUMENTS_FOLDER}/*`);
  const manage = ['PutRule', 'DeleteRule', 'PutTargets', 'RemoveTargets'];
  const ownRule = policyStatement('ManageOwnRule', 'events', manage, rule);
  ownRule.addCondition('StringLike', { 'events:ManagedBy': SCANNER });
  const notify = ['PutBucketNotification', 'GetBucketNotification'];
  const tagging = ['Put', 'Get'].flatMap((verb) => [`${verb}ObjectTagging`, `${verb}ObjectVersionTagging`]);
  return [
    ownRule,
    policyStatement('WatchOwnRule', 'events', ['DescribeRule', 'ListTargetsByRule'], rule),
    policyStatement('ConfigureNotifications', 's3', notify, bucket.bucketArn),
    policyStatement('CheckOwner', 's3', ['ListBucket'], bucket.bucketArn),
    policyStatement('CheckBucket', 's3', ['PutObject'], bucket.arnForObjects(VALIDATION_OBJECT)),
    policyStatement('ReadDocuments', 's3', ['GetObject', 'GetObjectVersion'], documents),
    policyStatement('LeaveVerdicts', 's3', tagging, documents),
  ];
}

/**
 * The rights on the documents of registrations. No function can read a document before its registration is confirmed,
 * or, if documents are scanned, before its verdict.
 */
export function documentRights({ documents }: { documents: Bucket }, { scanDocuments: scanned }: Settings) {
  const on = (sid: string, actions: string[]) =>
    policyStatement(sid, 's3', actions, documents.arnForObjects(`${DOCUMENTS_FOLDER}/*`));
  const read = on('ReadDocuments', ['GetObject']);
  const { Key, Value } = PENDING_DOCUMENT_TAG;
  read.addCondition('StringNotEquals', { [`s3:ExistingObjectTag/${Key}`]: Value });
  if (scanned) read.addCondition('StringEquals', { [`s3:ExistingObjectTag/${SCAN_TAG}`]: CLEAN_VERDICT });
  const keep = on('KeepDocuments', scanned ? ['GetObjectTagging', 'PutObjectTagging'] : ['DeleteObjectTagging']);
  return {
    // A document has a tag by which it disappears after a day.
    store: [on('StoreDocuments', ['PutObject', 'PutObjectTagging'])],
    keep: [keep],
    read: [read],
    // The scan may end after the registration was confirmed. Then the delivery keeps the document.
    deliver: scanned ? [read, keep] : [read],
    forget: [on('ForgetDocuments', ['DeleteObject'])],
  };
}

/** The uses of documents in `infra/functions.ts`, and the rights of each. */
export const DOCUMENT_USES = {
  newDocuments: 'store',
  confirmedDocuments: 'keep',
  readableDocuments: 'deliver',
} as const satisfies Partial<Record<ResourceName, keyof ReturnType<typeof documentRights>>>;

/**
 * The scan of documents, if the settings ask for it, and a policy that takes the rights on documents from all other
 * roles.
 */
export function protectDocuments(
  stack: Stack,
  bucket: Bucket,
  functions: readonly {
    role: IRole;
    declared: { uses: readonly { of: ResourceName }[] };
  }[],
  { scanDocuments, documentRoles }: Settings,
): void {
  const users = functions.filter(({ declared }) => declared.uses.some(({ of }) => of in DOCUMENT_USES));
  const roles = users.map(({ role }) => role);
  if (scanDocuments) roles.push(scan(stack, bucket));
  refuseOthers(bucket, [...roles.map(({ roleArn }) => roleArn), ...documentRoles]);
}

/**
 * Refuses the objects to every role but these, whatever rights others have, administrators included. They may still
 * change the policy of the bucket itself, as CloudFormation does. Lifecycle rules are not bound by it.
 */
function refuseOthers(bucket: Bucket, principals: readonly string[]): void {
  bucket.addToResourcePolicy(
    new PolicyStatement({
      sid: 'RefuseOthers',
      effect: Effect.DENY,
      principals: [new AnyPrincipal()],
      actions: ['GetObject*', 'PutObject*', 'DeleteObject*', 'ListBucket*'].map((action) => `s3:${action}`),
      resources: [bucket.bucketArn, bucket.arnForObjects('*')],
      conditions: { ArnNotLike: { 'aws:PrincipalArn': principals } },
    }),
  );
}

export function acknowledgeDocuments(holder: IConstruct): void {
  const reason = 'Documents are named by their registration: their names are not known beforehand.';
  explainWildcard(holder, DOCUMENT_ARNS, reason);
}
