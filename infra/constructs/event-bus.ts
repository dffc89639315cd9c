import { Stack } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import type { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { policyStatement } from './policy-statement.ts';
import { addOutput, fixLogicalId } from './stack-names.ts';

/** The bus that publishes events to other systems of the broker. */
export class ServiceEvents extends Construct {
  readonly bus: EventBus;
  /** The right to publish events. */
  readonly right: PolicyStatement;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: Stack.of(this).stackName,
      description: 'Registrations that were confirmed, and accounts that were opened.',
    });
    fixLogicalId(this.bus, 'EventBus');
    this.right = policyStatement('PublishEvents', 'events', ['PutEvents'], this.bus.eventBusArn);
    addOutput(this, 'EventBusName', 'The bus of events, for the rules of other systems.', this.bus.eventBusName);
  }
}
