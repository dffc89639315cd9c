import { GetQueueAttributesCommand, SQSClient, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { countOf } from './command.ts';
import type { Target } from './target.ts';
import type { Terminal } from './terminal.ts';

/**
 * The attributes that count a queue's messages: those that can be received, those that are worked on or postponed, and
 * delayed ones.
 */
const COUNTS = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
] as const;

/** Delivers events again that were set aside, because the CRM did not accept them. The events keep their ids. */
export async function redeliverEvents({ resource, clientOf }: Target, { print }: Terminal): Promise<void> {
  const client = new SQSClient({ maxAttempts: 5, useQueueUrlAsEndpoint: false, ...clientOf('SQS') });
  const look = async (QueueUrl: string) => {
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn', ...COUNTS] });
    const attributes = (await client.send(command)).Attributes ?? {};
    const count = COUNTS.reduce((total, name) => total + Number(attributes[name] ?? 0), 0);
    return { arn: attributes.QueueArn, count };
  };
  try {
    const aside = await look(await resource('CrmUndeliveredQueue'));
    const accounts = await resource('CrmAccountsQueue');
    const delivering = await Promise.all([await resource('CrmQueue'), accounts].map(look));
    const waiting = delivering.reduce((total, { count }) => total + count, 0);
    if (aside.count > 0) {
      // An event that could not reach its queue has no queue of origin, so the target is named. In the queue of
      // accounts, old events do not delay new registrations.
      const DestinationArn = aside.arn?.replace(/[^:]+$/, accounts.split('/').at(-1) ?? '');
      await client.send(new StartMessageMoveTaskCommand({ SourceArn: aside.arn, DestinationArn }));
    }
    const moved =
      aside.count === 0 ? 'No event is set aside' : `${countOf(aside.count, 'event')} will be delivered again`;
    print(`${moved}. ${describeWaiting(waiting)}`);
  } finally {
    client.destroy();
  }
}

function describeWaiting(count: number): string {
  return count === 0
    ? 'No other waits for the CRM.'
    : `About ${countOf(count, 'other')} the CRM has not accepted yet: ${count === 1 ? 'it is' : 'they are'} tried again without this command.`;
}
