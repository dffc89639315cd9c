import { SendMessageCommand, SQSClient, type SQSClientConfig } from '@aws-sdk/client-sqs';
import { AwsFailure } from './failure.ts';

/** Puts a message into a queue. @throws AwsFailure; the message may be in the queue */
export function queueSender(
  QueueUrl: string,
  config: SQSClientConfig = {},
): (body: string, signal: AbortSignal) => Promise<void> {
  const client = new SQSClient({
    maxAttempts: 3,
    // By default the SDK warns on the console if the URL of a queue differs from the endpoint.
    useQueueUrlAsEndpoint: false,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 2_000, throwOnRequestTimeout: true },
    ...config,
  });
  return async (MessageBody, abortSignal) => {
    await AwsFailure.translate(client.send(new SendMessageCommand({ QueueUrl, MessageBody }), { abortSignal }));
  };
}
