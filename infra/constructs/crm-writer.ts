import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { Settings } from '../settings.ts';
import type { DataStores } from './data-stores.ts';
import { onTable } from './rights.ts';
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

/** The items of clients, by their keys. */
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
    output(
      this,
      'CrmWriterPolicy',
      `Lets the CRM write ${writes === 'all' ? 'its records' : 'clients'}.`,
      policy.managedPolicyArn,
    );
  }
}
