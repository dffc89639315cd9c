import { GetQueueAttributesCommand, SQSClient, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { countOf } from './command.ts';
import type { Target } from './target.ts';
import type { Terminal } from './terminal.ts';

const COUNT = 'ApproximateNumberOfMessages';

/** Delivers events again that were set aside, because the CRM did not accept them. The events keep their ids. */
export async function redeliverEvents({ resource, clientOf }: Target, { print }: Terminal): Promise<void> {
  const client = new SQSClient({ maxAttempts: 5, useQueueUrlAsEndpoint: false, ...clientOf('SQS') });
  try {
    const QueueUrl = await resource('CrmUndeliveredQueue');
    const question = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn', COUNT] });
    const { QueueArn: SourceArn, [COUNT]: count = 0 } = (await client.send(question)).Attributes ?? {};
    if (Number(count) === 0) return print('No event is set aside.');
    // An event that could not reach its queue has no queue of origin, so the target is named. In the queue of accounts,
    // old events do not delay new registrations.
    const accounts = (await resource('CrmAccountsQueue')).split('/').at(-1) ?? '';
    const DestinationArn = SourceArn?.replace(/[^:]+$/, accounts);
    await client.send(new StartMessageMoveTaskCommand({ SourceArn, DestinationArn }));
    print(`${countOf(Number(count), 'event')} will be delivered again.`);
  } finally {
    client.destroy();
  }
}
