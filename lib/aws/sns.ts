import { type MessageAttributeValue, PublishCommand, SNSClient, type SNSClientConfig } from '@aws-sdk/client-sns';
import type { DeliveryFailureKind } from '../messages/message.ts';
import type { Publish } from '../messages/providers.ts';
import { AT_MOST_ONCE, deliver, type ServiceAnswer } from './delivery.ts';

/** Publishes through SNS, each message at most once. */
export function snsPublisher(config: SNSClientConfig = {}): Publish {
  const client = new SNSClient({ ...AT_MOST_ONCE, ...config });
  return (publication, signal) => {
    const MessageAttributes: Record<string, MessageAttributeValue> = {};
    for (const [name, { type, value }] of Object.entries(publication.attributes)) {
      if (value !== undefined) MessageAttributes[name] = { DataType: type, StringValue: value };
    }
    return deliver(
      new PublishCommand({
        ...('topicArn' in publication ? { TopicArn: publication.topicArn } : { PhoneNumber: publication.phoneNumber }),
        Message: publication.message,
        MessageAttributes,
      }),
      async (command, options) => (await client.send(command, options)).MessageId,
      classify,
      signal,
    );
  };
}

function classify({ name, message }: ServiceAnswer): DeliveryFailureKind | undefined {
  switch (name) {
    case 'OptedOutException':
      return 'opted_out';
    case 'KMSThrottlingException':
      return 'retryable';
    case 'InvalidParameterException':
      // `Invalid parameter: PhoneNumber Reason: … is not valid to publish to`; other parameters are ours.
      return /PhoneNumber/.test(message) ? 'refused_recipient' : 'misconfigured';
    default:
      return undefined;
  }
}
