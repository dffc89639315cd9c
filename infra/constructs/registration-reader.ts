import { CfnOutput } from 'aws-cdk-lib';
import { ManagedPolicy } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { DataStores } from './data-stores.ts';
import { acknowledgeDocuments, onDocuments, onTable } from './rights.ts';

/** What the broker's CRM needs to make a client of a confirmed registration: its record by its id, and its documents. */
export class RegistrationReader extends Construct {
  constructor(scope: Construct, id: string, data: DataStores) {
    super(scope, id);
    const policy = new ManagedPolicy(this, 'Policy', {
      description: 'To read confirmed registrations and their documents; for the CRM.',
      statements: [
        onTable(data.registrations, 'ReadRegistrations', ['GetItem']),
        onDocuments(data, 'ReadDocuments', ['GetObject']),
      ],
    });
    acknowledgeDocuments(policy);
    this.output('ReadRegistrationsPolicy', 'Lets the CRM read confirmed registrations.', policy.managedPolicyArn);
    this.output('RegistrationsTableName', 'The table of registrations.', data.registrations.tableName);
    this.output('DocumentsBucketName', 'Their documents.', data.documents.bucketName);
  }

  private output(name: string, description: string, value: string): void {
    new CfnOutput(this, `${name}Output`, { description, value }).overrideLogicalId(name);
  }
}
