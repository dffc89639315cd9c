import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  type QueueAttributeName,
  SendMessageCommand,
  SQSClient,
  type SQSClientConfig,
} from '@aws-sdk/client-sqs';
import { AwsFailure } from './failure.ts';

/**
 * The queues of events, for the function that works on their messages.
 * @param urls the queues' addresses
 * @param undelivered the address of the queue of undelivered events
 */
export function eventQueues(urls: readonly string[], undelivered: string, config: SQSClientConfig = {}) {
  const client = queueClient(config);
  return {
    /**
     * Makes a message visible again after this many seconds.
     * @param queueArn of the queue that the message is in @throws AwsFailure; then the queue's default applies
     */
    async postpone(
      { queueArn, receiptHandle: ReceiptHandle }: { queueArn: string; receiptHandle: string },
      VisibilityTimeout: number,
      abortSignal: AbortSignal,
    ): Promise<void> {
      const QueueUrl = urls.find((url) => queueName(url) === queueName(queueArn));
      const command = new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout });
      await AwsFailure.translate(client.send(command, { abortSignal }));
    },

    /** Puts an event into the queue of undelivered events. @throws AwsFailure; the event may be in the queue */
    async setAside(MessageBody: string, abortSignal: AbortSignal): Promise<void> {
      const command = new SendMessageCommand({ QueueUrl: undelivered, MessageBody });
      await AwsFailure.translate(client.send(command, { abortSignal }));
    },
  };
}

const COUNTS: QueueAttributeName[] = ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'];

/** Whether messages wait in this queue or are being worked on, as far as SQS knows. @throws AwsFailure */
export function waitingMessages(QueueUrl: string): (signal: AbortSignal) => Promise<boolean> {
  const client = queueClient();
  return async (abortSignal) => {
    const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: COUNTS });
    const { Attributes = {} } = await AwsFailure.translate(client.send(command, { abortSignal }));
    return COUNTS.some((name) => Number(Attributes[name] ?? 0) > 0);
  };
}

function queueClient(config: SQSClientConfig = {}): SQSClient {
  return new SQSClient({
    maxAttempts: 3,
    // By default the SDK warns on the console if the URL of a queue differs from the endpoint.
    useQueueUrlAsEndpoint: false,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
    ...config,
  });
}

/** The name of a queue. @param queue the ARN or URL of the queue; of a stand-in's queue, the name alone */
function queueName(queue: string): string {
  return queue.slice(Math.max(queue.lastIndexOf('/'), queue.lastIndexOf(':')) + 1);
}
