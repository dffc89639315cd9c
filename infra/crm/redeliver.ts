import { GetQueueAttributesCommand, SQSClient, StartMessageMoveTaskCommand } from '@aws-sdk/client-sqs';
import { countOf, type Terminal } from './command.ts';
import type { Target } from './target.ts';

const ATTRIBUTES = ['QueueArn', 'ApproximateNumberOfMessages'] as const;

/** Only what is not tried again was looked at. */
const NONE =
  'No event is set aside. Others are tried again without this command: the alarm CrmEventsWait says if they wait.\n';

/** Delivers the events again that were set aside, because the CRM did not accept them. They keep their ids. */
export async function redeliverEvents({ resource, clientOf }: Target, { print }: Terminal): Promise<void> {
  const QueueUrl = await resource('CrmUndeliveredQueue');
  const client = new SQSClient({ maxAttempts: 5, useQueueUrlAsEndpoint: false, ...clientOf('SQS') });
  try {
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [...ATTRIBUTES] });
    const { QueueArn, ApproximateNumberOfMessages = '0' } = (await client.send(command)).Attributes ?? {};
    if (ApproximateNumberOfMessages === '0') return print(NONE);
    // An event that could not reach its queue has no queue of origin, so the target is named. New registrations do not
    // wait behind those of the past in the queue of accounts.
    const name = (await resource('CrmAccountsQueue')).split('/').at(-1) ?? '';
    const DestinationArn = QueueArn?.replace(/[^:]+$/, name);
    await client.send(new StartMessageMoveTaskCommand({ SourceArn: QueueArn, DestinationArn }));
    print(`${countOf(Number(ApproximateNumberOfMessages), 'event')} will be delivered again.\n`);
  } finally {
    client.destroy();
  }
}
