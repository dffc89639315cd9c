import { parseObject, queryService } from './protocols.ts';
import { requestId, ServiceError, type StandIn, type StandInOptions, serveStandIn } from './stand-in.ts';

export interface SnsOptions extends StandInOptions {
  /** The existing topics, by ARN. */
  topics?: string[];
}

/** SNS `Publish`, to a phone number or to a topic; a message to a topic is a popup. */
export function startSns({ topics = [], record, ...options }: SnsOptions): Promise<StandIn> {
  return serveStandIn(
    queryService({
      name: 'sns',
      namespace: 'http://sns.amazonaws.com/doc/2010-03-31/',
      action: 'Publish',
      denied: 'AuthorizationError',
      work(form) {
        const message = form.get('Message') ?? '';
        const [phone, topic = ''] = [form.get('PhoneNumber'), form.get('TopicArn') ?? undefined];
        if (phone !== null) {
          record({ kind: 'sms', to: phone, text: message });
        } else {
          if (!topics.includes(topic)) throw new ServiceError('NotFound', 'Topic does not exist', 404);
          record(popUp(topic, message));
        }
        return { MessageId: requestId() };
      },
      /** The resource of a text is its phone number. */
      needs: (form, action) => [{ action, resource: form.get('TopicArn') ?? form.get('PhoneNumber') ?? '' }],
      throttled: new ServiceError('Throttled', 'Rate exceeded', 429),
      refused: new ServiceError('AuthorizationError', 'User is not authorized to perform: SNS:Publish', 403),
      refused_recipient: new ServiceError(
        'InvalidParameter',
        'Invalid parameter: PhoneNumber Reason: it is not valid to publish to',
      ),
    }),
    options,
  );
}

/** A message to the topic of client notifications, as the popup which a subscriber would make of it. */
function popUp(topic: string, message: string) {
  const { user_id = topic, title, text = message, language } = parseObject(message) ?? {};
  return {
    kind: 'popup' as const,
    to: String(user_id),
    ...(title === undefined ? {} : { subject: String(title) }),
    text: String(text),
    ...(language === undefined ? {} : { language: String(language) }),
  };
}
