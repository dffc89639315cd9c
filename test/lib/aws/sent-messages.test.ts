import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { sesMailer } from '../../../lib/aws/ses.ts';
import { snsPublisher } from '../../../lib/aws/sns.ts';
import { whatsAppChannel } from '../../../lib/aws/social.ts';
import { callChannel } from '../../../lib/aws/voice.ts';
import { smsChannel } from '../../../lib/messages/sms.ts';
import { type Channel, OTP_TYPES } from '../../../lib/validators/otp-types.ts';
import { DEPLOYED } from '../../support/function-environment.ts';
import { failureOf, NEVER_ABORTED } from '../../support/outcomes.ts';
import { BRAND, MAIL } from '../../support/senders.ts';
import { clientSettings, listenForTest } from '../../support/servers.ts';

type Client = ReturnType<typeof clientSettings>;

const TO = '+447400123456';
const CODE = '012345';
const SMS = { ...DEPLOYED.sms, senderId: 'EXMARKETS', maxPrice: '0.25', originationNumber: '+441234567890' };
const CALL = { originationIdentity: 'pool-1', protectConfigurationId: 'protect-1' };
const WHATSAPP = { phoneNumberId: 'phone-number-id-0a1b2c', codeTemplate: 'code' };

const form = (body: string) => Object.fromEntries(new URLSearchParams(body));
const whatsApp = (body: string) => {
  const { message, ...rest } = JSON.parse(body) as { message: string };
  return { ...rest, message: JSON.parse(Buffer.from(message, 'base64').toString('utf8')) as unknown };
};
const template = (of: object) => ({
  originationPhoneNumberId: 'phone-number-id-0a1b2c',
  metaApiVersion: 'v20.0',
  message: { messaging_product: 'whatsapp', recipient_type: 'individual', to: TO, type: 'template', template: of },
});
const codeParameters = [{ type: 'text', text: '012345' }];
const attribute = (index: number, name: string, value: string, type = 'String') => ({
  [`MessageAttributes.entry.${index}.Name`]: name,
  [`MessageAttributes.entry.${index}.Value.DataType`]: type,
  [`MessageAttributes.entry.${index}.Value.StringValue`]: value,
});
const call = (MessageBody: RegExp) => ({
  DestinationPhoneNumber: TO,
  OriginationIdentity: 'pool-1',
  MessageBody: expect.stringMatching(MessageBody),
  MessageBodyTextType: 'SSML',
  VoiceId: 'JOANNA',
  TimeToLive: 600,
  ProtectConfigurationId: 'protect-1',
});

type Row = readonly [
  sent: string,
  send: (client: Client) => Promise<unknown>,
  parse: (body: string) => unknown,
  expected: object,
];

/** The messages of each channel, and what its service gets. */
const ROWS: Readonly<Record<Channel, readonly [Row, ...Row[]]>> = {
  email: [
    [
      'A mail, with its configuration set, and its kind as a tag',
      (client) => sesMailer(client)({ ...MAIL, configurationSet: 'mails' }, NEVER_ABORTED),
      form,
      {
        Action: 'SendEmail',
        Version: '2010-12-01',
        Source: '"Example Markets" <no-reply@example.com>',
        'ReplyToAddresses.member.1': 'help@example.com',
        'Destination.ToAddresses.member.1': 'ann@example.com',
        'Message.Subject.Data': 'Your code',
        'Message.Subject.Charset': 'UTF-8',
        'Message.Body.Text.Data': '123456',
        'Message.Body.Text.Charset': 'UTF-8',
        'Message.Body.Html.Data': '<b>123456</b>',
        'Message.Body.Html.Charset': 'UTF-8',
        ConfigurationSetName: 'mails',
        'Tags.member.1.Name': 'kind',
        'Tags.member.1.Value': 'code',
      },
    ],
  ],
  sms: [
    [
      'A transactional text, with the sender id, price cap and number of the settings',
      (client) => smsChannel(SMS, BRAND, snsPublisher(client)).send(TO, CODE, 'en', NEVER_ABORTED),
      form,
      {
        Action: 'Publish',
        Version: '2010-03-31',
        PhoneNumber: TO,
        Message: expect.stringContaining('012345'),
        ...attribute(1, 'AWS.SNS.SMS.SMSType', 'Transactional'),
        ...attribute(2, 'AWS.SNS.SMS.SenderID', 'EXMARKETS'),
        ...attribute(3, 'AWS.SNS.SMS.MaxPrice', '0.25', 'Number'),
        ...attribute(4, 'AWS.MM.SMS.OriginationNumber', '+441234567890'),
      },
    ],
  ],
  call: [
    [
      'A call with a code, which is not tried any more when the code has expired',
      (client) => callChannel(CALL, BRAND, client).send(TO, CODE, 'en', NEVER_ABORTED),
      JSON.parse,
      call(/^<speak>.*>0</),
    ],
  ],
  whatsapp: [
    [
      'A code by WhatsApp, in the text and on the button',
      (client) => whatsAppChannel(WHATSAPP, client).send(TO, CODE, 'pt', NEVER_ABORTED),
      whatsApp,
      template({
        name: 'code',
        language: { code: 'pt_BR' },
        components: [
          { type: 'body', parameters: codeParameters },
          { type: 'button', sub_type: 'url', index: '0', parameters: codeParameters },
        ],
      }),
    ],
  ],
};

const TO_A_TOPIC: Row = [
  'A message to a topic, without the attributes that it lacks',
  (client) => {
    const attributes = { kind: { type: 'String', value: 'k' }, other: { type: 'String', value: undefined } } as const;
    return snsPublisher(client)({ topicArn: 'arn:aws:sns:1', message: '{}', attributes }, NEVER_ABORTED);
  },
  form,
  {
    Action: 'Publish',
    Version: '2010-03-31',
    TopicArn: 'arn:aws:sns:1',
    Message: '{}',
    ...attribute(1, 'kind', 'k'),
  },
];

/** The stand-ins check no format of AWS, so each request is compared as a whole. */
it.each([...OTP_TYPES.flatMap((channel) => ROWS[channel]), TO_A_TOPIC])(
  '%s is sent to AWS with these members alone',
  async (_, send, parse, expected) => {
    const sent: string[] = [];
    const server = createServer(async (request, response) => {
      sent.push(await text(request));
      response.writeHead(500).end();
    });
    await failureOf(send(clientSettings(`http://127.0.0.1:${await listenForTest(server)}`)));
    expect(sent.map(parse)).toEqual([expected]);
  },
);
