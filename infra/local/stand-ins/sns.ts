import type { Need } from '../rights/policy.ts';
import { list, queryError, queryResult } from './query-protocol.ts';
import { type Answer, type Call, requestId, type StandIn, type StandInOptions, serve } from './stand-in.ts';

export interface SnsOptions extends StandInOptions {
  /** Topics that there are, by ARN. */
  topics?: string[];
  /** Numbers whose owners want no messages, in E.164. */
  optedOut?: string[];
}

const SNS = { namespace: 'http://sns.amazonaws.com/doc/2010-03-31/' };

/** SNS `Publish`, to a phone number or to a topic; a message to a topic is a popup. */
export function startSns({ topics = [], optedOut = [], record, ...options }: SnsOptions): Promise<StandIn> {
  function answer({ body }: Call): Answer {
    const form = new URLSearchParams(body);
    if (form.get('Action') !== 'Publish') {
      return queryError(SNS, 400, 'InvalidAction', `The action ${form.get('Action')} is not valid for this endpoint.`);
    }
    const message = form.get('Message') ?? '';
    const phone = form.get('PhoneNumber');
    const topic = form.get('TopicArn');
    if (message === '') return invalid('Empty message');
    if ((phone === null) === (topic === null))
      return invalid('TopicArn or TargetArn Reason: no value for required parameter');
    const attributes = parseAttributes(form);
    if (typeof attributes === 'string') return queryError(SNS, 400, 'ParameterValueInvalid', attributes);

    if (phone !== null) {
      const fault = smsError(phone, message, attributes);
      if (fault !== undefined) return invalid(fault);
      if (optedOut.includes(phone)) {
        return queryError(SNS, 400, 'OptedOut', `The phone number ${phone} has opted out.`);
      }
      record({ kind: 'sms', to: phone, text: message });
    } else if (topic !== null) {
      if (!/^arn:[\w-]+:sns:[\w-]+:\d{12}:[\w-]{1,256}$/.test(topic)) return invalid('TopicArn');
      if (!topics.includes(topic)) return queryError(SNS, 404, 'NotFound', 'Topic does not exist');
      if (Buffer.byteLength(message) > 262_144) return invalid('Message too long');
      record(popUp(topic, message));
    }
    return queryResult(SNS, 'Publish', { MessageId: requestId() });
  }

  return serve(
    {
      signingName: 'sns',
      answer,
      needs,
      denied: (message) => queryError(SNS, 403, 'AuthorizationError', message),
      unsigned: () => queryError(SNS, 403, 'MissingAuthenticationToken', 'Request is missing Authentication Token'),
      throttled: () => queryError(SNS, 429, 'Throttled', 'Rate exceeded'),
      refused: () => queryError(SNS, 403, 'AuthorizationError', 'User is not authorized to perform: SNS:Publish'),
    },
    options,
  );
}

/** The resource of a text is its number. */
function needs({ body }: Call): Need[] {
  const form = new URLSearchParams(body);
  return [{ action: `sns:${form.get('Action')}`, resource: form.get('TopicArn') ?? form.get('PhoneNumber') ?? '' }];
}

type Attributes = Map<string, { type: string; value: string }>;

/** The message attributes, or their error. */
function parseAttributes(form: URLSearchParams): Attributes | string {
  const names = list(form, 'MessageAttributes.entry', '.Name');
  const attributes: Attributes = new Map();
  for (const [index, name] of names.entries()) {
    const prefix = `MessageAttributes.entry.${index + 1}.Value`;
    const type = form.get(`${prefix}.DataType`) ?? '';
    const value = form.get(`${prefix}.StringValue`) ?? '';
    const about = `The message attribute '${name}'`;
    if (!/^[\w.-]{1,256}$/.test(name)) return `${about} has an invalid name.`;
    if (!/^(String|Number)(\.[\w.]+)?$/.test(type)) return `${about} has an invalid message attribute type.`;
    if (value === '') return `${about} must contain non-empty message attribute value.`;
    if (type.startsWith('Number') && !/^-?\d+(\.\d+)?$/.test(value)) return `${about} is not a number.`;
    attributes.set(name, { type, value });
  }
  return attributes;
}

/** The formats of an SMS's attributes. */
const SMS_ATTRIBUTES: Record<string, { type: string; rule: RegExp }> = {
  'AWS.SNS.SMS.SMSType': { type: 'String', rule: /^(Transactional|Promotional)$/ },
  'AWS.SNS.SMS.SenderID': { type: 'String', rule: /^(?=.*[A-Za-z])[A-Za-z0-9]([A-Za-z0-9-]{0,9}[A-Za-z0-9])?$/ },
  'AWS.SNS.SMS.MaxPrice': { type: 'Number', rule: /^\d+(\.\d+)?$/ },
  'AWS.MM.SMS.OriginationNumber': { type: 'String', rule: /^\+?\d{5,15}$/ },
  'AWS.MM.SMS.EntityId': { type: 'String', rule: /^.{1,50}$/ },
  'AWS.MM.SMS.TemplateId': { type: 'String', rule: /^.{1,50}$/ },
};

function smsError(phone: string, message: string, attributes: Attributes): string | undefined {
  if (!/^\+[1-9]\d{6,14}$/.test(phone)) return `PhoneNumber Reason: ${phone} is not valid to publish to`;
  if (message.length > 1_600) return 'Message too long';
  for (const [name, { type, rule }] of Object.entries(SMS_ATTRIBUTES)) {
    const attribute = attributes.get(name);
    if (attribute === undefined) continue;
    if (attribute.type !== type || !rule.test(attribute.value)) {
      return `MessageAttributes Reason: ${name} has an invalid value`;
    }
  }
  return undefined;
}

/** A message to the topic of client notifications, as the popup which a subscriber would make of it. */
function popUp(topic: string, message: string) {
  const details = parse(message);
  const text = (name: string) => (typeof details[name] === 'string' ? details[name] : undefined);
  const [subject, language] = [text('title'), text('language')];
  return {
    kind: 'popup' as const,
    to: text('user_id') ?? topic,
    ...(subject === undefined ? {} : { subject }),
    text: text('text') ?? message,
    ...(language === undefined ? {} : { language }),
  };
}

function parse(message: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}

function invalid(what: string): Answer {
  return queryError(SNS, 400, 'InvalidParameter', `Invalid parameter: ${what}`);
}
