import { formValues, parseObject, queryService } from './protocols.ts';
import { requestId, ServiceError, type StandIn, type StandInOptions, serveStandIn } from './stand-in.ts';

export interface SnsOptions extends StandInOptions {
  /** The existing topics, by ARN. */
  topics?: string[];
  /** Numbers whose owners want no messages, in E.164. */
  optedOut?: string[];
}

/** SNS `Publish`, to a phone number or to a topic; a message to a topic is a popup. */
export function startSns({ topics = [], optedOut = [], record, ...options }: SnsOptions): Promise<StandIn> {
  return serveStandIn(
    queryService({
      name: 'sns',
      namespace: 'http://sns.amazonaws.com/doc/2010-03-31/',
      action: 'Publish',
      denied: 'AuthorizationError',
      work(form) {
        const message = form.get('Message') ?? '';
        const [phone, topic] = [form.get('PhoneNumber'), form.get('TopicArn')];
        if (message === '') throw invalid('Empty message');
        checkAttributes(form);
        if (phone !== null) {
          if (!/^\+[1-9]\d{6,14}$/.test(phone)) {
            throw invalid(`PhoneNumber Reason: ${phone} is not valid to publish to`);
          }
          if (message.length > 1_600) throw invalid('Message too long');
          if (optedOut.includes(phone)) {
            throw new ServiceError('OptedOut', `The phone number ${phone} has opted out.`);
          }
          record({ kind: 'sms', to: phone, text: message });
        } else {
          if (topic === null) throw invalid('TopicArn or TargetArn Reason: no value for required parameter');
          if (!topics.includes(topic)) throw new ServiceError('NotFound', 'Topic does not exist', 404);
          record(popUp(topic, message));
        }
        return { MessageId: requestId() };
      },
      /** The resource of a text is its number. */
      needs: (form, action) => [{ action, resource: form.get('TopicArn') ?? form.get('PhoneNumber') ?? '' }],
      throttled: new ServiceError('Throttled', 'Rate exceeded', 429),
      refused: new ServiceError('AuthorizationError', 'User is not authorized to perform: SNS:Publish', 403),
      refused_recipient: invalid('PhoneNumber Reason: it is not valid to publish to'),
    }),
    options,
  );
}

/** The formats of an SMS's attributes. Every other one is text. */
const ATTRIBUTES: Record<string, { type: string; rule: RegExp }> = {
  'AWS.SNS.SMS.SMSType': { type: 'String', rule: /^(Transactional|Promotional)$/ },
  'AWS.SNS.SMS.SenderID': { type: 'String', rule: /^(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9-]{0,9}[A-Za-z0-9])?$/ },
  'AWS.SNS.SMS.MaxPrice': { type: 'Number', rule: /^\d+(\.\d+)?$/ },
  'AWS.MM.SMS.OriginationNumber': { type: 'String', rule: /^\+?\d{5,15}$/ },
};
const ANY_ATTRIBUTE = { type: 'String', rule: /./ };

/** @throws ServiceError for a malformed attribute of the message */
function checkAttributes(form: URLSearchParams): void {
  for (const [index, name] of formValues(form, 'MessageAttributes.entry', '.Name').entries()) {
    const member = (what: string) => form.get(`MessageAttributes.entry.${index + 1}.Value.${what}`) ?? '';
    const { type, rule } = ATTRIBUTES[name] ?? ANY_ATTRIBUTE;
    if (member('DataType') === type && rule.test(member('StringValue'))) continue;
    throw invalid(`MessageAttributes Reason: ${name} has an invalid value`);
  }
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

function invalid(what: string): ServiceError {
  return new ServiceError('InvalidParameter', `Invalid parameter: ${what}`);
}
