import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { Settings } from '../settings.ts';
import type { DataStores } from './data-stores.ts';
import { acknowledgeDocuments, onTable, readDocuments } from './rights.ts';
import { output } from './stack-names.ts';

const ACTIONS = [
  'GetItem',
  'BatchGetItem',
  'ConditionCheckItem',
  'PutItem',
  'UpdateItem',
  'DeleteItem',
  'BatchWriteItem',
];

const CLIENTS = ['client#*', 'email#*', 'phone#*', 'referral#*'];

/** The rights with which the broker's CRM writes its records itself: those of clients, or all. */
export class CrmWriter extends Construct {
  constructor(scope: Construct, id: string, data: DataStores, writes: NonNullable<Settings['crmWriter']>) {
    super(scope, id);
    const statement = onTable(data.crm, 'WriteCrmItems', ACTIONS);
    if (writes === 'clients') statement.addCondition('ForAllValues:StringLike', { 'dynamodb:LeadingKeys': CLIENTS });
    const policy = new ManagedPolicy(this, 'Policy', {
      description: 'To write CRM records as infra/crm-items.json describes them; for the CRM.',
      statements: [statement],
    });
    const text = `Lets the CRM write ${writes === 'all' ? 'its records' : 'clients'}.`;
    output(this, 'CrmWriterPolicy', text, policy.managedPolicyArn);
  }
}

/** The rights with which the broker's CRM reads a confirmed registration and its documents. */
export class RegistrationReader extends Construct {
  constructor(scope: Construct, id: string, { data, settings }: { data: DataStores; settings: Settings }) {
    super(scope, id);
    const policy = new ManagedPolicy(this, 'Policy', {
      description: 'To read confirmed registrations and their documents; for the CRM.',
      statements: [
        onTable(data.registrations, 'ReadRegistrations', ['GetItem']),
        readDocuments(data, settings.scanDocuments),
      ],
    });
    acknowledgeDocuments(policy);
    output(this, 'ReadRegistrationsPolicy', 'Lets the CRM read confirmed registrations.', policy.managedPolicyArn);
    output(this, 'RegistrationsTableName', 'The table of registrations.', data.registrations.tableName);
    output(this, 'DocumentsBucketName', 'Their documents.', data.documents.bucketName);
  }
}
