import { ChangeMessageVisibilityCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { AwsFailure } from './failure.ts';

/** A queue, as the function sees it that works on its messages. */
export interface Queue {
  /** Makes a message visible again after this many seconds. @throws AwsFailure; then the queue's default applies */
  postpone(receiptHandle: string, seconds: number, signal: AbortSignal): Promise<void>;
}

/** @param QueueUrl the queue's address */
export function queue(QueueUrl: string, config: SQSClientConfig = {}): Queue {
  const client = new SQSClient({
    maxAttempts: 3,
    // It warns on the console if the two differ.
    useQueueUrlAsEndpoint: false,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
    ...config,
  });
  return {
    async postpone(ReceiptHandle, VisibilityTimeout, abortSignal) {
      const command = new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout });
      try {
        await client.send(command, { abortSignal });
      } catch (error) {
        throw AwsFailure.from(error);
      }
    },
  };
}
