import { ChangeMessageVisibilityCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { AwsFailure } from './failure.ts';

/** A queue, for the function that works on its messages. @param QueueUrl the queue's address */
export function queue(QueueUrl: string, config: SQSClientConfig = {}) {
  const client = new SQSClient({
    maxAttempts: 3,
    // It warns on the console if the two differ.
    useQueueUrlAsEndpoint: false,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
    ...config,
  });
  return {
    /** Makes a message visible again after this many seconds. @throws AwsFailure; then the queue's default applies */
    async postpone(ReceiptHandle: string, VisibilityTimeout: number, abortSignal: AbortSignal): Promise<void> {
      const command = new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout });
      await AwsFailure.translate(client.send(command, { abortSignal }));
    },
  };
}
