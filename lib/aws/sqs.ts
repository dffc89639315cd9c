import {
  GetQueueAttributesCommand,
  type QueueAttributeName,
  SendMessageCommand,
  SQSClient,
  type SQSClientConfig,
} from '@aws-sdk/client-sqs';
import { AwsFailure } from './failure.ts';

/** Puts a message into a queue. @throws AwsFailure; the message may be in the queue */
export function queueSender(
  QueueUrl: string,
  config: SQSClientConfig = {},
): (body: string, signal: AbortSignal) => Promise<void> {
  const client = queueClient(config);
  return async (MessageBody, abortSignal) => {
    await AwsFailure.translate(client.send(new SendMessageCommand({ QueueUrl, MessageBody }), { abortSignal }));
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
