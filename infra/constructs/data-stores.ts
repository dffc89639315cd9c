import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { AttributeType, BillingMode, ProjectionType, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { BlockPublicAccess, Bucket, BucketEncryption, type LifecycleRule, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { DUE_INDEX, PENDING_DOCUMENT_TAG } from '../../lib/config/deployment.ts';
import { KEY_SECRETS, type Settings } from '../settings.ts';
import { EXPIRY_ATTRIBUTE, keyAttributes, logicalId, stackTable, TABLE_NAMES, type TableName } from '../tables.ts';
import { fixLogicalId, uniqueStackSuffix } from './stack-names.ts';

/**
 * Everything that the service stores. Logical ids are fixed: a resource with another id is another, empty resource.
 */
export class DataStores extends Construct {
  readonly tables: Readonly<Record<TableName, Table>>;
  /** The documents of registrations. */
  readonly documents: Bucket;
  /** The key that codes are sealed with. */
  readonly pepper: Secret;
  /** The keys that operation ids, logins and generated passwords are derived from. */
  readonly passwordSecret: Secret;

  private readonly settings: Settings;
  private readonly removalPolicy: RemovalPolicy;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.settings = settings;
    this.removalPolicy = settings.retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

    const tables = TABLE_NAMES.map((name) => [name, this.table(name)]);
    this.tables = Object.fromEntries(tables) as Record<TableName, Table>;
    this.documents = this.bucket();

    this.pepper = this.secret('Pepper', {
      purpose: 'pepper',
      description: 'The keys that one-time passwords are sealed with: versions by number, and the current one.',
      notRotated:
        'Rotated by hand, with both versions valid: a rotation by schedule would invalidate codes that were just sent.',
    });
    this.passwordSecret = this.secret('Password', {
      purpose: 'passwords',
      description:
        'The keys that logins and passwords of accounts are derived from: versions by number, and the current one.',
      notRotated: 'Rotated by hand, with the key before: a rotation by schedule could remove a key that retries need.',
    });
  }

  private table(name: TableName): Table {
    const { expires, due, indexes = [], copies, recoveryDays } = stackTable(name);
    const [partitionKey = '', sortKey] = keyAttributes(name);
    const table = new Table(this, name, {
      partitionKey: { name: partitionKey, type: AttributeType.STRING },
      ...(sortKey === undefined ? {} : { sortKey: { name: sortKey, type: AttributeType.STRING } }),
      ...(expires ? { timeToLiveAttribute: EXPIRY_ATTRIBUTE } : {}),
      billingMode: BillingMode.PAY_PER_REQUEST,
      // A key of ours would protect nothing from administrators, and could be lost.
      encryption: TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true, recoveryPeriodInDays: recoveryDays },
      removalPolicy: this.removalPolicy,
      deletionProtection: this.settings.retainData,
    });
    fixLogicalId(table, logicalId(name));
    if (due) {
      table.addGlobalSecondaryIndex({
        indexName: DUE_INDEX.name,
        partitionKey: { name: DUE_INDEX.shard, type: AttributeType.STRING },
        sortKey: { name: DUE_INDEX.at, type: AttributeType.NUMBER },
        projectionType: ProjectionType.KEYS_ONLY,
      });
    }
    if (copies !== undefined) {
      table.addGlobalSecondaryIndex({
        indexName: copies,
        partitionKey: { name: copies, type: AttributeType.STRING },
        projectionType: ProjectionType.ALL,
      });
    }
    for (const attribute of indexes) {
      table.addGlobalSecondaryIndex({
        indexName: attribute,
        partitionKey: { name: attribute, type: AttributeType.STRING },
        sortKey: { name: partitionKey, type: AttributeType.STRING },
        projectionType: ProjectionType.KEYS_ONLY,
      });
    }
    return table;
  }

  private bucket(): Bucket {
    const bucket = new Bucket(this, 'Documents', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      lifecycleRules: expiry(this.settings),
      removalPolicy: this.removalPolicy,
    });
    fixLogicalId(bucket, 'DocumentsBucket');
    Validations.of(bucket).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Few objects, written by one function, whose calls the access log and the trace show; a log bucket would keep their names for longer than the objects themselves.',
    });
    return bucket;
  }

  /** A changed template makes Secrets Manager generate the value again: earlier codes and passwords become invalid. */
  private secret(name: string, { purpose, description, notRotated }: MadeSecret): Secret {
    const secret = new Secret(this, name, {
      secretName: `${KEY_SECRETS}${this.settings.stage}/${purpose}-${uniqueStackSuffix(this)}`,
      description,
      generateSecretString: FIRST_KEY,
      removalPolicy: this.removalPolicy,
    });
    fixLogicalId(secret, `${name}Secret`);
    Validations.of(secret).acknowledge({ id: 'AwsSolutions-SMG4', reason: notRotated });
    return secret;
  }
}

interface MadeSecret {
  /** The purpose of the key, which is in its name. */
  purpose: string;
  description: string;
  notRotated: string;
}

/**
 * S3 rounds up to the next midnight: documents of pending registrations are kept for 24 to 48 hours. After 24 the
 * registration that they belong to is gone, unless it was confirmed, which removes the tag. The rules do not depend on
 * the setting `confirmation`: without it confirmed documents would be deleted at the next midnight.
 */
function expiry({ confirmedDays }: Settings): LifecycleRule[] {
  const uploads = { abortIncompleteMultipartUploadAfter: Duration.days(1) };
  const pending = {
    tagFilters: { [PENDING_DOCUMENT_TAG.Key]: PENDING_DOCUMENT_TAG.Value },
    expiration: Duration.days(1),
  };
  return [pending, { expiration: Duration.days(confirmedDays + 1), ...uploads }];
}

/** The key 1: 64 letters and digits, 381 bits. A change here makes Secrets Manager generate another value. */
const FIRST_KEY = {
  passwordLength: 64,
  excludePunctuation: true,
  secretStringTemplate: JSON.stringify({ current: '1' }),
  generateStringKey: '1',
};
