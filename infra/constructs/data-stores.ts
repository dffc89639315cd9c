import { Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import {
  AttributeType,
  BillingMode,
  type CfnTable,
  ProjectionType,
  Table,
  TableEncryption,
} from 'aws-cdk-lib/aws-dynamodb';
import {
  BlockPublicAccess,
  Bucket,
  BucketEncryption,
  type CfnBucket,
  type LifecycleRule,
  ObjectOwnership,
} from 'aws-cdk-lib/aws-s3';
import { type CfnSecret, Secret } from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import { DUE_INDEX, PENDING_DOCUMENT } from '../../lib/validators/deployment.ts';
import type { Settings } from '../settings.ts';
import { ownEnding } from './stack-names.ts';

/** How many days back a table can be restored: as far as AWS goes, and no longer than the data itself was to be kept. */
const LASTING_DAYS = 35;
const PASSING_DAYS = 1;

/**
 * Everything that is kept. Logical ids are given by hand: a resource that gets another one is made anew, and its data
 * is not in it.
 */
export class DataStores extends Construct {
  /** What the functions read of the CRM; written by the operators' command. */
  readonly crm: Table;
  /** Opened accounts. */
  readonly accounts: Table;
  /** The at-most-once records: 24 hours, and until they are settled; reservations of logins: for ever. */
  readonly operations: Table;
  /** Pending registrations: 24 hours; confirmed ones: as long as the setting `confirmedDays` says. */
  readonly registrations: Table;
  /** The counters of the send limits: 24 hours. */
  readonly limits: Table;
  /** The documents of registrations. */
  readonly documents: Bucket;
  /** What codes are sealed with. */
  readonly pepper: Secret;
  /** What generated passwords are derived from. */
  readonly passwordKey: Secret;

  private readonly settings: Settings;
  private readonly removalPolicy: RemovalPolicy;

  constructor(scope: Construct, id: string, settings: Settings) {
    super(scope, id);
    this.settings = settings;
    this.removalPolicy = settings.retainData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY;

    this.crm = this.table('Crm', LASTING_DAYS);
    this.accounts = this.table('Accounts', LASTING_DAYS, { sortKey: true });
    this.operations = this.table('Operations', PASSING_DAYS, { expires: true });
    this.registrations = this.table('Registrations', PASSING_DAYS, { expires: true });
    for (const table of [this.operations, this.registrations]) {
      // Nothing but what is not at its end has these attributes: the index is empty where nothing is open.
      table.addGlobalSecondaryIndex({
        indexName: DUE_INDEX.name,
        partitionKey: { name: DUE_INDEX.shard, type: AttributeType.STRING },
        sortKey: { name: DUE_INDEX.at, type: AttributeType.NUMBER },
        projectionType: ProjectionType.KEYS_ONLY,
      });
    }
    this.limits = this.table('Limits', PASSING_DAYS, { expires: true });
    this.documents = this.bucket();

    const { platformSecrets, stage } = settings;
    this.pepper = this.secret('Pepper', {
      description: 'What one-time passwords are sealed with: versions by number, and which of them is current.',
      template: { current: '1' },
      key: '1',
      notRotated: 'Rotated by hand, a version beside the old one: by the clock, codes under way would be worthless.',
    });
    this.passwordKey = this.secret('PasswordKey', {
      secretName: `${platformSecrets}password-derivation-${stage}-${ownEnding(this)}`,
      description: 'What generated account passwords are derived from.',
      template: {},
      key: 'key',
      notRotated: 'It protects nothing that is kept for long, and with a new key retries would be refused for a day.',
    });
  }

  private table(name: string, days: number, more: { expires?: true; sortKey?: true } = {}): Table {
    const made = new Table(this, name, {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      ...(more.sortKey ? { sortKey: { name: 'sk', type: AttributeType.STRING } } : {}),
      ...(more.expires ? { timeToLiveAttribute: 'expires_at' } : {}),
      billingMode: BillingMode.PAY_PER_REQUEST,
      encryption: TableEncryption.AWS_MANAGED,
      pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true, recoveryPeriodInDays: days },
      removalPolicy: this.removalPolicy,
    });
    (made.node.defaultChild as CfnTable).overrideLogicalId(`${name}Table`);
    return made;
  }

  private bucket(): Bucket {
    const made = new Bucket(this, 'Documents', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      lifecycleRules: expiry(this.settings),
      removalPolicy: this.removalPolicy,
    });
    (made.node.defaultChild as CfnBucket).overrideLogicalId('DocumentsBucket');
    Validations.of(made).acknowledge({
      id: 'AwsSolutions-S1',
      reason:
        'Few objects, written by one function, whose calls the access log and the trace show; a log bucket would keep their names for longer than the objects themselves.',
    });
    return made;
  }

  private secret(name: string, { secretName, description, template, key, notRotated }: MadeSecret): Secret {
    const made = new Secret(this, name, {
      ...(secretName === undefined ? {} : { secretName }),
      description,
      generateSecretString: {
        ...RANDOM,
        secretStringTemplate: JSON.stringify(template),
        generateStringKey: key,
      },
      removalPolicy: this.removalPolicy,
    });
    (made.node.defaultChild as CfnSecret).overrideLogicalId(`${name}Secret`);
    Validations.of(made).acknowledge({ id: 'AwsSolutions-SMG4', reason: notRotated });
    return made;
  }
}

interface MadeSecret {
  secretName?: string;
  description: string;
  /** The secret is this object, with a random text under `key`. */
  template: object;
  key: string;
  notRotated: string;
}

/**
 * S3 rounds up to the next midnight: documents of pending registrations are kept for 24 to 48 hours. After 24 the
 * registration that they belong to is gone, unless it was confirmed, which takes the tag away.
 */
function expiry({ confirmation, confirmedDays }: Settings): LifecycleRule[] {
  const uploads = { abortIncompleteMultipartUploadAfter: Duration.days(1) };
  if (!confirmation) return [{ expiration: Duration.days(1), ...uploads }];
  const pending = { tagFilters: { [PENDING_DOCUMENT.Key]: PENDING_DOCUMENT.Value }, expiration: Duration.days(1) };
  return [pending, { expiration: Duration.days(confirmedDays + 1), ...uploads }];
}

/** 64 letters and digits: 381 bits. A change of this makes Secrets Manager generate the value anew. */
const RANDOM = { passwordLength: 64, excludePunctuation: true };
