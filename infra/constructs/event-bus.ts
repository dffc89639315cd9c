import { Stack } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Construct } from 'constructs';
import { addOutput, fixLogicalId } from './stack-names.ts';

/** The types of events. */
export type BusEventType = 'RegistrationConfirmed' | 'AccountOpened';

/** The bus that publishes events to other systems of the broker. */
export class ServiceEvents extends Construct {
  readonly bus: EventBus;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.bus = new EventBus(this, 'Bus', {
      eventBusName: Stack.of(this).stackName,
      description: 'Registrations that were confirmed, and accounts that were opened.',
    });
    fixLogicalId(this.bus, 'EventBus');
    addOutput(this, 'EventBusName', 'The bus of events, for the rules of other systems.', this.bus.eventBusName);
  }
}
