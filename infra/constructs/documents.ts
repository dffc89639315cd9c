import { AnyPrincipal, Effect, type IRole, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Bucket } from 'aws-cdk-lib/aws-s3';
import type { IConstruct } from 'constructs';
import { DOCUMENTS_FOLDER, PENDING_DOCUMENT_TAG } from '../../lib/config/deployment.ts';
import type { ResourceName } from '../functions.ts';
import type { Settings } from '../settings.ts';
import { explainWildcard, policyStatement } from './policy-statement.ts';

/** The ARNs of documents, as the rules name them. */
const DOCUMENT_ARNS = `<DocumentsBucket.Arn>/${DOCUMENTS_FOLDER}/*`;

/**
 * The rights on the documents of registrations. No function can read a document before its registration is confirmed.
 */
export function documentRights({ documents }: { documents: Bucket }) {
  const on = (sid: string, actions: string[]) =>
    policyStatement(sid, 's3', actions, documents.arnForObjects(`${DOCUMENTS_FOLDER}/*`));
  const read = on('ReadDocuments', ['GetObject']);
  const { Key, Value } = PENDING_DOCUMENT_TAG;
  read.addCondition('StringNotEquals', { [`s3:ExistingObjectTag/${Key}`]: Value });
  return {
    // A document has a tag by which it disappears after a day.
    store: [on('StoreDocuments', ['PutObject', 'PutObjectTagging'])],
    keep: [on('KeepDocuments', ['DeleteObjectTagging'])],
    read: [read],
    forget: [on('ForgetDocuments', ['DeleteObject'])],
  };
}

/** The uses of documents in `infra/functions.ts`, and the rights of each. */
export const DOCUMENT_USES = {
  newDocuments: 'store',
  confirmedDocuments: 'keep',
  readableDocuments: 'read',
} as const satisfies Partial<Record<ResourceName, keyof ReturnType<typeof documentRights>>>;

/** Takes the rights on documents from all other roles. */
export function protectDocuments(
  bucket: Bucket,
  functions: readonly {
    role: IRole;
    declared: { uses: readonly { of: ResourceName }[] };
  }[],
  { documentRoles }: Settings,
): void {
  const users = functions.filter(({ declared }) => declared.uses.some(({ of }) => of in DOCUMENT_USES));
  refuseOthers(bucket, [...users.map(({ role }) => role.roleArn), ...documentRoles]);
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
