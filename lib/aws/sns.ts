import { type MessageAttributeValue, PublishCommand, SNSClient, type SNSClientConfig } from '@aws-sdk/client-sns';
import type { Publish } from '../messages/message.ts';
import { AT_MOST_ONCE, deliverCommand, type FailureKindsByError } from './delivery.ts';

/** Publishes through SNS, each message at most once. */
export function snsPublisher(config: SNSClientConfig = {}): Publish {
  const client = new SNSClient({ ...AT_MOST_ONCE, ...config });
  return (publication, signal) => {
    const MessageAttributes: Record<string, MessageAttributeValue> = {};
    for (const [name, { type, value }] of Object.entries(publication.attributes)) {
      if (value !== undefined) MessageAttributes[name] = { DataType: type, StringValue: value };
    }
    return deliverCommand(
      new PublishCommand({
        ...('topicArn' in publication ? { TopicArn: publication.topicArn } : { PhoneNumber: publication.phoneNumber }),
        Message: publication.message,
        MessageAttributes,
      }),
      async (command, options) => (await client.send(command, options)).MessageId,
      FAILURES,
      signal,
    );
  };
}

const FAILURES: FailureKindsByError = {
  OptedOutException: 'opted_out',
  KMSThrottlingException: 'throttled',
  // `Invalid parameter: PhoneNumber Reason: … is not valid to publish to`, `Invalid parameter: Message too long`; other
  // parameters are ours.
  InvalidParameterException: ({ message }) =>
    (/PhoneNumber/.test(message) && 'refused_recipient') ||
    (/: Message\b/.test(message) && 'refused_message') ||
    'misconfigured',
};
